"""Reading of a robot from a USD stage, by the reading of the ``openusd`` engine.

Rigid bodies become links; so do frames that a conversion marked as links. All units and up axes are
supported.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping

from msgspec import Struct, field, structs
from pxr import Tf, Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines.openusd import reading as stages
from urdf_usd.conformance.engines.openusd.values import read_authored, unusable_values
from urdf_usd.conformance.engines.statements import inverses
from urdf_usd.conformance.export import links as contents
from urdf_usd.conformance.export import mechanism as mechanisms
from urdf_usd.conformance.export.shapes import NO_SHAPES, Texture, read_shapes
from urdf_usd.converter.diagnostics import Diagnostic, StageError
from urdf_usd.converter.inspection import Inspection, MeshExtents, inspect, measure_mesh, with_paths
from urdf_usd.converter.meshes.mesh import PolygonMesh
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.spatial import compose, pose_from_transform
from urdf_usd.converter.robot.topology import problems
from urdf_usd.converter.usd import loading


class StageReading(Struct, frozen=True, eq=False):
    robot: m.Robot  # uniquely named links and joints; the URI of a mesh is the path of its prim
    meshes: Mapping[str, PolygonMesh]  # by that URI, without the mesh's scale
    diagnostics: tuple[Diagnostic, ...]  # omissions, and values that had to be computed
    loops: tuple[m.LoopJoint, ...] = ()  # joints that close loops, which are not in the robot
    # Texture of the colour of a mesh by its URI. The meshes have their coordinates; the robot's
    # materials do not refer to them.
    textures: Mapping[str, Texture] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<StageReading {m.robot_line(self.robot, self.diagnostics)}>"


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
        path: Root layer. The robot is read below its default prim, otherwise from the whole stage.
        frames: Names of links that are frames of a body. Our own conversions mark them; in other
            USDs they cannot be distinguished from groups of shapes.
        shapes: Whether shapes are read, which takes half of the time.
        reversed_limits: Names of joints that keep their type although the lower limit is above the
            upper one. Our own conversions mark them; others are fixed.
        root: Path of a prim of the robot, if the stage has several: an articulation root, a body,
            or a prim above the bodies of one robot.
        variants: Variants to select.
        strict: Whether to refuse a USD that refers to files outside its folder.

    Raises:
        StageError: The stage cannot be opened, contains no robot that URDF can represent or
            several, or not the selected variants; or its layers are pipes or devices, too many or
            too large. Time and memory are not limited otherwise; ``urdf-usd export`` therefore
            reads in a separate process.
    """
    # Warnings of OpenUSD would be printed beside those of the reader.
    with Tf.DiagnosticTrap() as trap:
        try:
            opened = loading.open_stage(path, variants, strict=strict)
            try:
                reading = read_stage(
                    opened.stage, frames, shapes=shapes, reversed_limits=reversed_limits, root=root
                )
            except StageError as error:
                # Warnings of variant sets may be errors then.
                required = any(each.rule == "variant-required" for each in error.diagnostics)
                repeated = "variant-unselected" if required else None
                kept = (each for each in opened.diagnostics if each.rule != repeated)
                raise StageError((*kept, *error.diagnostics)) from error
        finally:
            trap.Clear()
    return structs.replace(reading, diagnostics=(*opened.diagnostics, *reading.diagnostics))


def inspect_usd(
    usd: str | os.PathLike[str], *, variants: Iterable[VariantChoice] = (), strict: bool = False
) -> tuple[Inspection, tuple[Diagnostic, ...]]:
    """Read a robot from a USD file and measure it; for arguments and errors see :func:`read_usd`.

    Its meshes have the paths of their prims. The diagnostics are those of the reader.
    """
    reading = read_usd(usd, variants=variants, strict=strict)
    extents = MeshExtents({uri: measure_mesh(mesh) for uri, mesh in reading.meshes.items()}, ())
    return inspect(with_paths(reading.robot), extents), reading.diagnostics


def read_stage(
    stage: Usd.Stage,
    frames: Iterable[str] = (),
    *,
    shapes: bool = True,
    reversed_limits: Iterable[str] = (),
    root: str | None = None,
) -> StageReading:
    """Read a robot from an open stage; see :func:`read_usd`."""
    notes: list[Diagnostic] = []
    # Errors are raised with what was noted before.
    try:
        missing = [Diagnostic("stage-incomplete", part) for part in stages.missing_parts(stage)]
        unusable = [*unusable_values(stage, read_authored(stage), any_precision=True)]
        if (up := UsdGeom.GetStageUpAxis(stage)) == "X":
            unusable.append(f"upAxis is {up} in @{stage.GetRootLayer().identifier}@, not Y or Z")
        if missing or unusable:
            raise StageError((*missing, *(Diagnostic("stage-value", text) for text in unusable)))
        lowered = list(stages.lower_colliders(stage))
        named = None if root is None else loading.named_prim(stage, root)
        default = stage.GetDefaultPrim()
        if named is not None and not (default and named.GetPath().HasPrefix(default.GetPath())):
            # The whole stage is read then.
            default = Usd.Prim()
        # Links below the default prim, otherwise of the whole stage.
        frames, found = tuple(frames), []
        for above in filter(None, (default, stage.GetPseudoRoot())):
            reading = stages.parse_physics(stage, above)
            if found := mechanisms.find_links(reading, frames):
                break
        else:
            nothing = "the stage has no rigid body and no link"
            required = [
                Diagnostic("variant-required", f"{nothing}: {each.message}")
                for each in loading.unselected_variant_sets(stage)
            ]
            raise StageError(tuple(required) or (Diagnostic("stage-structure", nothing),))
        joints = mechanisms.read_connections(reading, notes)
        members = mechanisms.choose_robot(
            found, joints, stage, named and str(named.GetPath()), notes
        )
        mechanism = mechanisms.read_mechanism(
            reading,
            [link for link in found if link.body == stages.WORLD or link.body in members],
            [joint for joint in joints if members.issuperset({*joint.bodies} - {stages.WORLD})],
            frozenset(reversed_limits),
            notes,
        )
        paths = {link.path for link in found}
        others = paths - {link.path for link in mechanism.links}
        for collider, meshes in lowered:
            if mechanisms.nearest(str(collider), paths) not in others:
                what = f"its meshes collide: {', '.join(meshes)}"
                what = what if meshes else "no mesh is its child, so that nothing collides"
                message = f"collider {collider} is no gprim; as in PhysX, {what}"
                notes.append(Diagnostic("collider-no-gprim", message))
        all_shapes = NO_SHAPES
        # An empty link of that name is the world.
        if shapes or any(link.name == m.WORLD_LINK for link in mechanism.links):
            all_shapes = read_shapes(reading, mechanism.links, others, notes)
        inertials = contents.read_inertials(mechanism.links, reading, notes)
        links = [] if mechanism.world is None else [m.Link(mechanism.world)]
        for link in mechanism.links:
            inertial, custom = inertials[link.path], contents.read_custom(reading.prim(link.path))
            visuals = all_shapes.visuals.get(link.path, ())
            collisions = all_shapes.collisions.get(link.path, ())
            if (frame := mechanism.moved.get(link.path)) is not None:
                # From the frame of the prim into that of the link.
                step = pose_from_transform(inverses(frame))
                inertial = inertial and structs.replace(
                    inertial, origin=compose(step, inertial.origin)
                )
                visuals = tuple(structs.replace(x, origin=compose(step, x.origin)) for x in visuals)
                collisions = tuple(
                    structs.replace(x, origin=compose(step, x.origin)) for x in collisions
                )
            links.append(m.Link(link.name, inertial, visuals, collisions, custom=custom))
        links += mechanism.intermediate
        # Neither one of several bodies, nor a joint or scope has the name of a robot.
        above = named if len(members) > 1 else None
        while above and (above.HasAPI(UsdPhysics.RigidBodyAPI) or not above.IsA(UsdGeom.Xform)):
            above = above.GetParent()
        named = above or named or default
        name = contents.legible_name(named) if named else "robot"
        custom = contents.read_robot_custom(default) if default else m.NO_CUSTOM
        robot = m.Robot(name, tuple(links), mechanism.joints, custom=custom)
        robot = _without_second_world(robot, mechanism.world)
        # Finite values of a stage can result in NaN.
        undefined = (
            Diagnostic("stage-value", f"values of {kind} {part.name!r} are not a number")
            for kind, parts in (("link", robot.links), ("joint", robot.joints))
            for part in parts
            if _has_nan(part)
        )
        if faults := (*problems(robot), *undefined):
            raise StageError(faults)
        geometries = [shape.geometry for link in robot.links for shape in link.shapes]
        used = {geometry.uri for geometry in geometries if isinstance(geometry, m.MeshFile)}
        kept = {uri: mesh for uri, mesh in all_shapes.meshes.items() if uri in used}
        # A material of several shapes is reported once.
        diagnostics = tuple(dict.fromkeys(notes))
        return StageReading(robot, kept, diagnostics, mechanism.loops, all_shapes.textures)
    except Tf.ErrorException as error:
        path = stage.GetRootLayer().identifier
        message = f"{path} cannot be read: {loading.openusd_reason(error)}"
        raise StageError((*notes, Diagnostic("stage-unreadable", message))) from error
    except StageError as error:
        raise StageError((*notes, *error.diagnostics)) from error


def _without_second_world(robot: m.Robot, world: str | None) -> m.Robot:
    """Remove an added world link if the root is an empty link named world."""
    # A conversion makes a body of such a root, with a harmless mass, if several joints or a moving
    # one are connected to it. That mass is no data of the robot.
    holds = [joint for joint in robot.joints if joint.parent == world]
    if len(holds) != 1 or holds[0].child != m.WORLD_LINK:
        return robot
    (weld,) = holds
    root = next(link for link in robot.links if link.name == weld.child)
    heaviest = contents.HARMLESS * max(math.fsum(link.mass for link in robot.links), 1.0)
    if root.shapes or weld.kind != m.Fixed() or weld.origin != m.IDENTITY or root.mass > heaviest:
        return robot
    plain = structs.replace(root, inertial=None) if root.mass else root
    links = tuple(plain if x is root else x for x in robot.links if x.name != world)
    joints = tuple(joint for joint in robot.joints if joint is not weld)
    return structs.replace(robot, links=links, joints=joints)


def _has_nan(value: object) -> bool:
    match value:
        case float():
            return math.isnan(value)
        case m.Material():
            return not all(map(math.isfinite, value.rgba or ()))
        case tuple():
            return any(map(_has_nan, value))
        case Struct():
            return any(_has_nan(getattr(value, name)) for name in value.__struct_fields__)
    return False
