"""COLLADA files: the surfaces of the scene as one mesh.

Units and axes:

* ``<unit>`` is applied, and so are the transforms of all nodes above a geometry.
* ``<up_axis>`` is not applied but reported. So do the tools that robots are made with:
  rviz and geometric_shapes (hence MoveIt) reset the rotation that assimp derives from
  it, Gazebo and trimesh never read it, PyBullet 3.2.7 was measured to leave a ``Y_UP``
  mesh as it is, and MeshLab writes ``Y_UP`` on Z-up parts. (three.js does apply it.)

Invalid primitives, references and materials are skipped; pycollada, which the harness
uses, refuses the whole geometry or document for one of them. v points up, as in USD.
Colours have no colour space; tools display them as sRGB.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias, TypeVar

import msgspec
import numpy as np
from lxml import etree
from numpy.typing import NDArray

from urdf_usd.converter.meshes.mesh import (
    CornerValues,
    Integers,
    Matrix,
    MeshError,
    PolygonMesh,
    SurfacePart,
    are_valid_indices,
    check_indices,
    corner_values,
    drop_unused,
    join_parts,
    reversed_corners,
    transform_normals,
    transform_vectors,
)
from urdf_usd.converter.meshes.mesh_materials import (
    MeshMaterial,
    MeshTexture,
    Sampling,
    Slot,
    Wrap,
    unit_color,
    visible,
)

Single: TypeAlias = "NDArray[np.float32]"
Element: TypeAlias = Any  # of lxml, whose type allows tags as bytes
_Number = TypeVar("_Number", np.float64, np.int32)

_FLOATS = msgspec.json.Decoder(list[float])
# Number of values of each transform.
_TRANSFORMS = {"matrix": 16, "rotate": 4, "scale": 3, "translate": 3}
# Not supported: one is for cameras, the other is not written by exporters.
_UNKNOWN_TRANSFORMS = frozenset({"lookat", "skew"})
# Element that each kind of instance refers to.
_INSTANCED = {
    "instance_controller": "controller",
    "instance_geometry": "geometry",
    "instance_node": "node",
}
# Instances can multiply or be cyclic.
_MOST_NODES = 100_000
_PRIMITIVES = frozenset({"polygons", "polylist", "triangles", "trifans", "tristrips"})
_COORDINATES = "TEXCOORD"
# A semantic and the number of a set of texture coordinates, which is 0 for all others.
_Semantic: TypeAlias = "tuple[str, int]"
_SLOTS = (
    (Slot.COLOR, "diffuse", "rgb"),
    (Slot.EMISSION, "emission", "rgb"),
    (Slot.OPACITY, "transparent", "a"),
)
_WRAPS = {
    "WRAP": Wrap.REPEAT,
    "MIRROR": Wrap.MIRROR,
    "CLAMP": Wrap.CLAMP,
    "BORDER": Wrap.BLACK,
    "NONE": Wrap.BLACK,
}
_LUMINANCE = (0.212671, 0.715160, 0.072169)


def read_dae(data: bytes) -> PolygonMesh:
    """Read all surfaces that the scene of a COLLADA document shows [m].

    Cameras, lights, lines and animations are ignored. Skinned surfaces are read in
    their bind pose. Faces stay counter-clockwise under mirroring transforms. For a
    document without a scene, each geometry is read once.

    Raises:
        MeshError: The text is not XML, not COLLADA, or has no surface.
    """
    root = _parse(data)
    if root.tag != "COLLADA":
        raise MeshError(f"it is XML but not COLLADA: its root is <{root.tag}>")
    unit, up_axis = _metres_per_unit(root), _up_axis(root)
    sets = _coordinate_sets(root)
    materials = _read_materials(root, sets)
    skipped: list[str] = []
    instances = list(_instances(root, skipped))
    geometries = _Geometries(root, sets, materials)
    parts = [part for instance in instances for part in geometries.place(instance)]
    texts = tuple(dict.fromkeys([*skipped, *geometries.skipped]))
    if not parts:
        raise MeshError("; ".join(("it shows no surface", *texts)))
    ignored = None if up_axis == "Z_UP" else up_axis
    return join_parts(
        parts, materials, metres_per_unit=unit, ignored_up_axis=ignored, skipped=texts
    )


def _parse(data: bytes) -> Element:
    """Parse a document, and drop the namespaces, which vary between exporters.

    Raises:
        MeshError: The text is not XML, or declares entities.
    """
    parser = etree.XMLParser(
        huge_tree=True, remove_comments=True, remove_pis=True, resolve_entities=False
    )
    try:
        root: Element = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, LookupError, ValueError) as error:
        reason = getattr(error, "msg", None) or error
        raise MeshError(f"it is not well-formed XML: {reason}") from error
    if next(root.iter(etree.Entity), None) is not None:
        raise MeshError("it is not well-formed XML: it uses entities")
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root


def read_floats(text: bytes) -> NDArray[np.float64]:
    """Read numbers between white space.

    Decimals that are separated by single spaces, which exporters write, are read as
    JSON: a third of numpy's time, with the same rounding. All others are read by numpy.

    Raises:
        ValueError: Something in there is not a number.
    """
    if b"," not in text:
        content = b"[" + text.strip().replace(b" ", b",") + b"]"
        with suppress(msgspec.DecodeError):
            decoded = _FLOATS.decode(content)
            numbers = np.fromiter(decoded, np.float64, len(decoded))
            # The sign of the integer -0 would be lost.
            if numbers.all() or not (b"-0," in content or content.endswith(b"-0]")):
                return numbers
    return _read_numbers(text, np.float64)


def _read_numbers(text: bytes, kind: type[_Number]) -> NDArray[_Number]:
    with warnings.catch_warnings():
        # For invalid text, older numpy only warns.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            # For white space only, numpy returns one number.
            return np.fromstring(text if text.strip() else b"", kind, sep=" ")
        except DeprecationWarning as warning:
            raise ValueError(*warning.args) from warning


def _text(element: Element | None) -> bytes:
    return b"" if element is None else (element.text or "").encode()


def _target(element: Element | None, attribute: str) -> str:
    """Return the id that an attribute refers to."""
    return "" if element is None else element.get(attribute, "").removeprefix("#")


def _by_id(root: Element, tag: str) -> dict[str, Element]:
    """Return elements by id, of equal ids the first."""
    return {element.get("id", ""): element for element in reversed(list(root.iter(tag)))}


def _metres_per_unit(root: Element) -> float:
    unit = root.find("asset/unit")
    try:
        metres = float(unit.get("meter", "1")) if unit is not None else 1.0
    except ValueError:
        metres = math.nan
    if not (math.isfinite(metres) and metres > 0):
        raise MeshError("its <unit> is not a positive number of metres")
    return metres


def _up_axis(root: Element) -> str:
    """Return ``X_UP``, ``Y_UP`` or ``Z_UP``; COLLADA's default is ``Y_UP``."""
    axis = (root.findtext("asset/up_axis") or "").strip().upper()
    return axis if axis in {"X_UP", "Z_UP"} else "Y_UP"


# The scene.


class _Instance(NamedTuple):
    geometry: Element
    transform: Matrix  # (4, 4) from the geometry to the scene
    materials: Mapping[str, str]  # id of the material by symbol


def _instances(root: Element, skipped: list[str]) -> Iterator[_Instance]:
    """Yield the instances of geometries, in the order of the document.

    For a document without a scene, each geometry is yielded once.

    Raises:
        MeshError: The instances multiply without bounds.
    """
    targets = {tag: _by_id(root, tag) for tag in _INSTANCED.values()}
    matrices: dict[Element, Single] = {}
    scene = _scene(root, skipped)
    if scene is None:
        for geometry in root.iterfind("library_geometries/geometry"):
            yield _Instance(geometry, np.eye(4), {})
        return
    pending = [(node, np.eye(4)) for node in reversed(scene.findall("node"))]
    for _ in range(_MOST_NODES):
        if not pending:
            return
        element, above = pending.pop()
        if element.tag == "node":
            if element not in matrices:
                matrices[element] = _node_matrix(element, skipped)
            # Overflow is reported when the mesh is built.
            with np.errstate(all="ignore"):
                transform = above @ matrices[element].astype(np.float64)
            pending += [
                (child, transform)
                for child in reversed(element)
                if child.tag == "node" or child.tag in _INSTANCED
            ]
            continue
        kind = _INSTANCED[element.tag]
        url = element.get("url", "")
        target = targets[kind].get(url[1:]) if url.startswith("#") else None
        if target is None:
            skipped.append(f"<{element.tag}> refers to {url!r}, which is not there")
            continue
        if kind == "node":
            pending.append((target, above))
            continue
        materials = {
            binding.get("symbol", ""): _target(binding, "target")
            for binding in element.iter("instance_material")
        }
        if kind == "geometry":
            yield _Instance(target, above, materials)
            continue
        skin = target.find("skin")
        skinned = targets["geometry"].get(_target(skin, "source"))
        if skin is None or skinned is None:
            skipped.append(f"controller {target.get('id')!r} is no skin of a geometry")
            continue
        shape = skin.find("bind_shape_matrix")
        numbers = None if shape is None else _transform_numbers(shape, 16, skipped)
        if numbers is not None:
            with np.errstate(all="ignore"):
                above = above @ numbers.astype(np.float32).reshape(4, 4)
        yield _Instance(skinned, above, materials)
    raise MeshError("its instances exceed the limit")


def _scene(root: Element, skipped: list[str]) -> Element | None:
    """Return the instantiated scene, otherwise the first."""
    scenes = root.findall("library_visual_scenes/visual_scene")
    instance = root.find("scene/instance_visual_scene")
    if instance is not None:
        url = instance.get("url", "")
        for scene in scenes:
            if f"#{scene.get('id')}" == url:
                return scene
        skipped.append(f"<{instance.tag}> refers to {url!r}, which is not there")
    return scenes[0] if scenes else None


def _node_matrix(node: Element, skipped: list[str]) -> Single:
    """Return the product of a node's transforms, in float32 as the points."""
    product = np.eye(4, dtype=np.float32)
    for element in node:
        if element.tag in _UNKNOWN_TRANSFORMS:
            skipped.append(f"<{element.tag}> is not supported; it is ignored")
        if element.tag not in _TRANSFORMS:
            continue
        numbers = _transform_numbers(element, _TRANSFORMS[element.tag], skipped)
        if numbers is None:
            continue
        matrix = np.eye(4, dtype=np.float32)
        match element.tag:
            case "matrix":
                matrix = numbers.astype(np.float32).reshape(4, 4)
            case "translate":
                matrix[:3, 3] = numbers.astype(np.float32)
            case "scale":
                matrix[range(3), range(3)] = numbers.astype(np.float32)
            case _:
                length = math.hypot(*numbers[:3].tolist())
                if length:
                    matrix[:3, :3] = _rotation(numbers[:3] / length, numbers[3:])
                elif numbers[3]:
                    skipped.append("<rotate> has no axis; it is ignored")
        with np.errstate(all="ignore"):
            product = product @ matrix
    return product


def _rotation(axis: Matrix, angle_deg: Matrix) -> Single:
    """Return Rodrigues' formula in float32, as in OpenGL."""
    x, y, z = axis.astype(np.float32)
    angle = angle_deg.astype(np.float32) * np.float32(math.pi) / np.float32(180.0)
    cosine, sine = np.cos(angle)[0], np.sin(angle)[0]
    rest = np.float32(1.0) - cosine
    return np.array(
        (
            (rest * x * x + cosine, rest * x * y - sine * z, rest * x * z + sine * y),
            (rest * x * y + sine * z, rest * y * y + cosine, rest * y * z - sine * x),
            (rest * x * z - sine * y, rest * y * z + sine * x, rest * z * z + cosine),
        ),
        np.float32,
    )


def _transform_numbers(element: Element, count: int, skipped: list[str]) -> Matrix | None:
    try:
        numbers = read_floats(_text(element))
    except ValueError:
        numbers = np.zeros(0)
    if len(numbers) == count:
        return numbers
    skipped.append(f"<{element.tag}> does not have {count} numbers; it is ignored")
    return None


# Geometries.


class _Primitive(NamedTuple):
    """Polygons with one material."""

    counts: Integers
    columns: NDArray[np.int32]  # (inputs, corners) indices into sources
    vertex: int  # row of the positions
    values: Mapping[_Semantic, tuple[str, int]]  # id of the source, and row
    material: str  # symbol


class _Surface(NamedTuple):
    points: Matrix  # (N, 3) [units of the document], rounded to single precision
    primitives: list[_Primitive]


class _Geometries:
    """Reads surfaces and sources of a document, each once."""

    def __init__(
        self, root: Element, sets: Mapping[str, int], materials: Mapping[str, MeshMaterial]
    ) -> None:
        self.skipped: list[str] = []
        self._sets = sets
        self._materials = materials
        self._elements = {source.get("id", ""): source for source in root.iter("source")}
        self._surfaces: dict[Element, _Surface] = {}
        self._sources: dict[tuple[str, int], Matrix | None] = {}
        used = {0} | {
            texture.sampling.coordinates
            for material in materials.values()
            for _, texture in material.textures
        }
        coordinates = dict.fromkeys(((_COORDINATES, number) for number in sorted(used)), 2)
        # Number of components that are read.
        self._widths = {("NORMAL", 0): 3, ("COLOR", 0): 3, **coordinates}

    def place(self, instance: _Instance) -> Iterator[SurfacePart]:
        """Yield the parts of an instance in the scene [units of the document]."""
        surface = self._surface(instance.geometry)
        linear = instance.transform[:3, :3]
        # What overflows here is found by build_mesh.
        with np.errstate(all="ignore"):
            points = transform_vectors(surface.points, linear) + instance.transform[:3, 3]
            mirrors = bool(np.linalg.det(linear) < 0)
        for polygons in surface.primitives:
            indices = polygons.columns[polygons.vertex]
            values = self._values(polygons, linear)
            if mirrors:
                order = reversed_corners(polygons.counts)
                indices = indices[order]
                values = {
                    key: CornerValues(held.values, held.indices[order])
                    for key, held in values.items()
                }
            material = instance.materials.get(polygons.material, polygons.material)
            yield SurfacePart(
                points=points,
                counts=polygons.counts,
                indices=indices,
                normals=values.get(("NORMAL", 0)),
                coordinates={
                    number: held for (name, number), held in values.items() if name == _COORDINATES
                },
                colors=values.get(("COLOR", 0)),
                material=material if material in self._materials else None,
            )

    def _values(self, polygons: _Primitive, linear: Matrix) -> dict[_Semantic, CornerValues]:
        """Return the complete values of the corners of polygons."""
        values = {}
        for semantic, width in self._widths.items():
            source, column = polygons.values.get(semantic, ("", 0))
            indices: Integers = polygons.columns[column]
            rows = self._rows(source, width)
            if rows is None or not are_valid_indices(indices, len(rows)):
                continue
            rows, indices = drop_unused(rows, indices)
            if semantic[0] == "NORMAL":
                rows = transform_normals(rows, linear)
            elif semantic[0] == "COLOR":
                rows = np.clip(rows, 0.0, 1.0)
            found = corner_values(rows, indices)
            if found is not None:
                values[semantic] = found
        return values

    def _rows(self, name: str, width: int) -> Matrix | None:
        """Read the first components of a source's rows; None if they are not complete."""
        key = name, width
        if key not in self._sources:
            self._sources[key] = None
            source = self._elements.get(name)
            accessor = None if source is None else source.find("technique_common/accessor")
            with suppress(ValueError):
                stride = int("1" if accessor is None else accessor.get("stride", "1"))
                found = None if source is None else source.find("float_array")
                numbers = read_floats(_text(found))
                if stride >= width and len(numbers) and not len(numbers) % stride:
                    self._sources[key] = numbers.reshape(-1, stride)[:, :width]
        return self._sources[key]

    def _surface(self, geometry: Element) -> _Surface:
        """Read a geometry; invalid primitives are skipped."""
        if geometry not in self._surfaces:
            surface = self._surfaces[geometry] = _Surface(np.empty((0, 3)), [])
            mesh = geometry.find("mesh")
            vertices = None if mesh is None else mesh.find("vertices")
            position = None if vertices is None else vertices.find("*[@semantic='POSITION']")
            if mesh is None or vertices is None or position is None:
                return surface
            try:
                points = _positions(mesh, _target(position, "source"))
            except MeshError as error:
                self.skipped.append(error.reason)
                return surface
            surface = self._surfaces[geometry] = _Surface(points, [])
            for element in mesh:
                if element.tag not in _PRIMITIVES:
                    continue
                try:
                    if element.find("ph") is not None:
                        self.skipped.append("holes in polygons are filled")
                    primitive = self._primitive(element, vertices, len(points))
                except MeshError as error:
                    self.skipped.append(f"<{element.tag}>: {error.reason}")
                else:
                    if len(primitive.counts):
                        surface.primitives.append(primitive)
        return self._surfaces[geometry]

    def _primitive(self, element: Element, vertices: Element, points: int) -> _Primitive:
        try:
            inputs = [(entry, int(entry.get("offset", ""))) for entry in element.findall("input")]
        except ValueError as error:
            raise MeshError("an input has no offset") from error
        shared = {
            (entry.get("semantic", ""), 0): _target(entry, "source")
            for entry in vertices.findall("input")
        }
        known = {vertices.get("id", ""), shared.get(("POSITION", 0), "")} - {""}
        vertex = next(
            (
                offset
                for entry, offset in inputs
                if entry.get("semantic") == "VERTEX" and _target(entry, "source") in known
            ),
            None,
        )
        if vertex is None:
            raise MeshError("it has no vertices")
        if min(offset for _, offset in inputs) < 0:
            raise MeshError("the offset of an input is negative")
        values: dict[_Semantic, tuple[str, int]] = {}
        for entry, offset in inputs:
            semantic = entry.get("semantic", "")
            number = self._sets.get(entry.get("set", "0"), 0) if semantic == _COORDINATES else 0
            values.setdefault((semantic, number), (_target(entry, "source"), offset))
        for key, source in shared.items():
            values.setdefault(key, (source, vertex))
        width = max(offset for _, offset in inputs) + 1
        counts, rows = _polygons(element, width)
        columns = np.ascontiguousarray(rows.T)
        check_indices(points, counts, columns[vertex])
        return _Primitive(counts, columns, vertex, values, element.get("material", ""))


def _positions(mesh: Element, name: str) -> Matrix:
    source = next((s for s in mesh.findall("source") if s.get("id") == name), None)
    if source is None:
        raise MeshError(f"positions are to be in {name!r}, which is not there")
    if len(source.findall("technique_common/accessor/param")) != 3:
        raise MeshError(f"positions in {name!r} have not three coordinates")
    try:
        numbers = read_floats(_text(source.find("float_array")))
    except ValueError as error:
        raise MeshError(f"positions in {name!r} are no numbers") from error
    if len(numbers) % 3:
        raise MeshError(f"positions in {name!r} are incomplete")
    # Overflow to infinity is refused later.
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32).astype(np.float64).reshape(-1, 3)


def _polygons(element: Element, width: int) -> tuple[Integers, NDArray[np.int32]]:
    """Return the numbers of corners of polygons, and indices, one row per corner."""
    if element.tag == "polylist":
        counts = _rows(element.find("vcount"), 1).reshape(-1)
        return counts, _rows(element.find("p"), width)
    if element.tag == "triangles":
        blocks = [_rows(element.find("p"), width)]
    elif element.tag == "polygons":
        outlines = [one.find("p") if one.tag == "ph" else one for one in element]
        blocks = [_rows(one, width) for one in outlines if one is not None and one.tag == "p"]
    else:
        blocks = [_rows(outline, width) for outline in element.findall("p")]
        triangles = _strip if element.tag == "tristrips" else _fan
        blocks = [triangles(rows).reshape(-1, width) for rows in blocks if len(rows) >= 3]
    joined = np.concatenate([np.empty((0, width), np.int32), *blocks])
    if element.tag == "polygons":
        return np.array([len(rows) for rows in blocks], np.int32), joined
    count, rest = divmod(len(joined), 3)
    if rest:
        raise MeshError("its last triangle is incomplete")
    return np.full(count, 3, np.int32), joined


def _rows(element: Element | None, width: int) -> NDArray[np.int32]:
    try:
        return _read_numbers(_text(element), np.int32).reshape(-1, width)
    except ValueError as error:
        raise MeshError("its indices are broken") from error


def _strip(rows: NDArray[np.int32]) -> NDArray[np.int32]:
    corners = np.stack([rows[:-2], rows[1:-1], rows[2:]], axis=1)
    # Every other triangle has the opposite orientation.
    corners[1::2] = corners[1::2, [1, 0, 2]]
    return corners


def _fan(rows: NDArray[np.int32]) -> NDArray[np.int32]:
    hub = np.broadcast_to(rows[:1], rows[2:].shape)
    return np.stack([hub, rows[1:-1], rows[2:]], axis=1)


# Materials.


def _coordinate_sets(root: Element) -> dict[str, int]:
    """Number the sets of texture coordinates from 0, in order of their names."""
    named = {
        entry.get("set", "0")
        for entry in root.iter("input")
        if entry.get("semantic") == _COORDINATES
    }
    ordered = sorted(named, key=lambda name: (len(name), name))
    return {name: number for number, name in enumerate(ordered)}


def _read_materials(root: Element, sets: Mapping[str, int]) -> dict[str, MeshMaterial]:
    """Read the materials of a document by id."""
    effects = {effect.get("id", ""): effect for effect in root.iter("effect")}
    images = {image.get("id", ""): image for image in root.iter("image")}
    # Set of texture coordinates by symbol, of each material.
    bound: dict[str, dict[str, int]] = {}
    for instance in root.iter("instance_material"):
        symbols = bound.setdefault(_target(instance, "target"), {})
        for entry in instance.iter("bind_vertex_input"):
            if entry.get("input_semantic") == _COORDINATES:
                number = sets.get(entry.get("input_set", "0"), 0)
                symbols.setdefault(entry.get("semantic", ""), number)
    materials = {}
    for material in root.iter("material"):
        effect = effects.get(_target(material.find("instance_effect"), "url"))
        if effect is not None:
            key = material.get("id", "")
            name = material.get("name") or key
            materials[key] = _Effect(effect, images, bound.get(key, {})).material(name)
    return materials


class _Effect:
    """Reads values of an effect, which may refer to its parameters."""

    def __init__(
        self, effect: Element, images: Mapping[str, Element], sets: Mapping[str, int]
    ) -> None:
        self._effect = effect
        self._params = {param.get("sid", ""): param for param in effect.iter("newparam")}
        self._images = images
        self._sets = sets

    def material(self, name: str) -> MeshMaterial:
        shaders = ("phong", "lambert", "blinn", "constant")
        shader = next((found for tag in shaders for found in self._effect.iter(tag)), None)
        if shader is None:
            return MeshMaterial(name)
        transparent = shader.find("transparent")
        mode = "A_ONE" if transparent is None else transparent.get("opaque", "A_ONE")
        opacity = self._opacity(shader, mode)
        textures = {
            slot: self._texture(texture, components)
            for slot, tag, components in _SLOTS
            # Other modes use the luminance, which is not supported by shaders.
            if (tag != "transparent" or mode == "A_ONE")
            and (texture := shader.find(f"{tag}/texture")) is not None
        }
        shown = textures.get(Slot.OPACITY)
        if shown is not None:
            textures[Slot.OPACITY] = shown.sampled(gain=(opacity,) * 4)
        color, emissive = self._color(shader, "diffuse"), self._color(shader, "emission")
        return MeshMaterial(
            name=name,
            color=None if color is None else unit_color(color),
            opacity=opacity,
            emissive=(0.0, 0.0, 0.0) if emissive is None else unit_color(emissive),
            double_sided=any(
                (element.text or "").strip() in {"1", "true"}
                for element in self._effect.iter("double_sided")
            ),
            textures=tuple((slot, one) for slot, one in textures.items() if one is not None),
        )

    def _value(self, shader: Element, tag: str, own: str, kinds: Sequence[str]) -> str | None:
        """Return the text of a shader's value, or of the parameter that it refers to."""
        text: str | None = shader.findtext(f"{tag}/{own}")
        reference = shader.find(f"{tag}/param")
        if text is None and reference is not None:
            param = self._params.get(reference.get("ref", ""))
            texts = () if param is None else (param.findtext(kind) for kind in kinds)
            text = next((found for found in texts if found is not None), None)
        return text

    def _color(self, shader: Element, tag: str) -> tuple[float, ...] | None:
        """Return red, green, blue and alpha."""
        numbers = _finite(self._value(shader, tag, "color", ("float4", "float3")), 3)
        return numbers and (*numbers[:3], *(numbers[3:4] or (1.0,)))

    def _opacity(self, shader: Element, mode: str) -> float:
        factor = _finite(self._value(shader, "transparency", "float", ("float",)), 1)
        scale = factor[0] if factor else 1.0
        color = self._color(shader, "transparent")
        if color is None:
            return visible(scale)
        if mode in {"RGB_ZERO", "RGB_ONE"}:
            scale *= sum(c * w for c, w in zip(color, _LUMINANCE, strict=False))
        else:
            scale *= color[3]
        return visible(1.0 - scale if mode in {"RGB_ZERO", "A_ZERO"} else scale)

    def _texture(self, texture: Element, components: str) -> MeshTexture | None:
        """Follow a texture through sampler and surface to the file of its image."""
        name = texture.get("texture", "")
        sampler: Element | None = None
        # Sampler, surface, image; some exporters refer to the image directly.
        for _ in range(2):
            param = self._params.get(name)
            if name in self._images or param is None:
                break
            if (found := param.find("sampler2D")) is not None:
                sampler = found
            inner = (
                param.findtext("sampler2D/source")
                or param.findtext("surface/init_from")
                or _target(param.find("sampler2D/instance_image"), "url")
            )
            name = inner.strip()
        image = self._images.get(name)
        initial = None if image is None else image.find("init_from")
        reference = "" if initial is None else "".join(initial.itertext()).strip()
        # The name of an image that the document does not have is reported as missing.
        reference = reference or name
        if not reference:
            return None
        sampling = Sampling(
            components=components,
            wrap_s=_wrap(sampler, "wrap_s"),
            wrap_t=_wrap(sampler, "wrap_t"),
            coordinates=self._sets.get(texture.get("texcoord", ""), 0),
        )
        return MeshTexture(reference.replace("\\", "/"), sampling=sampling)


def _wrap(sampler: Element | None, tag: str) -> Wrap:
    mode = "WRAP" if sampler is None else (sampler.findtext(tag) or "WRAP").strip()
    return _WRAPS.get(mode, Wrap.REPEAT)


def _finite(text: str | None, least: int) -> tuple[float, ...] | None:
    """Return at least so many finite numbers."""
    try:
        numbers = tuple(map(float, (text or "").split()))
    except ValueError:
        return None
    return numbers if len(numbers) >= least and all(map(math.isfinite, numbers)) else None
