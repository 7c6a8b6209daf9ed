"""Schemas in addition to UsdPhysics, one module per simulator or standard.

The module is imported if its profile is selected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.options import Profile
from urdf_usd.converter.robot.bodies import BodyAssignment
from urdf_usd.converter.robot.topology import Tree

if TYPE_CHECKING:
    from pxr import Usd

    from urdf_usd.converter.usd.writer.prims import Prims

ROBOT_TYPE = "robot_type"
"""Metadata of SimReady and Isaac Sim with which an asset has the robot schema."""


def author_profile(
    stage: Usd.Stage,
    tree: Tree,
    body_assignment: BodyAssignment,
    prims: Prims,
    profile: Profile,
) -> tuple[Diagnostic, ...]:
    """Author the schemas of one simulator on existing joints and bodies.

    Returns:
        Diagnostics about what the schemas cannot represent.
    """
    match profile:
        case Profile.USDPHYSICS:
            return ()
        case Profile.GENERIC | Profile.SIMREADY:
            from urdf_usd.converter.usd.profiles.newton import author_newton  # noqa: PLC0415

            return author_newton(stage, tree, body_assignment, prims)
        case Profile.ROS:
            from urdf_usd.converter.usd.profiles.newton import author_newton_joints  # noqa: PLC0415
            from urdf_usd.converter.usd.profiles.ros import author_ros  # noqa: PLC0415

            lost = author_newton_joints(stage, tree, prims)
            layer = stage.GetEditTarget().GetLayer()
            author_ros(layer, tree, body_assignment, prims)
            return lost
        case Profile.PHYSX | Profile.ISAAC:
            from urdf_usd.converter.usd.profiles.physx import author_physx  # noqa: PLC0415

            return author_physx(stage, tree, prims)
        case _:
            assert_never(profile)
