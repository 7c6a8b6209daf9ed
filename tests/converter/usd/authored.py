"""Authored stages of robots that are given by their joints."""

from __future__ import annotations

from pathlib import Path

from pxr import Usd

from urdf_usd.converter.options import BodyNesting, ConvertOptions, Profile
from urdf_usd.converter.robot.bodies import assign_bodies
from urdf_usd.converter.robot.model import (
    BaseOption,
    Inertial,
    Joint,
    Link,
    Mimic,
    Pose,
    Range,
    Revolute,
    Robot,
)
from urdf_usd.converter.robot.topology import build_tree
from urdf_usd.converter.usd.writer.asset import asset_name
from urdf_usd.converter.usd.writer.layouts import write_asset

TURN = Revolute((2 / 7, -3 / 7, -6 / 7), Range(-1.25, 0.75))
# No symmetry.
HEAVY = Inertial(2.0, Pose((0.1, 0.2, 0.3)), (0.10, 0.01, 0.02, 0.12, 0.03, 0.15))


def asset_options(nesting: BodyNesting, profile: Profile) -> ConvertOptions:
    """Return options with a nesting of bodies; PhysX allows flat bodies alone."""
    return ConvertOptions(bodies=None if profile.is_for_physx else nesting, profile=profile)


def chain() -> tuple[Joint, Joint, Joint]:
    """Return three revolute joints, each of which follows the one before."""
    return (
        Joint("first", "a", "b", TURN),
        Joint("second", "b", "c", TURN, mimic=Mimic("first", -0.5, 0.1)),
        Joint("third", "c", "d", TURN, mimic=Mimic("second", 0.8, -0.2)),
    )


def author(
    folder: Path,
    *joints: Joint,
    massless: str = "",
    base: BaseOption = BaseOption.AUTO,
    profile: Profile = Profile.GENERIC,
) -> Usd.Stage:
    """Write a robot; every link except those in ``massless`` has a mass."""
    names = dict.fromkeys(n for joint in joints for n in (joint.parent, joint.child))
    links = tuple(Link(n, None if n in massless.split() else HEAVY) for n in names)
    robot = Robot("r", links, joints)
    tree = build_tree(robot)
    options = asset_options(BodyNesting.NESTED, profile)
    write_asset(robot, tree, assign_bodies(tree, base), folder, options)
    return Usd.Stage.Open(str(folder / asset_name(robot)))
