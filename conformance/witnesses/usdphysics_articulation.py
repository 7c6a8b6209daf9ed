"""What belongs to the articulation, and which bodies forces cannot move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urdf_usd.conformance.observation import JointType
from urdf_usd.conformance.witnesses.usdphysics_links import WORLD

if TYPE_CHECKING:
    from urdf_usd.conformance.witnesses.usdphysics_joints import Connection
    from urdf_usd.conformance.witnesses.usdphysics_links import LinkPrims
    from urdf_usd.conformance.witnesses.usdphysics_stage import Physics
    from urdf_usd.conformance.witnesses.usdphysics_tree import BodyTree


def articulated_bodies(physics: Physics) -> tuple[str, ...]:
    """Return the bodies that articulations start from."""
    starts = (
        str(path)
        for found in physics.articulations.values()
        for path in found.rootPrims
    )
    return tuple(path for path in starts if path in physics.bodies)


def unarticulated(physics: Physics, tree: BodyTree) -> tuple[str, ...]:
    """Name the joints that hold the robot outside of any articulation.

    The parser lists the moving joints of an articulation, and some of those that are
    excluded from it. A weld to the world says how the base is held.
    """
    # Not by bodies: of a single body that a joint ties to the world, the parser lists
    # the joint alone.
    listed = {
        str(path)
        for found in physics.articulations.values()
        for path in found.articulatedJoints
    }

    def is_outside(joint: Connection) -> bool:
        match joint.mobility.type:
            case JointType.FLOATING:
                return False
            case JointType.FIXED:
                return not joint.articulated and WORLD not in joint.bodies
        return joint.path not in listed or not joint.articulated

    return tuple(joint.name for joint in tree.joints if is_outside(joint))


def inert(physics: Physics, links: LinkPrims) -> tuple[str, ...]:
    """Name the links whose body is kinematic or disabled."""
    return tuple(
        links.by_path[path].name
        for path, body in physics.bodies.items()
        if path in links.by_path and (body.kinematicBody or not body.rigidBodyEnabled)
    )
