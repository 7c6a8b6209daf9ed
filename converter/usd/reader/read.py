"""Reading of a robot from a USD stage, based on OpenUSD's physics parser.

Rigid bodies become links; so do frames that a conversion marked as links. The tree of
joints is rooted at the world if a body is jointed to it, otherwise at the body that is
the child of no joint. All units and up axes are supported.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NoReturn

from msgspec import Struct, field, structs
from pxr import Sdf, Tf, Usd, UsdGeom, UsdPhysics

from urdf_usd.converter.diagnostics import Diagnostic, StageError
from urdf_usd.converter.diagnostics.findings import Findings, drain
from urdf_usd.converter.diagnostics.messages import LONG_TEXT, escaped, truncate
from urdf_usd.converter.meshes.polygon_mesh import PolygonMesh
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.robot.model import (
    IDENTITY,
    NO_CUSTOM,
    WORLD_LINK,
    Fixed,
    Link,
    LoopJoint,
    MeshFile,
    Robot,
)
from urdf_usd.converter.robot.rigid import compose
from urdf_usd.converter.robot.spatial import (
    Matrix,
    inverse_transform,
    pose_from_transform,
)
from urdf_usd.converter.robot.text import robot_line
from urdf_usd.converter.robot.topology import problems
from urdf_usd.converter.usd.loading.layer_files import open_layers
from urdf_usd.converter.usd.loading.stage_values import (
    missing_parts,
    unusable_values,
)
from urdf_usd.converter.usd.loading.variants import (
    select_variants,
    unselected_variant_sets,
)
from urdf_usd.converter.usd.reader.extensions import read_custom, read_robot_custom
from urdf_usd.converter.usd.reader.joints import Descriptions, read_connections
from urdf_usd.converter.usd.reader.links import (
    NO_SHAPES,
    LinkPrim,
    Shapes,
    read_link_prims,
    read_shapes,
)
from urdf_usd.converter.usd.reader.masses import (
    HARMLESS,
    read_inertials,
    states_inertial,
)
from urdf_usd.converter.usd.reader.materials import Texture
from urdf_usd.converter.usd.reader.names import legible_name
from urdf_usd.converter.usd.reader.transforms import PrimTransforms, prim_transforms
from urdf_usd.converter.usd.reader.tree import StageTree, read_tree

# Messages of OpenUSD that are repeated for one error.
_MOST_REASONS = 3


class StageReading(Struct, frozen=True, eq=False):
    """A robot read from a USD.

    Attributes:
        robot: A tree of uniquely named links and joints. The URI of a mesh is the path
            of its prim.
        meshes: Surface of every mesh by that URI, without the mesh's scale.
        diagnostics: Omissions, and values that had to be computed.
        loops: Joints that close loops, which are not in the robot.
        textures: Texture of the colour of a mesh by that URI. The meshes have their
            coordinates; the robot's materials do not refer to them.
    """

    robot: Robot
    meshes: Mapping[str, PolygonMesh]
    diagnostics: tuple[Diagnostic, ...]
    loops: tuple[LoopJoint, ...] = ()
    textures: Mapping[str, Texture] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<StageReading {robot_line(self.robot, self.diagnostics)}>"


def read_usd(
    path: str | os.PathLike[str],
    frames: Iterable[str] = (),
    *,
    shapes: bool = True,
    reversed_limits: Iterable[str] = (),
    root: str | None = None,
    variants: Iterable[VariantChoice] = (),
    strict: bool = False,
) -> StageReading:
    """Read a robot from a USD file of any converter.

    Args:
        path: Root layer. The robot is read below its default prim, otherwise from the
            whole stage.
        frames: Names of links that are frames of a body. Our own conversions mark them;
            in other USDs they cannot be distinguished from groups of shapes.
        shapes: Whether shapes are read, which takes half of the time. If false, they
            are only read if mass properties depend on them.
        reversed_limits: Names of joints that keep their type although the lower limit
            is above the upper one. Our own conversions mark them; others are fixed.
        root: Path of a prim of the robot, if the stage has several: an articulation
            root, a body, or a prim above the bodies of one robot.
        variants: Variants to select.
        strict: Whether to refuse a USD that refers to files outside its folder.

    Raises:
        StageError: The stage cannot be opened, contains no robot that URDF can
            represent or several, or not the selected variants; or its layers are pipes
            or devices, too many or too large. Time and memory are not limited
            otherwise; ``urdf-usd export`` therefore reads in a separate process.
    """
    with _trapped_warnings():
        opened = open_stage(path, variants, strict=strict)
        try:
            reading = read_stage(
                opened.stage,
                frames,
                shapes=shapes,
                reversed_limits=reversed_limits,
                root=root,
            )
        except StageError as error:
            raise StageError(_without_repeats(opened, error)) from error
    diagnostics = (*opened.diagnostics, *reading.diagnostics)
    return structs.replace(reading, diagnostics=diagnostics)


@contextmanager
def _trapped_warnings() -> Iterator[None]:
    """Trap warnings of OpenUSD, which would be printed beside those of the reader."""
    with Tf.DiagnosticTrap() as trap:
        try:
            yield
        finally:
            trap.Clear()


def _without_repeats(opened: OpenedStage, error: StageError) -> tuple[Diagnostic, ...]:
    """Return all diagnostics, without warnings of variant sets that are errors."""
    required = any(each.rule == "variant-required" for each in error.diagnostics)
    kept = (
        each for each in opened.diagnostics if not (required and each.rule == "variant-unselected")
    )
    return (*kept, *error.diagnostics)


class OpenedStage(Struct, frozen=True, eq=False):
    """A stage with all payloads.

    Attributes:
        stage: The stage; its session layer selects variants.
        variants: The variants that were selected, with their prims.
        diagnostics: Files outside the folder of the asset, and variant sets without
            selection.
    """

    stage: Usd.Stage
    variants: tuple[VariantChoice, ...]
    diagnostics: tuple[Diagnostic, ...]


def open_stage(
    path: str | os.PathLike[str],
    variants: Iterable[VariantChoice] = (),
    *,
    optional: bool = False,
    strict: bool = False,
    checked: bool = False,
) -> OpenedStage:
    """Open a USD file with all payloads, after a check of its files.

    Args:
        path: Root layer.
        variants: Variants to select.
        optional: Whether the stage may lack variant sets that ``variants`` names.
        strict: Whether to refuse a USD that refers to files outside its folder.
        checked: Whether its files were checked before, or written by this converter;
            they are not checked, and those outside its folder not reported, then.

    Raises:
        StageError: It cannot be opened, a file behind it is refused, or it lacks a
            variant.
    """
    if escaped(path) != os.fspath(path):
        message = f"{escaped(path)} cannot be opened: its path is not UTF-8; rename it"
        raise StageError((Diagnostic("stage-unreadable", message),))
    # Keeps the layers open, so that composition does not read them again.
    files = None if checked else open_layers(path, strict=strict)
    try:
        stage = Usd.Stage.Open(str(path))
        selected, notes = select_variants(stage, variants, optional=optional)
    except Tf.ErrorException as error:
        message = f"{path} cannot be opened: {_reason(error)}"
        raise StageError((Diagnostic("stage-unreadable", message),)) from error
    unselected = unselected_variant_sets(stage)
    outside = files.outside if files else ()
    return OpenedStage(stage, selected, (*outside, *notes, *unselected))


def _reason(error: Tf.ErrorException) -> str:
    """Return the first messages of OpenUSD, without its source files."""
    try:
        found = dict.fromkeys(" ".join(one.commentary.split()) for one in error.args)
    except UnicodeDecodeError:
        return "it is no USD, and no text in UTF-8"
    return "; ".join(truncate(one, LONG_TEXT) for one in [*found][:_MOST_REASONS])


def read_stage(
    stage: Usd.Stage,
    frames: Iterable[str] = (),
    *,
    shapes: bool = True,
    reversed_limits: Iterable[str] = (),
    root: str | None = None,
) -> StageReading:
    """Read a robot from an open stage; see :func:`read_usd`.

    Raises:
        StageError: The stage contains no robot that URDF can represent.
    """
    try:
        reading, diagnostics = drain(
            _read(
                stage,
                tuple(frames),
                frozenset(reversed_limits),
                root,
                with_shapes=shapes,
            )
        )
    except Tf.ErrorException as error:
        path = stage.GetRootLayer().identifier
        message = f"{path} cannot be read: {_reason(error)}"
        raise StageError((Diagnostic("stage-unreadable", message),)) from error
    # A material of several shapes is reported once.
    return structs.replace(reading, diagnostics=tuple(dict.fromkeys(diagnostics)))


def _read(
    stage: Usd.Stage,
    frames: tuple[str, ...],
    reversed_limits: frozenset[str],
    chosen: str | None,
    *,
    with_shapes: bool,
) -> Findings[StageReading]:
    if unusable := (*missing_parts(stage), *unusable_values(stage)):
        raise StageError(unusable)
    default = stage.GetDefaultPrim()
    named = None if chosen is None else named_prim(stage, chosen)
    if named is not None and not (default and named.GetPath().HasPrefix(default.GetPath())):
        # The whole stage is read then.
        default = Usd.Prim()
    found: tuple[LinkPrim, ...] = ()
    for root in filter(None, (default, stage.GetPseudoRoot())):
        descriptions: Descriptions = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(
            stage, [root.GetPath()]
        )
        bodies = descriptions.get(UsdPhysics.ObjectType.RigidBody, ([], []))[0]
        found = read_link_prims(root, bodies, frames)
        if found:
            break
    if not found:
        nothing = "the stage has no rigid body and no link"
        if unselected := tuple(unselected_variant_sets(stage)):
            raise StageError(
                tuple(
                    Diagnostic("variant-required", f"{nothing}: {each.message}")
                    for each in unselected
                )
            )
        _refuse(nothing)
    transforms = prim_transforms(stage)
    connections = yield from read_connections(descriptions, transforms, root.GetPath())
    tree = yield from read_tree(
        found,
        connections,
        transforms,
        root.GetPath(),
        reversed_limits,
        named=None if named is None else named.GetPath(),
    )
    shapes = NO_SHAPES
    if with_shapes or _decide(tree.links, stage):
        others = {link.path for link in found} - {link.path for link in tree.links}
        shapes = yield from read_shapes(root, tree.links, transforms, others)
    links = yield from _links(tree, shapes, transforms)
    name = legible_name(default) if default else "robot"
    if named is not None:
        name = _robot_name(named, tree)
    used = {
        shape.geometry.uri
        for link in links
        for shape in link.shapes
        if isinstance(shape.geometry, MeshFile)
    }
    custom = read_robot_custom(default) if default else NO_CUSTOM
    whole = Robot(name, links, tree.joints, custom=custom)
    robot = _without_second_world(whole, tree.world)
    if faults := (*problems(robot), *_undefined(robot)):
        raise StageError(faults)
    meshes = {uri: mesh for uri, mesh in shapes.meshes.items() if uri in used}
    return StageReading(robot, meshes, (), tree.loops, shapes.textures)


def named_prim(stage: Usd.Stage, path: str) -> Usd.Prim:
    """Return the prim that ``--root`` names.

    Raises:
        StageError: There is none.
    """
    valid = Sdf.Path.IsValidPathString(path) and Sdf.Path(path).IsAbsolutePath()
    prim = stage.GetPrimAtPath(path) if valid else None
    if not prim or prim.IsPseudoRoot():
        message = f"the stage has no prim {path}, which --root names"
        raise StageError((Diagnostic("stage-structure", message),))
    return prim


def _robot_name(named: Usd.Prim, tree: StageTree) -> str:
    """Return the name of a prim above all bodies: the named one, or their nearest.

    Scopes have no name of a robot, nor has the body that others are nested below.
    """
    paths = [link.path for link in tree.links if link.is_body]
    above = paths[0]
    for path in paths:
        above = above.GetCommonPrefix(path)
    if above.HasPrefix(named.GetPath()):
        above = named.GetPath()
    bodies = set(paths) if len(paths) > 1 else set[Sdf.Path]()
    prim = named.GetStage().GetPrimAtPath(above)
    while not prim.IsPseudoRoot() and (prim.GetPath() in bodies or prim.IsA(UsdGeom.Scope)):
        prim = prim.GetParent()
    return legible_name(named if prim.IsPseudoRoot() else prim)


def _undefined(robot: Robot) -> Iterator[Diagnostic]:
    """Find links and joints with NaN, which finite values of a stage can result in."""
    for kind, parts in (("link", robot.links), ("joint", robot.joints)):
        for part in parts:
            if _has_nan(part):
                message = f"values of {kind} {part.name!r} are not a number"
                yield Diagnostic("stage-value", message)


def _has_nan(value: object) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    if isinstance(value, tuple):
        return any(map(_has_nan, value))
    if isinstance(value, Struct):
        return any(_has_nan(getattr(value, name)) for name in value.__struct_fields__)
    return False


def _decide(links: Iterable[LinkPrim], stage: Usd.Stage) -> bool:
    """Return whether a mass, or the kind of a link named world, depends on shapes."""
    return any(
        link.name == WORLD_LINK
        or (link.is_body and not states_inertial(stage.GetPrimAtPath(link.path)))
        for link in links
    )


def _without_second_world(robot: Robot, world: str | None) -> Robot:
    """Remove an added world link if the root is an empty link named world.

    A conversion makes a body of such a root, with a harmless mass, if several joints
    or a moving one are connected to it. That mass is no data of the robot.
    """
    holds = [joint for joint in robot.joints if joint.parent == world]
    if len(holds) != 1 or holds[0].child != WORLD_LINK:
        return robot
    (weld,) = holds
    root = next(link for link in robot.links if link.name == weld.child)
    if root.shapes or weld.kind != Fixed() or weld.origin != IDENTITY:
        return robot
    if root.mass > HARMLESS * max(math.fsum(link.mass for link in robot.links), 1.0):
        return robot
    links = (link for link in robot.links if link.name != world)
    return structs.replace(
        robot,
        links=tuple(
            structs.replace(link, inertial=None) if link is root and link.mass else link
            for link in links
        ),
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
    # A world link without prim is added if a body is jointed to the world.
    world = () if tree.world is None else (Link(tree.world),)
    return (*world, *links, *tree.intermediate)


def _moved(link: Link, to_link: Matrix) -> Link:
    """Transform the parts of a link into another frame.

    Args:
        link: The link, in the frame of its prim.
        to_link: (4, 4) transform from the prim's frame to the link's frame.
    """
    step = pose_from_transform(to_link)
    inertial = link.inertial
    return structs.replace(
        link,
        inertial=inertial and structs.replace(inertial, origin=compose(step, inertial.origin)),
        visuals=tuple(
            structs.replace(visual, origin=compose(step, visual.origin)) for visual in link.visuals
        ),
        collisions=tuple(
            structs.replace(collision, origin=compose(step, collision.origin))
            for collision in link.collisions
        ),
    )
