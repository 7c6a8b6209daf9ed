"""Observations of a small robot and of its USD, in which single values can be changed.

The robot has oblique axes, rotated origins and non-zero offsets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from msgspec import structs

from tests.faults.fault import ROBOTS
from urdf_usd.conformance.checks.catalogue import CHECKS, SIMULATION_CHECKS
from urdf_usd.conformance.checks.check import Comparison, compare
from urdf_usd.conformance.descriptions import sampling_plan
from urdf_usd.conformance.engines.mujoco_models import with_motion
from urdf_usd.conformance.engines.protocol import Observed, Outcome
from urdf_usd.conformance.engines.reference import observe_robot
from urdf_usd.conformance.observation.robot import (
    AssemblyGap,
    Base,
    Configurations,
    JointObservation,
    MassProperties,
    Observation,
)
from urdf_usd.conformance.observation.shapes import Role, ShapeObservation
from urdf_usd.conformance.tolerance import Tolerance, derive_tolerance_model
from urdf_usd.conformance.verdict.judged import Judgement
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter.robot.model import Fixed, Range, Revolute, Robot
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.reports.records.record import CheckRecord

ROBOT = parse(ROBOTS / "miniature.urdf").robot
CONFIGURATIONS = sampling_plan(ROBOT)


def compared(check: str, expected: Observation, actual: Observation) -> Comparison:
    (found,) = (one for one in (*CHECKS, *SIMULATION_CHECKS) if one.id == check)
    return compare(found, expected, actual, derive_tolerance_model(expected, Tolerance()))


def judged(
    usd: Observation | Outcome, urdf: Observation | None = None, **engines: Observation | Outcome
) -> Judgement:
    """Judge a USD by the URDF's reading and those of engines."""
    readings = {"reference": urdf or urdf_reading(), **engines, "usd": usd}
    outcomes = {
        name: Observed(one) if isinstance(one, Observation) else one
        for name, one in readings.items()
    }
    usd = outcomes.pop("usd")
    return judge(outcomes, usd)


def check_of(judgement: Judgement, check: str) -> CheckRecord:
    return next(one for one in judgement.checks if one.id == check)


@cache
def urdf_reading(
    robot: Robot = ROBOT, configurations: Configurations = CONFIGURATIONS
) -> Observation:
    reading = observe_robot(robot, configurations)
    return with_motion(reading, configurations, perturbed=True)


@cache
def usd_reading(
    robot: Robot = ROBOT, configurations: Configurations = CONFIGURATIONS
) -> Observation:
    """Return the observation of a faithful USD of a robot."""
    reading = observe_robot(robot, configurations)
    reading = with_motion(reading, configurations, perturbed=False)
    body = {link.name: link.name if link.inertial else None for link in robot.links}
    for joint in robot.joints:
        body[joint.child] = body[joint.child] or body[joint.parent]
    moving = [joint.name for joint in robot.joints if not isinstance(joint.kind, Fixed)]
    return structs.replace(
        reading,
        engine="usd",
        links=tuple(structs.replace(link, body=body[link.name]) for link in reading.links),
        base=Base.FLOATING,
        articulation_roots=1,
        up=(0.0, 0.0, 1.0),
        articulation_starts=(reading.root,),
        unexpected=(),
        assembly=tuple(AssemblyGap(name, 0.0, 0.0) for name in moving),
    )


def engine_reading(name: str, robot: Robot = ROBOT) -> Observation:
    """Return the observation of an engine without deviations."""
    return structs.replace(observe_robot(robot, CONFIGURATIONS), engine=name)


def _with(parts: tuple[Any, ...], name: str, **changes: object) -> tuple[Any, ...]:
    return tuple(structs.replace(one, **changes) if one.name == name else one for one in parts)


def with_joint(robot: Robot, name: str, **changes: object) -> Robot:
    return structs.replace(robot, joints=_with(robot.joints, name, **changes))


def with_inertial(robot: Robot, name: str, **changes: object) -> Robot:
    own = next(link.inertial for link in robot.links if link.name == name)
    assert own is not None
    inertial = structs.replace(own, **changes)
    return structs.replace(robot, links=_with(robot.links, name, inertial=inertial))


def restating_joint(reading: Observation, name: str, **changes: object) -> Observation:
    return structs.replace(reading, joints=_with(reading.joints, name, **changes))


def restating_mass(reading: Observation, name: str, mass: MassProperties | None) -> Observation:
    return structs.replace(reading, links=_with(reading.links, name, mass=mass))


def joint_of(reading: Observation, name: str) -> JointObservation:
    return next(joint for joint in reading.joints if joint.name == name)


def mass_of(reading: Observation, name: str) -> MassProperties:
    mass = next(link.mass for link in reading.links if link.name == name)
    assert mass is not None
    return mass


def restating_shapes(
    reading: Observation,
    link: str,
    role: Role,
    edit: Callable[[list[ShapeObservation]], list[ShapeObservation]],
) -> Observation:
    own = [shape for shape in reading.shapes if shape.link == link and shape.role is role]
    rest = [shape for shape in reading.shapes if shape not in own]
    return structs.replace(reading, shapes=(*rest, *edit(own)))


# The axis of the shoulder is reversed, as are its limits.
_AXIS = (-1 / math.sqrt(14), 2 / math.sqrt(14), -3 / math.sqrt(14))
NEGATED = with_joint(ROBOT, "shoulder", kind=Revolute(_AXIS, Range(-1.25, 0.75)))
