"""Rigid bodies, their mass and their colliders."""

from __future__ import annotations

from pxr import Gf, Sdf

from urdf_usd.converter.robot.bodies import Body
from urdf_usd.converter.robot.mass_properties import principal_inertia
from urdf_usd.converter.robot.model import Approximation, Inertial, Link, MeshFile
from urdf_usd.converter.robot.spatial import rotate_inertia
from urdf_usd.converter.usd.urdf_attributes import (
    write_flag,
    write_number,
    write_numbers,
    write_text,
)
from urdf_usd.converter.usd.writer.float32 import moments_to_float32, to_float32
from urdf_usd.converter.usd.writer.meshes import MeshLibrary
from urdf_usd.converter.usd.writer.prims import Prims
from urdf_usd.converter.usd.writer.specs import apply, over, write


def author_bodies(
    layer: Sdf.Layer, geometry: Sdf.Layer, prims: Prims, library: MeshLibrary
) -> None:
    """Apply body, mass and collider schemas to prims that the geometry layer defines.

    Args:
        layer: The physics layer; faster if no stage composes it yet.
        geometry: The geometry layer, finished.
        prims: The robot.
        library: The meshes.

    Raises:
        AuthoringError: A number is beyond float32.
    """
    for body in prims.bodies.bodies:
        prim = over(layer, prims.link[body.link])
        apply(prim, "PhysicsRigidBodyAPI")
        _author_mass(prim, body)
        own = prims.tree.link[body.link].inertial
        if own and own.estimated:
            write_text(prim, "inertial:estimated", own.estimated)
        if not _is_own(body, own):
            _keep_inertial(prim, own)
    for name in prims.tree.links:
        link = prims.tree.link[name]
        if prims.bodies.body_of[name] != name:
            # Distinguishes a frame from Xforms that group shapes.
            frame = over(layer, prims.link[name])
            write_text(frame, "link", name)
            if link.inertial is not None:
                _keep_inertial(frame, link.inertial)
                if link.inertial.estimated:
                    write_text(frame, "inertial:estimated", link.inertial.estimated)
        _author_colliders(layer, geometry, link, prims, library)


def _author_mass(prim: Sdf.PrimSpec, body: Body) -> None:
    """Author mass, centre of mass and inertia, so that consumers compute nothing."""
    what = f"of link {body.link!r}"
    moments, quat_wxyz = principal_inertia(body.inertia)
    mass = to_float32(body.mass, f"the mass {what}")
    center = (to_float32(c, f"the centre of mass {what}") for c in body.center)
    diagonal = moments_to_float32(moments, f"the inertia {what}")
    apply(prim, "PhysicsMassAPI")
    write(prim, "physics:mass", mass)
    write(prim, "physics:centerOfMass", Gf.Vec3f(*center))
    write(prim, "physics:diagonalInertia", Gf.Vec3f(*diagonal))
    write(prim, "physics:principalAxes", Gf.Quatf(*quat_wxyz))


def _is_own(body: Body, own: Inertial | None) -> bool:
    """Return whether a body has exactly the inertial of its link."""
    if own is None or own.mass != body.mass:
        return False
    turned = rotate_inertia(own.inertia, own.origin.quat_wxyz)
    slack = 1e-12 * max(body.inertia)
    return all(
        abs(moment - stated) <= slack + 1e-9 * abs(stated)
        for moment, stated in zip(turned, body.inertia, strict=True)
    )


def _keep_inertial(prim: Sdf.PrimSpec, inertial: Inertial | None) -> None:
    """Store the inertial of a link that differs from that of its body.

    A mass alone means that there is no ``<inertial>``.
    """
    if inertial is None:
        write_number(prim, "inertial:mass", 0.0)
        return
    write_number(prim, "inertial:mass", inertial.mass)
    write_numbers(prim, "inertial:origin:position", inertial.origin.position)
    write_numbers(prim, "inertial:origin:quat_wxyz", inertial.origin.quat_wxyz)
    write_numbers(prim, "inertial:inertia", inertial.inertia)


def _author_colliders(
    layer: Sdf.Layer, geometry: Sdf.Layer, link: Link, prims: Prims, library: MeshLibrary
) -> None:
    for shape, path in zip(link.collisions, prims.collision[link.name], strict=True):
        if not geometry.GetPrimAtPath(path):
            continue
        groups = library.groups_of(shape)
        if groups:
            # Joins the groups to one <collision> again when the USD is read.
            write_flag(over(layer, path), "collision")
            for name in groups.names:
                _author_collider(over(layer, path.AppendChild(name)), Approximation.HULL)
        elif isinstance(shape.geometry, MeshFile):
            approximation = shape.approximation or Approximation.HULL
            _author_collider(over(layer, path), approximation)
        else:
            _author_collider(over(layer, path), None)


def _author_collider(prim: Sdf.PrimSpec, approximation: Approximation | None) -> None:
    """Apply the schemas of a collider, with the approximation of a mesh."""
    apply(prim, "PhysicsCollisionAPI")
    if approximation is not None:
        apply(prim, "PhysicsMeshCollisionAPI")
        write(prim, "physics:approximation", approximation.value)
