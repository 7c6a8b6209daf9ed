"""Mesh files with scenes: COLLADA by pycollada, glTF and others by trimesh.

The libraries read files as they are, without repairs of their result: a document that uses
something which they are known to leave out or misread is not read. Materials of glTF are read
here, as trimesh rounds colours to 255 steps and does not state the material of a surface.
The converter has its own readers.
"""

from __future__ import annotations

import base64
import io
import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote, unquote_to_bytes

import collada
import numpy as np
import trimesh
from msgspec import structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines.mesh_materials import (
    LARGEST_MESH,
    FileMaterial,
    ImageFile,
    both_sides,
    clamped,
    effective_opacity,
    emitting,
    light,
    read_bounded,
)
from urdf_usd.conformance.engines.mesh_parts import (
    LoadedMesh,
    MeshPart,
    UnreadMeshError,
    joined_parts,
    reading_by,
)
from urdf_usd.conformance.engines.surfaces import Array

Json: TypeAlias = dict[str, Any]

_RGB = 3
_WRAPS = frozenset({"diffuseColor.wrapS", "diffuseColor.wrapT"})
# Inputs of a preview surface that effects, their samplers and extensions can define.
_OF_COLLADA = frozenset(
    {
        "clearcoat",
        "ior",
        "normal",
        "opacity.",
        "roughness",
        "specularColor",
        "useSpecularWorkflow",
    }
)
_LUMINANCE = np.array([0.212671, 0.715160, 0.072169])
# Children of a node that define its transform and its surfaces.
_TRANSFORMS = frozenset({"lookat", "matrix", "rotate", "scale", "skew", "translate"})
_INSTANCES = frozenset({"instance_controller", "instance_geometry", "instance_node"})
_SHOWN = (collada.scene.ControllerNode, collada.scene.GeometryNode, collada.scene.Node)
# Of axes in single precision.
_AXIS_TOLERANCE = 1e-5
_LONGEST_REASON = 200
_ENTITIES = tuple("<!ENTITY".encode(code) for code in ("ascii", "utf-16-le", "utf-16-be"))

_MAGIC = b"glTF"
_JSON = 0x4E4F534A
_STRENGTH = "KHR_materials_emissive_strength"
_GLOSSY = "KHR_materials_pbrSpecularGlossiness"
# Inputs of a preview surface that are not compared: samplers, images, extensions.
_OF_GLTF = _OF_COLLADA - {"roughness"} | {"clearcoatRoughness", "occlusion"}
_WHITE = (1.0, 1.0, 1.0, 1.0)
_UPRIGHT = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
# Wrap mode by its constant of OpenGL.
_REPEAT = 10497
_TRIANGLES, _FAN = 4, 6
# Points, lines, triangles and strips of triangles.
_READ = frozenset({0, 1, _TRIANGLES, 5})
_COMPRESSIONS = frozenset(
    {"EXT_meshopt_compression", "KHR_draco_mesh_compression", "KHR_meshopt_compression"}
)
# Exceptions that a document raises which violates the specification.
_MALFORMED = (
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)
# Number of a set of texture coordinates other than the first.
_OTHER_SET = re.compile(r'"texCoord": [1-9]')


def read_dae(content: bytes, folder: str) -> LoadedMesh:
    """Read the scene of a COLLADA document; ``<up_axis>`` is not applied.

    Args:
        content: The document.
        folder: What files that it names are relative to.

    Raises:
        UnreadMeshError: pycollada raised, leaves out part of the scene, or is known to
            misread it; or there is no triangle.
    """
    # pycollada switches the limits of lxml off.
    if any(mark in content for mark in _ENTITIES):
        raise UnreadMeshError("it declares entities")
    with reading_by("pycollada"):
        # Surfaces with a material that it cannot read are kept.
        document = _document(content)
        root = document.xmlnode.getroot()
        scene = document.scene
        if root.find("{*}scene/{*}instance_visual_scene") is None:
            # COLLADA does not say what such a document shows; Assimp and PyBullet refuse it.
            scene = next(iter(document.scenes), None)
        if scene is None:
            raise UnreadMeshError(_with_errors("pycollada finds no scene", document))
        unit = document.assetInfo.unitmeter
        metres = np.diag([*[1.0 if unit is None else float(unit)] * 3, 1.0])
        # Targets of instances that pycollada can read.
        targets = {
            f"#{one.get('id')}"
            for one in root.iter("{*}geometry", "{*}controller", "{*}node")
            if not one.tag.endswith("}geometry") or one.find("{*}mesh") is not None
        }
        found = [
            part for node in scene.nodes for part in _dae_parts(document, node, metres, targets)
        ]
        materials = tuple(_dae_material(one.effect, folder) for one in document.materials)
    positions = {
        entry.get("source")
        for entry in root.iterfind(".//{*}vertices/{*}input[@semantic='POSITION']")
    }
    for source in root.iter("{*}source"):
        text = source.findtext("{*}float_array") or ""
        if f"#{source.get('id')}" in positions and "nan" in text.lower():
            raise UnreadMeshError("pycollada reads NaN as zero")
    return structs.replace(
        joined_parts(part for part, _ in found),
        materials=materials,
        has_coordinates=any(has for _, has in found),
    )


def _document(content: bytes) -> collada.Collada:
    """Read a document; images that it names and does not have are added to it.

    Without them, pycollada leaves out all that shows a material with such an image.
    """
    document = collada.Collada(io.BytesIO(content), ignore=[collada.common.DaeError])
    root = document.xmlnode.getroot()
    named = {one.text for one in root.iterfind(".//{*}surface/{*}init_from") if one.text}
    missing = sorted(named - {one.get("id") for one in root.iter("{*}image")})
    if not missing or root.find(".//{*}library_effects") is None:
        return document
    namespace = root.tag.rpartition("}")[0] + "}"
    library = root.makeelement(f"{namespace}library_images")
    for name in missing:
        image = root.makeelement(f"{namespace}image", id=name)
        file = root.makeelement(f"{namespace}init_from")
        file.text = name
        image.append(file)
        library.append(image)
    root.insert(1, library)
    completed = io.BytesIO()
    document.xmlnode.write(completed)
    completed.seek(0)
    return collada.Collada(completed, ignore=[collada.common.DaeError])


def _dae_parts(
    document: collada.Collada, node: collada.scene.SceneNode, transform: Array, targets: set[str]
) -> Iterator[tuple[MeshPart, bool]]:
    """Yield surfaces, and whether they have texture coordinates.

    Raises:
        UnreadMeshError: pycollada misreads a node.
    """
    if isinstance(node, collada.scene.Node):
        _require_whole(document, node, targets)
        below = transform @ np.asarray(node.matrix, np.float64)
        for child in node.children or ():
            yield from _dae_parts(document, child, below, targets)
    elif isinstance(node, collada.scene.GeometryNode):
        yield from _dae_surfaces(document, node, node.geometry, transform)
    elif isinstance(node, collada.scene.ControllerNode):
        skin = node.controller
        if not isinstance(skin, collada.controller.Skin):
            raise UnreadMeshError("pycollada does not read morphs")
        bound = transform @ np.asarray(skin.bind_shape_matrix, np.float64)
        yield from _dae_surfaces(document, node, skin.geometry, bound)


def _require_whole(
    document: collada.Collada, node: collada.scene.SceneNode, targets: set[str]
) -> None:
    """Refuse a node of which pycollada leaves something out, or misreads it."""
    if isinstance(node, collada.scene.NodeNode):
        node = node.node
    names = [_local_name(one.tag) for one in node.xmlnode]
    shown = [
        one
        for one, name in zip(node.xmlnode, names, strict=True)
        if name == "node" or (name in _INSTANCES and one.get("url") in targets)
    ]
    kept = [child for child in node.children if isinstance(child, _SHOWN)]
    transforms = [name for name in names if name in _TRANSFORMS]
    if len(transforms) != len(node.transforms) or len(shown) != len(kept):
        message = f"pycollada leaves out parts of node {node.id!r}"
        raise UnreadMeshError(_with_errors(message, document))
    for one in node.transforms:
        if isinstance(one, collada.scene.LookAtTransform):
            raise UnreadMeshError("pycollada transposes <lookat>")
        if isinstance(one, collada.scene.RotateTransform):
            axis = np.linalg.norm([one.x, one.y, one.z])
            if abs(axis - 1.0) > _AXIS_TOLERANCE and one.angle:
                raise UnreadMeshError("pycollada reads the length of a <rotate> axis as a scale")


def _dae_surfaces(
    document: collada.Collada,
    node: collada.scene.SceneNode,
    geometry: collada.geometry.Geometry,
    transform: Array,
) -> Iterator[tuple[MeshPart, bool]]:
    numbers = {one.id: index for index, one in enumerate(document.materials)}
    bound = {one.symbol: numbers.get(one.target.id, -1) for one in node.materials}
    for primitive in geometry.primitives:
        surface = primitive
        if isinstance(primitive, collada.polylist.Polylist):
            surface = primitive.triangleset()
        is_surface = isinstance(surface, collada.triangleset.TriangleSet)
        if not is_surface or surface.vertex is None:
            continue
        points = np.asarray(surface.vertex, np.float64)
        triangles = np.asarray(surface.vertex_index).reshape(-1, 3)
        if not len(triangles):
            continue
        if triangles.min() < 0 or triangles.max() >= len(points):
            raise UnreadMeshError("a face refers to a missing vertex")
        sets = surface.sources.get("TEXCOORD") or ()
        coordinates = None
        # With several sets, the material's binding selects one.
        if len(sets) == 1:
            coordinates = _corner_values(surface.texcoordset[0], surface.texcoord_indexset[0], 2)
        part = MeshPart(
            points,
            triangles,
            transform,
            bound.get(surface.material, -1),
            _corner_values(surface.normal, surface.normal_index, 3),
            coordinates,
        )
        yield part, bool(sets)


def _corner_values(
    values: NDArray[np.floating] | None, indices: NDArray[np.integer] | None, width: int
) -> NDArray[np.floating] | None:
    """Return the (M, 3, width) values of the corners of triangles; None without."""
    if values is None or indices is None or not len(values):
        return None
    numbers = np.asarray(indices).reshape(-1, 3)
    if numbers.min() < 0 or numbers.max() >= len(values):
        return None
    found: NDArray[np.floating] = np.asarray(values)[numbers, :width]
    return found


def _local_name(tag: object) -> str:
    # lxml has a function in place of the tag of a comment.
    return str(tag).rpartition("}")[2]


def _with_errors(message: str, document: collada.Collada) -> str:
    errors = dict.fromkeys(" ".join(str(one.msg).split()) for one in document.errors)
    return f"{message}: {'; '.join(errors)}"[:_LONGEST_REASON] if errors else message


def _dae_material(effect: collada.material.Effect, folder: str) -> FileMaterial:
    """Read an effect: its diffuse colour or image, emission and opacity."""
    color = image = None
    if isinstance(effect.diffuse, collada.material.Map):
        image = _dae_image(effect.diffuse, folder)
    elif effect.diffuse is not None and len(effect.diffuse) >= _RGB:
        color = light([float(c) for c in effect.diffuse])
    glow, unread = effect.emission, set(_OF_COLLADA)
    glows = isinstance(glow, collada.material.Map)
    if glows:
        unread.add("emissiveColor")
    elif glow is not None and len(glow) < _RGB:
        glow = None
    wraps = {(one.text or "").strip() for one in effect.xmlnode.iter("{*}wrap_s", "{*}wrap_t")}
    if not wraps <= {"WRAP"}:
        unread |= _WRAPS
    opacity, mask = _dae_opacity(effect, folder)
    emission = () if glows or glow is None else emitting(light([float(c) for c in glow]))
    return FileMaterial(
        color=color,
        opacity=opacity,
        image=image,
        mask=mask,
        has_more=glows or (glow is not None and any(glow[:_RGB])),
        properties=(*both_sides(effect.double_sided), *emission),
        unread=frozenset(unread),
    )


def _dae_opacity(
    effect: collada.material.Effect, folder: str
) -> tuple[float | None, ImageFile | None]:
    """Compute opacity in the mode of the effect, by default A_ONE.

    An absent factor is 1; pycollada returns 0 for some effects.
    """
    shader = next(effect.xmlnode.iter(f"{{*}}{effect.shadingtype}"), None)
    stated = shader is not None and shader.find("{*}transparency") is not None
    element = None if shader is None else shader.find("{*}transparent")
    mode = "A_ONE" if element is None else element.get("opaque", "A_ONE")
    scale = effect.transparency if stated else 1.0
    scale = scale[0] if isinstance(scale, list | tuple) else scale
    transparent = effect.transparent
    is_map = isinstance(transparent, collada.material.Map)
    # The luminance of a texture is not supported by shaders.
    if not isinstance(scale, int | float) or (is_map and mode != "A_ONE"):
        return None, None
    if is_map:
        return effective_opacity(scale), _dae_image(transparent, folder)
    if transparent is None:
        return effective_opacity(scale), None
    rgba = np.array([*transparent, 1.0])[:4]
    opaque = scale * float(rgba[3] if mode.startswith("A_") else rgba[:_RGB] @ _LUMINANCE)
    return effective_opacity(1.0 - opaque if mode.endswith("ZERO") else opaque), None


def _dae_image(texture: collada.material.Map, folder: str) -> ImageFile:
    image = texture.sampler.surface.image
    return ImageFile((image.path or image.id or "").strip(), folder)


def read_gltf(content: bytes, folder: str) -> LoadedMesh:
    """Read a glTF or GLB file, turned upright.

    trimesh's geometries are the primitives of the document, in order, without those of
    modes that it does not support.

    Args:
        content: The file.
        folder: What files that it names are relative to.

    Raises:
        UnreadMeshError: trimesh raised, or does not support a feature of the document;
            the document is malformed, or has no triangle.
    """
    is_binary = content.startswith(_MAGIC)
    try:
        document, binary = _opened(content) if is_binary else (json.loads(content), b"")
        primitives = [one for mesh in document.get("meshes", ()) for one in mesh["primitives"]]
        _require_readable(document, primitives)
        materials = tuple(_gltf_material(document, binary, folder, one) for one in primitives)
        has_coordinates = any("TEXCOORD_0" in one["attributes"] for one in primitives)
        with_normals = sum("NORMAL" in one["attributes"] for one in primitives)
        # Whether a texture has other coordinates than TEXCOORD_0 as it is.
        looks = json.dumps(document.get("materials", ()))
        moves_images = "KHR_texture_transform" in looks or bool(_OTHER_SET.search(looks))
    except _MALFORMED as error:
        message = f"its document is malformed: {type(error).__name__}: {error}"
        raise UnreadMeshError(message) from error
    has_all = 0 < with_normals == len(primitives)
    form = "glb" if is_binary else "gltf"
    count, parts = read_scene(content, form, folder, with_normals=has_all)
    read = [n for n, one in enumerate(primitives) if one.get("mode", _TRIANGLES) in _READ]
    if count != len(read):
        raise UnreadMeshError(f"trimesh reads {count} of {len(read)} primitives")
    mesh = joined_parts(
        structs.replace(part, transform=_UPRIGHT @ part.transform, material=read[number])
        for number, part in parts
    )
    return structs.replace(
        mesh,
        materials=materials,
        has_coordinates=has_coordinates,
        has_normals=has_all or (None if with_normals else False),
        coordinates=None if moves_images else mesh.coordinates,
    )


def _opened(content: bytes) -> tuple[Json, bytes]:
    """Return the document and the binary chunk of a GLB."""
    length, kind = struct.unpack_from("<II", content, 12)
    if kind != _JSON:
        raise ValueError("its first chunk is not JSON")
    document, binary = content[20 : 20 + length], content[28 + length :]
    return json.loads(document), binary


def _require_readable(document: Json, primitives: list[Json]) -> None:
    """Reject features that trimesh ignores or misreads."""
    compressed = _COMPRESSIONS.intersection(document.get("extensionsRequired", ()))
    if compressed:
        raise UnreadMeshError(f"trimesh does not read {min(compressed)}")
    for primitive in primitives:
        if primitive.get("mode") == _FAN:
            raise UnreadMeshError("trimesh does not read fans of triangles")
        for number in (primitive["attributes"].get("POSITION"), primitive.get("indices")):
            accessor = {} if number is None else document["accessors"][number]
            if "sparse" in accessor or accessor.get("normalized"):
                message = "trimesh does not read sparse or normalized accessors"
                raise UnreadMeshError(message)


def _gltf_material(document: Json, binary: bytes, folder: str, primitive: Json) -> FileMaterial:
    """Return the material of a primitive; an empty one without a material."""
    if "material" not in primitive:
        return FileMaterial()
    material = document["materials"][primitive["material"]]
    extensions = material.get("extensions", {})
    surface, glossy = material.get("pbrMetallicRoughness", {}), extensions.get(_GLOSSY)
    if glossy is not None:
        factor, texture = glossy.get("diffuseFactor", _WHITE), glossy.get("diffuseTexture")
    else:
        factor, texture = surface.get("baseColorFactor", _WHITE), surface.get("baseColorTexture")
    image = None if texture is None else _gltf_image(document, binary, folder, texture["index"])
    # Colours of vertices are factors as well, and vary over the surface.
    color = None if "COLOR_0" in primitive["attributes"] else clamped(factor)
    mode = material.get("alphaMode", "OPAQUE")
    blends = mode in {"BLEND", "MASK"}
    strength = float(extensions.get(_STRENGTH, {}).get("emissiveStrength", 1.0))
    emission = [strength * c for c in material.get("emissiveFactor", (0.0, 0.0, 0.0))]
    properties: list[tuple[str, tuple[float, ...]]] = [
        *emitting(clamped(emission)),
        *both_sides(material.get("doubleSided", False)),
    ]
    # With the fallbacks of a preview surface.
    for name, fallback in (("metallic", 0.0), ("roughness", 0.5)):
        value = min(max(float(surface.get(f"{name}Factor", 1.0)), 0.0), 1.0)
        if value != fallback:
            properties.append((name, (value,)))
    cutoff = float(material.get("alphaCutoff", 0.5))
    if mode == "MASK" and cutoff:
        properties.append(("opacityThreshold", (cutoff,)))
    unread = set(_OF_GLTF)
    if "emissiveTexture" in material:
        unread.add("emissiveColor")
    if glossy is not None or "metallicRoughnessTexture" in surface:
        unread |= {"metallic", "roughness"}
    wraps = [
        sampler.get(axis, _REPEAT)
        for sampler in document.get("samplers", ())
        for axis in ("wrapS", "wrapT")
    ]
    if any(wrap != _REPEAT for wrap in wraps):
        unread |= _WRAPS
    return FileMaterial(
        color=color,
        factor=color,
        opacity=min(max(float(factor[3]), 0.0), 1.0) if blends else 1.0,
        image=image,
        mask=image if blends else None,
        has_more=True,
        properties=tuple(sorted(properties)),
        unread=frozenset(unread),
    )


def _gltf_image(document: Json, binary: bytes, folder: str, number: int) -> ImageFile:
    texture = document["textures"][number]
    # Extensions may hold an alternative image.
    holders = (texture, *texture.get("extensions", {}).values())
    source = next((holder["source"] for holder in holders if "source" in holder), None)
    if source is None:
        raise ValueError("a texture without an image")
    image = document["images"][source]
    name = f"image {source}"
    uri = image.get("uri", "")
    if uri.startswith("data:"):
        return ImageFile(name, folder, _data(uri))
    if uri:
        return ImageFile(unquote(uri), folder)
    view = document["bufferViews"][image["bufferView"]]
    uri = document["buffers"][view["buffer"]].get("uri")
    if uri is None:
        content = binary
    elif uri.startswith("data:"):
        content = _data(uri)
    else:
        content = read_bounded(Path(folder, unquote(uri)), LARGEST_MESH)
    start = view.get("byteOffset", 0)
    return ImageFile(image.get("name") or name, folder, content[start : start + view["byteLength"]])


def _data(uri: str) -> bytes:
    head, _, data = uri.partition(",")
    return base64.b64decode(data) if head.endswith(";base64") else unquote_to_bytes(data)


def read_scene(
    content: bytes, form: str, folder: str, *, with_normals: bool = False
) -> tuple[int, list[tuple[int, MeshPart]]]:
    """Read a file by trimesh.

    Args:
        content: The file.
        form: Name of the format in trimesh.
        folder: Folder that references are relative to.
        with_normals: Whether all its corners have normals, so that trimesh states
            these; it computes them for others.

    Returns:
        Number of geometries, instanced or not; and for each instance the index of its
        geometry, and its surface.

    Raises:
        UnreadMeshError: trimesh raised.
    """
    with reading_by("trimesh"):
        scene = trimesh.load_scene(
            io.BytesIO(content),
            file_type=form,
            process=False,
            skip_materials=True,
            resolver=_Resolver(folder),
        )
        numbers = {name: number for number, name in enumerate(scene.geometry)}
        parts = []
        for node in scene.graph.nodes_geometry:
            transform, name = scene.graph[node]
            mesh = scene.geometry[name]
            if isinstance(mesh, trimesh.Trimesh):
                faces, uv = np.asarray(mesh.faces), getattr(mesh.visual, "uv", None)
                has_uv = uv is not None and len(uv) == len(mesh.vertices)
                part = MeshPart(
                    np.asarray(mesh.vertices, np.float64),
                    faces,
                    transform,
                    normals=mesh.vertex_normals[faces] if with_normals else None,
                    coordinates=np.asarray(uv)[faces, :2] if has_uv else None,
                )
                parts.append((numbers[name], part))
    return len(numbers), parts


class _Resolver(trimesh.resolvers.FilePathResolver):
    """Reads files that are regular and not too large."""

    def get(self, name: str) -> object:
        """Read the file that trimesh would read."""
        for spelling in (name.strip(), name.strip().lstrip("/"), Path(name).name):
            path = Path(self.parent, spelling)
            if path.exists():
                return read_bounded(path, LARGEST_MESH)
        return super().get(name)
