"""Materials and sets of texture coordinates of a COLLADA document.

Invalid elements are ignored. Tags are expected without namespaces.

v points up, as in USD. Colours have no colour space; tools display them as sRGB.
"""

from __future__ import annotations

import math
from typing import NamedTuple
from xml.etree.ElementTree import Element

from urdf_usd.converter.meshes.mesh_material import (
    MeshMaterial,
    MeshTexture,
    Sampling,
    Slot,
    Wrap,
    unit_color,
    visible,
    with_opacity,
)

Color = tuple[float, float, float]

# Attribute added to instances: index of their bindings.
BINDINGS = "bindings"
# Number of components of a source that are read.
WIDTHS = {"NORMAL": 3, "TEXCOORD": 2, "COLOR": 3}
# Further sets of texture coordinates are TEXCOORD1, TEXCOORD2 and so on.
COORDINATES = "TEXCOORD"

_WRAPS = {
    "WRAP": Wrap.REPEAT,
    "MIRROR": Wrap.MIRROR,
    "CLAMP": Wrap.CLAMP,
    "BORDER": Wrap.BLACK,
    "NONE": Wrap.BLACK,
}
_LUMINANCE = (0.212671, 0.715160, 0.072169)


class DocumentMaterials(NamedTuple):
    """Materials of a document, and their bindings.

    Attributes:
        materials: By id.
        bindings: Id of a material by symbol, for each instance of a geometry.
        sources: Elements with numbers, by id.
        sets: Number of a set of texture coordinates, from 0, by its name in the file.
    """

    materials: dict[str, MeshMaterial]
    bindings: tuple[dict[str, str], ...]
    sources: dict[str, Element]
    sets: dict[str, int]

    @property
    def coordinate_sets(self) -> tuple[str, ...]:
        """Names of the sets of texture coordinates, up to the last used one."""
        last = max(
            (
                texture.sampling.coordinates
                for material in self.materials.values()
                for _, texture in material.textures
            ),
            default=0,
        )
        return tuple(f"{COORDINATES}{number or ''}" for number in range(last + 1))

    @property
    def widths(self) -> dict[str, int]:
        """Number of components by semantic, of the values that are read."""
        return WIDTHS | dict.fromkeys(self.coordinate_sets, WIDTHS[COORDINATES])

    def material(self, symbol: str | None, instance: Element | None) -> str | None:
        """Return the id of the material of a symbol, if it exists.

        Args:
            symbol: Symbol of the material in a primitive.
            instance: Instance of the geometry, if there is one.
        """
        number = None if instance is None else instance.get(BINDINGS)
        bound = self.bindings[int(number)] if number is not None else {}
        target = bound.get(symbol or "", symbol)
        return target if target in self.materials else None


# Used if materials are not read.
NO_MATERIALS = DocumentMaterials({}, (), {}, {})


def read_document_materials(root: Element) -> DocumentMaterials:
    """Read the materials of a document, and add binding indices to its instances."""
    effects = {effect.get("id"): effect for effect in root.iter("effect")}
    images = {image.get("id", ""): image for image in root.iter("image")}
    sets = _numbered_sets(root)
    symbols = _bound_sets(root, sets)
    materials = {}
    for material in root.iter("material"):
        url = _target(material.find("instance_effect"), "url")
        if url in effects:
            known = material.get("id", "")
            name = material.get("name") or known
            bound = symbols.get(known, {})
            materials[known] = _material(name, effects[url], images, bound)
    bindings: list[dict[str, str]] = []
    instances = (
        element
        for tag in ("instance_geometry", "instance_controller")
        for element in root.iter(tag)
    )
    for instance in instances:
        instance.set(BINDINGS, str(len(bindings)))
        bindings.append(
            {
                one.get("symbol", ""): _target(one, "target")
                for one in instance.iter("instance_material")
            }
        )
    sources = {source.get("id", ""): source for source in root.iter("source")}
    return DocumentMaterials(materials, tuple(bindings), sources, sets)


def _numbered_sets(root: Element) -> dict[str, int]:
    """Number the sets of texture coordinates from 0, in order of their names."""
    named = {
        entry.get("set", "0")
        for entry in root.iter("input")
        if entry.get("semantic") == COORDINATES
    }
    ordered = sorted(named, key=lambda name: (len(name), name))
    return {name: number for number, name in enumerate(ordered)}


def _bound_sets(root: Element, sets: dict[str, int]) -> dict[str, dict[str, int]]:
    """Return the sets of texture coordinates by material id and symbol."""
    bound: dict[str, dict[str, int]] = {}
    for instance in root.iter("instance_material"):
        of_material = bound.setdefault(_target(instance, "target"), {})
        for entry in instance.iter("bind_vertex_input"):
            if entry.get("input_semantic") == COORDINATES:
                number = sets.get(entry.get("input_set", "0"), 0)
                of_material.setdefault(entry.get("semantic", ""), number)
    return bound


def _material(
    name: str, effect: Element, images: dict[str, Element], sets: dict[str, int]
) -> MeshMaterial:
    shader = next(
        (
            element
            for tag in ("phong", "lambert", "blinn", "constant")
            for element in effect.iter(tag)
        ),
        None,
    )
    if shader is None:
        return MeshMaterial(name)
    about = _Effect(effect, images, sets)
    color = about.color(shader, "diffuse")
    emissive = about.color(shader, "emission")
    slots = (
        (Slot.COLOR, "diffuse", "rgb"),
        (Slot.EMISSION, "emission", "rgb"),
        (Slot.OPACITY, "transparent", "a"),
    )
    textures = (
        (slot, about.texture(shader.find(f"{tag}/texture"), components))
        for slot, tag, components in slots
        # Other modes use the luminance, which is not supported by shaders.
        if tag != "transparent" or _mode(shader) == "A_ONE"
    )
    found = ((slot, one) for slot, one in textures if one is not None)
    opacity = about.opacity(shader)
    return MeshMaterial(
        name=name,
        color=None if color is None else unit_color(color),
        opacity=opacity,
        emissive=(0.0, 0.0, 0.0) if emissive is None else unit_color(emissive),
        double_sided=any(
            (element.text or "").strip() in {"1", "true"} for element in effect.iter("double_sided")
        ),
        textures=with_opacity(found, opacity),
    )


def _mode(shader: Element) -> str:
    transparent = shader.find("transparent")
    return "A_ONE" if transparent is None else transparent.get("opaque", "A_ONE")


class _Effect:
    """Reads values of an effect, which may refer to its parameters."""

    def __init__(self, effect: Element, images: dict[str, Element], sets: dict[str, int]) -> None:
        self._params = {param.get("sid"): param for param in effect.iter("newparam")}
        self._images = images
        self._sets = sets

    def color(self, shader: Element, tag: str) -> tuple[float, ...] | None:
        """Return red, green, blue and alpha."""
        text = shader.findtext(f"{tag}/color")
        if text is None:
            param = self._named(shader.find(f"{tag}/param"))
            text = next(
                (
                    found.text
                    for kind in ("float4", "float3")
                    for found in (() if param is None else param.findall(kind))
                ),
                None,
            )
        numbers = _numbers(text, 3)
        return numbers and (*numbers[:3], *(numbers[3:4] or (1.0,)))

    def opacity(self, shader: Element) -> float:
        """Return the opacity, in the opaque mode of the document."""
        text = shader.findtext("transparency/float")
        if text is None:
            param = self._named(shader.find("transparency/param"))
            text = None if param is None else param.findtext("float")
        factor = _numbers(text, 1)
        scale = factor[0] if factor else 1.0
        color = self.color(shader, "transparent")
        if color is None:
            return visible(scale)
        luminance = sum(c * w for c, w in zip(color, _LUMINANCE, strict=False))
        match _mode(shader):
            case "RGB_ZERO":
                return visible(1.0 - luminance * scale)
            case "RGB_ONE":
                return visible(luminance * scale)
            case "A_ZERO":
                return visible(1.0 - color[3] * scale)
            case _:
                return visible(color[3] * scale)

    def texture(self, texture: Element | None, components: str) -> MeshTexture | None:
        """Follow a texture through sampler and surface to the file of its image."""
        if texture is None:
            return None
        name = texture.get("texture", "")
        sampler: Element | None = None
        # Sampler, surface, image; some exporters refer to the image directly.
        for _ in range(2):
            param = self._params.get(name)
            if name in self._images or param is None:
                break
            if param.find("sampler2D") is not None:
                sampler = param.find("sampler2D")
            instance = param.find("sampler2D/instance_image")
            inner = (
                param.findtext("sampler2D/source")
                or param.findtext("surface/init_from")
                or _target(instance, "url")
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

    def _named(self, reference: Element | None) -> Element | None:
        return None if reference is None else self._params.get(reference.get("ref"))


def _wrap(sampler: Element | None, tag: str) -> Wrap:
    mode = "WRAP" if sampler is None else (sampler.findtext(tag) or "WRAP").strip()
    return _WRAPS.get(mode, Wrap.REPEAT)


def _numbers(text: str | None, least: int) -> tuple[float, ...] | None:
    try:
        numbers = tuple(float(word) for word in (text or "").split())
    except ValueError:
        return None
    sound = len(numbers) >= least and all(map(math.isfinite, numbers))
    return numbers if sound else None


def _target(element: Element | None, attribute: str) -> str:
    value = "" if element is None else element.get(attribute, "")
    return value.removeprefix("#")
