"""Assignment of links to rigid bodies, and the mass properties of the bodies.

In URDF a link may have no mass; in USD the mass of a body without explicit mass is
computed from its colliders. A massless link therefore becomes a frame of the body that
it is fixed to. A group of links connected by fixed joints whose first link has no mass
becomes one body with the mass properties of the group. A moving group without any mass
receives a very small mass, which is reported.

A fixed base is decided first. Simulators with reduced coordinates use the body that is
jointed to the world as the fixed root of the articulation, and treat that joint as
fixed. So exactly one body of a robot is connected to the world, by a fixed joint; if it
has no mass in the URDF, it receives a very small one.
"""

from __future__ import annotations

import math
from functools import lru_cache

from msgspec import Struct

from urdf_usd.converter.diagnostics import AuthoringError, Diagnostic
from urdf_usd.converter.robot.model import (
    WORLD_LINK,
    Base,
    BaseOption,
    Fixed,
    Floating,
    Inertial,
    Link,
    MasslessOption,
    Pose,
    Vec3,
    Vec4,
    Vec6,
)
from urdf_usd.converter.robot.spatial import (
    compose,
    diagonalise_inertia,
    inertia_tensor,
    invert_pose,
    quat_wxyz_from_rotation,
    rest_poses,
    rotate_inertia,
    shift_inertia,
    transform_point,
)
from urdf_usd.converter.robot.topology import Tree, rigid_groups

# Sum of all added masses as a fraction of the robot's mass.
INVENTED_MASS = 5e-7
# Squared radius of gyration of an added mass [m^2]: that of a sphere of 0.1 m radius,
# as OpenUSD computes for a body with mass and without collider.
_INVENTED_GYRATION = 0.4 * 0.1**2
# Inertia added to a point mass m of a robot of size L, as a fraction of m L^2.
INVENTED_INERTIA = 5e-7
# The least of it [kg m^2], unless that exceeds the same fraction of the mass of the
# robot times L^2. Newton 1.8 replaces moments below 1e-10 kg m^2 by 1e-6 kg m^2, which
# changes the inertia of the links that the point mass is fixed to.
_LEAST_INERTIA = 2e-10
# A smaller fraction of m L^2 is a rounded zero: the inertia of a body thirty million
# times smaller than the robot.
NEGLIGIBLE_INERTIA = 1e-15
# Moment added to a thin rod about its axis, as a fraction of its largest moment: a
# fiftieth of the engineering tolerance. Newton raises moments below a millionth.
INVENTED_MOMENT = 2e-6
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
    center: Vec3  # centre of mass in the link frame [m]
    # (ixx, ixy, ixz, iyy, iyz, izz) about the centre of mass, along the axes of the
    # link frame [kg m^2].
    inertia: Vec6


class BodyAssignment(Struct, frozen=True):
    """The bodies of a robot, and the body of each link."""

    base: Base  # kind of base
    bodies: tuple[Body, ...]  # bodies in tree order
    # For each link, the link whose body it belongs to; None for a frame fixed to the
    # world.
    body_of: dict[str, str | None]
    lumped: frozenset[str]  # links with mass that is included in the body of another link
    negligible: tuple[str, ...]  # links of moving bodies that have only an added mass or inertia
    diagnostics: tuple[Diagnostic, ...]  # decisions about massless links


def is_world(tree: Tree) -> bool:
    """Return whether the root link represents the world."""
    root = tree.link[tree.root]
    bare = not (root.visuals or root.collisions or has_mass(root))
    return root.name == WORLD_LINK and bare


def assign_bodies(
    tree: Tree,
    base: BaseOption = BaseOption.AUTO,
    massless: MasslessOption = MasslessOption.REGULARISE,
    *,
    merge_fixed: bool = False,
) -> BodyAssignment:
    """Assign the links of a robot to bodies.

    Args:
        tree: The robot.
        base: ``auto`` fixes the base if the root is an empty link named ``world``.
        massless: Whether a moving group without mass is an error.
        merge_fixed: Whether links connected by fixed joints become one body, except
            across joints with ``dont_collapse``.

    Raises:
        AuthoringError: Moving links have no mass, and ``massless`` is ``error``.
    """
    anchored = is_anchored(tree, base)
    groups = rigid_groups(tree)
    if is_static(tree, base):
        return _static_assignment(tree)
    body_of: dict[str, str | None] = {}
    invented: list[str] = []
    for group in groups:
        held = anchored and group[0] == tree.root
        owners = _group_bodies(tree, group, held=held, merge=merge_fixed)
        body_of.update(owners)
        if body_of[group[0]] == group[0] and not any(has_mass(tree.link[name]) for name in group):
            invented.append(group[0])
    if anchored and (welded := _needs_base(tree, body_of, groups[0])):
        body_of.update(dict.fromkeys(welded, welded[0]))
        if not any(has_mass(tree.link[name]) for name in welded):
            invented.append(welded[0])
    held_as = _base_of(tree, body_of, anchored=anchored)
    if massless is MasslessOption.ERROR:
        _refuse_massless(tree, [name for name in invented if _moves(tree, name, held_as)])
    bodies, negligible, notes = _bodies(tree, body_of, invented, held_as)
    if base is BaseOption.FIXED and held_as is Base.FLOATING:
        notes = [_floating_base(tree), *notes]
    return BodyAssignment(
        base=held_as,
        bodies=bodies,
        body_of=body_of,
        lumped=frozenset(
            name for name in tree.links if has_mass(tree.link[name]) and body_of[name] != name
        ),
        negligible=negligible,
        diagnostics=(*_frame_notes(tree, body_of), *notes),
    )


def is_anchored(tree: Tree, base: BaseOption) -> bool:
    """Return whether the root link is fixed to the world, or is the world."""
    return base is BaseOption.FIXED or (base is BaseOption.AUTO and is_world(tree))


def is_static(tree: Tree, base: BaseOption) -> bool:
    """Return whether a robot without mass and without moving joint is scenery."""
    if base is not BaseOption.AUTO or is_world(tree):
        return False
    still = all(isinstance(joint.kind, Fixed) for joint in tree.parent_joint.values())
    return still and not any(has_mass(link) for link in tree.link.values())


def _static_assignment(tree: Tree) -> BodyAssignment:
    note = Diagnostic(
        "robot-static",
        f"robot has no mass and no moving joint: {tree.root!r} is static scenery",
        tree.link[tree.root].location,
    )
    return BodyAssignment(Base.STATIC, (), dict.fromkeys(tree.links), frozenset(), (), (note,))


def _floating_base(tree: Tree) -> Diagnostic:
    return Diagnostic(
        "base-floats",
        f"base {tree.root!r} is the world, joined by floating joints only: nothing is fixed",
        tree.link[tree.root].location,
    )


def _refuse_massless(tree: Tree, invented: list[str]) -> None:
    if invented:
        raise AuthoringError(
            tuple(
                Diagnostic(
                    "link-massless-moving",
                    f"link {name!r} moves and has no mass",
                    tree.link[name].location,
                )
                for name in invented
            )
        )


def _base_of(tree: Tree, body_of: dict[str, str | None], *, anchored: bool) -> Base:
    if not anchored:
        return Base.FLOATING
    if body_of[tree.root] is not None:
        return Base.FIXED
    # Nothing is fixed to the world if all its joints are floating.
    held = [
        joint
        for joint in tree.parent_joint.values()
        if body_of[joint.parent] is None and body_of[joint.child] is not None
    ]
    floating = held and all(isinstance(joint.kind, Floating) for joint in held)
    return Base.FLOATING if floating else Base.FIXED if held else Base.STATIC


def _needs_base(
    tree: Tree, body_of: dict[str, str | None], group: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the links fixed to the world that must become a body, its link first.

    Empty if a single body is connected to the world, by a fixed joint, or none.

    Args:
        tree: The robot.
        body_of: Body of each link, None for frames fixed to the world.
        group: Links connected to the root by fixed joints, the root first.
    """
    held = [
        joint.kind
        for joint in tree.parent_joint.values()
        if body_of[joint.parent] is None
        and body_of[joint.child] is not None
        and not isinstance(joint.kind, Floating)
    ]
    if not held or (len(held) == 1 and isinstance(held[0], Fixed)):
        return ()
    # The world link itself becomes a body only if the robot is connected to it by
    # several joints, or by one that moves.
    leaving = [
        joint for joint in tree.child_joints[tree.root] if not isinstance(joint.kind, Floating)
    ]
    if is_world(tree) and len(leaving) == 1 and isinstance(leaving[0].kind, Fixed):
        return group[1:]
    return group


def _moves(tree: Tree, link: str, base: Base) -> bool:
    """Return whether the body of a link is dynamic."""
    if base is not Base.FIXED:
        return True
    return any(not isinstance(j.kind, Fixed) for j in tree.path_to_root(link))


def _group_bodies(
    tree: Tree, group: tuple[str, ...], *, held: bool, merge: bool
) -> dict[str, str | None]:
    """Assign the links of one group connected by fixed joints to bodies.

    Args:
        tree: The robot.
        group: Links of the group, first link first.
        held: Whether the first link is fixed to the world.
        merge: Whether a link with mass is merged into the body that it is fixed to.
    """
    head = group[0]
    owner: dict[str, str | None] = {head: head}
    if not has_mass(tree.link[head]):
        if not held:
            # The whole group is one body at the frame of its massless first link.
            return dict.fromkeys(group, head)
        owner[head] = None
    heavy = _heavy_branches(tree, group) if merge else frozenset()
    for name in group[1:]:
        joint = tree.parent_joint[name]
        carrier = owner[joint.parent]
        if not merge:
            apart = has_mass(tree.link[name])
        else:
            apart = name in heavy and (carrier is None or joint.dont_collapse)
        owner[name] = name if apart else carrier
    return owner


def _heavy_branches(tree: Tree, group: tuple[str, ...]) -> frozenset[str]:
    """Links of a group with mass, or that are merged with a link with mass."""
    heavy: set[str] = set()
    for name in reversed(group):
        if name in heavy or has_mass(tree.link[name]):
            heavy.add(name)
            joint = tree.parent_joint.get(name)
            if joint and isinstance(joint.kind, Fixed) and not joint.dont_collapse:
                heavy.add(joint.parent)
    return frozenset(heavy)


def _bodies(
    tree: Tree, body_of: dict[str, str | None], invented: list[str], base: Base
) -> tuple[tuple[Body, ...], tuple[str, ...], list[Diagnostic]]:
    rest = rest_poses(tree)
    total = sum(link.mass for link in tree.link.values()) or 1.0
    size = size_at_rest(tree, rest)
    notes: list[Diagnostic] = []
    bodies = []
    negligible = []
    members: dict[str, list[str]] = {}
    for link in tree.links:
        members.setdefault(body_of[link] or "", []).append(link)
    massless = frozenset(invented)
    for name in tree.links:
        if body_of[name] != name:
            continue
        location = tree.link[name].location
        if name in massless:
            mass = INVENTED_MASS * total / len(invented)
            moment = mass * _INVENTED_GYRATION
            bodies.append(Body(name, mass, (0.0, 0.0, 0.0), (moment, 0, 0, moment, 0, moment)))
            notes.append(_regularised(tree, name, mass, base))
            if _moves(tree, name, base):
                negligible.append(name)
            continue
        mass, center, inertia = lumped_inertial(tree, rest, name, members[name])
        largest = max(abs(moment) for moment in principal_inertia(inertia)[0])
        if is_negligible(largest, mass, size) and _moves(tree, name, base):
            negligible.append(name)
        inertia, changes = usable_inertia(inertia, mass, size=size, total=total)
        notes += [Diagnostic(rule, f"link {name!r} {text}", location) for rule, text in changes]
        bodies.append(Body(name, mass, center, inertia))
    return tuple(bodies), tuple(negligible), notes


def _regularised(tree: Tree, link: str, mass: float, base: Base) -> Diagnostic:
    rule, what = "base-regularised", "is the fixed base"
    if _moves(tree, link, base):
        rule, what = "link-regularised", "moves" if link != tree.root else "is the base"
    message = f"link {link!r} {what} and has no mass; it received {mass:.3g} kg"
    return Diagnostic(rule, message, tree.link[link].location)


def _frame_notes(tree: Tree, body_of: dict[str, str | None]) -> list[Diagnostic]:
    notes = []
    for name in tree.links:
        owner = body_of[name]
        if name in (owner, tree.root):
            continue
        where = f"the body of link {owner!r}" if owner else "the world"
        rule, what = "link-massless", "has no mass and is a frame of"
        if has_mass(tree.link[name]):
            rule, what = "link-lumped", "is counted in"
        location = tree.link[name].location
        notes.append(Diagnostic(rule, f"link {name!r} {what} {where}", location))
    return notes


# ---- Mass properties


def usable_inertia(
    inertia: Vec6, mass: float, *, size: float, total: float
) -> tuple[Vec6, tuple[tuple[str, str], ...]]:
    """Return inertia with positive moments about all axes.

    A zero means "compute it" to some consumers of USD, and is refused by others.
    Physically impossible inertia is kept.

    Args:
        inertia: (ixx, ixy, ixz, iyy, iyz, izz) about the centre of mass [kg m^2].
        mass: [kg].
        size: Of the robot [m].
        total: Mass of the robot [kg].

    Returns:
        The inertia, and diagnostics about it: pairs of a rule and a text that continues
        "link NAME".
    """
    moments, quat_wxyz = principal_inertia(inertia)
    largest = max(abs(moment) for moment in moments)
    if is_negligible(largest, mass, size):
        least = min(_LEAST_INERTIA, INVENTED_INERTIA * total * (size * size))
        moment = max(INVENTED_INERTIA * mass * (size * size), least)
        text = f"has {mass:.6g} kg and no inertia; it received {moment:.3g} kg m^2"
        return (moment, 0, 0, moment, 0, moment), (("inertia-regularised", text),)
    changes: tuple[tuple[str, str], ...] = ()
    none = max(SMALLEST, _ROUNDING * largest)
    if abs(min(moments)) <= none:
        floor = max(INVENTED_MOMENT * largest, 2 * SMALLEST)
        a, b, c = (moment if moment > none else floor for moment in moments)
        moments = a, b, c
        inertia = rotate_inertia((a, 0.0, 0.0, b, 0.0, c), quat_wxyz)
        text = f"has no inertia about an axis; it received {floor:.3g} kg m^2 there"
        changes = (("inertia-regularised", text),)
    if problem := _implausible(moments):
        text = f"has principal moments {problem}"
        changes = (*changes, ("inertia-implausible", text))
    return inertia, changes


def is_negligible(moment: float, mass: float, size: float) -> bool:
    """Return whether the largest moment of a body is a rounded zero.

    Args:
        moment: Its size [kg m^2].
        mass: [kg].
        size: Of the robot [m].
    """
    return moment <= max(SMALLEST, NEGLIGIBLE_INERTIA * mass * (size * size))


def _implausible(moments: Vec3) -> str | None:
    a, b, c = sorted(moments)
    text = ", ".join(f"{moment:.4g}" for moment in (a, b, c))
    if a <= 0:
        return f"{text}, which are not all positive"
    if a + b < c * (1 - _TRIANGLE_SLACK):
        return f"{text}, which break A + B >= C"
    return None


def has_mass(link: Link) -> bool:
    """Return whether a link has a mass that is not zero in float32."""
    return link.mass > SMALLEST


def size_at_rest(tree: Tree, rest: dict[str, Pose]) -> float:
    """Return the largest distance of a link or centre of mass from the root [m].

    1 if all are within a nanometre of the root, from which no inertia follows.

    Args:
        tree: The robot.
        rest: Where its links are while all joints are at zero, by name.
    """
    points = []
    for name, pose in rest.items():
        points.append(pose.position)
        if inertial := tree.link[name].inertial:
            points.append(transform_point(pose, inertial.origin.position))
    largest = max(math.hypot(*point) for point in points)
    return largest if largest > _NANOMETRE else 1.0


def lumped_inertial(
    tree: Tree, rest: dict[str, Pose], head: str, members: list[str]
) -> tuple[float, Vec3, Vec6]:
    """Combine the inertials of links fixed to each other; at least one has mass.

    Args:
        tree: The robot.
        rest: Where its links are while all joints are at zero, by name.
        head: The link whose frame the result is expressed in.
        members: The links, in tree order.

    Returns:
        Mass [kg], centre of mass [m], and (ixx, ixy, ixz, iyy, iyz, izz) about it along
        the axes of the head [kg m^2].
    """
    massive = {
        name: inertial
        for name in members
        if has_mass(tree.link[name]) and (inertial := tree.link[name].inertial)
    }
    to_head = invert_pose(rest[head])
    parts = [
        _mass_properties(
            inertial,
            inertial.origin
            if name == head
            else compose(compose(to_head, rest[name]), inertial.origin),
        )
        for name, inertial in massive.items()
    ]
    if len(parts) == 1:
        return parts[0]
    mass = sum(part_mass for part_mass, _, _ in parts)
    x, y, z = (
        sum(part_mass * point[axis] for part_mass, point, _ in parts) / mass + 0.0
        for axis in range(3)
    )
    shifted = (
        shift_inertia(inertia, part_mass, (point[0] - x, point[1] - y, point[2] - z))
        for part_mass, point, inertia in parts
    )
    ixx, ixy, ixz, iyy, iyz, izz = map(sum, zip(*shifted, strict=True))
    return mass, (x, y, z), (ixx, ixy, ixz, iyy, iyz, izz)


def _mass_properties(inertial: Inertial, origin: Pose) -> tuple[float, Vec3, Vec6]:
    """Return mass, centre and inertia of a part with a given inertial frame."""
    x, y, z = (c + 0.0 for c in origin.position)
    return (
        inertial.mass,
        (x, y, z),
        rotate_inertia(inertial.inertia, origin.quat_wxyz),
    )


# Relative error of a rotated tensor, with margin.
_PRODUCT_ROUNDING = 2.0**-48


def principal_inertia(inertia: Vec6) -> tuple[Vec3, Vec4]:
    """Diagonalise inertia; diagonal inertia keeps its values and their order.

    Products of inertia within rounding count as zero: otherwise the principal axes of a
    symmetric body would be noise.

    Returns:
        The three principal moments [kg m^2], and the quaternion wxyz that turns vectors
        along the principal axes into the frame of the inertia.
    """
    ixx, ixy, ixz, iyy, iyz, izz = inertia
    rounding = _PRODUCT_ROUNDING * max(abs(ixx), abs(iyy), abs(izz))
    if max(abs(ixy), abs(ixz), abs(iyz)) <= rounding:
        return (ixx + 0.0, iyy + 0.0, izz + 0.0), (1.0, 0.0, 0.0, 0.0)
    return _diagonalised((ixx, ixy + 0.0, ixz + 0.0, iyy, iyz + 0.0, izz))


# The inertia of a body is diagonalised to be checked, and again to be written.
@lru_cache(maxsize=1024)
def _diagonalised(inertia: Vec6) -> tuple[Vec3, Vec4]:
    moments, axes = diagonalise_inertia(inertia_tensor(inertia))
    return moments, quat_wxyz_from_rotation(axes)
