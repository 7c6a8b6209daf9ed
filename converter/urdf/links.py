"""Building of links from nodes: poses, mass, shapes and materials.

A material is defined by an element with colour or texture, in the robot or in a visual,
and can be referred to by name anywhere, also before. A visual uses its own definition;
a reference uses the definition in the robot, otherwise the first in a visual.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from msgspec import Struct

from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.diagnostics.messages import times
from urdf_usd.converter.robot.model import (
    IDENTITY,
    Box,
    Capsule,
    Collision,
    Cylinder,
    Geometry,
    Inertial,
    Link,
    Material,
    MeshFile,
    Pose,
    Sphere,
    Vec3,
    Visual,
)
from urdf_usd.converter.robot.rigid import quat_wxyz_from_rpy
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.extensions import collect_custom, nest_custom
from urdf_usd.converter.urdf.reader import Node

# Rotations that differ by less are equal up to rounding to four digits [rad].
_SAME_ANGLE = 1e-3


def build_link(
    node: Node,
    version: tuple[int, int],
    files: Mapping[str, str | None],
    materials: Mapping[Location, Material],
    notes: list[Diagnostic],
) -> Link:
    """Build a link.

    Args:
        node: Its node.
        version: URDF version of the file.
        files: Paths of referenced files by URI.
        materials: Materials by location of the ``<material>`` element.
        notes: Receives diagnostics.
    """
    name = node[g.NAME]
    inertial_node = node.first(g.INERTIAL)
    inertial = None
    if inertial_node:
        inertial = _build_inertial(inertial_node, name, notes)
    custom = collect_custom(node, version)
    visuals = []
    for visual in node.all(g.VISUAL):
        geometry = _build_geometry(visual, name, files, notes)
        origin = build_origin(visual, notes)
        material = visual.first(g.MATERIAL)
        look = materials[material.location] if material else None
        own = collect_custom(visual, version)
        if geometry:
            shape = visual[g.OPTIONAL_NAME], origin, geometry
            visuals.append(Visual(*shape, look, visual.location, own))
        else:
            custom += nest_custom(own, visual.type.tag)
    collisions = []
    for collision in node.all(g.COLLISION):
        geometry = _build_geometry(collision, name, files, notes)
        origin = build_origin(collision, notes)
        own = collect_custom(collision, version)
        if geometry:
            shape = collision[g.OPTIONAL_NAME], origin, geometry
            collisions.append(Collision(*shape, collision.location, own))
        else:
            custom += nest_custom(own, collision.type.tag)
    shapes = tuple(visuals), tuple(collisions)
    return Link(name, inertial, *shapes, node.location, custom)


def _build_inertial(node: Node, link: str, notes: list[Diagnostic]) -> Inertial:
    origin = build_origin(node, notes)
    mass, inertia = node.first(g.MASS), node.first(g.INERTIA)
    if mass is None:
        message = f"inertial of link {link!r} has no <mass>; read as massless"
        notes.append(Diagnostic("mass-missing", message, node.location))
    elif mass[g.MASS_VALUE] < 0.0:
        message = f"link {link!r} has mass {mass[g.MASS_VALUE]}"
        notes.append(Diagnostic("mass-negative", message, mass.location))
    if inertia is None:
        message = f"inertial of link {link!r} has no <inertia>; read as zero"
        notes.append(Diagnostic("inertia-missing", message, node.location))
        tensor = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    else:
        tensor = (
            inertia[g.IXX],
            inertia[g.IXY],
            inertia[g.IXZ],
            inertia[g.IYY],
            inertia[g.IYZ],
            inertia[g.IZZ],
        )
    value = mass[g.MASS_VALUE] if mass else 0.0
    return Inertial(value, origin, tensor, node.location)


def _build_geometry(
    node: Node, link: str, files: Mapping[str, str | None], notes: list[Diagnostic]
) -> Geometry | None:
    """Build the geometry of a visual or collision; None if it is invalid."""
    subject = f"a {node.type.tag} of link {link!r}"
    geometry = node.first(g.GEOMETRY)
    shapes = geometry.children if geometry else ()
    if not shapes:
        if geometry and geometry.left_out:
            return None
        message = f"{subject} has no URDF geometry; omitted"
        place = geometry.location if geometry else node.location
        notes.append(Diagnostic("geometry-unknown", message, place))
        return None
    shape, *others = shapes
    if others:
        message = f"{subject} has {len(shapes)} shapes; the first is used"
        notes.append(Diagnostic("element-repeated", message, others[0].location))
    built, lengths = _build_shape(shape, files)
    degenerate = not all(lengths) if shape.type is g.MESH else min(lengths) <= 0.0
    if degenerate:
        sizes = " ".join(f"{length:g}" for length in lengths)
        message = f"the {shape.type.tag} of {subject} has size {sizes}; left out"
        notes.append(Diagnostic("geometry-invalid", message, shape.location))
        return None
    return built


def _build_shape(node: Node, files: Mapping[str, str | None]) -> tuple[Geometry, tuple[float, ...]]:
    """Return a geometry, and the sizes that must be positive."""
    if node.type is g.BOX:
        return Box(node[g.SIZE]), node[g.SIZE]
    if node.type is g.SPHERE:
        return Sphere(node[g.RADIUS]), (node[g.RADIUS],)
    if node.type is g.MESH:
        uri = node[g.FILENAME]
        return MeshFile(uri, files[uri], node[g.SCALE]), node[g.SCALE]
    radius, length = node[g.RADIUS], node[g.LENGTH]
    if node.type is g.CYLINDER:
        return Cylinder(radius, length), (radius, length)
    # A capsule of length zero is a sphere: valid, unlike a flat cylinder.
    return Capsule(radius, length), (radius, length or radius)


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
    local = [node for link in robot.all(g.LINK) for node in link.descendants(g.MATERIAL)]
    for node in (*robot.all(g.MATERIAL), *local):
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
    color = node.first(g.COLOR)
    rgba = color[g.RGBA] if color else None
    if color and rgba and not all(0.0 <= component <= 1.0 for component in rgba):
        message = f"rgba {rgba} is outside [0, 1]; clamped"
        notes.append(Diagnostic("color-range", message, color.location))
        red, green, blue, alpha = (min(max(component, 0.0), 1.0) for component in rgba)
        rgba = (red, green, blue, alpha)
    texture = node.first(g.TEXTURE)
    uri = texture[g.IMAGE] if texture else None
    if texture and uri is None:
        message = "<texture> has no filename; omitted"
        notes.append(Diagnostic("texture-unnamed", message, texture.location))
    return Material(
        name=node[g.OPTIONAL_NAME],
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


def build_origin(parent: Node, notes: list[Diagnostic]) -> Pose:
    """Build the pose of the ``<origin>`` of a node; identity without one."""
    node = parent.first(g.ORIGIN)
    if node is None:
        return IDENTITY
    quat_xyzw = node[g.QUAT_XYZW]
    if quat_xyzw is None:
        return Pose(node[g.XYZ], quat_wxyz_from_rpy(node[g.RPY]))
    unit = normalise(quat_xyzw)
    if g.RPY.name in node.written:
        # Most parsers only read rpy, and urdfdom refuses files with both.
        turned = quat_wxyz_from_rpy(node[g.RPY])
        if unit and _alike(turned, unit):
            message = "origin has both rpy and quat_xyzw, which agree"
            notes.append(Diagnostic("rotation-repeated", message, node.location))
        else:
            message = "origin has both rpy and quat_xyzw, which disagree"
            notes.append(Diagnostic("rotation-conflict", message, node.location))
        return Pose(node[g.XYZ], turned)
    if unit is None:
        message = "quat_xyzw of <origin> is zero; read as no rotation"
        notes.append(Diagnostic("number-invalid", message, node.location))
        return Pose(node[g.XYZ])
    x, y, z, w = unit
    return Pose(node[g.XYZ], (w, x, y, z))


def _alike(quat_wxyz: tuple[float, ...], unit_xyzw: tuple[float, ...]) -> bool:
    """Return whether quaternions are equal up to rounding in the file."""
    w, x, y, z = quat_wxyz
    cosine = sum(a * b for a, b in zip((x, y, z, w), unit_xyzw, strict=True))
    return abs(cosine) > math.cos(_SAME_ANGLE / 2)


def unit_axis(axis: Vec3) -> Vec3 | None:
    """Return the unit vector of a vector; None if it is zero."""
    unit = normalise(axis)
    return (unit[0], unit[1], unit[2]) if unit else None


def normalise(vector: tuple[float, ...]) -> tuple[float, ...] | None:
    """Divide a vector by its length; None if it is zero.

    Exact for coordinate axes, without overflow or underflow: the vector is first scaled
    by a power of two.
    """
    _, exponent = math.frexp(max(map(abs, vector)))
    scaled = [math.ldexp(component, -exponent) for component in vector]
    length = math.hypot(*scaled)
    if length == 0.0:
        return None
    # Adding zero turns -0.0 into 0.0.
    return tuple(component / length + 0.0 for component in scaled)
