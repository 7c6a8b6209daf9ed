"""Mass and inertia of links from their shapes, as homogeneous solids.

A link with mass keeps its mass and its centre of mass. If its inertia is missing or
impossible, it receives that of its shapes about their common centre, scaled to its
mass. Links without mass receive mass, centre of mass and inertia of their shapes at a
given density, if no link that is connected to them by fixed joints has mass; a base
that is fixed to the world only if no link of the robot has mass.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec import structs

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.meshes.mesh import split_groups
from urdf_usd.converter.meshes.read import cached_meshes, readable_mesh
from urdf_usd.converter.robot.bodies import has_mass, is_anchored, is_static, principal_inertia
from urdf_usd.converter.robot.model import (
    BaseOption,
    Collision,
    Estimated,
    Inertial,
    Link,
    MeshFile,
    Pose,
    Robot,
    Shape,
)
from urdf_usd.converter.robot.solids import (
    EMPTY,
    Solid,
    joined_solid,
    primitive_solid,
    solid_of_mesh,
)
from urdf_usd.converter.robot.spatial import inertia_values, transform_from_pose
from urdf_usd.converter.robot.topology import Tree, build_tree, rigid_groups

# Square of the radius of gyration below which inertia is missing [m^2]: of 1 um.
_POINT = 1e-12
# A smaller fraction of the largest moment is no moment about an axis.
_THIN = 1e-12
# Moments of a valid tensor satisfy A + B >= C; text rounds each of them.
_TRIANGLE_SLACK = 1e-4


def estimate_robot(
    robot: Robot, base: BaseOption, density: float, notes: list[Diagnostic]
) -> Robot:
    """Return a robot with mass and inertia from shapes where they are missing.

    Args:
        robot: The robot.
        base: Requested base.
        density: Of links without mass [kg/m^3].
        notes: Receives diagnostics.

    Returns:
        The robot; links whose shapes have no volume are unchanged.
    """
    tree = build_tree(robot)
    weightless = _weightless(tree, base)
    links = []
    with cached_meshes():
        for link in robot.links:
            inertial = link.inertial
            if link.name in weightless:
                inertial = _with_mass(link, density, notes)
            elif inertial and has_mass(link) and not is_possible(inertial):
                inertial = _with_inertia(link, inertial, notes)
            links.append(structs.replace(link, inertial=inertial))
    return structs.replace(robot, links=tuple(links))


def is_possible(inertial: Inertial) -> bool:
    """Return whether a body can have the inertia of an inertial with mass."""
    moments, _ = principal_inertia(inertial.inertia)
    a, b, c = sorted(moments)
    return c > _POINT * inertial.mass and a > _THIN * c and a + b >= c * (1 - _TRIANGLE_SLACK)


def _weightless(tree: Tree, base: BaseOption) -> frozenset[str]:
    """Return the links whose mass is missing."""
    massive = {name for name, link in tree.link.items() if has_mass(link)}
    if is_static(tree, base):
        return frozenset()
    held = rigid_groups(tree)[0] if massive and is_anchored(tree, base) else ()
    return frozenset(
        name
        for group in rigid_groups(tree)
        if group != held and not massive.intersection(group)
        for name in group
    )


def _with_mass(link: Link, density: float, notes: list[Diagnostic]) -> Inertial | None:
    solid, text = _solid(link)
    if solid.volume <= 0:
        return link.inertial
    x, y, z = (float(c) + 0.0 for c in solid.center)
    mass, inertia = density * solid.volume, inertia_values(density * solid.inertia)
    message = (
        f"link {link.name!r} has no mass; it received {mass:.4g} kg and the "
        f"inertia of {text} at {density:g} kg/m^3"
    )
    notes.append(Diagnostic("mass-estimated", message, link.location))
    return Inertial(
        mass=mass,
        origin=Pose((x, y, z)),
        inertia=inertia,
        location=link.location,
        estimated=Estimated.MASS,
    )


def _with_inertia(link: Link, own: Inertial, notes: list[Diagnostic]) -> Inertial:
    solid, origin = _solid(link)
    if solid.volume <= 0:
        return own
    inertia = inertia_values(own.mass / solid.volume * solid.inertia)
    has = "impossible" if any(own.inertia) else "no"
    text = ", ".join(f"{moment:.4g}" for moment in sorted(principal_inertia(inertia)[0]))
    message = (
        f"link {link.name!r} has {own.mass:.6g} kg and {has} inertia; it received "
        f"that of {origin}: principal moments {text} kg m^2"
    )
    notes.append(Diagnostic("inertia-estimated", message, link.location))
    return structs.replace(
        own, origin=Pose(own.origin.position), inertia=inertia, estimated=Estimated.INERTIA
    )


def _solid(link: Link) -> tuple[Solid, str]:
    """Return the solid of the colliders of a link or, if that is empty, its visuals.

    With a text about its origin, for a message.
    """
    for what, shapes in (("collision", link.collisions), ("visual", link.visuals)):
        parts = [(shape, *_parts(shape)) for shape in shapes]
        solid = joined_solid(
            (piece, transform_from_pose(shape.origin))
            for shape, pieces, _ in parts
            for piece in pieces
        )
        if solid.volume > 0:
            hulls = dict.fromkeys(name for _, _, name in parts if name)
            text = f"its {what} {'shapes' if len(parts) > 1 else 'shape'}"
            if hulls:
                text += f" (convex hull of {', '.join(hulls)}, which is not closed)"
            return solid, text
    return EMPTY, ""


def _parts(shape: Shape) -> tuple[list[Solid], str | None]:
    """Return the solids of a shape, and its mesh file if a convex hull is used."""
    geometry = shape.geometry
    if not isinstance(geometry, MeshFile):
        return [primitive_solid(geometry)], None
    mesh = readable_mesh(geometry.path)
    if mesh is None:
        return [], None
    pieces = [mesh]
    if isinstance(shape, Collision):
        # Each group is a collider.
        pieces = [group for _, group in split_groups(mesh)] or pieces
    solids = [
        solid_of_mesh(
            piece.points * np.array(geometry.scale),
            piece.face_counts,
            piece.face_indices,
        )
        for piece in pieces
    ]
    is_hull = any(hull for _, hull in solids)
    name = Path(geometry.path or "").name
    return [solid for solid, _ in solids], name if is_hull else None
