"""Faults in mass, centre of mass and inertia."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdPhysics
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.mutation.fault import (
    OBLIQUE,
    REFUSED,
    Fault,
    Scale,
    Seed,
    block,
    on_prim,
    set_value,
)
from urdf_usd.conformance.mutation.good_asset import BodySite, GoodAsset
from urdf_usd.conformance.mutation.joints.joint_frames import quaternion
from urdf_usd.conformance.tolerance.bounds import Tolerance

_TOLERANCE = Tolerance()
_MASS = ("mass.link.mass",)
_CENTER = ("mass.link.center",)
_INERTIA = ("mass.link.inertia",)
_STATED = ("mass.stated",)
_NEWTON = ("mass.link.agreement",)
# Smallest change that is a fault, relative to the largest moment.
_MATTERS = 5e-4
# Smallest relative spread of moments for which a rotation of the axes is a fault.
_SPREAD = 0.05
# Solid sphere of radius 0.1 m, which OpenUSD assumes without inertia and collider.
_BALL = 0.4 * 0.1**2


class MassAttributes(Struct, frozen=True, eq=False):
    """Authored mass attributes of a body.

    Attributes:
        mass: In units of the stage, here kg.
        center: (3,) [m].
        moments: (3) principal moments [kg m^2].
        axes: Rotation from principal axes to the body's.
    """

    mass: float
    center: NDArray[np.float64]
    moments: NDArray[np.float64]
    axes: Rotation

    @property
    def tensor(self) -> NDArray[np.float64]:
        """(3, 3) inertia along the body's axes."""
        turn = self.axes.as_matrix()
        tensor: NDArray[np.float64] = turn @ np.diag(self.moments) @ turn.T
        return tensor

    def differs(self, other: MassAttributes) -> bool:
        """Whether mass, centre or inertia differ by more than any tolerance."""
        scale = float(self.moments.max())
        return bool(
            abs(self.mass - other.mass) > _MATTERS * self.mass
            or np.linalg.norm(self.center - other.center) > 5 * _TOLERANCE.position
            or np.linalg.norm(self.tensor - other.tensor, 2) > _MATTERS * scale
        )


def _read(body: BodySite) -> MassAttributes:
    api = UsdPhysics.MassAPI(body.prim)
    quat = api.GetPrincipalAxesAttr().Get()
    return MassAttributes(
        mass=float(api.GetMassAttr().Get()),
        center=np.array(api.GetCenterOfMassAttr().Get(), np.float64),
        moments=np.array(api.GetDiagonalInertiaAttr().Get(), np.float64),
        axes=Rotation.from_quat((quat.GetReal(), *quat.GetImaginary()), scalar_first=True),
    )


def _author(path: str, authored: MassAttributes, stage: Usd.Stage, _: float) -> None:
    api = UsdPhysics.MassAPI(stage.GetPrimAtPath(path))
    api.CreateMassAttr(authored.mass)
    api.CreateCenterOfMassAttr(Gf.Vec3f(*authored.center.tolist()))
    api.CreateDiagonalInertiaAttr(Gf.Vec3f(*authored.moments.tolist()))
    api.CreatePrincipalAxesAttr(quaternion(authored.axes))


def _massive(asset: GoodAsset) -> Iterator[tuple[BodySite, MassAttributes]]:
    """Yield bodies with the mass of one link, so that the link itself is compared."""
    for body in asset.bodies:
        if body.alone:
            yield body, _read(body)


def _extended(asset: GoodAsset) -> Iterator[tuple[BodySite, MassAttributes]]:
    """Yield those of them with an inertia in the URDF."""
    for body, authored in _massive(asset):
        if body.stated.mass and any(body.stated.mass.inertia or ()):
            yield body, authored


def _changed(
    change: Callable[[MassAttributes], MassAttributes], asset: GoodAsset
) -> Iterator[Seed]:
    for body, good in _extended(asset):
        bad = change(good)
        yield Seed(
            body.subject,
            partial(_author, body.path, bad),
            equivalent=not good.differs(bad),
        )


def _changed_everywhere(
    change: Callable[[MassAttributes], MassAttributes], asset: GoodAsset
) -> Iterator[Seed]:
    """Seed changes that are faults everywhere."""
    for body, good in _extended(asset):
        yield Seed(body.subject, partial(_author, body.path, change(good)))


def _sized(
    change: Callable[[MassAttributes, float], MassAttributes], asset: GoodAsset
) -> Iterator[Seed]:
    for body, good in _extended(asset):
        yield Seed(body.subject, partial(_author_sized, body.path, good, change))


def _author_sized(
    path: str,
    good: MassAttributes,
    change: Callable[[MassAttributes, float], MassAttributes],
    stage: Usd.Stage,
    size: float,
) -> None:
    _author(path, change(good, size), stage, size)


def _turns(asset: GoodAsset) -> Iterator[Seed]:
    """Rotate principal axes so that the tensor changes by the given part."""
    for body, good in _extended(asset):
        if np.ptp(good.moments) > _SPREAD * good.moments.max():
            apply = partial(_author_sized, body.path, good, _turned)
            yield Seed(body.subject, apply)


def _turned(good: MassAttributes, size: float) -> MassAttributes:
    """Turn the axes of the smallest and the largest moment into each other.

    A turn by a small angle changes the tensor by angle * (largest - smallest).
    """
    order = np.argsort(good.moments)
    angle = size * good.moments.max() / np.ptp(good.moments)
    turn = Rotation.from_rotvec(angle * np.eye(3)[order[1]])
    return structs.replace(good, axes=good.axes * turn)


def _edited(edit: Callable[[Usd.Prim], None], asset: GoodAsset) -> Iterator[Seed]:
    for body, _ in _massive(asset):
        yield Seed(body.subject, on_prim(body.path, edit))


def _leave_density(prim: Usd.Prim) -> None:
    """Replace the mass by a density, of which consumers compute a mass."""
    block("physics:mass")(prim)
    UsdPhysics.MassAPI(prim).CreateDensityAttr(7800.0)


def _remove_api(prim: Usd.Prim) -> None:
    prim.RemoveAPI(UsdPhysics.MassAPI)


def _bare(asset: GoodAsset) -> Iterator[tuple[BodySite, MassAttributes]]:
    """Yield bodies without colliders, for which OpenUSD's defaults are known."""
    for body, good in _extended(asset):
        below = Usd.PrimRange(body.prim, Usd.TraverseInstanceProxies())
        if not any(prim.HasAPI(UsdPhysics.CollisionAPI) for prim in below):
            yield body, good


def _without_center(asset: GoodAsset) -> Iterator[Seed]:
    for body, good in _bare(asset):
        made_up = structs.replace(good, center=np.zeros(3))
        apply = on_prim(body.path, block("physics:centerOfMass"))
        yield Seed(body.subject, apply, equivalent=not good.differs(made_up))


def _without_moments(asset: GoodAsset) -> Iterator[Seed]:
    for body, good in _bare(asset):
        made_up = structs.replace(good, moments=np.full(3, _BALL * good.mass))
        apply = partial(_author, body.path, structs.replace(good, moments=np.zeros(3)))
        yield Seed(body.subject, apply, equivalent=not good.differs(made_up))


def _contradicted(asset: GoodAsset) -> Iterator[Seed]:
    for body, good in _extended(asset):
        yield Seed(body.subject, partial(_contradict, body.path, good))


def _contradict(
    path: str,
    good: MassAttributes,
    stage: Usd.Stage,
    size: float,
) -> None:
    tensor = good.tensor * (1 + size)
    values = [float(tensor[at]) for at in ((0, 0), (1, 1), (2, 2))]
    values += [float(tensor[at]) for at in ((0, 1), (0, 2), (1, 2))]
    attribute = stage.GetPrimAtPath(path).CreateAttribute(
        "newton:inertia", Sdf.ValueTypeNames.DoubleArray, custom=False
    )
    attribute.Set(values)


def _frames_as_bodies(asset: GoodAsset) -> Iterator[Seed]:
    for path in asset.frames:
        yield Seed(f"prim {path}", on_prim(path, _add_body))


def _add_body(prim: Usd.Prim) -> None:
    UsdPhysics.RigidBodyAPI.Apply(prim)


def _about_origin(good: MassAttributes) -> MassAttributes:
    """Take the inertia about the link's origin instead of the centre of mass."""
    arm = good.center
    tensor = good.tensor + good.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    moments, axes = np.linalg.eigh(tensor)
    if np.linalg.det(axes) < 0:
        axes = axes * -1
    return structs.replace(good, moments=moments, axes=Rotation.from_matrix(axes))


def _scale_tensor(good: MassAttributes, size: float) -> MassAttributes:
    return structs.replace(good, moments=good.moments * (1 + size))


def _fault(
    identifier: str,
    title: str,
    aims: tuple[str, ...],
    change: Callable[[MassAttributes], MassAttributes],
) -> Fault:
    return Fault(f"mass.{identifier}", title, aims, partial(_changed, change))


MASS_FAULTS = (
    _fault("halved", "mass halved", _MASS, lambda a: structs.replace(a, mass=a.mass / 2)),
    _fault("doubled", "mass doubled", _MASS, lambda a: structs.replace(a, mass=a.mass * 2)),
    Fault(
        "mass.not-a-number",
        "mass not a number",
        (REFUSED,),
        partial(_changed_everywhere, lambda a: structs.replace(a, mass=math.nan)),
    ),
    Fault(
        "mass.moments-not-a-number",
        "diagonal inertia not a number",
        (REFUSED,),
        partial(
            _changed_everywhere,
            lambda a: structs.replace(a, moments=a.moments * math.nan),
        ),
    ),
    _fault(
        "grams",
        "mass in grams",
        _MASS,
        lambda a: structs.replace(a, mass=a.mass * 1000),
    ),
    Fault(
        "mass.zero",
        "mass zero",
        _STATED,
        partial(_edited, set_value("physics:mass", 0.0)),
    ),
    Fault(
        "mass.dropped",
        "mass dropped",
        _STATED,
        partial(_edited, block("physics:mass")),
    ),
    Fault(
        "mass.density",
        "density instead of mass",
        _STATED,
        partial(_edited, _leave_density),
    ),
    Fault(
        "mass.unschematic",
        "MassAPI not applied",
        _STATED,
        partial(_edited, _remove_api),
    ),
    _fault(
        "center-mirrored",
        "centre of mass mirrored",
        _CENTER,
        lambda a: structs.replace(a, center=-a.center),
    ),
    _fault(
        "center-zero",
        "centre of mass at the origin",
        _CENTER,
        lambda a: structs.replace(a, center=np.zeros(3)),
    ),
    Fault("mass.center-dropped", "centre of mass dropped", _CENTER, _without_center),
    _fault(
        "axes-conjugated",
        "principalAxes conjugated",
        _INERTIA,
        lambda a: structs.replace(a, axes=a.axes.inv()),
    ),
    _fault(
        "axes-identity",
        "principalAxes identity",
        _INERTIA,
        lambda a: structs.replace(a, axes=Rotation.identity()),
    ),
    _fault(
        "moments-permuted",
        "diagonal inertia permuted",
        _INERTIA,
        lambda a: structs.replace(a, moments=np.roll(a.moments, 1)),
    ),
    _fault("about-origin", "inertia about the link's origin", _INERTIA, _about_origin),
    Fault("mass.moments-zero", "diagonal inertia zero", _INERTIA, _without_moments),
    Fault("mass.frame-embodied", "frame made a body", _STATED, _frames_as_bodies),
    Fault(
        "mass.scaled",
        "mass scaled",
        _MASS,
        partial(_sized, lambda a, size: structs.replace(a, mass=a.mass * (1 + size))),
        Scale("mass", "1", _TOLERANCE.mass),
    ),
    Fault(
        "mass.center-shifted",
        "centre of mass shifted",
        _CENTER,
        partial(_sized, lambda a, size: structs.replace(a, center=a.center + size * OBLIQUE)),
        Scale("centre of mass", "m", _TOLERANCE.position),
    ),
    Fault(
        "mass.moments-scaled",
        "inertia scaled",
        _INERTIA,
        partial(_sized, _scale_tensor),
        Scale("inertia", "1", _TOLERANCE.inertia),
    ),
    Fault(
        "mass.axes-turned",
        "principalAxes turned",
        _INERTIA,
        _turns,
        Scale("inertia, by its axes", "1", _TOLERANCE.inertia),
    ),
    Fault(
        "mass.newton-contradicts",
        "newton:inertia contradicts the mass schema",
        _NEWTON,
        _contradicted,
        Scale("second statement of inertia", "1", _TOLERANCE.inertia),
    ),
)
