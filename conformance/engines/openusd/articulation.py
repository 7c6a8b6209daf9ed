"""What belongs to the articulation, and which bodies forces cannot move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pxr import UsdPhysics

from urdf_usd.conformance.engines.openusd.links import WORLD
from urdf_usd.conformance.observation.robot import COORDINATES, JointType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from urdf_usd.conformance.engines.openusd.joints import Connection
    from urdf_usd.conformance.engines.openusd.links import LinkPrims
    from urdf_usd.conformance.engines.openusd.stage import Physics
    from urdf_usd.conformance.engines.openusd.tree import BodyTree


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
    listed = _listed(physics)

    def is_outside(joint: Connection) -> bool:
        match joint.mobility.type:
            case JointType.FLOATING:
                return False
            case JointType.FIXED:
                return not joint.articulated and WORLD not in joint.bodies
        return joint.path not in listed or not joint.articulated

    return tuple(joint.name for joint in tree.joints if is_outside(joint))


def grounded(physics: Physics, joints: Sequence[Connection]) -> tuple[str, ...]:
    """Name the moving joints of articulations that end at no body.

    For the default prim, or what does not exist, the parser reports the world; for a
    collider that stands still, the collider.
    """
    listed = _listed(physics)

    def moves(joint: Connection) -> bool:
        kind = joint.mobility.type
        if kind is None:
            # Solvers keep a distance joint out of the articulation's tree.
            distance = UsdPhysics.ObjectType.DistanceJoint
            return bool(physics.joints[joint.path].type != distance)
        return kind is not JointType.FLOATING and COORDINATES[kind] > 0

    return tuple(
        joint.name
        for joint in joints
        if not physics.bodies.keys() >= set(joint.bodies)
        and joint.articulated
        and joint.path in listed
        and moves(joint)
    )


def _listed(physics: Physics) -> set[str]:
    """Paths of the joints that the parser counts to an articulation."""
    return {
        str(path)
        for found in physics.articulations.values()
        for path in found.articulatedJoints
    }


def inert(physics: Physics, links: LinkPrims) -> tuple[str, ...]:
    """Name the links whose body is kinematic or disabled."""
    return tuple(
        links.by_path[path].name
        for path, body in physics.bodies.items()
        if path in links.by_path and (body.kinematicBody or not body.rigidBodyEnabled)
    )
