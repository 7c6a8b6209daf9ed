"""A copy of a URDF with mass and inertia computed from shapes where they are missing.

It states the values that a conversion with ``--inertia geometry`` has to write, by
rules and mathematics that are not the converter's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from lxml import etree
from msgspec import Struct

from urdf_usd.conformance.engines import surfaces
from urdf_usd.conformance.engines.meshes import LoadedMesh
from urdf_usd.conformance.engines.prepared_urdf import UrdfCopy, find_mesh, prepare
from urdf_usd.conformance.engines.reference import mesh_of, placement, read_kept
from urdf_usd.conformance.engines.statements import Array
from urdf_usd.converter.robot import model
from urdf_usd.converter.robot.spatial import inertia_tensor, transform_from_pose
from urdf_usd.converter.robot.topology import Tree, build_tree, rigid_groups

_TENSOR = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_WORLD = "world"
# A body with a radius of gyration below a micrometre has no inertia [m^2].
_POINT = 1e-12
# A moment below this part of the largest one is none, and A + B >= C up to that part.
_THIN, _TRIANGLE = 1e-12, 1e-4


class EstimatedUrdf(Struct, frozen=True):
    text: bytes  # UTF-8; files have absolute paths, so that the copy can be anywhere
    links: frozenset[str]  # links whose mass properties are computed


def estimate_urdf(
    path: str, packages: Mapping[str, str], base: str, density: float
) -> EstimatedUrdf:
    """Copy a URDF, and replace missing and impossible mass properties.

    Links without mass have a density [kg/m^3]; ``base`` is ``auto``, ``fixed`` or ``floating``. A
    robot that is invalid or not a tree raises SourceError.
    """
    robot = read_kept(path, packages).robot
    weightless = _weightless(build_tree(robot), base)
    estimates: dict[str, tuple[float, surfaces.Solid, Array]] = {}
    for link in robot.links:
        is_missing = link.name in weightless
        if link.inertial and (mass := _mass(link)):
            a, b, c = np.linalg.eigvalsh(inertia_tensor(link.inertial.inertia)).tolist()
            is_extended = c > _POINT * link.inertial.mass and a > _THIN * c
            is_missing = not (is_extended and a + b >= c * (1 - _TRIANGLE))
        solid = _solid(link) if is_missing else None
        if solid and link.name in weightless:
            estimates[link.name] = density * solid.volume, solid, solid.center
        elif solid and link.inertial:
            estimates[link.name] = mass, solid, np.array(link.inertial.origin.position)

    def estimate(copy: UrdfCopy) -> None:
        for element in copy.robot.iter("mesh", "texture"):
            reference = element.get("filename", "")
            file = find_mesh(reference, Path(path), packages)
            if file is None and reference and "://" not in reference:
                file = Path(path).absolute().parent / reference
            if file is not None:
                element.set("filename", str(file))
        for element in copy.robot.iterfind("link"):
            if (found := estimates.get(element.get("name", ""))) is None:
                continue
            for former in element.findall("inertial"):
                element.remove(former)
            mass, solid, center = found
            inertial, xyz = etree.SubElement(element, "inertial"), map(repr, center.tolist())
            etree.SubElement(inertial, "origin", xyz=" ".join(xyz), rpy="0 0 0")
            etree.SubElement(inertial, "mass", value=repr(float(mass)))
            moments = map(repr, (mass / solid.volume * solid.inertia)[np.triu_indices(3)].tolist())
            etree.SubElement(inertial, "inertia", dict(zip(_TENSOR, moments, strict=True)))

    return EstimatedUrdf(prepare(path, (estimate,)).text, frozenset(estimates))


def _mass(link: model.Link) -> float:
    """Return the mass of a link [kg]; zero if there is none in single precision."""
    mass = link.inertial.mass if link.inertial else 0.0
    return mass if np.float32(mass) > 0 else 0.0


def _weightless(tree: Tree, base: str) -> frozenset[str]:
    # A group of links that fixed joints connect needs a mass if it moves or if no link of the robot
    # has one. Scenery, which has neither masses nor moving joints, needs none.
    groups, root = rigid_groups(tree), tree.link[tree.root]
    massive = {name for name, link in tree.link.items() if _mass(link)}
    is_world = root.name == _WORLD and not (root.name in massive or root.visuals or root.collisions)
    is_auto = base == "auto"
    if is_auto and not is_world and not massive and len(groups) == 1:
        return frozenset()
    is_held = massive and (base == "fixed" or (is_auto and is_world))
    return frozenset(
        name
        for group in groups
        if massive.isdisjoint(group) and not (is_held and root.name in group)
        for name in group
    )


def _solid(link: model.Link) -> surfaces.Solid | None:
    """Return the solid of the colliders or, without volume, that of the visuals."""
    for shapes in (link.collisions, link.visuals):
        found = [part for shape in shapes for part in _parts(shape)]
        if parts := [part for part in found if part.volume > 0]:
            return surfaces.joined(parts)
    return None


def _parts(shape: model.Shape) -> Iterator[surfaces.Solid]:
    """Yield the solids of a shape in the frame of the link; each group of a collider is one."""
    place = transform_from_pose(shape.origin)
    match shape.geometry:
        case model.Box(size):
            if min(size) > 0:
                yield surfaces.box(np.array(size) / 2).placed(place)
        case model.Sphere(radius):
            yield surfaces.sphere(radius).placed(place)
        case model.Cylinder(radius, length):
            if radius > 0 and length >= 0:
                yield surfaces.cylinder(radius, length / 2, 2).placed(place)
        case model.Capsule(radius, length):
            if radius > 0 and length >= 0:
                yield surfaces.capsule(radius, length / 2, 2).placed(place)
        case model.MeshFile() as geometry:
            mesh = mesh_of(geometry)
            if not isinstance(mesh, LoadedMesh):
                return
            is_collider = isinstance(shape, model.Collision)
            for piece in (is_collider and mesh.groups) or (mesh,):
                to_link = placement(shape, geometry)
                yield surfaces.enclosed_solid(piece.points, piece.triangles, to_link)
