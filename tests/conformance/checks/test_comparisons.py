"""The catalogue of checks, and the comparison of frames, limits, dynamics and settings."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec import structs

from tests.conformance.miniatures import (
    ROBOT,
    check_of,
    compared,
    joint_of,
    judged,
    restating_joint,
    urdf_reading,
    usd_reading,
    with_inertial,
    with_joint,
)
from urdf_usd.conformance.checks import check as module
from urdf_usd.conformance.checks.catalogue import CHECKS, ROUND_TRIP_CHECKS, SIMULATION_CHECKS
from urdf_usd.conformance.checks.check import (
    Compared,
    Differences,
    Incomparable,
    Sides,
    compare,
    equality,
)
from urdf_usd.conformance.checks.simulation import without_requested
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.tolerance import Tolerance, derive_tolerance_model
from urdf_usd.converter.robot.model import Pose
from urdf_usd.reports.records.record import Difference, Grade

_ALL = (*CHECKS, *SIMULATION_CHECKS, *ROUND_TRIP_CHECKS)


def test_checks_have_distinct_identifiers_and_titles_and_a_description() -> None:
    assert len({check.id for check in _ALL}) == len({check.title for check in _ALL}) == len(_ALL)
    assert all(check.clause.endswith(".") for check in _ALL)


def test_check_is_a_function_whose_docstring_is_the_clause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DEFINED", [])

    @module.check("structure.root", "root link", obs.Quantity.LINKS)
    def _root(sides: Sides) -> Differences:
        """The root link has the name of the URDF: all frames are relative to it."""
        root = sides.actual.root
        yield equality("robot", sides.expected.root == root, f"the root is {root}")

    (check,) = module.DEFINED
    expected, actual = urdf_reading(), usd_reading()
    found = compare(check, expected, actual, derive_tolerance_model(expected, Tolerance()))

    assert check.clause == "The root link has the name of the URDF: all frames are relative to it."
    assert isinstance(found, Compared)
    assert [difference.amount for difference in found.differences] == [0.0]


def _findings(factor: float) -> tuple[Difference, ...]:
    """Judge a USD with all positions multiplied by a factor."""
    reading = usd_reading()
    assert reading.frames is not None
    frames = structs.replace(reading.frames, positions=factor * reading.frames.positions)
    judgement = judged(structs.replace(reading, frames=frames))
    return check_of(judgement, "kinematics.position").findings


@pytest.mark.parametrize("factor", [0.01, 1000.0])
def test_lengths_in_another_unit_are_one_finding(factor: float) -> None:
    (finding,) = _findings(factor)

    assert finding.subject == "robot"
    assert f"{factor:g} times" in finding.message
    assert "metersPerUnit" in finding.message
    # Other factors are findings of joints.
    assert {one.subject.split()[0] for one in _findings(1.5)} == {"joint"}


# The smallest normal float32: it stands for zero where a range must not be empty.
_STAND_IN = 2.0**-126
_LARGEST = 3.4028234663852886e38


@pytest.mark.parametrize(
    ("what", "expected", "actual", "grade"),
    [
        *(
            (what, expected, math.nan, Grade.FAILS)
            for what in ("effort", "velocity", "damping", "friction")
            for expected in (0.0, _STAND_IN, 1.0, math.inf)
        ),
        *(("effort", 0.0, actual, Grade.EXACT) for actual in (0.0, _STAND_IN)),
        *(("effort", _STAND_IN, actual, Grade.EXACT) for actual in (0.0, _STAND_IN)),
        ("effort", 0.0, 4 * _STAND_IN, Grade.FAILS),
        # Beyond float32 it is stored as unlimited.
        *(("effort", 1e300, actual, Grade.EXACT) for actual in (_LARGEST, math.inf)),
        *(("effort", 1e30, actual, Grade.FAILS) for actual in (_LARGEST, math.inf)),
    ],
)
def test_number_that_both_sides_state(
    what: str, expected: float, actual: float, grade: Grade
) -> None:
    spec, usd = (
        restating_joint(reading, "shoulder", **{what: value})
        for reading, value in ((urdf_reading(), expected), (usd_reading(), actual))
    )
    found = judged(usd, spec).checks

    assert next(one.grade for one in found if one.id.endswith(f".{what}")) is grade


@pytest.mark.parametrize(
    ("what", "factor", "hint"),
    [
        ("limits.upper", 180 / math.pi, "(degrees instead of radians?)"),
        ("dynamics.damping", math.pi / 180, "(radians instead of degrees?)"),
    ],
)
def test_value_in_another_unit_is_named(what: str, factor: float, hint: str) -> None:
    field = what.partition(".")[2]
    value = factor * getattr(joint_of(urdf_reading(), "shoulder"), field)
    comparison = compared(
        what, urdf_reading(), restating_joint(usd_reading(), "shoulder", **{field: value})
    )

    assert isinstance(comparison, Compared)
    assert any(one.message.endswith(hint) for one in comparison.differences)


def test_absent_number_is_explained_by_its_note() -> None:
    note = "it closes a loop; urdf:limit:effort is 9, but mjc:range is absent"
    reading = restating_joint(usd_reading(), "shoulder", effort=None, note=note)
    check = check_of(judged(reading), "limits.effort")

    assert check.findings[0].message.endswith("(urdf:limit:effort is 9, but mjc:range is absent)")


_INERTIA, _BIAS = "dynamics.inertia_matrix", "dynamics.bias"


def _by_item(check: str, actual: obs.Observation) -> dict[str, Difference]:
    comparison = compared(check, urdf_reading(), actual)
    assert isinstance(comparison, Compared)
    return {difference.item: difference for difference in comparison.differences}


def _dynamics(reading: obs.Observation) -> obs.Dynamics:
    assert reading.dynamics is not None
    return reading.dynamics


@pytest.mark.parametrize("check", [_INERTIA, _BIAS])
def test_wrong_link_is_traced_from_all_joints_that_carry_it(check: str) -> None:
    found = _by_item(check, usd_reading(with_inertial(ROBOT, "forearm", mass=0.8)))
    failing = {item for item, each in found.items() if each.grade is Grade.FAILS}

    assert failing == {obs.ROOT_MOTION, "shoulder", "elbow"}
    assert {found[item].traces for item in failing} == {("forearm",)}
    assert "caused by link forearm" in found["elbow"].message
    assert found[obs.ROOT_MOTION].subject == "link base"
    assert found["wheel"].grade is Grade.EXACT


def test_wrong_frame_is_traced_to_its_joint() -> None:
    moved = with_joint(ROBOT, "elbow", origin=Pose((0.1, 0.2, 0.3)))
    found = _by_item(_INERTIA, usd_reading(moved))

    assert found["shoulder"].traces == ("elbow",)
    assert found[obs.ROOT_MOTION].traces == ("elbow",)


def test_order_of_joints_does_not_matter() -> None:
    shuffled = structs.replace(ROBOT, joints=tuple(reversed(ROBOT.joints)))
    reading = usd_reading(shuffled)

    assert _dynamics(reading).joints != _dynamics(urdf_reading()).joints
    for check in (_INERTIA, _BIAS):
        found = _by_item(check, reading)
        assert {each.grade for each in found.values()} == {Grade.EXACT}


def test_unstated_joint_is_not_comparable() -> None:
    whole = _dynamics(usd_reading())
    kept = [i for i, name in enumerate(whole.joints) if name not in {"elbow", ""}]
    part = structs.replace(
        whole,
        joints=tuple(whole.joints[i] for i in kept),
        inertia=whole.inertia[:, kept][:, :, kept],
        bias=whole.bias[:, kept],
        velocities=whole.velocities[:, kept],
    )
    found = _by_item(_INERTIA, structs.replace(usd_reading(), dynamics=part))

    assert found["elbow"].grade is Grade.NOT_COMPARABLE
    assert obs.ROOT_MOTION not in found
    assert found["shoulder"].grade is Grade.EXACT
    assert "states no inertia" in found["elbow"].message


def test_force_that_is_not_finite_fails() -> None:
    whole = _dynamics(usd_reading())
    bias = whole.bias.copy()
    bias[2, whole.joints.index("wheel")] = np.nan
    broken = structs.replace(usd_reading(), dynamics=structs.replace(whole, bias=bias))

    assert _by_item(_BIAS, broken)["wheel"].grade is Grade.FAILS


def test_side_without_equations_is_not_comparable() -> None:
    spec, unstated = urdf_reading(), structs.replace(usd_reading(), dynamics=None)

    for check in (_INERTIA, _BIAS):
        for sides in ((spec, unstated), (unstated, spec)):
            assert compared(check, *sides) == Incomparable("usd states no equations of motion")


(_CONTACTS,) = (check for check in SIMULATION_CHECKS if check.id == "simulation.contacts")
_FRAMES = obs.Frames(("a",), np.zeros((1, 1, 3)), np.eye(3)[np.newaxis, np.newaxis])
_BARE = obs.Observation(
    "openusd", "r", "a", frozenset(obs.Quantity), (obs.LinkObservation("a"),), (), _FRAMES
)
_WELDED = structs.replace(
    _BARE, links=(obs.LinkObservation("a", body="a"), obs.LinkObservation("b", body="a"))
)
_MATERIAL = obs.ContactMaterialObservation("a", 0.8, 0.7, 0.2)
_REQUESTED = obs.SimulationObservation(contact_materials=(_MATERIAL,), self_collision=False)
_NONE = obs.ContactMaterialObservation("a", None, None, None)
_USUAL = obs.ContactMaterialObservation("b", 0.5, 0.5, 0.0)


def _material(**changes: object) -> obs.ContactMaterialObservation:
    return structs.replace(_MATERIAL, **changes)


def _differences(
    *colliders: obs.ContactMaterialObservation,
    self_collision: bool | None = False,
    robot: obs.Observation = _BARE,
) -> tuple[Difference, ...]:
    """Compare the contact materials that are found, each also below an Xform that is no link."""
    materials = tuple(
        structs.replace(one, link=link, source=str(index))
        for index, one in enumerate(colliders)
        for link in ("shapes", one.link)
    )
    found = obs.SimulationObservation(contact_materials=materials, self_collision=self_collision)
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
    colliders: tuple[obs.ContactMaterialObservation, ...], failing: int
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
    found: obs.ContactMaterialObservation, failing: int
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
