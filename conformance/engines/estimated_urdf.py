"""A copy of a URDF with mass and inertia computed from shapes where they are missing.

It states the values that a conversion with ``--inertia geometry`` has to write, by
rules and mathematics of its own: solids are integrals of 1, x and x x^T over the volume
in the frame of the link.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from lxml import etree
from msgspec import Struct

from urdf_usd.conformance.engines.hulls import Integrals, enclosed_solid
from urdf_usd.conformance.engines.loaded_mesh import UnreadMeshError
from urdf_usd.conformance.engines.meshes import load_mesh
from urdf_usd.conformance.engines.prepared_shapes import find_mesh
from urdf_usd.conformance.engines.prepared_urdf import (
    Change,
    UrdfElement,
    prepare,
)
from urdf_usd.conformance.engines.protocol import AbstentionError
from urdf_usd.conformance.engines.surfaces import Array, Indices

_TENSOR = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_WORLD = "world"
# A body with a radius of gyration below a micrometre has no inertia [m^2].
_POINT = 1e-12
# A moment below this part of the largest one is none, and A + B >= C up to that part.
_THIN, _TRIANGLE = 1e-12, 1e-4


class EstimatedUrdf(Struct, frozen=True):
    """The copy.

    Attributes:
        text: UTF-8. Files have absolute paths, so that the copy can be anywhere.
        links: Links whose mass properties are computed.
    """

    text: bytes
    links: frozenset[str]


def estimate_urdf(
    path: str, packages: Mapping[str, str], base: str, density: float
) -> EstimatedUrdf:
    """Copy a URDF, and replace missing and impossible mass properties.

    Args:
        path: The URDF.
        packages: Folders of ROS packages, by name.
        base: ``auto``, ``fixed`` or ``floating``.
        density: Of links without mass [kg/m^3].

    Raises:
        AbstentionError: The file is malformed, or has a number that is none.
    """
    estimated: set[str] = set()

    def estimate(robot: UrdfElement) -> Change | None:
        _make_absolute(robot, Path(path), packages)
        weightless = _weightless(robot, base)
        for link in robot.iterfind("link"):
            name = link.get("name", "")
            inertial, mass = link.find("inertial"), _mass(link)
            is_missing = name in weightless
            if inertial is not None and mass:
                is_missing = not _is_possible(inertial, mass)
            solid = _solid(link) if is_missing else None
            if solid is None:
                continue
            estimated.add(name)
            if name in weightless:
                _state(link, density * solid.volume, solid, solid.center)
                continue
            origin = None if inertial is None else inertial.find("origin")
            center = _vector(origin, "xyz", (0.0, 0.0, 0.0))
            _state(link, mass, solid, center)
        return None

    text = prepare(path, (estimate,)).text
    return EstimatedUrdf(text, frozenset(estimated))


def _make_absolute(robot: UrdfElement, urdf: Path, packages: Mapping[str, str]) -> None:
    for element in robot.iter("mesh", "texture"):
        reference = element.get("filename", "")
        found = find_mesh(reference, urdf, packages)
        if found is not None:
            element.set("filename", str(found))
        elif reference and "://" not in reference:
            element.set("filename", str(urdf.absolute().parent / reference))


def _numbers(text: str, count: int) -> tuple[float, ...]:
    try:
        numbers = tuple(map(float, text.split()))
    except ValueError as error:
        raise AbstentionError(f"{text!r} is not {count} numbers") from error
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise AbstentionError(f"{text!r} is not {count} numbers")
    return numbers


def _vector(element: UrdfElement | None, name: str, absent: tuple[float, ...]) -> tuple[float, ...]:
    text = None if element is None else element.get(name)
    return absent if text is None else _numbers(text, len(absent))


def _number(element: UrdfElement, name: str) -> float:
    return _vector(element, name, (0.0,))[0]


def _mass(link: UrdfElement) -> float:
    """Return the mass of a link [kg]; zero if there is none in single precision."""
    element = link.find("inertial/mass")
    mass = 0.0 if element is None else _number(element, "value")
    return mass if np.float32(mass) > 0 else 0.0


def _is_possible(inertial: UrdfElement, mass: float) -> bool:
    element = inertial.find("inertia")
    if element is None:
        return False
    xx, xy, xz, yy, yz, zz = (_number(element, name) for name in _TENSOR)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    a, b, c = np.linalg.eigvalsh(tensor).tolist()
    is_extended = c > _POINT * mass and a > _THIN * c
    return bool(is_extended and a + b >= c * (1 - _TRIANGLE))


def _weightless(robot: UrdfElement, base: str) -> frozenset[str]:
    """Return the links whose mass is missing.

    A group of links that fixed joints connect needs a mass if it moves or if no link of
    the robot has one. Scenery, which has neither masses nor moving joints, needs none.
    """
    links = {link.get("name", ""): link for link in robot.iterfind("link")}
    massive = {name for name, link in links.items() if _mass(link)}
    head = {name: name for name in links}
    children = set()
    moves = False
    for joint in robot.iterfind("joint"):
        parent, child = (
            "" if (end := joint.find(tag)) is None else end.get("link", "")
            for tag in ("parent", "child")
        )
        children.add(child)
        is_fixed = joint.get("type", "").strip().lower() == "fixed"
        moves |= not is_fixed
        if is_fixed and parent in head and child in head:
            old, new = head[child], head[parent]
            head = {name: new if top == old else top for name, top in head.items()}
    root = next((name for name in links if name not in children), "")
    is_world = root == _WORLD and not (
        root in massive or any(links[root].find(tag) is not None for tag in ("visual", "collision"))
    )
    is_auto = base == "auto"
    if is_auto and not is_world and not massive and not moves:
        return frozenset()
    with_mass = {head[name] for name in massive}
    if massive and (base == "fixed" or (is_auto and is_world)):
        with_mass.add(head[root])
    return frozenset(name for name in links if head[name] not in with_mass)


def _state(
    link: UrdfElement,
    mass: float,
    solid: Integrals,
    center: Array | tuple[float, ...],
) -> None:
    """Replace the ``<inertial>`` of a link."""
    for former in link.findall("inertial"):
        link.remove(former)
    inertial = etree.SubElement(link, "inertial")
    position = " ".join(repr(float(c)) for c in center)
    etree.SubElement(inertial, "origin", {"xyz": position, "rpy": "0 0 0"})
    etree.SubElement(inertial, "mass", {"value": repr(float(mass))})
    tensor = mass / solid.volume * solid.inertia
    rows, columns = np.triu_indices(3)
    moments = (repr(float(m)) for m in tensor[rows, columns])
    etree.SubElement(inertial, "inertia", dict(zip(_TENSOR, moments, strict=True)))


def _solid(link: UrdfElement) -> Integrals | None:
    """Return the solid of the colliders or, without volume, that of the visuals."""
    for role in ("collision", "visual"):
        parts = [part for shape in link.iterfind(role) for part in _parts(shape)]
        if parts:
            return Integrals(
                math.fsum(part.volume for part in parts),
                np.sum([part.first for part in parts], axis=0),
                np.sum([part.second for part in parts], axis=0),
            )
    return None


def _parts(shape: UrdfElement) -> Iterator[Integrals]:
    """Yield the solids of a shape that have a volume."""
    place = _placement(shape.find("origin"))
    geometry = shape.find("geometry")
    for element in () if geometry is None else geometry:
        match element.tag:
            case "box":
                size = np.array(_vector(element, "size", (0.0, 0.0, 0.0)))
                yield from _primitive(place, size, float(np.prod(size)), size**2 / 12)
            case "sphere":
                radius = _number(element, "radius")
                volume = 4 * math.pi * radius**3 / 3
                yield from _primitive(place, [radius], volume, [radius**2 / 5] * 3)
            case "cylinder":
                yield from _round(place, element, caps=False)
            case "capsule":
                yield from _round(place, element, caps=True)
            case "mesh":
                yield from _of_file(element, place, is_collider=shape.tag == "collision")


def _placement(origin: UrdfElement | None) -> Array:
    """Return the (4, 4) transform of an ``<origin>``."""
    place = np.eye(4)
    place[:3, 3] = _vector(origin, "xyz", (0.0, 0.0, 0.0))
    if origin is not None and origin.get("quat_xyzw") is not None:
        x, y, z, w = np.array(_vector(origin, "quat_xyzw", (0.0, 0.0, 0.0, 1.0)))
        cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        scale = 2.0 / (x * x + y * y + z * z + w * w)
        place[:3, :3] += scale * (w * cross + cross @ cross)
        return place
    roll, pitch, yaw = _vector(origin, "rpy", (0.0, 0.0, 0.0))
    for axis, angle in ((2, yaw), (1, pitch), (0, roll)):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        turn = np.eye(3)
        turn[i, i] = turn[j, j] = math.cos(angle)
        turn[j, i], turn[i, j] = math.sin(angle), -math.sin(angle)
        place[:3, :3] = place[:3, :3] @ turn
    return place


def _primitive(
    place: Array,
    sizes: Array | list[float],
    volume: float,
    squares: Array | list[float],
) -> Iterator[Integrals]:
    """Yield a primitive, centred on its frame.

    Args:
        place: (4, 4) from its frame to the link's.
        sizes: [m]; there is no solid unless all are positive.
        volume: [m^3].
        squares: (3) means of the squares of its coordinates [m^2].
    """
    if min(sizes) <= 0:
        return
    turn, center = place[:3, :3], place[:3, 3]
    spread = turn @ np.diag(squares) @ turn.T
    second = volume * (spread + np.outer(center, center))
    yield Integrals(volume, volume * center, second)


def _round(place: Array, element: UrdfElement, *, caps: bool) -> Iterator[Integrals]:
    """Yield a cylinder or a capsule along Z."""
    radius, length = _number(element, "radius"), _number(element, "length")
    tube = math.pi * radius**2 * length
    ball = 4 * math.pi * radius**3 / 3 if caps else 0.0
    volume = tube + ball
    if volume <= 0 or length < 0:
        return
    across = (tube * radius**2 / 4 + ball * radius**2 / 5) / volume
    # Over a half ball of radius r at z = l/2, the mean of z^2 is
    # l^2/4 + l/2 * 3r/4 + r^2/5 (with mean height 3r/8 above its face).
    high = length**2 / 4 + 3 * length * radius / 8 + radius**2 / 5
    along = (tube * length**2 / 12 + ball * high) / volume
    sizes = [radius] if caps else [radius, length]
    yield from _primitive(place, sizes, volume, [across, across, along])


def _of_file(element: UrdfElement, place: Array, *, is_collider: bool) -> Iterator[Integrals]:
    """Yield the solids of a mesh file; each group of a collider is one."""
    scale = np.array(_vector(element, "scale", (1.0, 1.0, 1.0)))
    try:
        mesh = load_mesh(element.get("filename", ""))
    except UnreadMeshError:
        return
    to_link = place @ np.diag([*scale, 1.0])
    pieces: list[tuple[Array, Indices]] = [
        (group.points, group.triangles) for group in mesh.groups if is_collider
    ]
    for points, triangles in pieces or [(mesh.points, mesh.triangles)]:
        solid = enclosed_solid(points, triangles, to_link)
        if solid is not None:
            yield solid
