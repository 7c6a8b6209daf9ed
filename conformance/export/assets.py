"""Export of a USD asset: its robot, by the reading of ``openusd``, and a URDF with mesh files.

Rigid bodies become links; so do frames that a conversion marked as links. All units and up axes are
supported.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field, structs
from pxr import Ar, Tf, Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines.openusd import reading as stages
from urdf_usd.conformance.engines.openusd.values import read_authored, unusable_values
from urdf_usd.conformance.engines.statements import inverses
from urdf_usd.conformance.export import links as contents
from urdf_usd.conformance.export import mechanism as mechanisms
from urdf_usd.conformance.export.shapes import Shapes, Texture, read_shapes
from urdf_usd.converter.diagnostics import AuthoringError, Diagnostic, StageError
from urdf_usd.converter.file_content import has_mark, is_same_file
from urdf_usd.converter.inspection import Inspection, MeshExtents, inspect, measure_mesh, with_paths
from urdf_usd.converter.meshes.mesh import PolygonMesh
from urdf_usd.converter.meshes.obj import obj_text
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.joint_chains import is_marked
from urdf_usd.converter.robot.spatial import compose, pose_from_transform
from urdf_usd.converter.robot.topology import problems
from urdf_usd.converter.scratch import scratch_folder
from urdf_usd.converter.urdf.write import extend_for_mujoco, mjcf_text, write
from urdf_usd.converter.urdf.xml import writable
from urdf_usd.converter.usd import loading
from urdf_usd.converter.usd.writer.specs import legal_name, sibling_names
from urdf_usd.converter.usd.writer.textures import IMAGE_TYPES, LARGEST_IMAGE

MESHES = "meshes"
# Identifies files that may be replaced.
_MARK = "Written by urdf-usd export"
_Shape = TypeVar("_Shape", m.Visual, m.Collision)


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
    usable: bool = False,
) -> StageReading:
    """Read a robot from an open stage, whose values may be known to be usable; see `read_usd`."""
    notes: list[Diagnostic] = []
    # Errors are raised with what was noted before.
    try:
        missing = [Diagnostic("stage-incomplete", part) for part in stages.missing_parts(stage)]
        authored = [] if usable else read_authored(stage)
        unusable = [*unusable_values(stage, authored, any_precision=True)]
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
        mechanism = mechanisms.Mechanism(
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
        all_shapes = Shapes()
        # An empty link of that name is the world.
        if shapes or any(link.name == m.WORLD_LINK for link in mechanism.links):
            all_shapes = read_shapes(reading, mechanism.links, others, notes)
        inertials = contents.read_inertials(mechanism.links, reading, notes)
        links = [] if mechanism.world is None else [m.Link(mechanism.world)]
        for link in mechanism.links:
            inertial, custom = inertials[link.path], contents.read_custom(reading.prim(link.path))
            visuals = tuple(all_shapes.visuals.get(link.path, ()))
            collisions = tuple(all_shapes.collisions.get(link.path, ()))
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
        robot = m.Robot(name, tuple(links), tuple(mechanism.joints), custom=custom)
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


class Export(Struct, frozen=True):
    urdf: Path  # the file
    robot: m.Robot  # as written
    diagnostics: tuple[Diagnostic, ...]  # content of the USD that is not representable

    def __repr__(self) -> str:
        line = m.robot_line(self.robot, self.diagnostics)
        return f"<Export {str(self.urdf)!r}: {line}>"


def export(
    usd: str | os.PathLike[str],
    urdf: str | os.PathLike[str],
    *,
    force: bool = False,
    root: str | None = None,
    loops: bool = False,
    variants: Iterable[VariantChoice] = (),
    strict: bool = False,
) -> Export:
    """Write the robot in a USD file as URDF.

    Meshes and textures are written to ``meshes/`` in the URDF's folder and referred to
    by relative paths. All files are written to a temporary folder first and then moved.

    A joint of several axes becomes a chain of joints, which a conversion puts together
    again.

    Args:
        usd: Root layer of a USD, from any converter.
        urdf: File to write; its folder is created if necessary.
        force: Whether files that were not written by an export of this URDF may be
            replaced.
        root: Path of a prim of the robot, if the stage has several: an articulation
            root, a body, or a prim above the bodies of one robot.
        loops: Whether to write joints that close loops, as custom elements of the URDF
            and as constraints in an MJCF file of its name that attaches it.
        variants: Variants to select in the USD.
        strict: Whether to refuse a USD that refers to files outside its folder.

    Raises:
        ConversionError: The robot cannot be read or written; nothing was changed.
    """
    prepared = prepare_export(usd, urdf, root=root, loops=loops, variants=variants, strict=strict)
    return write_export(prepared, force=force)


class PreparedExport(Struct, frozen=True, eq=False):
    export: Export
    # Content of each file, by path relative to the URDF's folder; the URDF is last.
    files: Mapping[str, bytes]


def prepare_export(
    usd: str | os.PathLike[str],
    urdf: str | os.PathLike[str],
    *,
    root: str | None = None,
    loops: bool = False,
    variants: Iterable[VariantChoice] = (),
    strict: bool = False,
) -> PreparedExport:
    """Read the robot in a USD file, without writing; for arguments and errors see :func:`export`.

    The URDF must not replace the USD (AuthoringError).
    """
    target = Path(urdf)
    try:
        replaces = is_same_file(target, Path(usd))
    except (OSError, ValueError) as error:
        message = f"{target} cannot be written: {error}"
        raise AuthoringError((Diagnostic("target-unwritable", message),)) from error
    if replaces:
        message = f"{target} is the USD that is exported, and is not overwritten"
        raise AuthoringError((Diagnostic("target-exists", message),))
    reading = read_usd(usd, root=root, variants=variants, strict=strict)
    mark, notes = _mark(target), list(reading.diagnostics)
    images = _read_images(reading.textures, notes)
    robot, files = _with_mesh_files(reading, images, mark)
    files |= {f"{MESHES}/{name}": content for name, content in images.values()}
    cut = reading.loops if loops else ()
    if cut or any(is_marked(joint) for joint in robot.joints):
        robot = extend_for_mujoco(robot, cut, notes)
    if cut:
        name = target.with_suffix(".mjcf").name
        files[name] = mjcf_text(target.name, robot, cut, mark)
        notes = [note for note in notes if note.rule != "joint-loop-opened"]
    files[target.name] = write(robot, comment=mark)
    return PreparedExport(Export(target, robot, tuple(notes)), files)


def write_export(prepared: PreparedExport, *, force: bool = False) -> Export:
    """Write the files of an export, or none of them (AuthoringError); see :func:`export`."""
    target, files = prepared.export.urdf, prepared.files
    try:
        # Other files are not replaced. Images contain no mark, but the same content.
        mark = _mark(target).encode().lower()
        foreign = [
            path
            for path, content in ((target.parent / name, files[name]) for name in files)
            if not force
            and path.exists()
            and not has_mark(path, mark)
            and not (path.is_file() and path.read_bytes() == content)
        ]
        if foreign:
            others = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
            message = f"{foreign[0]}{others} was not written by an export of {target.name}"
            message = f"{message}; --force replaces it"
            raise AuthoringError((Diagnostic("target-exists", message),))
        folder = target.parent.absolute()
        above = next(one for one in (folder, *folder.parents) if one.is_dir())
        with scratch_folder(above) as scratch:
            for index, content in enumerate(files.values()):
                (scratch / str(index)).write_bytes(content)
            _place([target.parent / name for name in files], scratch)
    except (OSError, ValueError) as error:
        # ValueError: a name that no file can have
        reason = error.strerror if isinstance(error, OSError) else None
        message = f"{target} cannot be written: {reason or error}"
        raise AuthoringError((Diagnostic("target-unwritable", message),)) from error
    return prepared.export


def _place(paths: Sequence[Path], scratch: Path) -> None:
    """Move numbered files to all paths or none; the last file is moved last."""
    new: list[Path] = []
    try:
        for index, path in enumerate(paths):
            for missing in [one for one in (path, *path.parents) if not one.exists()][::-1]:
                new.append(missing)
                if missing != path:
                    missing.mkdir()
            (scratch / str(index)).replace(path)
    except (OSError, ValueError):
        for path in reversed(new):
            path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        raise


def _mark(target: Path) -> str:
    """Return the comment that identifies our files; XML forbids double hyphens."""
    return writable(f"{_MARK}: {target.name}".replace("--", "- -").rstrip("-"))


def _read_images(
    textures: Mapping[str, Texture], notes: list[Diagnostic]
) -> dict[str, tuple[str, bytes]]:
    """Return names and contents of images by location; those that are no PNG or JPG are dropped."""
    found: dict[str, tuple[str, bytes]] = {}
    for location in dict.fromkeys(texture.location for texture in textures.values()):
        # A texture may be inside a package.
        asset = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(location)) if location else None
        content = bytes(asset.GetBuffer()) if asset and asset.GetSize() <= LARGEST_IMAGE else b""
        suffix = next((end for head, end in IMAGE_TYPES.items() if content.startswith(head)), None)
        if suffix is None:
            references = {t.reference for t in textures.values() if t.location == location}
            message = f"texture {min(references)!r} cannot be read as PNG or JPG"
            notes.append(Diagnostic("texture-dropped", message))
        else:
            # The last part of a path in a package is followed by a bracket.
            stem = Path(location.rpartition("[")[2].rstrip("]")).stem
            digest = hashlib.sha256(content).hexdigest()[:8]
            found[location] = (f"{legal_name(stem)}_{digest}{suffix}", content)
    return found


def _with_mesh_files(
    reading: StageReading, images: Mapping[str, tuple[str, bytes]], mark: str
) -> tuple[m.Robot, dict[str, bytes]]:
    """Assign mesh files and textures to shapes; equal surfaces share a file."""
    texts = {uri: obj_text(mesh, mark) for uri, mesh in reading.meshes.items()}
    first: dict[bytes, str] = {}
    for uri, text in texts.items():
        first.setdefault(text, uri)
    # The names of the link and the mesh prim, which is often "visual".
    stems = sibling_names("_".join(uri.strip("/").split("/")[-2:]) for uri in first.values())
    files = {text: f"{MESHES}/{stem}.obj" for text, stem in zip(first, stems, strict=True)}

    def linked(shape: _Shape) -> _Shape:
        geometry = shape.geometry
        if not isinstance(geometry, m.MeshFile):
            return shape
        texture = reading.textures.get(geometry.uri)
        if isinstance(shape, m.Visual) and texture and texture.location in images:
            image = f"{MESHES}/{images[texture.location][0]}"
            plain = shape.material or m.Material(texture.material)
            shape = structs.replace(shape, material=structs.replace(plain, texture_uri=image))
        file = files[texts[geometry.uri]]
        return structs.replace(shape, geometry=structs.replace(geometry, uri=file))

    shapes = (
        ([*map(linked, x.visuals)], [*map(linked, x.collisions)]) for x in reading.robot.links
    )
    links = tuple(
        structs.replace(link, visuals=tuple(visuals), collisions=tuple(collisions))
        for link, (visuals, collisions) in zip(reading.robot.links, shapes, strict=True)
    )
    return structs.replace(reading.robot, links=links), {file: text for text, file in files.items()}
