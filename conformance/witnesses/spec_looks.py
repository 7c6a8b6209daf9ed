"""How visuals look, as a URDF says; meshes that bring materials of their own are left.

A file's own materials win over the URDF's, and what they say is known from one reader
alone, which is the converter's: so nothing is stated about them.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.shapes import Look

if TYPE_CHECKING:
    from conformance.shapes import Vec3
    from converter.model import Material, Visual

# Images that every reader of USD shows.
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")
# How files say that they bring materials or colours.
_MATERIALS = {
    ".obj": (b"usemtl", b"mtllib"),
    ".dae": (b"instance_material", b"<effect", b'"COLOR"'),
}
_TEXTURED = {".obj": b"\nvt"}
# The threshold of sRGB (IEC 61966-2-1).
_DARK = 0.04045


def state_looks(visual: Visual, area: float, mesh: str | None) -> tuple[Look, ...]:
    """State how a visual looks; nothing if its file may say it.

    Args:
        visual: The visual.
        area: Of its surface [m^2].
        mesh: Path of its mesh file, if it has one.
    """
    head = Path(mesh).read_bytes() if mesh else b""
    suffix = Path(mesh).suffix.lower() if mesh else ""
    if mesh and suffix != ".stl":
        if suffix not in _MATERIALS:
            return ()
        if any(word in head for word in _MATERIALS[suffix]):
            return ()
    material = visual.material
    if material is None:
        return (Look(area, None),)
    flat = suffix in _TEXTURED and _TEXTURED[suffix] in head
    image = _image(material) if flat else None
    color, opacity = _color(material)
    if image is None:
        return (Look(area, color, opacity),)
    name, content = image
    digest = hashlib.sha256(content).hexdigest()
    return (Look(area, None, opacity, digest, name),)


def _image(material: Material) -> tuple[str, bytes] | None:
    if material.texture_path is None:
        return None
    path = Path(material.texture_path)
    content = path.read_bytes()
    return (path.name, content) if content.startswith(_IMAGES) else None


def _color(material: Material) -> tuple[Vec3 | None, float]:
    """Return linear colour and opacity."""
    if material.rgba is None:
        return None, 1.0
    red, green, blue, opacity = (min(max(c, 0.0), 1.0) for c in material.rgba)
    return (_linear(red), _linear(green), _linear(blue)), opacity


def _linear(encoded: float) -> float:
    if encoded <= _DARK:
        return encoded / 12.92
    return float(((encoded + 0.055) / 1.055) ** 2.4)
