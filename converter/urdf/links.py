"""Building of links from nodes: mass and shapes."""

from __future__ import annotations

from collections.abc import Mapping

from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.robot.model import (
    Box,
    Capsule,
    Collision,
    Cylinder,
    Geometry,
    Inertial,
    Link,
    Material,
    MeshFile,
    Sphere,
    Visual,
)
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.extensions import collect_custom, nest_custom
from urdf_usd.converter.urdf.poses import build_origin
from urdf_usd.converter.urdf.reader import Node


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
