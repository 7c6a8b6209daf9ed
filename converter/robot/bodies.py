"""Assignment of links to rigid bodies, and the mass properties of the bodies.

In USD the mass of a body without explicit mass is computed from its colliders. A massless link
therefore becomes a frame of the body that it is fixed to. Links connected by fixed joints whose
first link has no mass become one body. A moving group without mass receives a very small one.

Simulators with reduced coordinates use the body that is jointed to the world as the fixed root of
the articulation. So exactly one body is connected to the world, by a fixed joint.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct

from urdf_usd.converter.diagnostics import AuthoringError, Diagnostic
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot import spatial
from urdf_usd.converter.robot.topology import Tree, rigid_groups

# Sum of all added masses as a fraction of the robot's mass.
DEFAULTED_MASS = 5e-7
# Squared radius of gyration of an added mass [m^2]: that of a sphere of 0.1 m radius,
# as OpenUSD computes for a body with mass and without collider.
_DEFAULTED_GYRATION = 0.4 * 0.1**2
# Inertia added to a point mass m of a robot of size L, as a fraction of m L^2.
DEFAULTED_INERTIA = 5e-7
# The least of it [kg m^2], unless that exceeds the same fraction of the mass of the
# robot times L^2. Newton 1.8 replaces moments below 1e-10 kg m^2 by 1e-6 kg m^2, which
# changes the inertia of the links that the point mass is fixed to.
_LEAST_INERTIA = 2e-10
# A smaller fraction of m L^2 is a rounded zero: the inertia of a body thirty million
# times smaller than the robot.
NEGLIGIBLE_INERTIA = 1e-15
# Moment added to a thin rod about its axis, as a fraction of its largest moment: a
# fiftieth of the engineering tolerance. Newton raises moments below a millionth.
DEFAULTED_MOMENT = 2e-6
# A smaller fraction of the largest moment is rounding, of either sign.
_ROUNDING = 1e-12
# The smallest positive float32 rounds this up to itself, and anything less to zero.
SMALLEST = 2.0**-150
# A robot of less has no size from which a harmless inertia follows [m].
_NANOMETRE = 1e-9
# Moments of a valid tensor satisfy A + B >= C; text rounds each of them.
_TRIANGLE_SLACK = 1e-4


class Body(Struct, frozen=True):
    """One rigid body of the USD."""

    link: str  # link whose frame is the body's frame
    mass: float  # [kg], positive
    center: m.Vec3  # centre of mass in the link frame [m]
    # (ixx, ixy, ixz, iyy, iyz, izz) about the centre of mass, along the axes of the
    # link frame [kg m^2].
    inertia: m.Vec6


class BodyAssignment(Struct, frozen=True):
    """The bodies of a robot, and the body of each link."""

    base: m.Base  # kind of base
    bodies: tuple[Body, ...]  # bodies in tree order
    # For each link, the link whose body it belongs to; None for a frame fixed to the
    # world.
    body_of: dict[str, str | None]
    negligible: tuple[str, ...]  # links of moving bodies that have only an added mass or inertia
    diagnostics: tuple[Diagnostic, ...]  # decisions about massless links


def is_world(tree: Tree) -> bool:
    root = tree.link[tree.root]
    return root.name == m.WORLD_LINK and not (root.shapes or has_mass(root))


def is_anchored(tree: Tree, base: m.BaseOption) -> bool:
    return base is m.BaseOption.FIXED or (base is m.BaseOption.AUTO and is_world(tree))


def is_static(tree: Tree, base: m.BaseOption) -> bool:
    """Return whether a robot without mass and without moving joint is scenery."""
    if base is not m.BaseOption.AUTO or is_world(tree):
        return False
    still = all(isinstance(joint.kind, m.Fixed) for joint in tree.parent_joint.values())
    return still and not any(map(has_mass, tree.link.values()))


def has_mass(link: m.Link) -> bool:
    return link.mass > SMALLEST


def assign_bodies(
    tree: Tree,
    base: m.BaseOption = m.BaseOption.AUTO,
    massless: m.MasslessOption = m.MasslessOption.REGULARISE,
    *,
    merge_fixed: bool = False,
) -> BodyAssignment:
    """Assign the links of a robot to bodies.

    Raises:
        AuthoringError: Moving links have no mass, and ``massless`` is ``error``.
    """
    root, root_at = tree.root, tree.link[tree.root].location
    if is_static(tree, base):
        message = f"robot has no mass and no moving joint: {root!r} is static scenery"
        note = Diagnostic("robot-static", message, root_at)
        return BodyAssignment(m.Base.STATIC, (), dict.fromkeys(tree.links), (), (note,))
    anchored = is_anchored(tree, base)
    massive = {name for name, link in tree.link.items() if has_mass(link)}
    groups = rigid_groups(tree)
    body_of: dict[str, str | None] = {}
    defaulted: list[str] = []
    for group in groups:
        is_held = anchored and group[0] == root
        body_of |= _group_bodies(tree, group, massive, held=is_held, merge=merge_fixed)
        if body_of[group[0]] == group[0] and massive.isdisjoint(group):
            defaulted.append(group[0])
    if anchored and (welded := _needs_base(tree, body_of, groups[0])):
        body_of |= dict.fromkeys(welded, welded[0])
        if massive.isdisjoint(welded):
            defaulted.append(welded[0])

    notes: list[Diagnostic] = []
    for name in tree.links:
        owner = body_of[name]
        if name in (owner, root):
            continue
        where = f"the body of link {owner!r}" if owner else "the world"
        rule, what = "link-massless", "has no mass and is a frame of"
        if name in massive:
            rule, what = "link-lumped", "is counted in"
        message = f"link {name!r} {what} {where}"
        notes.append(Diagnostic(rule, message, tree.link[name].location))
    held_as = m.Base.FLOATING
    if anchored:
        held_as = m.Base.FIXED
        held = _held_joints(tree, body_of)
        # Nothing is fixed to the world if all its joints are floating.
        if body_of[root] is None and not held:
            held_as = m.Base.STATIC
        elif body_of[root] is None and all(isinstance(one.kind, m.Floating) for one in held):
            held_as = m.Base.FLOATING
    if base is m.BaseOption.FIXED and held_as is m.Base.FLOATING:
        message = f"base {root!r} is the world, joined by floating joints only: nothing is fixed"
        notes.append(Diagnostic("base-floats", message, root_at))
    # Whether bodies are dynamic.
    moving = {root: held_as is not m.Base.FIXED}
    for joint in (tree.parent_joint[name] for name in tree.links[1:]):
        moving[joint.child] = moving[joint.parent] or not isinstance(joint.kind, m.Fixed)
    moves = {name: moving[name] for name in tree.links if body_of[name] == name}
    refused = [name for name in defaulted if moves[name]]
    if massless is m.MasslessOption.ERROR and refused:
        texts = {name: f"link {name!r} moves and has no mass" for name in refused}
        rule = "link-massless-moving"
        problems = (Diagnostic(rule, texts[name], tree.link[name].location) for name in refused)
        raise AuthoringError(tuple(problems))

    rest = spatial.rest_poses(tree)
    total = sum(link.mass for link in tree.link.values()) or 1.0
    size = size_at_rest(tree, rest)
    members: dict[str | None, list[str]] = {}
    for name in tree.links:
        members.setdefault(body_of[name], []).append(name)
    bodies = []
    negligible = []
    for name, is_moving in moves.items():
        location = tree.link[name].location
        if name in defaulted:
            mass = DEFAULTED_MASS * total / len(defaulted)
            moment = mass * _DEFAULTED_GYRATION
            bodies.append(Body(name, mass, (0.0, 0.0, 0.0), (moment, 0, 0, moment, 0, moment)))
            rule, what = "base-regularised", "is the fixed base"
            if is_moving:
                negligible.append(name)
                rule, what = "link-regularised", "moves" if name != root else "is the base"
            message = f"link {name!r} {what} and has no mass; it received {mass:.3g} kg"
            notes.append(Diagnostic(rule, message, location))
            continue
        mass, center, inertia = _lumped_inertial(tree, rest, name, members[name])
        largest = max(map(abs, spatial.principal_inertia(inertia)[0]))
        if is_negligible(largest, mass, size) and is_moving:
            negligible.append(name)
        inertia, changes = _usable_inertia(inertia, mass, size=size, total=total)
        notes += [Diagnostic(rule, f"link {name!r} {text}", location) for rule, text in changes]
        bodies.append(Body(name, mass, center, inertia))
    return BodyAssignment(held_as, tuple(bodies), body_of, tuple(negligible), tuple(notes))


def _held_joints(tree: Tree, body_of: dict[str, str | None]) -> list[m.Joint]:
    """Return the joints between frames that are fixed to the world and bodies."""
    joints = tree.parent_joint.values()
    return [one for one in joints if body_of[one.parent] is None and body_of[one.child] is not None]


def _needs_base(
    tree: Tree, body_of: dict[str, str | None], group: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the links of the root's group that must become a body, its link first.

    Empty if a single body is connected to the world, by a fixed joint, or none.
    """

    def holding(joints: Iterable[m.Joint]) -> list[bool]:
        """Return of each joint that is not floating whether it is fixed."""
        kinds = (joint.kind for joint in joints)
        return [isinstance(kind, m.Fixed) for kind in kinds if not isinstance(kind, m.Floating)]

    if holding(_held_joints(tree, body_of)) in ([], [True]):
        return ()
    # The world link itself becomes a body only if the robot is connected to it by
    # several joints, or by one that moves.
    is_apart = is_world(tree) and holding(tree.child_joints[tree.root]) == [True]
    return group[1:] if is_apart else group


def _group_bodies(
    tree: Tree, group: tuple[str, ...], massive: set[str], *, held: bool, merge: bool
) -> dict[str, str | None]:
    """Assign the links of one group connected by fixed joints to bodies.

    It may be ``held`` by the world; with ``merge``, links with mass do not become bodies.
    """
    head = group[0]
    if head not in massive and not held:
        # The whole group is one body at the frame of its massless first link.
        return dict.fromkeys(group, head)
    owner: dict[str, str | None] = {head: head if head in massive else None}
    # Links with mass, or that are merged with a link with mass.
    heavy: set[str] = set()
    for name in reversed(group):
        if name in heavy or name in massive:
            heavy.add(name)
            joint = tree.parent_joint.get(name)
            if joint and isinstance(joint.kind, m.Fixed) and not joint.dont_collapse:
                heavy.add(joint.parent)
    for name in group[1:]:
        joint = tree.parent_joint[name]
        carrier = owner[joint.parent]
        apart = name in massive
        if merge:
            apart = name in heavy and (carrier is None or joint.dont_collapse)
        owner[name] = name if apart else carrier
    return owner


# Mass properties


def _usable_inertia(
    inertia: m.Vec6, mass: float, *, size: float, total: float
) -> tuple[m.Vec6, list[tuple[str, str]]]:
    """Return inertia [kg m^2] with positive moments about all axes, and rules with texts about it.

    A zero means "compute it" to some consumers of USD, and is refused by others.
    Physically impossible inertia is kept. ``size`` [m] and ``total`` [kg] are those of the robot.
    """
    moments, quat_wxyz = spatial.principal_inertia(inertia)
    largest = max(map(abs, moments))
    if is_negligible(largest, mass, size):
        least = min(_LEAST_INERTIA, DEFAULTED_INERTIA * total * (size * size))
        moment = max(DEFAULTED_INERTIA * mass * (size * size), least)
        text = f"has {mass:.6g} kg and no inertia; it received {moment:.3g} kg m^2"
        return (moment, 0, 0, moment, 0, moment), [("inertia-regularised", text)]
    changes = []
    none = max(SMALLEST, _ROUNDING * largest)
    if abs(min(moments)) <= none:
        floor = max(DEFAULTED_MOMENT * largest, 2 * SMALLEST)
        a, b, c = (moment if moment > none else floor for moment in moments)
        moments = a, b, c
        inertia = spatial.rotate_inertia((a, 0.0, 0.0, b, 0.0, c), quat_wxyz)
        text = f"has no inertia about an axis; it received {floor:.3g} kg m^2 there"
        changes.append(("inertia-regularised", text))
    a, b, c = sorted(moments)
    broken = "which break A + B >= C" if a + b < c * (1 - _TRIANGLE_SLACK) else ""
    if problem := "which are not all positive" if a <= 0 else broken:
        text = f"has principal moments {a:.4g}, {b:.4g}, {c:.4g}, {problem}"
        changes.append(("inertia-implausible", text))
    return inertia, changes


def is_negligible(moment: float, mass: float, size: float) -> bool:
    """Return whether the largest moment [kg m^2] of a body is a rounded zero.

    ``mass`` is that of the body [kg], ``size`` that of the robot [m].
    """
    return moment <= max(SMALLEST, NEGLIGIBLE_INERTIA * mass * (size * size))


def size_at_rest(tree: Tree, rest: dict[str, m.Pose]) -> float:
    """Return the largest distance of a link or centre of mass from the root [m].

    1 if all are within a nanometre of the root, from which no inertia follows.
    """
    points = []
    for name, pose in rest.items():
        points.append(pose.position)
        if inertial := tree.link[name].inertial:
            points.append(spatial.transform_point(pose, inertial.origin.position))
    largest = max(math.hypot(*point) for point in points)
    return largest if largest > _NANOMETRE else 1.0


def _lumped_inertial(
    tree: Tree, rest: dict[str, m.Pose], head: str, members: list[str]
) -> tuple[float, m.Vec3, m.Vec6]:
    """Combine the inertials of links fixed to each other, in the frame of the head.

    Returns the mass [kg], the centre of mass [m], and the inertia about it [kg m^2].
    """
    to_head = spatial.invert_pose(rest[head])
    parts: list[tuple[float, m.Vec3, m.Vec6]] = []
    for name in members:
        inertial = tree.link[name].inertial
        if inertial is None or not has_mass(tree.link[name]):
            continue
        origin = inertial.origin
        if name != head:
            origin = spatial.compose(spatial.compose(to_head, rest[name]), origin)
        x, y, z = (c + 0.0 for c in origin.position)
        turned = spatial.rotate_inertia(inertial.inertia, origin.quat_wxyz)
        parts.append((inertial.mass, (x, y, z), turned))
    if len(parts) == 1:
        return parts[0]
    mass = sum(part_mass for part_mass, _, _ in parts)
    x, y, z = (
        sum(part_mass * point[axis] for part_mass, point, _ in parts) / mass + 0.0
        for axis in range(3)
    )
    shifted = (
        spatial.shift_inertia(inertia, part_mass, (point[0] - x, point[1] - y, point[2] - z))
        for part_mass, point, inertia in parts
    )
    ixx, ixy, ixz, iyy, iyz, izz = map(sum, zip(*shifted, strict=True))
    return mass, (x, y, z), (ixx, ixy, ixz, iyy, iyz, izz)
