"""A copy of a URDF with mass and inertia computed from shapes where they are missing.

It states the values that a conversion with ``--inertia geometry`` has to write, by
rules and mathematics that are not the converter's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from lxml import etree
from msgspec import Struct
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.engines import solids
from urdf_usd.conformance.engines.meshes import UnreadMeshError, load_mesh
from urdf_usd.conformance.engines.prepared_urdf import UrdfCopy, UrdfElement, find_mesh, prepare
from urdf_usd.conformance.engines.protocol import UnsupportedError
from urdf_usd.conformance.engines.statements import Array

_TENSOR = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_WORLD = "world"
# A body with a radius of gyration below a micrometre has no inertia [m^2].
_POINT = 1e-12
# A moment below this part of the largest one is none, and A + B >= C up to that part.
_THIN, _TRIANGLE = 1e-12, 1e-4
_ORIGIN = (0.0, 0.0, 0.0)


class EstimatedUrdf(Struct, frozen=True):
    """The copy."""

    text: bytes  # UTF-8; files have absolute paths, so that the copy can be anywhere
    links: frozenset[str]  # links whose mass properties are computed


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
        UnsupportedError: The file is malformed, or has a number that is none.
    """
    estimated: set[str] = set()

    def estimate(copy: UrdfCopy) -> None:
        _make_absolute(copy.robot, Path(path), packages)
        weightless = _weightless(copy.robot, base)
        for link in copy.robot.iterfind("link"):
            name, inertial, mass = link.get("name", ""), link.find("inertial"), _mass(link)
            is_missing = name in weightless
            if inertial is not None and mass:
                is_missing = not _is_possible(inertial, mass)
            solid = _solid(link) if is_missing else None
            if solid is None:
                continue
            estimated.add(name)
            if name in weightless:
                _state(link, density * solid.volume, solid, solid.center)
            else:
                origin = None if inertial is None else inertial.find("origin")
                _state(link, mass, solid, np.array(_vector(origin, "xyz", _ORIGIN)))

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


def _vector(element: UrdfElement | None, name: str, absent: tuple[float, ...]) -> tuple[float, ...]:
    text = None if element is None else element.get(name)
    if text is None:
        return absent
    try:
        numbers = tuple(map(float, text.split()))
    except ValueError:
        numbers = ()
    if len(numbers) != len(absent) or not all(map(math.isfinite, numbers)):
        raise UnsupportedError(f"{text!r} is not {len(absent)} numbers")
    return numbers


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


def _state(link: UrdfElement, mass: float, solid: solids.Solid, center: Array) -> None:
    """Replace the ``<inertial>`` of a link."""
    for former in link.findall("inertial"):
        link.remove(former)
    inertial = etree.SubElement(link, "inertial")
    etree.SubElement(inertial, "origin", xyz=" ".join(map(repr, center.tolist())), rpy="0 0 0")
    etree.SubElement(inertial, "mass", value=repr(float(mass)))
    moments = (mass / solid.volume * solid.inertia)[np.triu_indices(3)].tolist()
    etree.SubElement(inertial, "inertia", dict(zip(_TENSOR, map(repr, moments), strict=True)))


def _solid(link: UrdfElement) -> solids.Solid | None:
    """Return the solid of the colliders or, without volume, that of the visuals."""
    for role in ("collision", "visual"):
        parts = [part for shape in link.iterfind(role) for part in _parts(shape)]
        if parts := [part for part in parts if part.volume > 0]:
            return solids.joined(parts)
    return None


def _parts(shape: UrdfElement) -> Iterator[solids.Solid]:
    """Yield the solids of a shape in the frame of the link; each group of a collider is one."""
    origin, geometry, place = shape.find("origin"), shape.find("geometry"), np.eye(4)
    place[:3, 3] = _vector(origin, "xyz", _ORIGIN)
    turn = Rotation.from_euler("xyz", _vector(origin, "rpy", _ORIGIN))
    if origin is not None and origin.get("quat_xyzw") is not None:
        turn = Rotation.from_quat(_vector(origin, "quat_xyzw", (0.0, 0.0, 0.0, 1.0)))
    place[:3, :3] = turn.as_matrix()
    for element in () if geometry is None else geometry:
        match element.tag:
            case "box":
                size = np.array(_vector(element, "size", _ORIGIN))
                if min(size) > 0:
                    yield solids.box(size / 2).placed(place)
            case "sphere":
                yield solids.sphere(_number(element, "radius")).placed(place)
            case "cylinder" | "capsule":
                radius, length = _number(element, "radius"), _number(element, "length")
                build = solids.cylinder if element.tag == "cylinder" else solids.capsule
                if radius > 0 and length >= 0:
                    yield build(radius, length / 2, 2).placed(place)
            case "mesh":
                to_link = place @ np.diag([*_vector(element, "scale", (1.0, 1.0, 1.0)), 1.0])
                try:
                    mesh = load_mesh(element.get("filename", ""))
                except UnreadMeshError:
                    continue
                for piece in (shape.tag == "collision" and mesh.groups) or (mesh,):
                    yield solids.enclosed_solid(piece.points, piece.triangles, to_link)
