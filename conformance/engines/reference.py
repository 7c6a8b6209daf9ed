"""The URDF by its specification: our own reader and double-precision kinematics.

This engine shares its reader with the converter, so independent engines confirm or
contradict each of its values. Observations of malformed XML are marked, as no other
engine shares the repair.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import assert_never

import numpy as np
from lxml import etree
from msgspec import structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines import protocol, surfaces
from urdf_usd.conformance.engines.mesh_materials import FileMaterial, ImageFile, image_digest, light
from urdf_usd.conformance.engines.meshes import LoadedMesh, UnreadMeshError, load_mesh
from urdf_usd.conformance.engines.mujoco_models import with_motion
from urdf_usd.conformance.engines.statements import Array, moving_joints, read_only
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.shapes import (
    Appearance,
    Drawing,
    Role,
    Shading,
    ShapeKind,
    ShapeObservation,
    Surface,
    merge_appearances,
)
from urdf_usd.converter.diagnostics import Diagnostic, SourceError
from urdf_usd.converter.robot import dynamics, model, spatial
from urdf_usd.converter.robot.topology import Tree, build_tree
from urdf_usd.converter.urdf.parse import Parsed, parse
from urdf_usd.converter.urdf.xml import XML_REPAIRS

# Surfaces that were measured last.
_KEPT = 64
_EMPTY = FileMaterial()
NAME = "reference"

# Rules for ambiguous text, of which one interpretation was chosen.
_REPAIRS = frozenset(
    {
        "element-repeated",
        "number-invalid",
        "number-nonfinite",
        "number-punctuation",
        "vector-completed",
        "vector-length",
    }
)
_SHARED_REPAIR = (
    "The URDF is not well-formed XML ({}). This engine shares the repair with the converter,"
    " and does not confirm it."
)


def state_shapes(robot: model.Robot, *, hulls: bool = True) -> tuple[ShapeObservation, ...]:
    """State the shapes of all links; a collider whose file has several groups is as many pieces."""
    return tuple(piece for found in _shapes(robot) for piece in _observations(*found, hulls))


def draw_shapes(robot: model.Robot) -> tuple[Drawing, ...]:
    """Return the shapes of a robot for drawing, without those that cannot be read."""
    drawings = []
    for link, role, source, shape in _shapes(robot):
        geometry, matrix = shape.geometry, spatial.transform_from_pose(shape.origin)
        kind, size = _primitive(geometry)
        points: Array = np.zeros((0, 3))
        triangles: surfaces.Indices = np.zeros((0, 3), np.int64)
        if isinstance(geometry, model.MeshFile):
            mesh = mesh_of(geometry)
            if not isinstance(mesh, LoadedMesh):
                continue
            matrix = placement(shape, geometry)
            points, triangles = mesh.points, mesh.triangles
        drawings.append(Drawing(source, link, role, kind, size, matrix, points, triangles))
    return tuple(drawings)


def _shapes(robot: model.Robot) -> Iterator[tuple[str, Role, str, model.Shape]]:
    for link in robot.links:
        for index, visual in enumerate(link.visuals):
            yield link.name, Role.VISUAL, f"{link.name} {Role.VISUAL} {index}", visual
        for index, collision in enumerate(link.collisions):
            yield link.name, Role.COLLISION, f"{link.name} {Role.COLLISION} {index}", collision


def _observations(
    link: str, role: Role, source: str, shape: model.Shape, hulls: bool
) -> Iterator[ShapeObservation]:
    geometry = shape.geometry
    kind, size = _primitive(geometry)
    stated = ShapeObservation(
        link=link,
        role=role,
        source=source,
        name=shape.name or kind.value,
        kind=kind,
        size=size,
        position=shape.origin.position,
    )
    if not isinstance(geometry, model.MeshFile):
        surface = surfaces.primitive_surface(kind, size, spatial.transform_from_pose(shape.origin))
        problem = None if all(value > 0 for value in size) else "its size is not positive"
        stated = structs.replace(stated, surface=surface, problem=problem)
        if isinstance(shape, model.Visual) and surface:
            # Texture coordinates of primitives are not defined.
            own = structs.replace(_of_urdf(shape.material), image=None, mask=None)
            stated = structs.replace(stated, appearances=(_look(own, surface.area),))
        yield stated
        return
    stated = structs.replace(stated, name=geometry.uri)
    mesh = mesh_of(geometry)
    if not isinstance(mesh, LoadedMesh):
        why = "it is not found" if mesh is None else f"it cannot be read: {mesh}"
        yield structs.replace(stated, problem=why)
        return
    placed = placement(shape, geometry)
    measured = _measured(mesh, tuple(placed.ravel().tolist()))
    stated = structs.replace(
        stated,
        surface=measured[0] if measured else None,
        problem=None if measured else "it has points that are not finite",
        pieces=mesh.pieces,
        corners=mesh.corners,
    )
    if measured is None:
        yield stated
        return
    if isinstance(shape, model.Visual):
        looks = _appearances(shape, mesh, *measured, placed)
        yield structs.replace(stated, appearances=looks, shading=_shading(mesh, placed))
        return
    factor = abs(math.prod(geometry.scale))
    if not mesh.groups:
        yield structs.replace(stated, hull_volume=_hull_volume(mesh) * factor if hulls else None)
    for number, group in enumerate(mesh.groups):
        if surface := surfaces.mesh_surface(group.points, group.triangles, placed):
            yield structs.replace(
                stated,
                source=f"{source} group {number}",
                surface=surface,
                hull_volume=_hull_volume(group) * factor if hulls else None,
            )


def _primitive(
    geometry: model.Box | model.Cylinder | model.Capsule | model.Sphere | model.MeshFile,
) -> tuple[ShapeKind, tuple[float, ...]]:
    match geometry:
        case model.Box(size):
            return ShapeKind.BOX, size
        case model.Cylinder(radius, length):
            return ShapeKind.CYLINDER, (radius, length)
        case model.Capsule(radius, length):
            return ShapeKind.CAPSULE, (radius, length)
        case model.Sphere(radius):
            return ShapeKind.SPHERE, (radius,)
        case model.MeshFile():
            return ShapeKind.MESH, ()
        case _:
            assert_never(geometry)


def mesh_of(geometry: model.MeshFile) -> LoadedMesh | UnreadMeshError | None:
    """Return a mesh, or why it is not read; None if it is not found."""
    try:
        return None if geometry.path is None else load_mesh(geometry.path)
    except UnreadMeshError as error:
        return error


def placement(shape: model.Shape, geometry: model.MeshFile) -> Array:
    """Return the (4, 4) transform from a mesh file's frame to the link's [m]."""
    return spatial.transform_from_pose(shape.origin) @ np.diag([*geometry.scale, 1.0])


@lru_cache(maxsize=_KEPT)
def _measured(mesh: LoadedMesh, transform: tuple[float, ...]) -> tuple[Surface, Array] | None:
    """Measure a placed mesh; cached, as most are both visual and collider."""
    return surfaces.measured_mesh(mesh.points, mesh.triangles, np.array(transform).reshape(4, 4))


@lru_cache(maxsize=_KEPT)
def _hull_volume(content: LoadedMesh) -> float:
    """Measure the convex hull of a mesh in its own unit; cached for further links."""
    return surfaces.hull_volume(content.points, content.triangles)


def _shading(mesh: LoadedMesh, placed: Array) -> Shading | None:
    """Measure the normals of a mesh; None if they are not read completely."""
    if mesh.has_normals is None or (mesh.has_normals and mesh.normals is None):
        return None
    normals: NDArray[np.floating] | None = mesh.normals if mesh.has_normals else None
    if normals is not None:
        # Some exporters write zero normals; those of the faces are meant.
        missing = ~(normals.any(axis=-1) & np.isfinite(normals).all(axis=-1))
        if missing.any():
            a, b, c = (mesh.points[corner] for corner in mesh.triangles.T)
            faces = np.cross(b - a, c - a)[:, np.newaxis]
            normals = np.where(missing[..., np.newaxis], faces, normals)
    return surfaces.measured_shading(mesh.points, mesh.triangles, normals, placed)


def _appearances(
    visual: model.Visual, mesh: LoadedMesh, surface: Surface, areas: Array, placed: Array
) -> tuple[Appearance, ...]:
    """State the appearance of a mesh, part by part; materials of files come first."""
    own, looks = _of_urdf(visual.material), []
    # Numbers begin with -1.
    used = np.flatnonzero(np.bincount(mesh.material_of + 1)) - 1
    for material in used.tolist():
        part = mesh.material_of == material
        is_whole = len(used) == 1
        stated = mesh.materials[material] if material >= 0 else _EMPTY
        shown = stated if stated.defines_appearance else own
        if mesh.coordinates is None:
            shown = structs.replace(shown, image=None, mask=None)
        look = _look(shown, surface.area if is_whole else float(areas[part].sum()))
        triangles = mesh.triangles[part]
        if look.texture is not None and mesh.coordinates is not None:
            coordinates = mesh.coordinates[part]
            if np.isfinite(coordinates).all():
                mapping = surfaces.measured_mapping(mesh.points, triangles, coordinates, placed)
                look = structs.replace(look, mapping=mapping)
        if not is_whole:
            center = surfaces.surface_center(mesh.points, triangles, areas[part], placed)
            look = structs.replace(look, center=center)
        looks.append(look)
    return merge_appearances(looks)


def _of_urdf(material: model.Material | None) -> FileMaterial:
    """Return the material of the URDF, whose texture replaces the colour."""
    if material is None:
        return _EMPTY
    image = None
    if material.texture_uri is not None:
        path = Path(material.texture_path or material.texture_uri)
        image = ImageFile(path.name, str(path.parent))
    if material.rgba is None:
        return FileMaterial(image=image)
    opacity = min(max(material.rgba[3], 0.0), 1.0)
    return FileMaterial(color=light(material.rgba), opacity=opacity, image=image)


def _look(own: FileMaterial, area: float) -> Appearance:
    look = Appearance(area, own.color, own.opacity, properties=own.properties, unread=own.unread)
    problem = None
    if own.image is not None:
        texture, problem = _digest(own.image)
        if texture:
            name = own.image.name
            look = structs.replace(look, color=own.factor, texture=texture, image=name)
    if own.mask is not None:
        mask, reason = _digest(own.mask)
        look, problem = structs.replace(look, mask=mask), problem or reason
    return structs.replace(look, problem=problem)


def _digest(image: ImageFile) -> tuple[str, None] | tuple[None, str]:
    content = image.read()
    digest = None if isinstance(content, str) else image_digest(content)
    if digest:
        return digest, None
    why = content if isinstance(content, str) else "is no image that can be read"
    return None, f"texture {image.name} {why}"


class ReferenceEngine:
    name = NAME
    side = protocol.Side.URDF

    def availability(self) -> protocol.Available:
        return protocol.Available(version("urdf-usd-conformance"))

    def observe(self, request: protocol.Request) -> obs.Observation:
        try:
            parsed = read_kept(request.path, request.packages)
            reading = observe_robot(
                parsed.robot, request.configurations, parsed.diagnostics, hulls=request.hulls
            )
        except SourceError as error:
            raise protocol.UnsupportedError(str(error.diagnostics[0])) from error
        if request.configurations.rollout:
            reading = with_motion(reading, request.configurations, perturbed=True)
        return structs.replace(reading, quaternions=_quaternions(request.path))


def read_kept(
    path: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str] = MappingProxyType({}),
    environment: tuple[str, ...] = (),
) -> Parsed:
    """Read a robot, or return it from the cache, as several steps read the same robot."""
    try:
        changed = Path(path).stat().st_mtime_ns
    except OSError:
        changed = 0
    named = tuple(packages.items()), tuple(arguments.items())
    return _read(path, changed, *named, environment)


# A robot may consist of a xacro file, the URDF made from it, and a copy of that with
# estimated mass.
@lru_cache(maxsize=3)
def _read(
    path: str,
    changed: int,
    packages: tuple[tuple[str, str], ...],
    arguments: tuple[tuple[str, str], ...],
    environment: tuple[str, ...],
) -> Parsed:
    del changed
    return parse(path, packages=dict(packages), arguments=dict(arguments), environment=environment)


def forget_readings() -> None:
    """Clear the caches of robots and meshes, as files may have changed."""
    _read.cache_clear()
    load_mesh.cache_clear()


def observe_robot(
    robot: model.Robot,
    configurations: obs.Configurations,
    diagnostics: Sequence[Diagnostic] = (),
    *,
    shapes: bool = True,
    hulls: bool = True,
) -> obs.Observation:
    """State everything about a parsed robot; one that is not a tree raises SourceError."""
    tree = build_tree(robot)
    # The rules by which malformed XML was repaired, each once.
    rules = dict.fromkeys(diagnostic.rule for diagnostic in diagnostics)
    malformed = tuple(rule for rule in rules if rule in XML_REPAIRS)
    joints = structure(robot)
    links = []
    for link in robot.links:
        mass = None
        if (inertial := link.inertial) is not None:
            turn = spatial.rotation_from_quat_wxyz(inertial.origin.quat_wxyz)
            turned = turn @ spatial.inertia_tensor(inertial.inertia) @ turn.T
            tensor = spatial.inertia_values(turned)
            mass = obs.MassProperties(inertial.mass, inertial.origin.position, tensor)
        links.append(obs.LinkObservation(link.name, mass))
    names = tuple(link.name for link in links)
    positions = dict(zip(configurations.joints, configurations.positions, strict=True))
    transforms = dynamics.link_transforms(robot, positions)
    # Without a moving joint the pose is the same in all configurations.
    shape = configurations.count, 4, 4
    poses = np.stack([np.broadcast_to(transforms[name], shape) for name in names], axis=1)
    poses.setflags(write=False)
    return obs.Observation(
        engine=NAME,
        robot=robot.name,
        root=tree.root,
        states=frozenset(obs.Quantity),
        links=tuple(links),
        joints=joints,
        joint_order=moving_joints(joints),
        frames=obs.Frames(names, poses[..., :3, 3], poses[..., :3, :3], configurations.labels),
        base=_base(tree),
        repaired=_repaired(robot, diagnostics),
        malformed=malformed,
        notes=(_SHARED_REPAIR.format(", ".join(malformed)),) if malformed else (),
        dynamics=_dynamics(robot, configurations),
        shapes=state_shapes(robot, hulls=hulls) if shapes else (),
        words=tuple(_words(robot)),
    )


def structure(robot: model.Robot) -> tuple[obs.JointObservation, ...]:
    joints = []
    for joint in robot.joints:
        kind, mimic = joint.kind, None
        joint_type = obs.JointType[type(kind).__name__.upper()]
        # A mimic coupling has an effect only on joints with one coordinate.
        if joint.mimic and obs.COORDINATES[joint_type] == 1:
            coupling = joint.mimic
            mimic = obs.MimicObservation(coupling.joint, coupling.multiplier, coupling.offset)
        limits = kind.range if isinstance(kind, model.Revolute | model.Prismatic) else None
        turning = model.Revolute | model.Continuous | model.Prismatic | model.Planar
        observed = obs.JointObservation(
            name=joint.name,
            type=joint_type,
            parent=joint.parent,
            child=joint.child,
            lower=limits.lower if limits else None,
            upper=limits.upper if limits else None,
            effort=joint.effort,
            velocity=joint.velocity,
            damping=joint.dynamics.damping if joint.dynamics else None,
            friction=joint.dynamics.friction if joint.dynamics else None,
            mimic=mimic,
            axis=kind.axis if isinstance(kind, turning) else None,
        )
        joints.append(observed)
    return tuple(joints)


def _dynamics(robot: model.Robot, configurations: obs.Configurations) -> obs.Dynamics:
    sampled = configurations.for_motion
    positions = dict(zip(sampled.joints, sampled.positions, strict=True))
    given = dict(zip(sampled.joints, sampled.velocities, strict=False))
    names = dynamics.degrees_of_freedom(robot)
    velocities = np.zeros((sampled.count, len(names)))
    for name, values in given.items():
        start = names.index(name)
        velocities[:, start : start + values.shape[1]] = values
    inertia, bias = dynamics.equations_of_motion(robot, positions, given)
    # Likewise without moving joints.
    inertia = np.broadcast_to(inertia, (sampled.count, len(names), len(names)))
    bias = np.broadcast_to(bias, velocities.shape)
    return obs.Dynamics(names, read_only(inertia), read_only(bias), read_only(velocities))


def _quaternions(path: str) -> tuple[str, ...]:
    """Name the links and joints whose origin has a quaternion."""
    lenient = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)
    try:
        document = etree.parse(path, lenient)
    # The reader decodes more encodings than lxml, such as UTF-32.
    except etree.XMLSyntaxError:
        return ()
    turned = document.xpath("/*/*[origin/@quat_xyzw or inertial/origin/@quat_xyzw]")
    return tuple(part.get("name", "") for part in turned)


def _repaired(robot: model.Robot, diagnostics: Sequence[Diagnostic]) -> tuple[str, ...]:
    """Name the links and joints with ambiguous text."""
    parts: tuple[model.Link | model.Joint, ...] = (*robot.links, *robot.joints)
    starts = sorted(
        ((part.location.line, part.location.column), part.name) for part in parts if part.location
    )
    found: dict[str, None] = {}
    for diagnostic in diagnostics:
        place = diagnostic.location
        if diagnostic.rule in _REPAIRS and place is not None:
            # The part that starts last before the place holds it.
            before = [name for at, name in starts if at <= (place.line, place.column)]
            found |= dict.fromkeys(before[-1:])
    return tuple(found)


def _base(tree: Tree) -> obs.Base | None:
    """Return the base by the convention of an empty root link ``world``, else None."""
    # URDF has no element for the base. A ``world`` with mass or shapes is an ordinary link. Links
    # without mass that are fixed to it are frames of the world: if floating joints alone leave
    # them, the robot floats.
    root = tree.link[tree.root]
    is_world = root.name == "world" and not (root.mass or root.visuals or root.collisions)
    if not is_world or not tree.child_joints[tree.root]:
        return None
    frames, leaving = [tree.root], []
    for name in frames:
        for joint in tree.child_joints[name]:
            if isinstance(joint.kind, model.Fixed) and not tree.link[joint.child].mass:
                frames.append(joint.child)
            else:
                leaving.append(joint)
    floats = leaving and all(isinstance(joint.kind, model.Floating) for joint in leaving)
    return obs.Base.FLOATING if floats else obs.Base.FIXED


def _words(robot: model.Robot) -> Iterator[obs.Word]:
    """State controllers, calibrations, and what is no part of URDF or has no schema in USD."""
    yield from _custom(("robot",), robot.custom)
    for link in robot.links:
        yield from _custom((f"link {link.name}",), link.custom)
        for shape in link.shapes:
            yield from _custom(("", f"link {link.name}"), shape.custom)
    for joint in robot.joints:
        owners = (f"joint {joint.name}",)
        values: dict[str, float | None] = {}
        # A fixed joint has nothing to control or limit, and to a frame no prim.
        if not isinstance(joint.kind, model.Fixed):
            for name in ("acceleration", "deceleration", "jerk"):
                values[f"limit:{name}"] = getattr(joint, name)
            tags = (("safety_controller", joint.safety), ("calibration", joint.calibration))
            for tag, element in tags:
                own = structs.asdict(element) if element else {}
                values |= {f"{tag}:{name}": value for name, value in own.items()}
        for name, value in values.items():
            if value is not None:
                yield obs.Word(owners, name, value)
        yield from _custom(owners, joint.custom)


def _custom(owners: tuple[str, ...], custom: model.Custom) -> Iterator[obs.Word]:
    for one in custom.attributes:
        yield obs.Word(owners, ":".join((*one.within, one.name)), one.value)
    for element in custom.elements:
        content = element.content
        name = "/".join((*element.within, f"<{content.tag}>"))
        yield obs.Word(owners, name, str(_content(content)))


def _content(element: model.XmlElement) -> obs.XmlContent:
    children = tuple(map(_content, element.children))
    return obs.XmlContent(element.tag, element.attributes, element.text or "", children)
