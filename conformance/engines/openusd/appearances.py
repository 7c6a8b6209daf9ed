"""Appearance of visuals on a stage: materials, textures, normals.

A part of a surface is stated with everything that its surface shader computes from: colour, opacity
and images, texture coordinates as the images receive them, and every other input of the preview
surface that differs from its fallback.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray
from pxr import Ar, Sdr, Usd, UsdGeom, UsdShade

from urdf_usd.conformance.engines import surfaces
from urdf_usd.conformance.engines.mesh_materials import LARGEST_IMAGE, image_digest
from urdf_usd.conformance.engines.statements import Array, vec3
from urdf_usd.conformance.observation import shapes as observed

Property: TypeAlias = tuple[str, tuple[float, ...] | str]
Indices: TypeAlias = NDArray[np.integer]
Values: TypeAlias = NDArray[np.floating]
CornerValues: TypeAlias = tuple[Values, Indices]
"""(K, D) values, and the value of each of :attr:`Geometry.corners`."""

_PREVIEW = "UsdPreviewSurface"
_TEXTURE = "UsdUVTexture"
_READER = "UsdPrimvarReader_float2"
_PLACEMENT = "UsdTransform2d"
NODES = (_PREVIEW, _TEXTURE, _READER, _PLACEMENT)
"""Shader nodes of which the appearance of a visual is computed."""
# Inputs without effect at the fallback of another input.
_NEEDS = {"specularColor": "useSpecularWorkflow", "clearcoatRoughness": "clearcoat"}
_OF_OPACITY = frozenset({"opacityThreshold", "opacityMode"})
# Colour spaces of the preview surface.
_LINEAR = frozenset({"lin_rec709", "lin_rec709_scene"})
# Inputs of OpenPBR in MaterialX, and those of the preview surface; of layers that it does not have,
# none.
_OPENPBR_NODE = "ND_open_pbr_surface_surfaceshader"
_OPENPBR = {
    "base_color": "diffuseColor",
    "geometry_opacity": "opacity",
    "base_metalness": "metallic",
    "specular_roughness": "roughness",
    "emission_color": "emissiveColor",
    "specular_ior": "ior",
    **dict.fromkeys(("coat_weight", "fuzz_weight", "subsurface_weight", "transmission_weight"), ""),
}
# Smallest difference of colours and other numbers that counts here.
_APART = 1e-4
# Range of texture coordinates in which the wrap mode of an image has no effect.
_LEAST, _MOST = -1e-4, 1.0 + 1e-4
# Of the preview surface.
_FALLBACK_COLOR = (0.18, 0.18, 0.18)
# Colour types of PNG files with colour: colour, palette, and colour with alpha.
_PNG_COLOR_TYPES = frozenset({2, 3, 6})


class UnusableError(Exception):
    """Values of corners cannot be used; the message says why."""


class Geometry(Struct, frozen=True, eq=False, kw_only=True):
    """A Gprim, in units of the stage and in its own frame."""

    kind: observed.ShapeKind = observed.ShapeKind.MESH
    size: tuple[float, ...] = ()  # as in ShapeObservation; empty for meshes
    turn: Array = np.eye(4)  # (4, 4) from the frame of the shape, whose axis is Z, to the prim's
    problem: str | None = None  # why it cannot be stated
    points: Array = np.zeros((0, 3))  # (N, 3)
    triangles: Indices = np.zeros((0, 3), np.int64)  # (M, 3) faces of a mesh, as fans
    counts: Indices = np.zeros(0, np.int64)  # (F) number of corners of its faces
    corners: Indices = np.zeros(0, np.int64)  # points of all corners of its faces
    # Whether its faces are left-handed: the corners of triangles are in reverse order then.
    mirrored: bool = False

    def of_triangles(self, corners: CornerValues) -> Values:
        """Return (M, 3, D) values at the corners of triangles."""
        values, indices = corners
        places = surfaces.fan_places(self.counts)
        found: Values = values[indices[places[:, ::-1] if self.mirrored else places]]
        return found

    def corner_values(
        self, values: Values, interpolation: str, width: int, chosen: Indices | None = None
    ) -> CornerValues:
        """Return (K, width) values at the corners of faces."""
        faces, corners = len(self.counts), len(self.corners)
        of_points = len(self.points), self.corners
        kinds: dict[str, tuple[int, Indices]] = {
            "constant": (1, np.zeros(corners, np.int64)),
            "uniform": (faces, np.repeat(np.arange(faces), np.maximum(self.counts, 0))),
            "vertex": of_points,
            "varying": of_points,
            "faceVarying": (corners, np.arange(corners)),
        }
        count, places = kinds.get(interpolation, (-1, of_points[1]))
        stated = len(values) if chosen is None else len(chosen)
        if stated != count or values.shape[1:] != (width,):
            raise UnusableError(f"are {stated}, and do not fit the mesh as {interpolation}")
        if not np.isfinite(values if chosen is None else values[chosen]).all():
            raise UnusableError("are not finite")
        return values, places if chosen is None else chosen[places]

    def primvar_values(self, primvar: UsdGeom.Primvar, width: int) -> CornerValues:
        """Return the (K, width) values of a primvar at the corners of faces."""
        values, chosen = np.array(primvar.Get()), None
        if primvar.IsIndexed():
            chosen = np.array(primvar.GetIndices(), np.int64)
        is_inside = (
            chosen is None or not len(chosen) or 0 <= chosen.min() <= chosen.max() < len(values)
        )
        if primvar.GetElementSize() != 1 or not is_inside:
            raise UnusableError("have several values per element, or indices out of range")
        return self.corner_values(values, str(primvar.GetInterpolation()), width, chosen)


class MeshFaces(NamedTuple):
    mesh: Geometry
    areas: Array  # (M) areas of the triangles [m^2]
    to_link: Array  # (4, 4) from the mesh's frame to the link's [m]


class _Texture(Struct, frozen=True):
    name: str  # of its file
    # By :func:`image_digest`; of the bytes of what is no image, of no bytes if it is not found or
    # too large
    digest: str
    sha256: str  # of its bytes
    factors: tuple[float, ...]  # scale of red, green, blue and alpha
    bias: tuple[float, ...]  # what is added to them
    color_space: str  # ``sRGB`` or ``raw``
    output: str  # the connected output
    node: UsdShade.Shader  # that reads it


class MaterialLook(NamedTuple):
    look: observed.Appearance  # without area
    properties: tuple[Property, ...]  # inputs and outputs with another effect
    texture: _Texture | None  # image of the colour
    mask: _Texture | None  # image of the opacity


Materials: TypeAlias = dict[str, MaterialLook | None]
"""Materials of a stage so far, by path; None without a preview surface."""


def state_shading(prim: Usd.Prim, faces: MeshFaces) -> observed.Shading:
    """State the normals of a mesh; a primvar replaces the attribute."""
    mesh, geom, corners = faces.mesh, UsdGeom.Mesh(prim), None
    primvar = UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance("normals")
    try:
        if primvar and primvar.HasValue():
            corners = mesh.primvar_values(primvar, 3)
        elif values := geom.GetNormalsAttr().Get():
            interpolation = str(geom.GetNormalsInterpolation())
            corners = mesh.corner_values(np.array(values), interpolation, 3)
    except UnusableError as error:
        return observed.Shading(
            stated=True, facing=0.0, against=1.0, mean=(0.0, 0.0, 0.0), problem=f"normals {error}"
        )
    normals = None if corners is None else mesh.of_triangles(corners)
    return surfaces.measured_shading(mesh.points, mesh.triangles, normals, faces.to_link)


class _Part(NamedTuple):
    gprim: Usd.Prim  # which holds the primvars
    area: float  # of the part [m^2]
    faces: MeshFaces | None  # of the Gprim, if it is a mesh
    chosen: NDArray[np.bool_]  # (M) which of its triangles belong to the part


def state_appearances(
    prim: Usd.Prim, area: float, faces: MeshFaces | None, materials: Materials
) -> tuple[observed.Appearance, ...]:
    """State the appearance of a Gprim with an area [m^2], part by part.

    Materials are added to those of the stage so far.
    """
    looks: list[observed.Appearance] = []
    rest = area
    left = np.ones(len(faces.mesh.triangles) if faces else 0, dtype=bool)
    for subset in UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets():
        chosen, own = np.zeros(0, dtype=bool), 0.0
        if faces is not None:
            counts = faces.mesh.counts
            indices = np.array(subset.GetIndicesAttr().Get(), np.int64)
            within = np.zeros(len(counts), dtype=bool)
            within[indices[(indices >= 0) & (indices < len(within))]] = True
            chosen = np.repeat(within, np.maximum(counts - 2, 0))
            own = float(faces.areas[chosen].sum())
            left &= ~chosen
        looks.append(_look(subset.GetPrim(), _Part(prim, own, faces, chosen), materials))
        rest -= own
    # The faces in no subset, except for rounding.
    if not looks or rest > 1e-9 * area:
        looks.append(_look(prim, _Part(prim, rest, faces, left), materials))
    return observed.merge_appearances(looks)


def _look(prim: Usd.Prim, part: _Part, materials: Materials) -> observed.Appearance:
    """State the appearance of a part, whose material is bound to the Gprim or a subset of it."""
    binding = UsdShade.MaterialBindingAPI(prim)
    material, _ = binding.ComputeBoundMaterial()
    look = _shown(material, part, materials)
    others: list[Property] = []
    # Purposes of bindings, apart from the one for all purposes.
    for purpose in (UsdShade.Tokens.full, UsdShade.Tokens.preview):
        other, _ = binding.ComputeBoundMaterial(purpose)
        is_same = bool(material) and bool(other) and other.GetPath() == material.GetPath()
        if other and not is_same and _shown(other, part, materials) != look:
            others.append((f"material:binding:{purpose}", other.GetPath().name))
    center, faces, chosen = None, part.faces, part.chosen
    if faces is not None and not chosen.all():
        points, triangles = faces.mesh.points, faces.mesh.triangles[chosen]
        center = surfaces.surface_center(points, triangles, faces.areas[chosen], faces.to_link)
    properties = tuple(sorted((*look.properties, *others)))
    return structs.replace(look, properties=properties, center=center)


def _shown(material: UsdShade.Material, part: _Part, materials: Materials) -> observed.Appearance:
    """State what a material shows; no colour if it has no preview surface."""
    gprim = part.gprim
    displayed: list[list[Any]] = []
    for name in ("displayColor", "displayOpacity"):
        primvar = UsdGeom.PrimvarsAPI(gprim).FindPrimvarWithInheritance(name)
        displayed.append(list(primvar.ComputeFlattened() or ()) if primvar else [])
    color = vec3(displayed[0][0]) if len(displayed[0]) == 1 else None
    opacity = float(displayed[1][0]) if displayed[1] else None
    if not material:
        return observed.Appearance(part.area, color, 1.0 if opacity is None else opacity)
    path = str(material.GetPath())
    if path not in materials:
        shader, _, _ = material.ComputeSurfaceSource()
        is_preview = shader and shader.GetShaderId() == _PREVIEW
        materials[path] = _material_look(material, shader) if is_preview else None
    found = materials[path]
    if found is None:
        # Renderers without this shader show their own colour.
        return observed.Appearance(part.area, None, None)
    look, properties = found.look, [*found.properties]
    if UsdGeom.Gprim(gprim).GetDoubleSidedAttr().Get():
        properties.append((observed.DOUBLE_SIDED, (1.0,)))
    mapping = None
    if found.texture:
        mapping, described = _image_properties("diffuseColor", found.texture, part)
        properties += described
    elif look.color and color and _differ(look.color, color):
        properties.append(("primvars:displayColor", color))
    if found.mask:
        properties += _image_properties("opacity", found.mask, part)[1]
    # Viewers without materials show these primvars.
    elif opacity is not None and look.opacity is not None and _differ((look.opacity,), (opacity,)):
        properties.append(("primvars:displayOpacity", (opacity,)))
    properties = sorted(properties)
    return structs.replace(look, area=part.area, properties=tuple(properties), mapping=mapping)


def _material_look(material: UsdShade.Material, shader: UsdShade.Shader) -> MaterialLook:
    """Read the preview surface of a material, and its other outputs."""
    found = _shader_look(shader)
    outputs: list[Property] = []
    # Apart from that of the surface shader itself, which is one of its inputs.
    for name in ("displacement", "volume"):
        source, _, _ = getattr(material, f"Compute{name.title()}Source")()
        if source and source.GetPath() != shader.GetPath():
            outputs.append((f"outputs:{name}", f"connected to {source.GetPath().name}"))
    # Renderers prefer the surface of their own context: ``glslfx`` in Storm, ``mdl`` in Omniverse,
    # ``mtlx`` with MaterialX.
    for output in material.GetSurfaceOutputs():
        sources = output.GetValueProducingAttributes()
        context, full = output.GetBaseName(), output.GetFullName()
        for source in sources if full != UsdShade.Tokens.outputsSurface else ():
            node = UsdShade.Shader(source.GetPrim())
            identifier = str(node.GetShaderId()) if node else ""
            if identifier == _OPENPBR_NODE:
                unlike = _unlike_openpbr(node, shader)
                outputs += ((f"{context}:{name}", value) for name, value in unlike)
            elif identifier != _PREVIEW or _shader_look(node)[:2] != found[:2]:
                outputs.append((full, f"the shader {node.GetPath().name} (another look)"))
    return found._replace(properties=(*found.properties, *outputs))


def _unlike_openpbr(node: UsdShade.Shader, shader: UsdShade.Shader) -> Iterator[Property]:
    """Yield the authored constants of OpenPBR that differ from a preview surface."""
    for own, name in _OPENPBR.items():
        value = _input_value(node, own)
        if own == "emission_color":
            is_lit = _number(node, "emission_luminance", 0.0)
            value = (value or (1.0, 1.0, 1.0)) if is_lit else (0.0, 0.0, 0.0)
        # Its fallbacks are in the library of MaterialX, and its images are its own.
        if value is None or isinstance(value, str):
            continue
        stated = (_input_value(shader, name) if name else None) or _components(
            node_inputs(_PREVIEW).get(name, 0.0)
        )
        if isinstance(stated, str) or _differ(value, stated):
            yield own, value


def _shader_look(shader: UsdShade.Shader) -> MaterialLook:
    """Read a preview surface: what is compared, and the inputs whose values have another effect."""
    texture, mask = _texture(shader, "diffuseColor"), _texture(shader, "opacity")
    sources = shader_sources(shader, "diffuseColor")
    color = sources[0].Get() if sources else _FALLBACK_COLOR
    if texture:
        color = texture.factors[:3]
    opacity = _number(shader, "opacity", 1.0)
    if mask:
        opacity = mask.factors["rgba".index(mask.output)] if mask.output in "rgba" else 1.0
    look = observed.Appearance(
        area=0.0,
        color=None if color is None else vec3(color),
        opacity=opacity,
        texture=texture.digest if texture else None,
        image=texture.name if texture else None,
        image_sha256=texture.sha256 if texture else None,
        mask=mask.digest if mask else None,
    )
    properties: list[Property] = []
    for source in sources:
        space = str(source.GetColorSpace()) if source.HasColorSpace() else ""
        if space and space not in _LINEAR and source.Get() is not None:
            properties.append(("diffuseColor.colorSpace", space))
    # Colour and opacity are compared by fields of their own.
    without_effect = {"diffuseColor"} | ({"opacity"} if mask else set())
    without_effect |= {x for x, needed in _NEEDS.items() if not _number(shader, needed, 0.0)}
    if mask is None and opacity == 1.0:
        without_effect |= _OF_OPACITY
    if _number(shader, "useSpecularWorkflow", 0.0):
        without_effect.add("metallic")
    for name, fallback in node_inputs(_PREVIEW).items():
        value = None if name in without_effect else _input_value(shader, name)
        if isinstance(value, str):
            differs = value != fallback
        else:
            stated = value is not None and name != "opacity"
            differs = stated and _differ(value or (), _components(fallback))
        if differs and value is not None:
            properties.append((name, value))
    return MaterialLook(look, tuple(properties), texture, mask)


@cache
def node_inputs(identifier: str) -> dict[str, object]:
    node = Sdr.Registry().GetShaderNodeByIdentifier(identifier)
    names = node.GetShaderInputNames() if node else ()
    return {name: node.GetShaderInput(name).GetDefaultValue() for name in names}


def shader_sources(shader: UsdShade.Shader, name: str) -> list[Usd.Attribute]:
    """Return the attributes that an input has its value from."""
    found = shader.GetInput(name)
    return list(found.GetValueProducingAttributes()) if found else []


def _value(node: UsdShade.Shader, name: str) -> Any:  # noqa: ANN401  pxr is untyped
    """Return the value of an input, else its fallback."""
    values = (source.Get() for source in shader_sources(node, name))
    fallback = node_inputs(str(node.GetShaderId())).get(name)
    return next((value for value in values if value is not None), fallback)


def _number(shader: UsdShade.Shader, name: str, fallback: float) -> float:
    values = (source.Get() for source in shader_sources(shader, name))
    return next((float(value) for value in values if isinstance(value, int | float)), fallback)


def _input_value(shader: UsdShade.Shader, name: str) -> tuple[float, ...] | str | None:
    """Return the value of an input, or what it is connected to; None without."""
    if image := _texture(shader, name):
        return f"image {image.name} ({image.digest[:8]})"
    for source in shader_sources(shader, name):
        value = source.Get()
        if value is None:
            return f"connected to {source.GetPrim().GetName()}"
        return value if isinstance(value, str) else _components(value)
    return None


def _components(value: object) -> tuple[float, ...]:
    return tuple(np.array(value, np.float64).ravel().tolist())


def _differ(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether numbers differ, or one of them is NaN."""
    pairs = zip(one, other, strict=False)
    return len(one) != len(other) or not all(abs(a - b) <= _APART for a, b in pairs)


def _texture(shader: UsdShade.Shader, name: str) -> _Texture | None:
    for source in shader_sources(shader, name):
        node = UsdShade.Shader(source.GetPrim())
        for file in shader_sources(node, "file") if node.GetShaderId() == _TEXTURE else ():
            path = file.Get()
            opened = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(path.resolvedPath))
            is_small = opened and opened.GetSize() <= LARGEST_IMAGE
            content = bytes(opened.GetBuffer()) if is_small else b""
            sha256 = hashlib.sha256(content).hexdigest()
            space = str(_value(node, "sourceColorSpace"))
            if space == "auto" and file.HasColorSpace():
                space = str(file.GetColorSpace())
                space = "sRGB" if "srgb" in space.lower() else space
            elif space == "auto":
                # Images with three or four channels of eight bits are sRGB, others are raw. JPEG is
                # taken to have them; a PNG has bit depth and colour type in its header.
                is_png = content.startswith(b"\x89PNG")
                is_color = not is_png or (content[24] <= 8 and content[25] in _PNG_COLOR_TYPES)
                space = "sRGB" if is_color else "raw"
            return _Texture(
                name=Path(path.path).name,
                digest=image_digest(content) or sha256,
                sha256=sha256,
                factors=_components(_value(node, "scale")),
                bias=_components(_value(node, "bias")),
                color_space=space,
                output=str(source.GetBaseName()),
                node=node,
            )
    return None


def _image_properties(
    name: str, image: _Texture, part: _Part
) -> tuple[observed.Mapping | None, list[Property]]:
    """Return the texture coordinates of an image of an input, and how else it is read."""
    faces, chosen = part.faces, part.chosen
    found: list[Property] = []
    is_color = name == "diffuseColor"
    if image.output != ("rgb" if is_color else "a"):
        found.append((f"{name}.output", image.output))
    if any(image.bias):
        found.append((f"{name}.bias", image.bias))
    if is_color != (image.color_space == "sRGB") and image.output != "a":
        found.append((f"{name}.sourceColorSpace", image.color_space))
    if faces is None:
        return None, found
    try:
        corners = texture_coordinates(image.node, part.gprim, faces.mesh)
    except UnusableError as error:
        return None, [*found, (f"{name}.st", f"texture coordinates {error}")]
    coordinates = faces.mesh.of_triangles(corners)[chosen]
    if not len(coordinates):
        return None, found
    # (2) by coordinate.
    low, high = coordinates.min(axis=(0, 1)), coordinates.max(axis=(0, 1))
    for axis, key in enumerate(("wrapS", "wrapT")):
        wrap = str(_value(image.node, key))
        if wrap != "repeat" and not _LEAST <= low[axis] <= high[axis] <= _MOST:
            found.append((f"{name}.{key}", wrap))
    points, triangles = faces.mesh.points, faces.mesh.triangles[chosen]
    return surfaces.measured_mapping(points, triangles, coordinates, faces.to_link), found


def texture_coordinates(node: UsdShade.Shader, gprim: Usd.Prim, mesh: Geometry) -> CornerValues:
    """Return the (K, 2) coordinates that an image, or a placement, receives."""
    sources = shader_sources(node, "in" if node.GetShaderId() == _PLACEMENT else "st")
    if not sources:
        raise UnusableError("are not connected")
    source = UsdShade.Shader(sources[0].GetPrim())
    identifier = str(source.GetShaderId()) if source else ""
    if identifier == _READER:
        return read_coordinates(str(_value(source, "varname")), gprim, mesh)
    if identifier == _PLACEMENT:
        values, indices = texture_coordinates(source, gprim, mesh)
        scale = np.array(_value(source, "scale"), np.float64)
        moved = np.array(_value(source, "translation"), np.float64)
        angle = math.radians(float(_value(source, "rotation")))
        turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
        return (values * scale) @ turn.T + moved, indices
    raise UnusableError(f"come from {identifier or 'a constant'}")


def read_coordinates(name: str, gprim: Usd.Prim, mesh: Geometry) -> CornerValues:
    """Return the (K, 2) texture coordinates in a primvar."""
    primvar = UsdGeom.PrimvarsAPI(gprim).FindPrimvarWithInheritance(name)
    if not primvar or not primvar.HasValue():
        raise UnusableError(f"are missing: there is no primvar {name!r}")
    return mesh.primvar_values(primvar, 2)
