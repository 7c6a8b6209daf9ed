"""Mass properties of bodies, and of the links that they consist of.

Authored values are used. Missing ones are computed by OpenUSD from colliders and
densities, and reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdPhysics, Vt

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.diagnostics.findings import Findings
from urdf_usd.converter.robot.model import Inertial, MeshFile, Pose
from urdf_usd.converter.robot.rigid import rotate_inertia
from urdf_usd.converter.robot.solids import (
    EMPTY,
    Solid,
    hull_solid,
    joined_solid,
    primitive_solid,
    solid_of_mesh,
)
from urdf_usd.converter.robot.spatial import (
    inertia_tensor,
    inertia_values,
    quat_wxyz_from_rotation,
    rotation_from_quat_wxyz,
    shift_inertia_tensor,
    transform_from_pose,
)
from urdf_usd.converter.usd.reader.links import LinkPrim
from urdf_usd.converter.usd.reader.shapes import PlacedShape
from urdf_usd.converter.usd.reader.transforms import PrimTransforms, rigid_part
from urdf_usd.converter.usd.urdf_attributes import (
    LINK_AXES,
    LINK_MOMENTS,
    read_number,
    read_numbers,
)

Matrix: TypeAlias = "NDArray[np.float64]"

_UNIT_QUATERNION = 1e-3
_COMPUTED = ("physics:centerOfMass", "physics:diagonalInertia", "physics:principalAxes")
# Fallbacks of the schema, which mean that nothing is authored.
_OPEN = (-np.inf, -np.inf, -np.inf)
_NONE = (0.0, 0.0, 0.0)
_NO_TURN = Gf.Quatf(0.0, 0.0, 0.0, 0.0)
# A body is flat if two moments exceed the third by less (relative).
_FLAT = 1e-6
_NEWTON_ORDER = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
_NUMBERS = (Vt.FloatArray, Vt.DoubleArray)
# Relative tolerance between a float32 sum and its parts in double.
_ADDS_UP = 1e-5
# Largest mass that a conversion adds, as a fraction of the robot's mass.
HARMLESS = 1e-6
# A conversion replaces inertia below 1e-15 m L^2 by 5e-7 m L^2.
_NONE_BESIDE_INVENTED = 3e-9


def body_inertial(
    prim: Usd.Prim,
    transforms: PrimTransforms,
    colliders: Mapping[Sdf.Path, Sequence[PlacedShape]],
) -> Findings[Inertial | None]:
    """Read the mass properties of a rigid body; None if it has none at all.

    Args:
        prim: The body.
        transforms: Where prims are.
        colliders: Shapes of the colliders in the frames of their bodies.
    """
    mass, center, tensor = _stated(prim)
    if center is not None:
        center = transforms.scale_matrix(prim.GetPath()) @ center
    left_open = [
        what
        for what, stated in (
            ("mass", mass),
            ("centre of mass", center),
            ("inertia", tensor),
        )
        if stated is None
    ]
    computed = None
    if left_open:
        computed = _computed(prim, transforms, colliders)
        if computed is None and mass is None:
            message = f"body {prim.GetPath()} states no mass and has no collider"
            yield Diagnostic("mass-unstated", message)
            return None
        message = f"body {prim.GetPath()} states no {' and no '.join(left_open)}"
        yield Diagnostic("mass-computed", f"{message}; computed as OpenUSD does")
    filled = computed or (0.0, np.zeros(3), _Tensor(np.zeros((3, 3)), np.eye(3)))
    mass = filled[0] if mass is None else mass
    center = filled[1] if center is None else center
    tensor = filled[2] if tensor is None else tensor
    units = transforms.units
    x, y, z = (float(c) + 0.0 for c in center)
    return Inertial(
        mass * units.mass,
        Pose((x, y, z), quat_wxyz_from_rotation(tensor.frame)),
        inertia_values(tensor.values * units.inertia),
    )


def states_inertial(body: Usd.Prim) -> bool:
    """Return whether a rigid body authors all of its mass properties."""
    return all(part is not None for part in _stated(body))


class _Tensor(Struct, frozen=True, eq=False):
    """An inertia tensor in units of the stage.

    Attributes:
        values: (3, 3) along the axes of a frame.
        frame: (3, 3) rotation of that frame in the body.
    """

    values: Matrix
    frame: Matrix


def _stated(
    prim: Usd.Prim,
) -> tuple[float | None, Matrix | None, _Tensor | None]:
    """Return the authored mass, centre of mass and inertia, each or None.

    The centre is in local coordinates of the prim.
    """
    if not prim.HasAPI(UsdPhysics.MassAPI):
        return None, None, None
    api = UsdPhysics.MassAPI(prim)
    # Blocked values are None, despite the schema's fallback.
    mass = float(api.GetMassAttr().Get() or 0.0)
    place = np.array(api.GetCenterOfMassAttr().Get() or _OPEN, dtype=np.float64)
    center = place if np.isfinite(place).all() else None
    moments = np.array(api.GetDiagonalInertiaAttr().Get() or _NONE, dtype=np.float64)
    if moments.any():
        tensor = _turned(moments, api.GetPrincipalAxesAttr().Get() or _NO_TURN)
        return mass if mass > 0 else None, center, tensor
    return mass if mass > 0 else None, center, _newton_tensor(prim)


def _turned(moments: Matrix, quat: Gf.Quatf) -> _Tensor:
    """Return the tensor of principal moments and axes, in the body's axes if possible.

    A zero quaternion means that no axes are authored. The tensor of a flat body, whose
    largest moment is the sum of the others, is not rotated, because rounding would make
    it invalid for some consumers.
    """
    diagonal = np.diag(moments)
    x, y, z = quat.GetImaginary()
    if not abs(quat.GetLength() - 1) <= _UNIT_QUATERNION:
        return _Tensor(diagonal, np.eye(3))
    rotation = rotation_from_quat_wxyz((quat.GetReal(), x, y, z))
    a, b, c = np.sort(moments)
    if a + b <= c * (1 + _FLAT):
        return _Tensor(diagonal, rotation)
    return _Tensor(rotation @ diagonal @ rotation.T, np.eye(3))


def _newton_tensor(prim: Usd.Prim) -> _Tensor | None:
    """Return the inertia tensor of Newton's schema, if any."""
    values = prim.GetAttribute("newton:inertia").Get()
    if not isinstance(values, _NUMBERS) or len(values) != len(_NEWTON_ORDER):
        return None
    tensor = np.zeros((3, 3))
    for (row, column), value in zip(_NEWTON_ORDER, values, strict=True):
        tensor[row, column] = tensor[column, row] = value
    return _Tensor(tensor, np.eye(3))


def _computed(
    prim: Usd.Prim,
    transforms: PrimTransforms,
    colliders: Mapping[Sdf.Path, Sequence[PlacedShape]],
) -> tuple[float, Matrix, _Tensor] | None:
    """Return mass, centre [m] and tensor as computed by OpenUSD, if possible."""
    has_mass = UsdPhysics.MassAPI(prim).GetMassAttr().Get()
    if not (has_mass or any(path.HasPrefix(prim.GetPath()) for path in colliders)):
        return None

    def answer(collider: Usd.Prim) -> UsdPhysics.RigidBodyAPI.MassInformation:
        shapes = colliders.get(collider.GetPath(), ())
        return _mass_information(collider, shapes, transforms.units.length)

    if not _unblock(prim):
        return None
    mass, moments, center, axes = UsdPhysics.RigidBodyAPI(prim).ComputeMassProperties(answer)
    if not (mass > 0 and np.isfinite([*moments, *center]).all()):
        return None
    place = transforms.units.length * np.array(center, np.float64)
    return float(mass), place, _turned(np.array(moments, np.float64), axes)


def _unblock(prim: Usd.Prim) -> bool:
    """Give blocked mass properties their fallbacks, in the session layer of the stage.

    OpenUSD returns memory for them that nothing was written to.

    Returns:
        Whether none is blocked any more; values of an instance cannot be edited.
    """
    stage, definition = prim.GetStage(), prim.GetPrimDefinition()
    attributes = [prim.GetAttribute(name) for name in _COMPUTED]
    blocked = [one for one in attributes if one and one.Get() is None]
    if blocked and prim.IsInstanceProxy():
        return False
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        for one in blocked:
            one.Set(definition.GetAttributeFallbackValue(one.GetName()))
    return True


def _mass_information(
    collider: Usd.Prim, shapes: Sequence[PlacedShape], length: float
) -> UsdPhysics.RigidBodyAPI.MassInformation:
    solids = [_solid(collider, shape) for shape in shapes]
    poses = [transform_from_pose(shape.pose) for shape in shapes]
    if len(shapes) == 1:
        (solid,), (pose,) = solids, poses
    else:
        solid, pose = joined_solid(zip(solids, poses, strict=True)), np.eye(4)
    stated = UsdPhysics.RigidBodyAPI.MassInformation()
    stated.volume = solid.volume / length**3
    stated.inertia = Gf.Matrix3f(*(float(v) for v in (solid.inertia / length**5).flat))
    stated.centerOfMass = Gf.Vec3f(*(float(c) for c in solid.center / length))
    stated.localPos = Gf.Vec3f(*(float(c) for c in pose[:3, 3] / length))
    stated.localRot = Gf.Quatf(*quat_wxyz_from_rotation(pose[:3, :3]))
    return stated


def _solid(collider: Usd.Prim, shape: PlacedShape) -> Solid:
    if not isinstance(shape.geometry, MeshFile):
        return primitive_solid(shape.geometry)
    if shape.mesh is None:
        return EMPTY
    scaled = shape.mesh.points * np.array(shape.geometry.scale)
    approximation = UsdPhysics.MeshCollisionAPI(collider).GetApproximationAttr().Get()
    if approximation == UsdPhysics.Tokens.convexHull:
        return hull_solid(scaled)
    return solid_of_mesh(scaled, shape.mesh.face_counts, shape.mesh.face_indices)[0]


class LinkInertial(Struct, frozen=True, eq=False):
    """The inertial of a link that belongs to a body.

    Attributes:
        inertial: In the link's frame; None if the link has none.
        to_body: (4, 4) frame of the link in the frame of the body.
    """

    inertial: Inertial | None
    to_body: Matrix


def kept_inertial(prim: Usd.Prim) -> tuple[bool, Inertial | None]:
    """Read the inertial of a link from ``urdf:`` attributes.

    Returns:
        Whether there are attributes, and the inertial; a mass alone means that the link
        has no ``<inertial>``.
    """
    mass = read_number(prim, "inertial:mass")
    if mass is None:
        return False, None
    position = read_numbers(prim, "inertial:origin:position", 3)
    quat_wxyz = read_numbers(prim, "inertial:origin:quat_wxyz", 4)
    inertia = read_numbers(prim, "inertial:inertia", 6) or _decomposed(prim)
    if position is None or quat_wxyz is None or inertia is None:
        return True, None
    (x, y, z), (w, i, j, k) = position, quat_wxyz
    ixx, ixy, ixz, iyy, iyz, izz = inertia
    pose = Pose((x, y, z), (w, i, j, k))
    return True, Inertial(mass, pose, (ixx, ixy, ixz, iyy, iyz, izz))


def _decomposed(prim: Usd.Prim) -> tuple[float, ...] | None:
    """Return inertia by its principal axes, of an asset for ROS, as six values."""
    moments = read_numbers(prim, LINK_MOMENTS, 3)
    axes = read_numbers(prim, LINK_AXES, 4)
    if moments is None or axes is None:
        return None
    (ixx, iyy, izz), (w, x, y, z) = moments, axes
    return rotate_inertia((ixx, 0.0, 0.0, iyy, 0.0, izz), (w, x, y, z))


def adds_up(body: Inertial, link_inertials: Sequence[LinkInertial], robot_mass: float) -> bool:
    """Return whether the inertials of links add up to that of their body.

    Mass and inertia that a conversion adds to bodies without any are tolerated.

    Args:
        body: Inertial of the body.
        link_inertials: Inertials of its links.
        robot_mass: Mass of all bodies [kg].
    """
    massive = [
        (link_inertial.inertial, link_inertial.to_body)
        for link_inertial in link_inertials
        if link_inertial.inertial and link_inertial.inertial.mass > 0
    ]
    mass = sum(inertial.mass for inertial, _ in massive)
    if mass == 0:
        return body.mass <= HARMLESS * max(robot_mass, 1.0)
    moment = sum(
        inertial.mass * (to_body @ (*inertial.origin.position, 1.0))[:3]
        for inertial, to_body in massive
    )
    tensor = sum(_about_origin(inertial, to_body) for inertial, to_body in massive)
    stated = _about_origin(body, np.eye(4))
    center = np.array(body.origin.position)
    # Radius of gyration about the origin.
    size = float(np.sqrt(np.abs(stated).max() / body.mass))
    largest = max(abs(value) for each, _ in massive for value in each.inertia)
    pointlike = largest <= _NONE_BESIDE_INVENTED * max(map(abs, body.inertia))
    moments = np.abs(tensor - stated).max()
    return bool(
        abs(mass - body.mass) <= _ADDS_UP * body.mass
        and np.abs(moment - body.mass * center).max() <= _ADDS_UP * body.mass * size
        and (pointlike or moments <= _ADDS_UP * np.abs(stated).max())
    )


def _about_origin(inertial: Inertial, to_body: Matrix) -> Matrix:
    """Return the inertia tensor about the body's origin, along the body's axes."""
    pose = to_body @ transform_from_pose(inertial.origin)
    rotation = pose[:3, :3]
    tensor = rotation @ inertia_tensor(inertial.inertia) @ rotation.T
    return shift_inertia_tensor(tensor, inertial.mass, pose[:3, 3])


def read_inertials(
    links: Sequence[LinkPrim],
    transforms: PrimTransforms,
    colliders: Mapping[Sdf.Path, Sequence[PlacedShape]],
) -> Findings[dict[Sdf.Path, Inertial | None]]:
    """Read the inertial of every link, in the frame of its prim.

    A conversion merges links into bodies and stores the inertial of each link in
    ``urdf:`` attributes. These are used if they add up to the inertial of the body.

    Args:
        links: Links of the robot.
        transforms: Where prims are.
        colliders: Colliders in the frames of their bodies.
    """
    stage = transforms.stage
    inertials: dict[Sdf.Path, Inertial | None] = {}
    for link in links:
        prim = stage.GetPrimAtPath(link.path)
        if link.is_body:
            inertials[link.path] = yield from body_inertial(prim, transforms, colliders)
        else:
            inertials[link.path] = kept_inertial(prim)[1]
    masses = [
        inertial.mass for link in links if link.is_body and (inertial := inertials[link.path])
    ]
    for link in links:
        if not link.is_body:
            continue
        stated = inertials[link.path]
        kept, own = kept_inertial(stage.GetPrimAtPath(link.path))
        frames = [frame for frame in links if frame.body == link.path != frame.path]
        carried = [frame for frame in frames if inertials[frame.path]]
        if stated is None or not (kept or carried):
            continue
        link_inertials = [
            LinkInertial(own if kept else stated, np.eye(4)),
            *(
                LinkInertial(
                    inertials[frame.path],
                    rigid_part(transforms.within(frame.path, link.path)),
                )
                for frame in carried
            ),
        ]
        if adds_up(stated, link_inertials, sum(masses)):
            inertials[link.path] = link_inertials[0].inertial
            continue
        message = f"links in body {link.path} do not add up to it; that of the body is used"
        yield Diagnostic("inertial-outdated", message)
        inertials |= dict.fromkeys((frame.path for frame in carried), None)
    return inertials
