"""Checks of settings that a simulation settings file requests."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec import structs

from urdf_usd.conformance.checks.catalogue import SIMULATION_CHECKS
from urdf_usd.conformance.checks.check import Compared
from urdf_usd.conformance.checks.simulation import without_requested
from urdf_usd.conformance.observation.robot import (
    Frames,
    LinkObservation,
    Observation,
    Quantity,
    SettingKind,
    UnexpectedSetting,
)
from urdf_usd.conformance.observation.simulation import (
    ContactMaterialObservation,
    SimulationObservation,
)
from urdf_usd.conformance.tolerance.bounds import Tolerance
from urdf_usd.conformance.tolerance.model import ToleranceModel, derive_tolerance_model
from urdf_usd.reports.records.record import Grade

(_CONTACTS,) = (one.function for one in SIMULATION_CHECKS if one.id == "simulation.contacts")
_FRAMES = Frames(("a",), np.zeros((1, 1, 3)), np.eye(3)[np.newaxis, np.newaxis])
_BARE = Observation("openusd", "r", "a", frozenset(Quantity), (LinkObservation("a"),), (), _FRAMES)
_MATERIAL = ContactMaterialObservation("a", 0.8, 0.7, 0.2)
_REQUESTED = SimulationObservation(contact_materials=(_MATERIAL,), self_collision=False)
_NONE = ContactMaterialObservation("a", None, None, None)


def _found(*colliders: ContactMaterialObservation) -> SimulationObservation:
    """Return what is found of the colliders of a link."""
    return structs.replace(
        _REQUESTED,
        contact_materials=tuple(
            carried
            for index, one in enumerate(colliders)
            # Below an Xform that is no link.
            for carried in (
                structs.replace(one, link="shapes", source=str(index)),
                structs.replace(one, source=str(index)),
            )
        ),
    )


def _model() -> ToleranceModel:
    return derive_tolerance_model(_BARE, Tolerance())


@pytest.mark.parametrize(
    ("found", "failing"),
    [
        (_found(_MATERIAL), 0),
        (_found(_MATERIAL, _MATERIAL), 0),
        (_found(structs.replace(_MATERIAL, static=0.7)), 1),
        (_found(structs.replace(_MATERIAL, dynamic=0.8)), 1),
        (_found(structs.replace(_MATERIAL, restitution=0.0)), 1),
        (_found(_MATERIAL, structs.replace(_MATERIAL, static=0.7)), 1),
        (_found(_NONE), 3),
        (_found(_MATERIAL, _NONE), 3),
        (structs.replace(_found(_MATERIAL), self_collision=True), 1),
        (structs.replace(_found(_MATERIAL), self_collision=None), 1),
    ],
)
def test_contact_materials_and_self_collision_are_compared(
    found: SimulationObservation, failing: int
) -> None:
    compared = _CONTACTS(
        structs.replace(_BARE, simulation=_REQUESTED),
        structs.replace(_BARE, simulation=found),
        _model(),
    )

    assert isinstance(compared, Compared)
    grades = [difference.grade for difference in compared.differences]
    assert len(grades) == 4
    assert grades.count(Grade.FAILS) == failing


def test_differences_of_contact_materials_name_the_link() -> None:
    found = structs.replace(_found(structs.replace(_MATERIAL, static=0.7)), self_collision=False)
    other = structs.replace(_MATERIAL, link="b", source="b")
    found = structs.replace(found, contact_materials=(*(found.contact_materials or ()), other))
    welded = (LinkObservation("a", body="a"), LinkObservation("b", body="a"))

    compared = _CONTACTS(
        structs.replace(_BARE, links=welded, simulation=_REQUESTED),
        structs.replace(_BARE, links=welded, simulation=found),
        _model(),
    )

    assert isinstance(compared, Compared)
    failing = [one for one in compared.differences if one.grade is Grade.FAILS]
    assert [(one.subject, one.message) for one in failing] == [
        ("link a", "link a: static friction is 0.7, not 0.8"),
        ("link b", "link b: a contact material, not no contact material"),
    ]


def test_links_without_colliders_need_no_contact_material() -> None:
    compared = _CONTACTS(
        structs.replace(_BARE, simulation=_REQUESTED),
        structs.replace(_BARE, simulation=_found()),
        _model(),
    )

    assert isinstance(compared, Compared)
    assert [difference.subject for difference in compared.differences] == ["robot"]


def test_only_requested_settings_are_left_out() -> None:
    stiff = UnexpectedSetting(
        SettingKind.DRIVE,
        "joint i",
        "stiff",
        "0",
        "1",
        attribute="drive:*:physics:stiffness",
    )
    friction = UnexpectedSetting(
        SettingKind.MATERIAL,
        "link a",
        "rough",
        "none",
        "0.8",
        attribute="physics:staticFriction",
    )
    bouncing = structs.replace(friction, attribute="physics:restitution")
    tuned = structs.replace(friction, attribute="newton:torsionalFriction")
    other = structs.replace(friction, subject="link b")
    observation = structs.replace(_BARE, unexpected=(stiff, friction, bouncing, tuned, other))

    left = without_requested(observation, _REQUESTED)

    assert left.unexpected == (stiff, tuned, other)


@pytest.mark.parametrize(
    ("found", "failing"),
    [
        (_NONE, 0),
        (ContactMaterialObservation("a", 0.5, 0.5, 0.0), 0),
        (ContactMaterialObservation("a", 0.5, 0.5, 0.1), 1),
        (_MATERIAL, 1),
    ],
)
def test_contact_material_of_another_link_of_the_body_is_found(
    found: ContactMaterialObservation, failing: int
) -> None:
    welded = (LinkObservation("a", body="a"), LinkObservation("b", body="a"))
    side = structs.replace(_BARE, links=welded)
    colliders = (
        structs.replace(_MATERIAL, source="1"),
        structs.replace(found, link="b", source="2"),
    )
    settings_found = structs.replace(_REQUESTED, contact_materials=colliders)

    compared = _CONTACTS(
        structs.replace(side, simulation=_REQUESTED),
        structs.replace(side, simulation=settings_found),
        _model(),
    )

    assert isinstance(compared, Compared)
    grades = [difference.grade for difference in compared.differences]
    assert grades.count(Grade.FAILS) == failing
