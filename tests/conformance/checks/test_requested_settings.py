"""Checks of settings that a simulation settings file requests."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec import structs

from urdf_usd.conformance.checks.catalogue import SIMULATION_CHECKS
from urdf_usd.conformance.checks.check import Compared, compare
from urdf_usd.conformance.checks.simulation import without_requested
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.robot import (
    ContactMaterialObservation,
    SimulationObservation,
)
from urdf_usd.conformance.tolerance import Tolerance, derive_tolerance_model
from urdf_usd.reports.records.record import Difference, Grade

(_CONTACTS,) = (check for check in SIMULATION_CHECKS if check.id == "simulation.contacts")
_FRAMES = obs.Frames(("a",), np.zeros((1, 1, 3)), np.eye(3)[np.newaxis, np.newaxis])
_BARE = obs.Observation(
    "openusd", "r", "a", frozenset(obs.Quantity), (obs.LinkObservation("a"),), (), _FRAMES
)
_WELDED = structs.replace(
    _BARE, links=(obs.LinkObservation("a", body="a"), obs.LinkObservation("b", body="a"))
)
_MATERIAL = ContactMaterialObservation("a", 0.8, 0.7, 0.2)
_REQUESTED = SimulationObservation(contact_materials=(_MATERIAL,), self_collision=False)
_NONE = ContactMaterialObservation("a", None, None, None)
_USUAL = ContactMaterialObservation("b", 0.5, 0.5, 0.0)


def _material(**changes: object) -> ContactMaterialObservation:
    return structs.replace(_MATERIAL, **changes)


def _differences(
    *colliders: ContactMaterialObservation,
    self_collision: bool | None = False,
    robot: obs.Observation = _BARE,
) -> tuple[Difference, ...]:
    """Compare the contact materials that are found, each also below an Xform that is no link."""
    materials = tuple(
        structs.replace(one, link=link, source=str(index))
        for index, one in enumerate(colliders)
        for link in ("shapes", one.link)
    )
    found = SimulationObservation(contact_materials=materials, self_collision=self_collision)
    comparison = compare(
        _CONTACTS,
        structs.replace(robot, simulation=_REQUESTED),
        structs.replace(robot, simulation=found),
        derive_tolerance_model(_BARE, Tolerance()),
    )
    assert isinstance(comparison, Compared)
    return comparison.differences


def _failing(differences: tuple[Difference, ...]) -> int:
    return [one.grade for one in differences].count(Grade.FAILS)


@pytest.mark.parametrize(
    ("colliders", "failing"),
    [((_MATERIAL, _MATERIAL), 0), ((_MATERIAL, _material(static=0.7)), 1), ((_MATERIAL, _NONE), 3)],
)
def test_contact_materials_are_compared(
    colliders: tuple[ContactMaterialObservation, ...], failing: int
) -> None:
    differences = _differences(*colliders)

    assert (len(differences), _failing(differences)) == (4, failing)


def test_self_collision_that_is_left_to_simulators_fails() -> None:
    assert _failing(_differences(_MATERIAL, self_collision=None)) == 1


def test_links_without_colliders_need_no_contact_material() -> None:
    assert [difference.subject for difference in _differences()] == ["robot"]


@pytest.mark.parametrize(
    ("found", "failing"),
    [
        (structs.replace(_NONE, link="b"), 0),
        (_USUAL, 0),
        (structs.replace(_USUAL, restitution=0.1), 1),
        (_material(link="b"), 1),
    ],
)
def test_contact_material_of_another_link_of_the_body_is_found(
    found: ContactMaterialObservation, failing: int
) -> None:
    assert _failing(_differences(_MATERIAL, found, robot=_WELDED)) == failing


def test_only_requested_settings_are_left_out() -> None:
    def setting(kind: obs.SettingKind, subject: str, attribute: str) -> obs.UnexpectedSetting:
        return obs.UnexpectedSetting(kind, subject, "changed", "0", "1", attribute)

    stiff = setting(obs.SettingKind.DRIVE, "joint i", "drive:*:physics:stiffness")
    tuned = setting(obs.SettingKind.MATERIAL, "link a", "newton:torsionalFriction")
    other = setting(obs.SettingKind.MATERIAL, "link b", "physics:staticFriction")
    requested = (
        setting(obs.SettingKind.MATERIAL, "link a", "physics:staticFriction"),
        setting(obs.SettingKind.MATERIAL, "link a", "physics:restitution"),
    )
    observation = structs.replace(_BARE, unexpected=(stiff, *requested, tuned, other))

    assert without_requested(observation, _REQUESTED).unexpected == (stiff, tuned, other)
