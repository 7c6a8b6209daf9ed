"""Names and paths of the prims of a robot."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct
from pxr import Sdf

from urdf_usd.converter.options import BodyNesting
from urdf_usd.converter.robot.bodies import BodyAssignment
from urdf_usd.converter.robot.model import Floating
from urdf_usd.converter.robot.topology import Tree

GEOMETRY = "Geometry"
PHYSICS = "Physics"
MATERIALS = "Materials"
# Joint that fixes the base if the URDF has no joint to the world.
ANCHOR = "base_anchor"
SCENE = "PhysicsScene"
_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")
# Longer names are valid, but unreadable in tree views.
_LONGEST = 200


class Prims(Struct, frozen=True, eq=False):
    """A robot, its bodies, and the paths of its prims."""

    tree: Tree
    bodies: BodyAssignment
    robot: Sdf.Path  # The default prim.
    link: dict[str, Sdf.Path]
    # Link whose prim is the parent of a link's prim; None for the geometry scope.
    link_parent: dict[str, str | None]
    visual: dict[str, tuple[Sdf.Path, ...]]  # Of a link's visuals, in their order.
    collision: dict[str, tuple[Sdf.Path, ...]]
    joint: dict[str, Sdf.Path]  # Of joints with a prim.
    anchor: Sdf.Path | None  # The added joint between world and root, if any.
    scene: Sdf.Path | None

    @property
    def geometry(self) -> Sdf.Path:
        """Scope of the links."""
        return self.robot.AppendChild(GEOMETRY)

    @property
    def physics(self) -> Sdf.Path:
        """Scope of the joints."""
        return self.robot.AppendChild(PHYSICS)

    @property
    def materials(self) -> Sdf.Path:
        """Scope of the materials."""
        return self.robot.AppendChild(MATERIALS)


def place_prims(
    robot_name: str,
    tree: Tree,
    bodies: BodyAssignment,
    nesting: BodyNesting,
    *,
    scene: bool = False,
) -> Prims:
    """Assign paths to all links, shapes and joints, and optionally a scene."""
    robot = Sdf.Path.absoluteRootPath.AppendChild(legal_name(robot_name))
    parents = {name: _prim_parent(name, tree, bodies, nesting) for name in tree.links}
    children: dict[str | None, list[str]] = {None: []}
    for name in tree.links:
        children.setdefault(parents[name], []).append(name)

    link: dict[str, Sdf.Path] = {}
    visual: dict[str, tuple[Sdf.Path, ...]] = {}
    collision: dict[str, tuple[Sdf.Path, ...]] = {}
    top = children[None]
    scope = robot.AppendChild(GEOMETRY)
    for name, prim_name in zip(top, sibling_names(top), strict=True):
        link[name] = scope.AppendChild(prim_name)
    for name in _prim_order(children):
        part = tree.link[name]
        below = children.get(name, [])
        # Links first, so that they keep their names.
        prim_names = sibling_names(
            [
                *below,
                *(shape.name or "visual" for shape in part.visuals),
                *(shape.name or "collision" for shape in part.collisions),
            ]
        )
        paths = tuple(link[name].AppendChild(prim_name) for prim_name in prim_names)
        link.update(zip(below, paths, strict=False))
        shapes = paths[len(below) :]
        visual[name] = shapes[: len(part.visuals)]
        collision[name] = shapes[len(part.visuals) :]

    # Frames of a body have no joint prim.
    joints = [tree.parent_joint[name] for name in tree.links if name != tree.root]
    joints = [joint for joint in joints if bodies.body_of[joint.child] == joint.child]
    names = [joint.name for joint in joints]
    anchored = bodies.base == "fixed" and bodies.body_of[tree.root] is not None
    *joint_prims, anchor, scene_prim = sibling_names([*names, ANCHOR, SCENE])
    physics = robot.AppendChild(PHYSICS)
    return Prims(
        tree=tree,
        bodies=bodies,
        robot=robot,
        link=link,
        link_parent=parents,
        visual=visual,
        collision=collision,
        joint={
            name: physics.AppendChild(prim_name)
            for name, prim_name in zip(names, joint_prims, strict=True)
        },
        anchor=physics.AppendChild(anchor) if anchored else None,
        scene=physics.AppendChild(scene_prim) if scene else None,
    )


def _prim_parent(name: str, tree: Tree, bodies: BodyAssignment, nesting: BodyNesting) -> str | None:
    """Return the link whose prim is the parent of a link's prim."""
    joint = tree.parent_joint.get(name)
    if joint is None:
        return None
    is_body = bodies.body_of[name] == name
    # A free body must not inherit the transform of its parent.
    if is_body and (nesting is BodyNesting.FLAT or isinstance(joint.kind, Floating)):
        return None
    return joint.parent


def _prim_order(children: dict[str | None, list[str]]) -> list[str]:
    """Return the links in prim order, parents before children."""
    order: list[str] = []
    pending = list(reversed(children[None]))
    while pending:
        name = pending.pop()
        order.append(name)
        pending.extend(reversed(children.get(name, [])))
    return order


def legal_name(name: str) -> str:
    """Return an ASCII identifier for a name.

    ASCII, because many DCC tools do not support the UTF-8 identifiers of newer USD. The
    original name is kept as ``displayName``.
    """
    legal = _ILLEGAL.sub("_", name)[:_LONGEST]
    if not legal or legal[0].isdigit():
        legal = f"_{legal}"
    return legal


def sibling_names(names: Iterable[str], taken: Iterable[str] = ()) -> tuple[str, ...]:
    """Return unique names for all children of a prim.

    Valid names are kept; the others get a number if necessary. Only the numbers of
    equal names depend on their order.

    Args:
        names: Names in order; repeats are allowed.
        taken: Names of existing siblings.

    Returns:
        One name per input, in order, all different.
    """
    given = tuple(names)
    used = set(taken)
    result: dict[int, str] = {}
    # Last number by stem, to continue the search there.
    numbers: dict[str, int] = {}
    for index, name in enumerate(given):
        if legal_name(name) == name and name not in used:
            result[index] = name
            used.add(name)
    left = [(name, index) for index, name in enumerate(given) if index not in result]
    for name, index in sorted(left):
        stem = candidate = legal_name(name)
        number = numbers.get(stem, 0)
        while candidate in used:
            number += 1
            candidate = f"{stem}_{number}"
        numbers[stem] = number
        result[index] = candidate
        used.add(candidate)
    return tuple(result[index] for index in range(len(given)))
