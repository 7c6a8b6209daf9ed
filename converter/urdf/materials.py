"""Resolution of ``<material>`` elements.

A material is defined by an element with colour or texture, in the robot or in a visual,
and can be referred to by name anywhere, also before. A visual uses its own definition;
a reference uses the definition in the robot, otherwise the first in a visual.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.diagnostics.messages import times
from urdf_usd.converter.robot.model import Material
from urdf_usd.converter.urdf.grammar import (
    COLOR,
    IMAGE,
    LINK,
    MATERIAL,
    OPTIONAL_NAME,
    RGBA,
    TEXTURE,
)
from urdf_usd.converter.urdf.reader import Node


class _Written(Struct, frozen=True):
    """A material as one element writes it."""

    material: Material
    location: Location

    @property
    def defines(self) -> bool:
        return self.material.rgba is not None or self.material.texture_uri is not None


def build_materials(
    robot: Node, files: Mapping[str, str | None], notes: list[Diagnostic]
) -> Mapping[Location, Material]:
    """Build all materials of a robot.

    Args:
        robot: The robot's node.
        files: Paths of referenced files by URI.
        notes: Receives diagnostics.

    Returns:
        Materials by location of the ``<material>`` element.
    """
    written: list[_Written] = []
    # Definitions in the robot first: they take precedence for references.
    local = [node for link in robot.all(LINK) for node in link.descendants(MATERIAL)]
    for node in (*robot.all(MATERIAL), *local):
        material = _build_material(node, files, notes)
        written.append(_Written(material, node.location))
    defined = _definitions(written, notes)
    _undefined(written, defined, notes)
    return {
        one.location: one.material if one.defines else defined.get(one.material.name, one.material)
        for one in written
    }


def _build_material(
    node: Node, files: Mapping[str, str | None], notes: list[Diagnostic]
) -> Material:
    color = node.first(COLOR)
    rgba = color[RGBA] if color else None
    if color and rgba and not all(0.0 <= component <= 1.0 for component in rgba):
        message = f"rgba {rgba} is outside [0, 1]; clamped"
        notes.append(Diagnostic("color-range", message, color.location))
        r, g, b, a = (min(max(component, 0.0), 1.0) for component in rgba)
        rgba = (r, g, b, a)
    texture = node.first(TEXTURE)
    uri = texture[IMAGE] if texture else None
    if texture and uri is None:
        message = "<texture> has no filename; omitted"
        notes.append(Diagnostic("texture-unnamed", message, texture.location))
    return Material(
        name=node[OPTIONAL_NAME],
        rgba=rgba,
        texture_uri=uri,
        texture_path=files[uri] if uri else None,
    )


def _definitions(
    written: Iterable[_Written],
    notes: list[Diagnostic],
) -> Mapping[str | None, Material]:
    defined: dict[str | None, Material] = {}
    differing: set[str] = set()
    for one in written:
        name = one.material.name
        if name is None or not one.defines:
            continue
        first = defined.setdefault(name, one.material)
        if first != one.material and name not in differing:
            differing.add(name)
            message = f"material {name!r} differs from its first definition"
            notes.append(Diagnostic("material-redefined", message, one.location))
    return defined


def _undefined(
    written: Iterable[_Written], defined: Mapping[str | None, Material], notes: list[Diagnostic]
) -> None:
    uses: dict[str, list[Location]] = {}
    for one in written:
        name = one.material.name
        if name is not None and not one.defines and name not in defined:
            uses.setdefault(name, []).append(one.location)
    for name, places in uses.items():
        message = f"no <material name={name!r}> has rgba or a texture"
        message += f" (used {times(len(places))})"
        notes.append(Diagnostic("material-undefined", message, places[0]))
