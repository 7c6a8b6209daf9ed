"""Materials, normals, texture coordinates and colours of a COLLADA document.

They are read from the elements themselves, where one that is broken costs no more than
itself. The document is expected without namespaces in its tags.

COLLADA counts v upwards, as USD does. Its colours name no colour space; tools show
them as they are, which is sRGB.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from converter.meshes.appearance import MeshMaterial, MeshTexture, unit_color, visible

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from numpy.typing import NDArray

    Color = tuple[float, float, float]

# Where an instance keeps the number of its bindings, and an input what it was.
BINDINGS = "bindings"
CARRIES = "carries"
FROM = "from"
# First components of a source that count.
WIDTHS = {"NORMAL": 3, "TEXCOORD": 2, "COLOR": 3}

_LUMINANCE = (0.212671, 0.715160, 0.072169)


class DocumentLook(NamedTuple):
    """What a document says about looks.

    Attributes:
        materials: By id.
        bindings: Id of a material by symbol, for each instance of a geometry.
        sources: Elements with numbers, by id.
    """

    materials: dict[str, MeshMaterial]
    bindings: tuple[dict[str, str], ...]
    sources: dict[str, Element]

    def material(self, symbol: str | None, instance: Element | None) -> str | None:
        """Return the id of the material that stands for a symbol, if it is known.

        Args:
            symbol: What a primitive calls its material.
            instance: Instance of the geometry, if there is one.
        """
        number = None if instance is None else instance.get(BINDINGS)
        bound = self.bindings[int(number)] if number is not None else {}
        target = bound.get(symbol or "", symbol)
        return target if target in self.materials else None


def read_document_look(root: Element) -> DocumentLook:
    """Read the looks of a document, and number its instances of geometries."""
    effects = {effect.get("id"): effect for effect in root.iter("effect")}
    images = {image.get("id", ""): image for image in root.iter("image")}
    materials = {}
    for material in root.iter("material"):
        url = _target(material.find("instance_effect"), "url")
        if url in effects:
            known = material.get("id", "")
            name = material.get("name") or known
            materials[known] = _material(name, effects[url], images)
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
    return DocumentLook(materials, tuple(bindings), sources)


def source_rows(source: Element, width: int) -> NDArray[np.float64] | None:
    """Read the rows of a source; None if they are not complete.

    Args:
        source: The element.
        width: Components of each row that are wanted, from the first on.
    """
    accessor = source.find("technique_common/accessor")
    try:
        stride = int("1" if accessor is None else accessor.get("stride", "1"))
        with warnings.catch_warnings():
            # Of text that is not a number.
            warnings.simplefilter("error")
            numbers = np.fromstring(source.findtext("float_array") or "", sep=" ")
    except (DeprecationWarning, ValueError):
        return None
    if stride < width or not len(numbers) or len(numbers) % stride:
        return None
    return numbers.reshape(-1, stride)[:, :width]


def _material(name: str, effect: Element, images: dict[str, Element]) -> MeshMaterial:
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
    color = _color(shader, "diffuse")
    emissive = _color(shader, "emission")
    return MeshMaterial(
        name=name,
        color=None if color is None else unit_color(color),
        opacity=_opacity(shader),
        emissive=(0.0, 0.0, 0.0) if emissive is None else unit_color(emissive),
        texture=_texture(shader.find("diffuse/texture"), effect, images),
    )


def _opacity(shader: Element) -> float:
    transparent = shader.find("transparent")
    factor = _numbers(shader.findtext("transparency/float"), 1)
    scale = factor[0] if factor else 1.0
    color = _color(shader, "transparent")
    if transparent is None or color is None:
        return visible(scale)
    luminance = sum(c * w for c, w in zip(color, _LUMINANCE, strict=False))
    match transparent.get("opaque", "A_ONE"):
        case "RGB_ZERO":
            return visible(1.0 - luminance * scale)
        case "RGB_ONE":
            return visible(luminance * scale)
        case "A_ZERO":
            return visible(1.0 - color[3] * scale)
        case _:
            return visible(color[3] * scale)


def _color(shader: Element, tag: str) -> tuple[float, ...] | None:
    """Return red, green, blue and alpha."""
    numbers = _numbers(shader.findtext(f"{tag}/color"), 3)
    return numbers and (*numbers[:3], *(numbers[3:4] or (1.0,)))


def _numbers(text: str | None, least: int) -> tuple[float, ...] | None:
    try:
        numbers = tuple(float(word) for word in (text or "").split())
    except ValueError:
        return None
    sound = len(numbers) >= least and all(map(math.isfinite, numbers))
    return numbers if sound else None


def _texture(
    texture: Element | None, effect: Element, images: dict[str, Element]
) -> MeshTexture | None:
    """Follow a texture through sampler and surface to the file of its image."""
    if texture is None:
        return None
    params = {param.get("sid"): param for param in effect.iter("newparam")}
    name = texture.get("texture", "")
    # Sampler, surface, image; some exporters name the image straight away.
    for _ in range(2):
        param = params.get(name)
        if name in images or param is None:
            break
        instance = param.find("sampler2D/instance_image")
        inner = (
            param.findtext("sampler2D/source")
            or param.findtext("surface/init_from")
            or _target(instance, "url")
        )
        name = inner.strip()
    initial = images[name].find("init_from") if name in images else None
    reference = "" if initial is None else "".join(initial.itertext()).strip()
    return MeshTexture(reference.replace("\\", "/")) if reference else None


def _target(element: Element | None, attribute: str) -> str:
    value = "" if element is None else element.get(attribute, "")
    return value.removeprefix("#")
