"""Shapes of links as shapes of URDF, with one sRGB colour and texture each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from pxr import Sdf, Usd, UsdGeom, UsdShade

from urdf_usd.conformance.engines.openusd import appearances
from urdf_usd.conformance.engines.openusd.reading import PROXIES, Reading
from urdf_usd.conformance.engines.openusd.shapes import gprim_geometry, roles_of
from urdf_usd.conformance.engines.statements import Array, vec3
from urdf_usd.conformance.export.links import StageLink, read_custom
from urdf_usd.conformance.export.mechanism import nearest
from urdf_usd.conformance.observation.shapes import Role, ShapeKind
from urdf_usd.converter.diagnostics import Diagnostic, StageError
from urdf_usd.converter.meshes import mesh as meshing
from urdf_usd.converter.meshes.mesh_materials import srgb_from_linear
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.spatial import pose_from_transform

# Columns of a scaled rotation are orthogonal within float32 rounding.
_SKEW = 1e-6
# Rounding of a column's length.
_ROUNDING = 1e-12
# Colour inputs of UsdPreviewSurface, and of the MDL surfaces that Omniverse writes.
_COLORS = ("diffuseColor", "diffuse_color_constant")
# UsdPreviewSurface's own.
_DEFAULT_COLOR = (0.18, 0.18, 0.18)


class Texture(Struct, frozen=True, eq=False):
    material: str  # name of the material
    reference: str  # path in the stage
    location: str  # path that it resolves to, perhaps inside a package
    node: UsdShade.Shader | None  # shader that reads the image; None for MDL surfaces


class Shapes(Struct, frozen=True, eq=False):
    """All shapes of a robot, by the path of the link's prim and in its frame."""

    visuals: Mapping[str, Sequence[m.Visual]] = {}
    collisions: Mapping[str, Sequence[m.Collision]] = {}
    meshes: Mapping[str, meshing.PolygonMesh] = {}  # surfaces of meshes, by the URI in the shapes
    textures: Mapping[str, Texture] = {}  # texture of the colour of a visual mesh, by its URI


def read_shapes(
    reading: Reading, links: Iterable[StageLink], others: Container[str], notes: list[Diagnostic]
) -> Shapes:
    paths = {link.path for link in links}
    visuals: dict[str, list[m.Visual]] = {}
    # By the prim of the <collision>, which several groups of a mesh share.
    collisions: dict[str, dict[Usd.Prim, list[m.Collision]]] = {}
    meshes: dict[str, meshing.PolygonMesh] = {}
    textures: dict[str, Texture] = {}
    for prim in Usd.PrimRange(reading.robot, PROXIES):
        roles = roles_of(prim) if prim.IsA(UsdGeom.Gprim) else ()
        path = str(prim.GetPath())
        owner = nearest(path, paths) if roles else None
        if not roles or ((foreign := nearest(path, others)) and len(foreign) > len(owner or "")):
            continue
        if owner is None:
            notes.append(Diagnostic("stage-loose-shape", f"{path} belongs to no link"))
            continue
        source = _main_material(prim) if Role.VISUAL in roles else None
        texture = source.texture if source and prim.IsA(UsdGeom.Mesh) else None
        shape = _read_shape(prim, reading.within(path, owner), texture, notes)
        if shape is None:
            continue
        pose, geometry, mesh = shape
        if mesh is not None:
            meshes[path] = mesh
            if texture and mesh.coordinate_set(0) is not None:
                textures[path] = texture
        name, custom = prim.GetDisplayName() or prim.GetName(), read_custom(prim)
        if Role.COLLISION in roles:
            collision = m.Collision(name, pose, geometry, custom=custom)
            is_group = mesh is not None and _is_collision(prim.GetParent())
            element = prim.GetParent() if is_group else prim
            collisions.setdefault(owner, {}).setdefault(element, []).append(collision)
        if Role.VISUAL in roles:
            material = _read_material(prim, source, textures.get(path), notes)
            visual = m.Visual(name, pose, geometry, material, custom=custom)
            visuals.setdefault(owner, []).append(visual)
    joined: dict[str, list[m.Collision]] = {}
    for owner, elements in collisions.items():
        for element, groups in elements.items():
            pieces = [(x, x.geometry) for x in groups if isinstance(x.geometry, m.MeshFile)]
            places = {(x.origin, mesh.scale) for x, mesh in pieces}
            # Groups of one <collision>, unless they were moved separately.
            if _is_collision(element) and len(places) == 1:
                ((origin, scale),) = places
                uri, custom = str(element.GetPath()), read_custom(element)
                meshes[uri] = meshing.join_groups(
                    [(x.name or "", meshes[mesh.uri]) for x, mesh in pieces]
                )
                name = element.GetDisplayName() or element.GetName()
                groups = [m.Collision(name, origin, m.MeshFile(uri, None, scale), custom=custom)]
            joined.setdefault(owner, []).extend(groups)
    return Shapes(visuals, joined, meshes, textures)


def _is_collision(prim: Usd.Prim) -> bool:
    return prim.GetAttribute("urdf:collision").Get() is True


def _read_shape(
    prim: Usd.Prim, to_link: Array, texture: Texture | None, notes: list[Diagnostic]
) -> tuple[m.Pose, m.Geometry, meshing.PolygonMesh | None] | None:
    """Read a gprim: its pose in the link, its geometry, and the surface of a mesh."""
    path, linear = prim.GetPath(), to_link[:3, :3]
    lengths = np.linalg.norm(linear, axis=0)
    if not (np.isfinite(lengths).all() and lengths.all()):
        notes.append(Diagnostic("geometry-invalid", f"{path} has a zero scale; omitted"))
        return None
    # Scale factors that differ from a float32 only by rounding are that.
    single = lengths.astype(np.float32).astype(np.float64)
    scale = np.where(np.abs(single - lengths) <= _ROUNDING * lengths, single, lengths)
    turn = linear / lengths
    is_skewed = bool(np.abs(turn.T @ turn - np.eye(3)).max() > _SKEW)
    is_mirrored = np.linalg.det(linear) < 0
    geometry = gprim_geometry(prim)
    pose = np.eye(4)
    pose[:3, 3] = to_link[:3, 3]
    if geometry.kind is ShapeKind.MESH:
        # Parsers of URDF differ in negative scales; the points are mirrored instead, as those of a
        # mesh that is not representable by rotation and scale.
        baked = to_link if is_skewed or is_mirrored else None
        try:
            mesh = _surface(prim, geometry, texture, baked)
        except meshing.MeshError as error:
            notes.append(Diagnostic("mesh-unreadable", f"mesh {path} cannot be used: {error}"))
            return None
        if baked is not None:
            return m.Pose(), m.MeshFile(str(path), None), mesh
        pose[:3, :3] = turn
        return pose_from_transform(pose), m.MeshFile(str(path), None, vec3(scale)), mesh
    if geometry.problem:
        notes.append(Diagnostic("shape-not-urdf", f"{path} is a {prim.GetTypeName()}; left out"))
        return None
    if is_skewed:
        left, _, right = np.linalg.svd(linear)
        turn = left @ right
    # Primitives are symmetric under mirroring along each axis.
    turn = turn * np.where(is_mirrored, [1.0, 1.0, -1.0], 1.0)
    pose[:3, :3] = turn @ geometry.turn[:3, :3]
    # Scale along the axes of the shape, whose own axis is Z.
    x, y, z = (np.abs(geometry.turn[:3, :3].T) @ scale).tolist()
    size, across = geometry.size, max(x, y)
    shape: m.Geometry
    equal: tuple[float, ...] = (1.0,)  # scales that have to be the same
    match geometry.kind:
        case ShapeKind.BOX:
            shape = m.Box((size[0] * x, size[0] * y, size[0] * z))
        case ShapeKind.SPHERE:
            shape, equal = m.Sphere(size[0] * max(x, y, z)), (x, y, z)
        case ShapeKind.CYLINDER:
            shape, equal = m.Cylinder(size[0] * across, size[1] * z), (x, y)
        case _:
            shape, equal = m.Capsule(size[0] * across, size[1] * z), (x, y)
    if is_skewed or max(equal) - min(equal) > _SKEW * max(equal):
        message = f"{path} is not uniformly scaled; the largest extent is used"
        notes.append(Diagnostic("shape-approximated", message))
    return pose_from_transform(pose), shape, None


def _surface(
    prim: Usd.Prim, geometry: appearances.Geometry, texture: Texture | None, baked: Array | None
) -> meshing.PolygonMesh:
    if geometry.problem:
        has_faces = UsdGeom.Mesh(prim).GetFaceVertexCountsAttr().Get()
        raise meshing.MeshError(geometry.problem if has_faces else "it has no faces")
    points, corners, is_mirrored = geometry.points, geometry.corners, geometry.mirrored
    if not np.isfinite(points).all():
        message = f"{prim.GetPath()}.points has a number that is not finite"
        raise StageError((Diagnostic("stage-value", message),))
    if baked is not None:
        points = points @ baked[:3, :3].T + baked[:3, 3]
        is_mirrored ^= bool(np.linalg.det(baked[:3, :3]) < 0)
    order: NDArray[np.integer] = np.arange(len(corners))
    if is_mirrored:
        order = meshing.reversed_corners(geometry.counts)
    coordinates = None
    if texture is not None:
        try:
            node = texture.node
            values, indices = (
                appearances.texture_coordinates(node, prim, geometry)
                if node
                else appearances.read_coordinates("st", prim, geometry)
            )
            coordinates = meshing.corner_values(values, indices[order])
        except appearances.UnusableError:
            pass
    return meshing.build_mesh(
        points, geometry.counts, corners[order], coordinate_sets=(coordinates,)
    )


class _Source(Struct, frozen=True, eq=False):
    """The material of most faces of a gprim."""

    name: str
    path: Sdf.Path
    shader: UsdShade.Shader | None  # its surface
    color: str  # its input for the colour, if it has one
    texture: Texture | None  # of the colour
    count: int  # number of materials of the gprim


def _main_material(prim: Usd.Prim) -> _Source | None:
    """Return the material of most faces of a gprim; a primitive has one face."""
    binding = UsdShade.MaterialBindingAPI(prim)
    counts = UsdGeom.Mesh(prim).GetFaceVertexCountsAttr().Get()
    left = 1 if counts is None else len(counts)
    faces: Counter[Sdf.Path] = Counter()
    for subset in binding.GetMaterialBindSubsets():
        part, _ = UsdShade.MaterialBindingAPI(subset).ComputeBoundMaterial()
        size = len(subset.GetIndicesAttr().Get() or ())
        left -= size
        if part and size:
            faces[part.GetPath()] += size
    whole, _ = binding.ComputeBoundMaterial()
    if whole and left > 0:
        faces[whole.GetPath()] += left
    if not faces:
        return None
    material = UsdShade.Material.Get(prim.GetStage(), faces.most_common(1)[0][0])
    shaders = (material.ComputeSurfaceSource(context)[0] for context in ("", "mdl"))
    shader, owner = next(filter(None, shaders), None), material.GetPrim()
    name = owner.GetDisplayName() or owner.GetName()
    color = next((x for x in _COLORS if shader and shader.GetInput(x)), "")
    texture, node = None, None
    image = _value(shader, "diffuse_texture")
    if not image and (node := _node(shader, color)):
        image = _value(node, "file")
    if image:
        texture = Texture(name, image.path, image.resolvedPath, node)
    return _Source(name, owner.GetPath(), shader, color, texture, len(faces))


def _value(shader: UsdShade.Shader | None, name: str) -> Any:  # noqa: ANN401  pxr is untyped
    """Return the value of an input, set here or at its material's interface."""
    sources = appearances.shader_sources(shader, name) if shader and name else ()
    return next((source.Get() for source in sources), None)


def _node(shader: UsdShade.Shader | None, name: str) -> UsdShade.Shader | None:
    for source in appearances.shader_sources(shader, name) if shader and name else ():
        if UsdShade.Utils.GetType(source.GetName()) == UsdShade.AttributeType.Output:
            return UsdShade.Shader(source.GetPrim())
    return None


def _read_material(
    prim: Usd.Prim, source: _Source | None, texture: Texture | None, notes: list[Diagnostic]
) -> m.Material | None:
    """Read the material of a gprim, or its display colour; None without both."""
    displayed = UsdGeom.Gprim(prim).GetDisplayColorAttr().Get()
    if source is None:
        alpha = (UsdGeom.Gprim(prim).GetDisplayOpacityAttr().Get() or (1.0,))[0]
        color = displayed[0] if displayed else None
    else:
        if source.count > 1:
            message = f"{prim.GetPath()} has {source.count} materials; that of most faces is used"
            notes.append(Diagnostic("material-parts", message))
        if (shader := source.shader) is None:
            return None
        # The file names of all textures of the surface.
        nodes = (_node(shader, one.GetBaseName()) for one in shader.GetInputs())
        files = (_value(node, "file") for node in nodes if node and node.GetInput("file"))
        images = dict.fromkeys(file.path if file else "" for file in files)
        node = texture.node if texture else None
        if texture is not None:
            images.pop(texture.reference, None)
        # Settings that URDF cannot represent.
        lost = [
            name
            for name, neutral in (("scale", 1.0), ("bias", 0.0))
            if any(float(part) != neutral for part in _value(node, name) or ())
        ]
        lost += [
            name
            for name in ("wrapS", "wrapT")
            if str(_value(node, name) or "repeat") not in {"repeat", "useMetadata"}
        ]
        if lost and texture:
            message = f"{', '.join(lost)} of texture {texture.reference!r} of material "
            notes.append(Diagnostic("texture-dropped", f"{message}{source.path} are not converted"))
        if images:
            named = ", ".join(map(repr, images))
            message = f"textures of material {source.path} are not converted: {named}"
            notes.append(Diagnostic("texture-dropped", message))
        # The linear colour if it is uniform.
        color, node = _value(shader, source.color), _node(shader, source.color)
        if node is None:
            color = _DEFAULT_COLOR if color is None else color
        elif str(node.GetIdAttr().Get()).startswith("UsdPrimvarReader") and displayed:
            # The first vertex colour, as for a gprim without material.
            color = displayed[0]
        else:
            color = _value(node, "fallback")
        alpha = None if _node(shader, "opacity") else _value(shader, "opacity")
    if not color:
        return None
    red, green, blue = srgb_from_linear([*map(float, color)][:3]).tolist()
    opacity = 1.0 if alpha is None else float(alpha)
    return m.Material(source.name if source else None, (red, green, blue, opacity))
