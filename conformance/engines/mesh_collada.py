"""COLLADA files by pycollada: triangles, and the materials that they are bound to.

pycollada reads the document as it is, without repairs of its result. A document that
uses something which pycollada is known to leave out or misread is rejected. The
converter has its own reader.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TypeAlias
from zipfile import is_zipfile

import collada
import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines.loaded_mesh import (
    LoadedMesh,
    MeshPart,
    UnreadMeshError,
    joined_parts,
    reading_by,
)
from urdf_usd.conformance.engines.mesh_materials import (
    MOST_INSTANCES,
    MOST_NUMBERS,
    FileMaterial,
    ImageFile,
    both_sides,
    effective_opacity,
    emitting,
    light,
)

Array: TypeAlias = NDArray[np.float64]

_OPAQUE = (1.0, 1.0, 1.0, 1.0)
_LUMINANCE = np.array([0.212671, 0.715160, 0.072169])
_RGB = 3
# Inputs of a surface that effects, their samplers and extensions can define.
_UNREAD = frozenset(
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
# Children of a node that define its transform and its surfaces.
_TRANSFORMS = frozenset({"lookat", "matrix", "rotate", "scale", "skew", "translate"})
_INSTANCES = frozenset({"instance_controller", "instance_geometry", "instance_node"})
_SHOWN = (
    collada.scene.ControllerNode,
    collada.scene.GeometryNode,
    collada.scene.Node,
)
# Of axes in single precision.
_AXIS_TOLERANCE = 1e-5
_LONGEST_REASON = 200
_MOST_TAGS = 4_000_000
_ENCODINGS = ("ascii", "utf-16-le", "utf-16-be")


def read_dae(content: bytes, folder: str) -> LoadedMesh:
    """Read the scene of a document; ``<up_axis>`` is not applied.

    Args:
        content: The document.
        folder: What files that it names are relative to.

    Raises:
        UnreadMeshError: pycollada raised, leaves out part of the scene, or is known to
            misread it; or there is no triangle.
    """
    _require_bounded(content)
    with reading_by("pycollada"):
        # Surfaces with a material that it cannot read are kept.
        document = _document(content)
        scene = _scene(document)
        if scene is None:
            raise UnreadMeshError(_with_errors("pycollada finds no scene", document))
        numbers = {one.id: index for index, one in enumerate(document.materials)}
        unit = document.assetInfo.unitmeter
        metres = np.diag([*[1.0 if unit is None else float(unit)] * 3, 1.0])
        reader = _Scene(document, numbers)
        found = [part for node in scene.nodes for part in reader.parts(node, metres)]
        materials = tuple(_material(one.effect, folder) for one in document.materials)
    _require_numbers(document)
    mesh = joined_parts(part for part, _ in found)
    has_coordinates = any(has for _, has in found)
    with_normals = sum(part.normals is not None for part, _ in found)
    return structs.replace(
        mesh,
        materials=materials,
        has_coordinates=has_coordinates,
        has_normals=True if with_normals == len(found) else None if with_normals else False,
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


def _scene(document: collada.Collada) -> collada.scene.Scene | None:
    """Return the instantiated scene, or the first if none is instantiated.

    COLLADA does not say what such a document shows; Assimp and PyBullet refuse it.
    """
    root = document.xmlnode.getroot()
    if root.find("{*}scene/{*}instance_visual_scene") is None:
        return next(iter(document.scenes), None)
    return document.scene


def _require_bounded(content: bytes) -> None:
    """Refuse what pycollada would expand: archives, entities, and many tags."""
    if is_zipfile(io.BytesIO(content)):
        raise UnreadMeshError("it is an archive")
    # pycollada switches the limits of lxml off.
    if any("<!ENTITY".encode(code) in content for code in _ENCODINGS):
        raise UnreadMeshError("it declares entities")
    if content.count(b"<") > _MOST_TAGS:
        raise UnreadMeshError(f"it has more than {_MOST_TAGS} tags")


class _Scene:
    """The scene of a document, as pycollada reads it."""

    def __init__(self, document: collada.Collada, numbers: dict[str, int]) -> None:
        self._document = document
        self._numbers = numbers
        self._instances = self._values = 0
        root = document.xmlnode.getroot()
        # Targets of instances that pycollada can read.
        self._there = {
            f"#{one.get('id')}"
            for one in root.iter("{*}geometry", "{*}controller", "{*}node")
            if not one.tag.endswith("}geometry") or one.find("{*}mesh") is not None
        }

    def parts(
        self,
        node: collada.scene.SceneNode,
        transform: Array,
    ) -> Iterator[tuple[MeshPart, bool]]:
        """Yield surfaces, and whether they have texture coordinates.

        Raises:
            UnreadMeshError: Instances multiply, or pycollada misreads a node.
        """
        self._instances += 1
        if self._instances > MOST_INSTANCES:
            raise UnreadMeshError(f"it has more than {MOST_INSTANCES} instances")
        if isinstance(node, collada.scene.Node):
            self._require_whole(node)
            below = transform @ np.asarray(node.matrix, np.float64)
            for child in node.children or ():
                yield from self.parts(child, below)
        elif isinstance(node, collada.scene.GeometryNode):
            yield from self._surfaces(node, node.geometry, transform)
        elif isinstance(node, collada.scene.ControllerNode):
            skin = node.controller
            if not isinstance(skin, collada.controller.Skin):
                raise UnreadMeshError("pycollada does not read morphs")
            bound = transform @ np.asarray(skin.bind_shape_matrix, np.float64)
            yield from self._surfaces(node, skin.geometry, bound)

    def _require_whole(self, node: collada.scene.SceneNode) -> None:
        """Refuse a node of which pycollada leaves something out, or misreads it."""
        if isinstance(node, collada.scene.NodeNode):
            node = node.node
        transforms = [one for one in node.xmlnode if _local_name(one.tag) in _TRANSFORMS]
        shown = [
            one
            for one in node.xmlnode
            if _local_name(one.tag) == "node"
            or (_local_name(one.tag) in _INSTANCES and one.get("url") in self._there)
        ]
        kept = [child for child in node.children if isinstance(child, _SHOWN)]
        if len(transforms) != len(node.transforms) or len(shown) != len(kept):
            message = f"pycollada leaves out parts of node {node.id!r}"
            raise UnreadMeshError(_with_errors(message, self._document))
        for one in node.transforms:
            if isinstance(one, collada.scene.LookAtTransform):
                raise UnreadMeshError("pycollada transposes <lookat>")
            if isinstance(one, collada.scene.RotateTransform):
                axis = np.linalg.norm([one.x, one.y, one.z])
                if abs(axis - 1.0) > _AXIS_TOLERANCE and one.angle:
                    raise UnreadMeshError(
                        "pycollada reads the length of a <rotate> axis as a scale"
                    )

    def _surfaces(
        self,
        node: collada.scene.SceneNode,
        geometry: collada.geometry.Geometry,
        transform: Array,
    ) -> Iterator[tuple[MeshPart, bool]]:
        numbers = self._numbers
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
            self._values += points.size + triangles.size
            if self._values > MOST_NUMBERS:
                raise UnreadMeshError(f"it has more than {MOST_NUMBERS} numbers")
            material = bound.get(surface.material, -1)
            sets = surface.sources.get("TEXCOORD") or ()
            normals = _corner_values(surface.normal, surface.normal_index, 3)
            coordinates = None
            # With several sets, the material's binding selects one.
            if len(sets) == 1:
                coordinates = _corner_values(
                    surface.texcoordset[0], surface.texcoord_indexset[0], 2
                )
            part = MeshPart(points, triangles, transform, material, normals, coordinates)
            yield part, bool(sets)


def _corner_values(
    values: NDArray[np.floating] | None,
    indices: NDArray[np.integer] | None,
    width: int,
) -> NDArray[np.floating] | None:
    """Return the (M, 3, width) values of the corners of triangles; None without."""
    if values is None or indices is None or not len(values):
        return None
    numbers = np.asarray(indices).reshape(-1, 3)
    if numbers.min() < 0 or numbers.max() >= len(values):
        return None
    found: NDArray[np.floating] = np.asarray(values)[numbers, :width]
    return found


def _require_numbers(document: collada.Collada) -> None:
    """Refuse positions that are no numbers."""
    root = document.xmlnode.getroot()
    positions = {
        entry.get("source")
        for entry in root.iterfind(".//{*}vertices/{*}input[@semantic='POSITION']")
    }
    for source in root.iter("{*}source"):
        if f"#{source.get('id')}" in positions:
            text = source.findtext("{*}float_array") or ""
            if "nan" in text.lower():
                raise UnreadMeshError("pycollada reads NaN as zero")


def _local_name(tag: object) -> str:
    # lxml has a function in place of the tag of a comment.
    return str(tag).rpartition("}")[2]


def _with_errors(message: str, document: collada.Collada) -> str:
    errors = dict.fromkeys(" ".join(str(one.msg).split()) for one in document.errors)
    return f"{message}: {'; '.join(errors)}"[:_LONGEST_REASON] if errors else message


def _material(effect: collada.material.Effect, folder: str) -> FileMaterial:
    """Read an effect: its diffuse colour or image, and its opacity."""
    color = image = None
    if isinstance(effect.diffuse, collada.material.Map):
        image = _image(effect.diffuse, folder)
    elif effect.diffuse is not None and len(effect.diffuse) >= _RGB:
        color = light([float(c) for c in effect.diffuse])
    glow = effect.emission
    is_map = isinstance(glow, collada.material.Map)
    opacity, mask = _opacity(effect, folder)
    return FileMaterial(
        color=color,
        opacity=opacity,
        image=image,
        mask=mask,
        has_more=is_map or (glow is not None and any(glow[:_RGB])),
        properties=both_sides(effect.double_sided)
        if is_map or glow is None or len(glow) < _RGB
        else (
            *both_sides(effect.double_sided),
            *emitting(light([float(c) for c in glow])),
        ),
        unread=_UNREAD | ({"emissiveColor"} if is_map else set()) | _sampler_inputs(effect),
    )


def _sampler_inputs(effect: collada.material.Effect) -> set[str]:
    """Return the inputs that samplers define, which pycollada does not read."""
    wraps = {
        _local_name(one.tag): (one.text or "").strip()
        for one in effect.xmlnode.iter("{*}wrap_s", "{*}wrap_t")
    }
    if set(wraps.values()) <= {"WRAP"}:
        return set()
    return {"diffuseColor.wrapS", "diffuseColor.wrapT"}


def _opacity(
    effect: collada.material.Effect,
    folder: str,
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
    if not isinstance(scale, int | float):
        return None, None
    transparent = effect.transparent
    if isinstance(transparent, collada.material.Map):
        if mode == "A_ONE":
            return effective_opacity(scale), _image(transparent, folder)
        # The luminance of a texture is not supported by shaders.
        return None, None
    rgba = np.array([*(transparent or _OPAQUE), 1.0])[:4]
    opaque = float(rgba[3] if mode.startswith("A_") else rgba[:_RGB] @ _LUMINANCE)
    if transparent is None:
        return effective_opacity(scale), None
    opaque *= scale
    return effective_opacity(1.0 - opaque if mode.endswith("ZERO") else opaque), None


def _image(texture: collada.material.Map, folder: str) -> ImageFile:
    image = texture.sampler.surface.image
    return ImageFile((image.path or image.id or "").strip(), folder)
