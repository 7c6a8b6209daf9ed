"""From a USD articulation to a robot, by what OpenUSD's physics parser reports.

Rigid bodies become links; so do frames that a conversion marked as links. Joints become
the tree that is rooted at the world, if anything is held to it, or else at the body
that no joint carries. Units and the up axis of the stage may be any.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from pxr import Tf, Usd, UsdPhysics

from urdf_usd.converter.diagnostics import Diagnostic, StageError
from urdf_usd.converter.diagnostics.findings import drain
from urdf_usd.converter.robot.model import (
    IDENTITY,
    NO_CUSTOM,
    WORLD_LINK,
    Fixed,
    Link,
    MeshFile,
    Robot,
)
from urdf_usd.converter.robot.rigid import compose
from urdf_usd.converter.robot.spatial import inverse_transform, pose_from_transform
from urdf_usd.converter.robot.text import robot_line
from urdf_usd.converter.robot.topology import problems
from urdf_usd.converter.usd.loading.layer_files import open_layers
from urdf_usd.converter.usd.loading.stage_values import unusable_values
from urdf_usd.converter.usd.reader.extensions import read_custom, read_robot_custom
from urdf_usd.converter.usd.reader.joints import read_connections
from urdf_usd.converter.usd.reader.links import NO_SHAPES, read_link_prims, read_shapes
from urdf_usd.converter.usd.reader.masses import read_inertials, states_inertial
from urdf_usd.converter.usd.reader.names import legible_name
from urdf_usd.converter.usd.reader.transforms import prim_transforms
from urdf_usd.converter.usd.reader.tree import read_tree

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from urdf_usd.converter.diagnostics.findings import Findings
    from urdf_usd.converter.meshes.polygon_mesh import PolygonMesh
    from urdf_usd.converter.robot.spatial import Matrix
    from urdf_usd.converter.usd.reader.joints import Descriptions
    from urdf_usd.converter.usd.reader.links import LinkPrim, Shapes
    from urdf_usd.converter.usd.reader.transforms import PrimTransforms
    from urdf_usd.converter.usd.reader.tree import StageTree


@dataclass(frozen=True, slots=True, eq=False)
class StageReading:
    """What a USD says.

    Attributes:
        robot: A tree of uniquely named links and joints. USD keeps no mesh files: the
            URI of a mesh is the path of its prim.
        meshes: Surface of every mesh, by that URI, before the mesh's scale.
        diagnostics: What could not be kept, or had to be found out.
    """

    robot: Robot
    meshes: Mapping[str, PolygonMesh]
    diagnostics: tuple[Diagnostic, ...]

    def __repr__(self) -> str:
        return f"<StageReading {robot_line(self.robot, self.diagnostics)}>"


def read_usd(
    path: str | os.PathLike[str], frames: Iterable[str] = (), *, shapes: bool = True
) -> StageReading:
    """Read a robot from a USD file, whoever made it.

    Args:
        path: Root layer. The robot is what its default prim holds; without one, or if
            that holds no robot, what the whole stage holds.
        frames: Names of links that are frames of a body. Our own conversions mark them;
            others leave Xforms that nothing tells from groups of shapes.
        shapes: Whether shapes are wanted, which take as long as all else. Without, they
            are read only where something else follows from them.

    Raises:
        StageError: The stage cannot be opened, or holds no robot that URDF could
            express. So does one whose layers are pipes or devices, too many or too
            large. How long the rest takes, and how much memory, is not limited:
            ``urdf-usd export`` reads in a process of its own.
    """
    return read_stage(open_stage(path), frames, shapes=shapes)


def open_stage(path: str | os.PathLike[str]) -> Usd.Stage:
    """Open a USD file with all payloads, if its files are such that this can end.

    Raises:
        StageError: It cannot be opened, or a file behind it is refused.
    """
    # Composition does not read again what is held meanwhile.
    layers = open_layers(path)
    try:
        stage = Usd.Stage.Open(str(path))
    except Tf.ErrorException as error:
        message = f"{path} cannot be opened: {_reason(error)}"
        raise StageError((Diagnostic("stage-unreadable", message),)) from error
    del layers
    return stage


def _reason(error: Tf.ErrorException) -> str:
    try:
        return str(error).splitlines()[-1].strip()
    except UnicodeDecodeError:
        return "it is no USD, and no text in UTF-8"


def read_stage(
    stage: Usd.Stage, frames: Iterable[str] = (), *, shapes: bool = True
) -> StageReading:
    """Read a robot from an open stage; see :func:`read_usd`.

    Raises:
        StageError: The stage holds no robot that URDF could express.
    """
    (robot, meshes), diagnostics = drain(
        _read(stage, tuple(frames), with_shapes=shapes)
    )
    return StageReading(robot, meshes, diagnostics)


def _read(
    stage: Usd.Stage, frames: tuple[str, ...], *, with_shapes: bool
) -> Findings[tuple[Robot, Mapping[str, PolygonMesh]]]:
    if unusable := tuple(unusable_values(stage)):
        raise StageError(unusable)
    default = stage.GetDefaultPrim()
    found: tuple[LinkPrim, ...] = ()
    for root in filter(None, (default, stage.GetPseudoRoot())):
        descriptions: Descriptions = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(
            stage, [root.GetPath()]
        )
        bodies = descriptions.get(UsdPhysics.ObjectType.RigidBody, ([], []))[0]
        found = yield from read_link_prims(root, bodies, frames)
        if found:
            break
    if not found:
        _refuse("the stage has no rigid body and no link")
    transforms = prim_transforms(stage)
    connections = yield from read_connections(descriptions, transforms, root.GetPath())
    tree = yield from read_tree(found, connections, transforms, root.GetPath())
    shapes = NO_SHAPES
    if with_shapes or _decide(found, stage):
        shapes = yield from read_shapes(root, found, transforms)
    links = yield from _links(tree, shapes, transforms)
    name = legible_name(default) if default else "robot"
    used = {
        shape.geometry.uri
        for link in links
        for shape in link.shapes
        if isinstance(shape.geometry, MeshFile)
    }
    custom = read_robot_custom(default) if default else NO_CUSTOM
    whole = Robot(name, links, tree.joints, custom=custom)
    robot = _without_second_world(whole, tree.world)
    if faults := problems(robot):
        raise StageError(faults)
    return robot, {uri: mesh for uri, mesh in shapes.meshes.items() if uri in used}


def _decide(links: Iterable[LinkPrim], stage: Usd.Stage) -> bool:
    """Return whether anything follows from shapes: a mass, or that a link is bare."""
    return any(
        link.name == WORLD_LINK
        or (link.is_body and not states_inertial(stage.GetPrimAtPath(link.path)))
        for link in links
    )


def _without_second_world(robot: Robot, world: str | None) -> Robot:
    """Leave out a world that holds nothing but a bare root that is called so already.

    A conversion makes a body of such a root where several joints need one.
    """
    holds = [joint for joint in robot.joints if joint.parent == world]
    if len(holds) != 1 or holds[0].child != WORLD_LINK:
        return robot
    (weld,) = holds
    root = next(link for link in robot.links if link.name == weld.child)
    if root.mass or root.shapes or weld.kind != Fixed() or weld.origin != IDENTITY:
        return robot
    return replace(
        robot,
        links=tuple(link for link in robot.links if link.name != world),
        joints=tuple(joint for joint in robot.joints if joint is not weld),
    )


def _refuse(message: str) -> NoReturn:
    raise StageError((Diagnostic("stage-structure", message),))


def _links(
    tree: StageTree, shapes: Shapes, transforms: PrimTransforms
) -> Findings[tuple[Link, ...]]:
    inertials = yield from read_inertials(tree.links, transforms, shapes.colliders)
    links = []
    for link in tree.links:
        own = shapes.by_link.get(link.path)
        links.append(
            Link(
                link.name,
                inertials.get(link.path),
                own.visuals if own else (),
                own.collisions if own else (),
                custom=read_custom(transforms.stage.GetPrimAtPath(link.path)),
            )
        )
        if (frame := tree.moved.get(link.path)) is not None:
            links[-1] = _moved(links[-1], inverse_transform(frame))
    # A world that is no prim appears when a joint holds a body to it.
    world = () if tree.world is None else (Link(tree.world),)
    return (*world, *links)


def _moved(link: Link, to_link: Matrix) -> Link:
    """Express a link's parts in a frame that is not its prim's.

    Args:
        link: In the frame of its prim.
        to_link: (4, 4) transform from there to the link's frame.
    """
    step = pose_from_transform(to_link)
    inertial = link.inertial
    return replace(
        link,
        inertial=inertial and replace(inertial, origin=compose(step, inertial.origin)),
        visuals=tuple(
            replace(visual, origin=compose(step, visual.origin))
            for visual in link.visuals
        ),
        collisions=tuple(
            replace(collision, origin=compose(step, collision.origin))
            for collision in link.collisions
        ),
    )
