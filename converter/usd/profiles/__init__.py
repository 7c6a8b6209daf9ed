"""Schemas in addition to UsdPhysics, one module per simulator or standard."""

from __future__ import annotations

from typing import assert_never

from pxr import Sdf

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.options import Profile
from urdf_usd.converter.usd.profiles.newton import author_newton, author_newton_joints
from urdf_usd.converter.usd.profiles.physx import author_physx
from urdf_usd.converter.usd.profiles.ros import author_ros
from urdf_usd.converter.usd.writer.prims import Prims

ROBOT_TYPE = "robot_type"
"""Metadata of SimReady and Isaac Sim with which an asset has the robot schema."""


def author_profile(physics: Sdf.Layer, prims: Prims, profile: Profile) -> tuple[Diagnostic, ...]:
    """Author the schemas of one simulator on existing joints and bodies.

    Args:
        physics: The layer that defines them; faster if no stage composes it yet.
        prims: The robot.
        profile: The simulator.

    Returns:
        Diagnostics about what the schemas cannot represent.
    """
    match profile:
        case Profile.USDPHYSICS:
            return ()
        case Profile.GENERIC | Profile.SIMREADY:
            return author_newton(physics, prims)
        case Profile.ROS:
            lost = author_newton_joints(physics, prims)
            author_ros(physics, prims)
            return lost
        case Profile.PHYSX | Profile.ISAAC:
            return author_physx(physics, prims)
        case _:
            assert_never(profile)
