"""Prim paths of all parts of a robot."""

from __future__ import annotations

from msgspec import Struct
from pxr import Sdf

from urdf_usd.converter.options import BodyNesting
from urdf_usd.converter.robot.bodies import BodyAssignment
from urdf_usd.converter.robot.model import Floating, Joint
from urdf_usd.converter.robot.topology import Tree
from urdf_usd.converter.usd.writer.names import legal_name, sibling_names

GEOMETRY = "Geometry"
PHYSICS = "Physics"
MATERIALS = "Materials"
# Joint that fixes the base if the URDF has no joint to the world.
ANCHOR = "base_anchor"
SCENE = "PhysicsScene"


class Prims(Struct, frozen=True):
    """Paths of a robot's prims.

    Attributes:
        robot: Default prim.
        link: Link prim by link name.
        link_parent: Link whose prim is the parent of a link's prim; None for the
            geometry scope.
        visual: Prims of a link's visuals, in their order.
        collision: Prims of a link's collisions, in their order.
        joint: Joint prims by joint name, of joints with a prim.
        anchor: Prim of the added joint between world and root, if any.
        scene: Prim of the physics scene, if any.
    """

    robot: Sdf.Path
    link: dict[str, Sdf.Path]
    link_parent: dict[str, str | None]
    visual: dict[str, tuple[Sdf.Path, ...]]
    collision: dict[str, tuple[Sdf.Path, ...]]
    joint: dict[str, Sdf.Path]
    anchor: Sdf.Path | None
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
    body_assignment: BodyAssignment,
    nesting: BodyNesting,
    *,
    scene: bool = False,
) -> Prims:
    """Assign paths to all links, shapes and joints, and optionally a scene."""
    robot = Sdf.Path.absoluteRootPath.AppendChild(legal_name(robot_name))
    parents = {name: _prim_parent(name, tree, body_assignment, nesting) for name in tree.links}
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

    joints = [joint for joint in _joints(tree) if _has_prim(joint, body_assignment)]
    names = [joint.name for joint in joints]
    anchored = body_assignment.base == "fixed" and body_assignment.body_of[tree.root] is not None
    *joint_prims, anchor, scene_prim = sibling_names([*names, ANCHOR, SCENE])
    physics = robot.AppendChild(PHYSICS)
    return Prims(
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


def _joints(tree: Tree) -> list[Joint]:
    return [tree.parent_joint[name] for name in tree.links if name != tree.root]


def _has_prim(joint: Joint, body_assignment: BodyAssignment) -> bool:
    """Return whether a joint connects bodies; frames of a body have no joint prim."""
    return body_assignment.body_of[joint.child] == joint.child


def _prim_parent(
    name: str, tree: Tree, body_assignment: BodyAssignment, nesting: BodyNesting
) -> str | None:
    """Return the link whose prim is the parent of a link's prim."""
    joint = tree.parent_joint.get(name)
    if joint is None:
        return None
    is_body = body_assignment.body_of[name] == name
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
