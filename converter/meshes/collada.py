"""COLLADA files: the surfaces of the scene as one mesh.

``<unit>`` is applied, and so are the transforms of all nodes above a geometry. ``<up_axis>`` is
not applied but reported. So do the tools that robots are made with: rviz and geometric_shapes
(hence MoveIt) reset the rotation that assimp derives from it, Gazebo and trimesh never read it,
PyBullet 3.2.7 leaves a ``Y_UP`` mesh as it is, and MeshLab writes ``Y_UP`` on Z-up parts.

Invalid references and primitives refuse the document. v points up, as in USD. Colours have no
colour space; tools display them as sRGB.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

import msgspec
import numpy as np
from lxml import etree
from msgspec import structs
from numpy.typing import NDArray

from urdf_usd.converter.meshes import mesh as meshes
from urdf_usd.converter.meshes import mesh_materials as mm
from urdf_usd.converter.meshes.mesh import require

Element: TypeAlias = Any  # of lxml, whose type allows tags as bytes
_Number = TypeVar("_Number", np.float64, np.int32)

# Number of values of each transform.
_TRANSFORMS = {"lookat": 9, "matrix": 16, "rotate": 4, "scale": 3, "skew": 7, "translate": 3}
# Instances can multiply or be cyclic.
_MOST_NODES = 100_000
_PRIMITIVES = frozenset({"polygons", "polylist", "triangles", "trifans", "tristrips"})
_WRAPS = {
    "MIRROR": mm.Wrap.MIRROR,
    "CLAMP": mm.Wrap.CLAMP,
    "BORDER": mm.Wrap.BLACK,
    "NONE": mm.Wrap.BLACK,
}
_LUMINANCE = (0.212671, 0.715160, 0.072169)
_DECIMALS = msgspec.json.Decoder(list[float])
_COMMAS = bytes.maketrans(b" ", b",")


# What overflows is refused by build_mesh.
@np.errstate(all="ignore")
def read_dae(data: bytes) -> meshes.PolygonMesh:
    """Read all surfaces that the scene of a COLLADA document shows [m].

    Cameras, lights, lines and animations are ignored, and skins are read in their bind pose. Faces
    stay counter-clockwise under mirroring transforms. Without a scene, each geometry is read once.
    MeshError if the text is not XML, not COLLADA, has holes or morphs, or no surface.
    """
    root = _parse(data)
    require(root.tag == "COLLADA", f"it is XML but not COLLADA: its root is <{root.tag}>")
    unit = root.find("asset/unit")
    metres = mm.finite(unit.get("meter", "1")) if unit is not None else 1.0
    if metres is None or metres <= 0:
        raise meshes.MeshError("its <unit> is not a positive number of metres")
    up_axis = (root.findtext("asset/up_axis") or "").strip().upper()
    parts = _Document(root).parts()
    require(parts, "it shows no surface")
    # COLLADA's default is Y_UP.
    ignored = {"X_UP": "X_UP", "Z_UP": None}.get(up_axis, "Y_UP")
    return structs.replace(meshes.join_parts(parts, metres), ignored_up_axis=ignored)


def _parse(data: bytes) -> Element:
    """Parse a document, and drop the namespaces, which vary between exporters."""
    parser = etree.XMLParser(
        huge_tree=True,
        remove_comments=True,
        remove_pis=True,
        resolve_entities=False,
        collect_ids=False,
    )
    try:
        root: Element = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, LookupError, ValueError) as error:
        reason = getattr(error, "msg", None) or error
        raise meshes.MeshError(f"it is not well-formed XML: {reason}") from error
    has_entities = next(root.iter(etree.Entity), None) is not None
    require(not has_entities, "it is not well-formed XML: it uses entities")
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root


def read_numbers(element: Element | None, kind: type[_Number]) -> NDArray[_Number]:
    """Read the numbers of an element between white space; ValueError for anything else."""
    text = b"" if element is None else (element.text or "").encode().strip()
    if kind is np.float64 and b"," not in text:
        # Decimals between single spaces, which exporters write, as JSON: in half of numpy's time.
        content = b"[" + text.translate(_COMMAS) + b"]"
        with suppress(msgspec.DecodeError):
            numbers = np.array(_DECIMALS.decode(content), kind)
            # The sign of the integer -0 would be lost.
            if numbers.all() or not (b"-0," in content or content.endswith(b"-0]")):
                return numbers
    with warnings.catch_warnings():
        # For invalid text, older numpy only warns.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(text, kind, sep=" ")
        except DeprecationWarning as warning:
            raise ValueError(*warning.args) from warning


def _numbers(element: Element | None, count: int | None = None) -> meshes.Matrix:
    try:
        numbers = read_numbers(element, np.float64)
    except ValueError as error:
        raise meshes.MeshError("an element does not consist of numbers") from error
    if element is not None:
        require(count in {None, len(numbers)}, f"<{element.tag}> has {len(numbers)} numbers")
    return numbers


def _target(element: Element | None, attribute: str) -> str:
    """Return the id that an attribute refers to."""
    return "" if element is None else element.get(attribute, "").removeprefix("#")


class _Document:
    """Reads the scene of a document; geometries and sources are read once."""

    def __init__(self, root: Element) -> None:
        self._root = root
        inputs = (one for one in root.iter("input") if one.get("semantic") == "TEXCOORD")
        named = {one.get("set", "0") for one in inputs}
        # Sets of texture coordinates are numbered in order of their names.
        ordered = sorted(named, key=lambda name: (len(name), name))
        self._sets = {name: number for number, name in enumerate(ordered)}
        self._sources = {source.get("id", ""): source for source in root.iter("source")}
        self._rows: dict[tuple[str, int], meshes.Matrix | None] = {}
        effects = {effect.get("id", ""): effect for effect in root.iter("effect")}
        images = {image.get("id", ""): image for image in root.iter("image")}
        # Set of texture coordinates by symbol, of each material.
        bound: dict[str, dict[str, int]] = {}
        for instance in root.iter("instance_material"):
            symbols = bound.setdefault(_target(instance, "target"), {})
            for entry in instance.iter("bind_vertex_input"):
                if entry.get("input_semantic") == "TEXCOORD":
                    number = self._sets.get(entry.get("input_set", "0"), 0)
                    symbols.setdefault(entry.get("semantic", ""), number)
        self._materials: dict[str, mm.MeshMaterial] = {}
        for material in root.iter("material"):
            effect = effects.get(_target(material.find("instance_effect"), "url"))
            if effect is not None:
                key = material.get("id", "")
                own = material.get("name") or key, effect, images, bound.get(key, {})
                self._materials[key] = _material(*own)

    def parts(self) -> list[tuple[meshes.PolygonMesh, mm.MeshMaterial | None]]:
        """Return the parts of all instances, in the order of the document."""
        geometries: dict[Element, list[tuple[meshes.PolygonMesh, str]]] = {}
        parts: list[tuple[meshes.PolygonMesh, mm.MeshMaterial | None]] = []
        for geometry, transform, bound in list(self._instances()):
            if geometry not in geometries:
                geometries[geometry] = list(self._geometry(geometry))
            for mesh, symbol in meshes.place_parts(geometries[geometry], transform):
                parts.append((mesh, self._materials.get(bound.get(symbol, symbol))))
        return parts

    # The scene

    def _instances(self) -> Iterator[tuple[Element, meshes.Matrix, Mapping[str, str]]]:
        """Yield geometries with (4, 4) transforms to the scene, and ids of materials by symbol.

        For a document without a scene, each geometry is yielded once.
        """
        scenes = self._root.findall("library_visual_scenes/visual_scene")
        named = _target(self._root.find("scene/instance_visual_scene"), "url")
        # The instantiated scene, otherwise the first.
        scene = next((s for s in scenes if s.get("id") == named), scenes[0] if scenes else None)
        if scene is None:
            for geometry in self._root.iterfind("library_geometries/geometry"):
                yield geometry, np.eye(4), {}
            return
        # Of equal ids, the first counts.
        targets = {
            f"instance_{tag}": {e.get("id", ""): e for e in reversed(list(self._root.iter(tag)))}
            for tag in ("controller", "geometry", "node")
        }
        pending = [(node, np.eye(4)) for node in reversed(scene.findall("node"))]
        for _ in range(_MOST_NODES):
            if not pending:
                return
            element, transform = pending.pop()
            if element.tag == "node":
                transform = transform @ _matrix(element).astype(np.float64)
                inside = (one for one in reversed(element) if one.tag in {"node", *targets})
                pending += [(child, transform) for child in inside]
                continue
            url = element.get("url", "")
            found = targets[element.tag]
            target: Element = found.get(url[1:]) if url.startswith("#") else None
            require(target is not None, f"<{element.tag}> refers to {url!r}, which is not there")
            if element.tag == "instance_node":
                pending.append((target, transform))
                continue
            if element.tag == "instance_controller":
                skin = target.find("skin")
                target = targets["instance_geometry"].get(_target(skin, "source"))
                is_skin = skin is not None and target is not None
                require(is_skin, f"controller {url!r} is no skin of a geometry")
                shape = skin.find("bind_shape_matrix")
                if shape is not None:
                    transform = transform @ _numbers(shape, 16).astype(np.float32).reshape(4, 4)
            bindings = element.iter("instance_material")
            yield target, transform, {b.get("symbol", ""): _target(b, "target") for b in bindings}
        raise meshes.MeshError("its instances exceed the limit")

    # Geometries

    def _geometry(self, geometry: Element) -> Iterator[tuple[meshes.PolygonMesh, str]]:
        """Yield the primitives of a geometry in its own frame."""
        position = geometry.find("mesh/vertices/*[@semantic='POSITION']")
        if position is None:
            return
        vertices, name = position.getparent(), _target(position, "source")
        mesh = vertices.getparent()
        source: Element = next((s for s in mesh.findall("source") if s.get("id") == name), None)
        require(source is not None, f"positions are to be in {name!r}, which is not there")
        names = source.findall("technique_common/accessor/param")
        require(len(names) == 3, f"positions in {name!r} have not three coordinates")
        numbers = _numbers(source.find("float_array"))
        require(len(numbers) % 3 == 0, f"positions in {name!r} are incomplete")
        points = numbers.astype(np.float32).astype(np.float64).reshape(-1, 3)
        for element in mesh:
            if element.tag in _PRIMITIVES:
                part = self._primitive(element, vertices, points)
                if len(part.face_counts):
                    yield part, element.get("material", "")

    def _primitive(
        self, element: Element, vertices: Element, points: meshes.Matrix
    ) -> meshes.PolygonMesh:
        inputs = [(entry, entry.get("offset", "")) for entry in element.findall("input")]
        require(all(offset.isdecimal() for _, offset in inputs), "an input has no offset")
        require(all(len(offset) <= 8 for _, offset in inputs), "its indices are broken")
        shared = {
            (entry.get("semantic", ""), 0): _target(entry, "source")
            for entry in vertices.findall("input")
        }
        known = {vertices.get("id", ""), shared.get(("POSITION", 0), "")} - {""}
        vertex: int | None = None
        # Source and offset by semantic and number of a set of texture coordinates.
        sources: dict[tuple[str, int], tuple[str, int]] = {}
        for entry, place in inputs:
            semantic, source, offset = entry.get("semantic"), _target(entry, "source"), int(place)
            if semantic == "VERTEX" and source in known and vertex is None:
                vertex = offset
            number = self._sets.get(entry.get("set", "0"), 0) if semantic == "TEXCOORD" else 0
            sources.setdefault((semantic, number), (source, offset))
        if vertex is None:
            raise meshes.MeshError("it has no vertices")
        for key, source in shared.items():
            sources.setdefault(key, (source, vertex))
        counts, rows = _polygons(element, max(int(place) for _, place in inputs) + 1)
        columns = np.ascontiguousarray(rows.T)
        meshes.check_indices(len(points), counts, columns[vertex])

        def values(semantic: str, number: int, width: int) -> meshes.CornerValues | None:
            source, column = sources.get((semantic, number), ("", 0))
            rows = self._source(source, width)
            if rows is None:
                return None
            if semantic == "COLOR":
                rows = np.clip(rows, 0.0, 1.0)
            elif semantic == "NORMAL" and not np.isfinite(rows).all():
                # build_mesh replaces zero normals.
                rows = np.where(np.isfinite(rows).all(axis=1, keepdims=True), rows, 0.0)
            return meshes.corner_values(rows, columns[column])

        sets = tuple(values("TEXCOORD", number, 2) for number in range(max(len(self._sets), 1)))
        normals, colors = values("NORMAL", 0, 3), values("COLOR", 0, 3)
        return meshes.PolygonMesh(
            points, counts, columns[vertex], normals=normals, coordinate_sets=sets, colors=colors
        )

    def _source(self, name: str, width: int) -> meshes.Matrix | None:
        """Read the first components of a source's rows; None if they are not complete."""
        key = name, width
        if key not in self._rows:
            self._rows[key] = None
            source = self._sources.get(name, etree.Element("source"))
            accessor = source.find("technique_common/accessor")
            with suppress(ValueError):
                stride = int("1" if accessor is None else accessor.get("stride", "1"))
                numbers = read_numbers(source.find("float_array"), np.float64)
                if stride >= width and len(numbers) and not len(numbers) % stride:
                    self._rows[key] = numbers.reshape(-1, stride)[:, :width]
        return self._rows[key]


def _matrix(node: Element) -> NDArray[np.float32]:
    """Return the product of a node's transforms, in float32 as the points."""
    product = np.eye(4, dtype=np.float32)
    for element in node:
        if element.tag not in _TRANSFORMS:
            continue
        numbers = _numbers(element, _TRANSFORMS[element.tag])
        matrix = np.eye(4, dtype=np.float32)
        match element.tag:
            case "matrix":
                matrix = numbers.astype(np.float32).reshape(4, 4)
            case "translate":
                matrix[:3, 3] = numbers
            case "scale":
                matrix[range(3), range(3)] = numbers
            case "lookat" | "skew":
                # Of cameras. A surface below is refused, as its points are not finite.
                matrix[:] = math.nan
            case _:
                if length := math.hypot(*numbers[:3].tolist()):
                    # Rodrigues' formula in float32, as in OpenGL.
                    x, y, z = axis = (numbers[:3] / length).astype(np.float32)
                    angle = numbers[3:].astype(np.float32) * np.float32(math.pi)
                    (cosine,), (sine,) = (f(angle / np.float32(180.0)) for f in (np.cos, np.sin))
                    upper = np.triu(np.outer((np.float32(1.0) - cosine) * axis, axis))
                    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], np.float32)
                    matrix[:3, :3] = upper + np.triu(upper, 1).T + sine * cross
                    matrix[range(3), range(3)] += cosine
        product = product @ matrix
    return product


def _polygons(element: Element, width: int) -> tuple[meshes.Indices, NDArray[np.int32]]:
    """Return the numbers of corners of polygons, and indices, one row per corner."""
    require(element.find("ph") is None, "it has polygons with holes")
    outlines = [_rows(outline, width) for outline in element.findall("p")]
    rows = np.concatenate([np.empty((0, width), np.int32), *outlines])
    if element.tag == "polylist":
        return _rows(element.find("vcount"), 1).reshape(-1), rows
    if element.tag == "polygons":
        return np.array([*map(len, outlines)], np.int32), rows
    if element.tag != "triangles":
        triangles = [np.empty((0, 3, width), np.int32)]
        for outline in outlines:
            hub = outline[:-2]
            if element.tag == "trifans":
                hub = np.broadcast_to(outline[:1], hub.shape)
            strip = np.stack([hub, outline[1:-1], outline[2:]], axis=1)
            if element.tag == "tristrips":
                # Every other triangle has the opposite orientation.
                strip[1::2] = strip[1::2, [1, 0, 2]]
            triangles.append(strip)
        rows = np.concatenate(triangles).reshape(-1, width)
    require(len(rows) % 3 == 0, "its last triangle is incomplete")
    return np.full(len(rows) // 3, 3, np.int32), rows


def _rows(element: Element | None, width: int) -> NDArray[np.int32]:
    try:
        return read_numbers(element, np.int32).reshape(-1, width)
    except ValueError as error:
        raise meshes.MeshError("its indices are broken") from error


# Materials


def _material(
    name: str, effect: Element, images: Mapping[str, Element], sets: Mapping[str, int]
) -> mm.MeshMaterial:
    shaders = ("phong", "lambert", "blinn", "constant")
    shader = next((found for tag in shaders for found in effect.iter(tag)), None)
    if shader is None:
        return mm.MeshMaterial(name)
    params = {param.get("sid", ""): param for param in effect.iter("newparam")}

    def numbers(path: str) -> list[float]:
        """Return the numbers of a shader's value; none if one is not finite."""
        found = [mm.finite(word) for word in (shader.findtext(path) or "").split()]
        known = [number for number in found if number is not None]
        return known if len(known) == len(found) else []

    def color(tag: str) -> list[float] | None:
        """Return red, green, blue and alpha."""
        found = numbers(f"{tag}/color")
        return [*found, 1.0][:4] if len(found) >= 3 else None

    transparent = shader.find("transparent")
    mode = "A_ONE" if transparent is None else transparent.get("opaque", "A_ONE")
    opacity = (numbers("transparency/float") or [1.0])[0]
    if factors := color("transparent"):
        weights = _LUMINANCE if mode in {"RGB_ZERO", "RGB_ONE"} else (0.0, 0.0, 0.0, 1.0)
        opacity *= sum(c * w for c, w in zip(factors, weights, strict=False))
        opacity = 1.0 - opacity if mode in {"RGB_ZERO", "A_ZERO"} else opacity
    opacity = mm.visible(opacity)
    uses = []
    for slot, tag, changes in (
        (mm.Slot.COLOR, "diffuse", {}),
        (mm.Slot.EMISSION, "emission", {}),
        (mm.Slot.OPACITY, "transparent", {"components": "a", "gain": (opacity,) * 4}),
    ):
        use = shader.find(f"{tag}/texture")
        # Other modes of opacity use the luminance, which is not supported by shaders.
        if use is not None and (not changes or mode == "A_ONE"):
            number = sets.get(use.get("texcoord", ""), 0)
            uses.append((slot, _texture(use, params, images), {"coordinates": number, **changes}))
    marks = {(element.text or "").strip() for element in effect.iter("double_sided")}
    is_double = not marks.isdisjoint({"1", "true"})
    return mm.assemble_material(
        name, color("diffuse"), opacity, color("emission"), uses, double_sided=is_double
    )


def _texture(
    texture: Element, params: Mapping[str, Element], images: Mapping[str, Element]
) -> mm.MeshTexture | None:
    """Follow a texture through sampler and surface to the file of its image."""
    name = texture.get("texture", "")
    wraps = {}
    # Sampler, surface, image; some exporters refer to the image directly.
    for _ in range(2):
        param = params.get(name)
        if name in images or param is None:
            break
        if (sampler := param.find("sampler2D")) is not None:
            wraps = {tag: (sampler.findtext(tag) or "").strip() for tag in ("wrap_s", "wrap_t")}
        source = param.findtext("sampler2D/source") or param.findtext("surface/init_from")
        name = (source or "").strip()
    image = images.get(name)
    initial = None if image is None else image.find("init_from")
    reference = "" if initial is None else "".join(initial.itertext()).strip()
    # The name of an image that the document does not have is reported as missing.
    reference = (reference or name).replace("\\", "/")
    wrap_s, wrap_t = (_WRAPS.get(wraps.get(t, ""), mm.Wrap.REPEAT) for t in ("wrap_s", "wrap_t"))
    sampling = mm.Sampling(wrap_s=wrap_s, wrap_t=wrap_t)
    return mm.MeshTexture(reference, sampling=sampling) if reference else None
