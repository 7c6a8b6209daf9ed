"""The tree of bodies that joints span, the poses of the bodies, and articulations.

The tree follows the joints, not the nesting of prims, so that nested and flat assets
have the same poses. Its roots are the world, and one body of each mechanism that is not
connected to the world.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from pxr import UsdPhysics

from urdf_usd.conformance.engines.openusd.joints import Connection
from urdf_usd.conformance.engines.openusd.links import WORLD
from urdf_usd.conformance.engines.openusd.stage import Physics, WorldTransforms
from urdf_usd.conformance.engines.openusd.transforms import (
    Array,
    inverses,
    rotations,
    separation,
    transforms,
    turns,
)
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    AssemblyGap,
    Configurations,
    JointType,
)


class BodyTree(Struct, frozen=True):
    """Bodies ordered by joints."""

    # Joints of the tree, parent before child, reversed where needed so that their parent side is
    # nearer to the root
    joints: tuple[Connection, ...]
    loops: tuple[Connection, ...]  # joints that close a loop
    roots: tuple[str, ...]  # bodies that are no child of a joint, at their authored poses

    @property
    def base(self) -> str | None:
        """Body next to the world, else the first root, if there is any body."""
        for joint in self.joints:
            if joint.bodies[joint.parent] == WORLD:
                return joint.bodies[joint.child]
        return self.roots[0] if self.roots else None


def span_tree(
    joints: Sequence[Connection], bodies: Sequence[str], preferred: Sequence[str]
) -> BodyTree:
    """Order bodies by joints.

    Args:
        joints: Joints that connect two different sides.
        bodies: All bodies.
        preferred: Bodies to start from if not connected to the world: the roots of
            articulations.
    """
    seconds = {joint.bodies[1] for joint in joints}
    # The child of a floating joint is the root of a mechanism, but not of the robot.
    adrift = {joint.bodies[1] for joint in joints if joint.mobility.type is JointType.FLOATING}
    starts = [body for body in preferred if body in bodies and body not in adrift]
    starts += [body for body in bodies if body not in seconds]
    starts += bodies
    placed = {WORLD}
    ordered = _grow(joints, WORLD, placed)
    roots = []
    for start in starts:
        if start not in placed:
            placed.add(start)
            roots.append(start)
            ordered += _grow(joints, start, placed)
    used = {joint.path for joint in ordered}
    loops = tuple(joint for joint in joints if joint.path not in used)
    return BodyTree(tuple(ordered), loops, tuple(roots))


def _grow(joints: Sequence[Connection], start: str, placed: set[str]) -> list[Connection]:
    """Add bodies that are reachable from a body to ``placed``; return the joints used.

    Joints that are excluded from articulations close loops, so they are used last; before
    them those whose first body is the child.
    """
    ordered: list[Connection] = []
    reached = {start}
    while True:
        step = min(
            (
                joint if joint.bodies[0] in reached else joint.turned()
                for joint in joints
                if (joint.bodies[0] in reached) != (joint.bodies[1] in reached)
                and not placed.issuperset(joint.bodies)
            ),
            key=lambda joint: (not joint.articulated, joint.reversed),
            default=None,
        )
        if step is None:
            return ordered
        ordered.append(step)
        reached.add(step.bodies[step.child])
        placed.add(step.bodies[step.child])


def place_bodies(
    tree: BodyTree, world: WorldTransforms, configurations: Configurations
) -> dict[str, Array]:
    """Return the (K, 4, 4) world transforms of all bodies, and of the world."""
    count = configurations.count
    still = np.tile(np.eye(4), (count, 1, 1))
    poses = {WORLD: still}
    poses |= {root: np.tile(world.rigid(root), (count, 1, 1)) for root in tree.roots}
    positions = dict(zip(configurations.joints, configurations.positions, strict=True))
    for joint in tree.joints:
        poses[joint.bodies[joint.child]] = poses[joint.bodies[joint.parent]] @ _relative(
            joint, positions, count
        )
    return poses


def _relative(joint: Connection, positions: Mapping[str, Array], count: int) -> Array:
    """Return (K, 4, 4) transforms of the child body in the parent body's frame."""
    anchor = joint.anchors[joint.child]
    motion = _motion(joint, anchor, positions.get(joint.name))
    if motion is None:
        motion = np.tile(np.eye(4), (count, 1, 1))
    relative: Array = joint.anchors[joint.parent] @ motion @ inverses(anchor)
    return relative


def _motion(joint: Connection, anchor: Array, given: Array | None) -> Array | None:
    """Return (K, 4, 4) transforms of the child's joint frame in the parent's.

    Args:
        joint: The joint.
        anchor: (4, 4) joint frame in the child's frame.
        given: (K, d) coordinates, or None for a joint that stays at zero.
    """
    kind, axis = joint.mobility.type, joint.mobility.axis
    if kind is None or given is None or given.shape[1] != COORDINATES[kind]:
        return None
    # A position counts from side 0 to side 1, whichever of them is the parent.
    sign = -1.0 if joint.reversed else 1.0
    to_child = anchor[:3, :3]
    match kind, axis:
        case ((JointType.REVOLUTE | JointType.CONTINUOUS), int()):
            return transforms(turns(axis, sign * given[:, 0]))
        case JointType.PRISMATIC, int():
            return transforms(position=sign * given * np.eye(3)[axis])
        case JointType.PLANAR, int():
            # Displacements are in the child's frame at zero; those off the plane count not.
            about = to_child @ turns(axis, sign * given[:, 3]) @ to_child.T
            motions: Array = inverses(anchor) @ transforms(about, given[:, :3]) @ anchor
            motions[:, axis, 3] = 0.0
            return motions
        case JointType.FLOATING, _:
            motion = transforms(rotations(given[:, 3:]), given[:, :3])
            moved: Array = inverses(anchor) @ motion @ anchor
            return moved
        case JointType.SPHERICAL, _:
            # Coordinates are rotations of the child frame, about the anchor.
            return transforms(to_child.T @ rotations(given) @ to_child)
    return None


def assembly_gaps(joints: Sequence[Connection], world: WorldTransforms) -> tuple[AssemblyGap, ...]:
    """Compare both frames of every joint at the authored poses."""
    gaps = []
    for joint in joints:
        sides = [
            (world.rigid(body) if body else np.eye(4)) @ anchor
            for body, anchor in zip(joint.bodies, joint.anchors, strict=True)
        ]
        gaps.append(AssemblyGap(joint.name, *separation(*sides)))
    return tuple(gaps)


def articulated_bodies(physics: Physics) -> tuple[str, ...]:
    """Return the bodies that articulations start from."""
    starts = (str(path) for found in physics.articulations.values() for path in found.rootPrims)
    return tuple(path for path in starts if path in physics.bodies)


def unarticulated(physics: Physics, tree: BodyTree) -> tuple[str, ...]:
    """Name the joints of the robot that belong to no articulation.

    The parser lists the moving joints of an articulation, and some of those that are
    excluded from it. A fixed joint to the world defines the base of an articulation,
    which PhysX reads as floating if the joint is excluded.
    """
    # Not by bodies: for a single body with a joint to the world, the parser lists the
    # joint alone.
    listed = _listed(physics)

    def is_outside(joint: Connection) -> bool:
        match joint.mobility.type:
            case JointType.FLOATING:
                return False
            case JointType.FIXED:
                alone = WORLD in joint.bodies and not physics.articulations
                return not (joint.articulated or alone)
        return joint.path not in listed or not joint.articulated

    return tuple(joint.name for joint in tree.joints if is_outside(joint))


def at_world(physics: Physics, joints: Sequence[Connection]) -> tuple[str, ...]:
    """Name the moving joints of articulations with the world on one side.

    The parser reports the world for the default prim and for missing targets, and the
    collider for static colliders.
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
    """Paths of the joints that the parser lists for an articulation."""
    return {
        str(path) for found in physics.articulations.values() for path in found.articulatedJoints
    }
