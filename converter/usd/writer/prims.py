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
    joint: dict[str, Sdf.Path]  # Of joints with a prim; frames of a body have none.
    anchor: Sdf.Path | None  # The added joint between world and root, if any.
    scene: Sdf.Path | None

    @property
    def geometry(self) -> Sdf.Path:
        """Scope of the links."""
        return self.robot.AppendChild("Geometry")

    @property
    def physics(self) -> Sdf.Path:
        """Scope of the joints."""
        return self.robot.AppendChild("Physics")

    @property
    def materials(self) -> Sdf.Path:
        """Scope of the materials."""
        return self.robot.AppendChild("Materials")

    @property
    def colliders(self) -> list[Sdf.Path]:
        """Paths of all collision shapes, also of omitted ones."""
        return [path for paths in self.collision.values() for path in paths]


def place_prims(
    robot_name: str,
    tree: Tree,
    bodies: BodyAssignment,
    nesting: BodyNesting,
    *,
    scene: bool = False,
) -> Prims:
    """Assign paths to all links, shapes and joints, and optionally a scene."""
    body_of = bodies.body_of
    parents: dict[str, str | None] = {}
    children: dict[str | None, list[str]] = {name: [] for name in (None, *tree.links)}
    for name in tree.links:
        joint = tree.parent_joint.get(name)
        # A free body must not inherit the transform of its parent.
        apart = joint and (nesting is BodyNesting.FLAT or isinstance(joint.kind, Floating))
        is_top = joint is None or (apart and body_of[name] == name)
        parents[name] = None if joint is None or is_top else joint.parent
        children[parents[name]].append(name)
    joints = [tree.parent_joint[name] for name in tree.links[1:] if body_of[name] == name]
    joint_names = sibling_names([*(joint.name for joint in joints), ANCHOR, SCENE])
    robot = Sdf.Path.absoluteRootPath.AppendChild(legal_name(robot_name))
    physics = robot.AppendChild("Physics")
    *joint_paths, anchor, scene_path = map(physics.AppendChild, joint_names)
    anchored = bodies.base == "fixed" and body_of[tree.root] is not None
    prims = Prims(
        tree=tree,
        bodies=bodies,
        robot=robot,
        link={},
        link_parent=parents,
        visual={},
        collision={},
        joint=dict(zip((joint.name for joint in joints), joint_paths, strict=True)),
        anchor=anchor if anchored else None,
        scene=scene_path if scene else None,
    )
    top = map(prims.geometry.AppendChild, sibling_names(children[None]))
    prims.link.update(zip(children[None], top, strict=True))
    pending = children[None][::-1]
    while pending:
        name = pending.pop()
        link, below = tree.link[name], children[name]
        visuals = [shape.name or "visual" for shape in link.visuals]
        collisions = [shape.name or "collision" for shape in link.collisions]
        # Links first, so that they keep their names.
        names = sibling_names([*below, *visuals, *collisions])
        paths = tuple(map(prims.link[name].AppendChild, names))
        prims.link.update(zip(below, paths, strict=False))
        shapes = paths[len(below) :]
        prims.visual[name], prims.collision[name] = shapes[: len(visuals)], shapes[len(visuals) :]
        pending += below[::-1]
    return prims


def legal_name(name: str) -> str:
    """Return an ASCII identifier for a name.

    ASCII, because many DCC tools do not support the UTF-8 identifiers of newer USD. The
    original name is kept as ``displayName``.
    """
    legal = _ILLEGAL.sub("_", name)[:_LONGEST]
    return f"_{legal}" if not legal or legal[0].isdigit() else legal


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
    for index, name in enumerate(given):
        if legal_name(name) == name and name not in used:
            result[index] = name
            used.add(name)
    # Last number by stem, to continue the search there.
    numbers: dict[str, int] = {}
    for name, index in sorted((name, i) for i, name in enumerate(given) if i not in result):
        stem = candidate = legal_name(name)
        while candidate in used:
            numbers[stem] = numbers.get(stem, 0) + 1
            candidate = f"{stem}_{numbers[stem]}"
        result[index] = candidate
        used.add(candidate)
    return tuple(result[index] for index in range(len(given)))
