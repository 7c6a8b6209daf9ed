"""A good USD, and the parts of it in which faults are seeded.

A changed USD is a layer that references the good one and overrides it, so that meshes
are neither copied nor written again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from pxr import Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.observation.robot import (
    Base,
    Configurations,
    JointObservation,
    JointType,
    LinkObservation,
    Observation,
)
from urdf_usd.conformance.tolerance.rigid_groups import rigid_groups

# Relative tolerance of masses: rounding to float32 and text.
_SAME_MASS = 1e-6
# Bodies at a smaller distance [m] are interchangeable.
_APART = 1e-3


class JointSite(Struct, frozen=True, eq=False):
    """The prim of a joint of the URDF.

    Attributes:
        path: Path of the prim.
        stated: Reference observation of the joint.
        positions: (K) compared positions [rad or m]; zero alone for a joint without
            exactly one coordinate.
        prim: The prim on the good stage.
    """

    path: str
    stated: JointObservation
    positions: NDArray[np.float64]
    prim: Usd.Prim

    @property
    def name(self) -> str:
        """URDF name."""
        return self.stated.name

    @property
    def subject(self) -> str:
        """The changed part, for reports."""
        return f"joint {self.stated.name}"

    @property
    def angular(self) -> bool:
        """Whether the prim is revolute, with values in degrees."""
        return bool(self.prim.IsA(UsdPhysics.RevoluteJoint))

    def value(self, attribute: str) -> float | None:
        """Return an authored number of the good stage, or None."""
        usd_attribute = self.prim.GetAttribute(attribute)
        return float(usd_attribute.Get()) if usd_attribute.HasAuthoredValue() else None


class BodySite(Struct, frozen=True, eq=False):
    """The rigid body of a link of the URDF.

    Attributes:
        path: Path of the prim.
        stated: Reference observation of the link.
        alone: Whether the body's mass is the link's own, so that links are compared.
        prim: The prim on the good stage.
        world: (4, 4) placement of the prim, without scale [m].
    """

    path: str
    stated: LinkObservation
    alone: bool
    prim: Usd.Prim
    world: NDArray[np.float64]

    @property
    def subject(self) -> str:
        """The changed part, for reports."""
        return f"link {self.stated.name}"


class GoodAsset(Struct, frozen=True, eq=False):
    """A good USD.

    Attributes:
        root_layer: Path of its root layer.
        stage: The open stage.
        spec: Reference observation of the URDF.
        base: Relation of the root to the world.
        joints: Joints that have a prim, in the order of the stage.
        bodies: Bodies, likewise.
        frames: Paths of links that are no bodies.
    """

    root_layer: str
    stage: Usd.Stage
    spec: Observation
    base: Base | None
    joints: tuple[JointSite, ...]
    bodies: tuple[BodySite, ...]
    frames: tuple[str, ...]

    @property
    def root(self) -> str:
        """Path of the default prim."""
        return str(self.stage.GetDefaultPrim().GetPath())

    def joints_of(self, *types: JointType) -> Iterator[JointSite]:
        """Return joints by their types in the URDF."""
        return (joint for joint in self.joints if joint.stated.type in types)

    def body_at(self, path: str) -> BodySite | None:
        """Return the body at a prim path."""
        return next((body for body in self.bodies if body.path == path), None)


def open_asset(
    root_layer: str, spec: Observation, usd: Observation, configurations: Configurations
) -> GoodAsset:
    """Open a good USD and find its parts.

    Args:
        root_layer: Root layer of a good USD.
        spec: Reference observation of the URDF.
        usd: Observation of the USD.
        configurations: The compared configurations.
    """
    stage = Usd.Stage.Open(root_layer)
    prims = tuple(stage.Traverse())
    bodies = tuple(prim for prim in prims if prim.HasAPI(UsdPhysics.RigidBodyAPI))
    links = {link.name: link for link in spec.links}
    return GoodAsset(
        root_layer=root_layer,
        stage=stage,
        spec=spec,
        base=spec.base or usd.base,
        joints=tuple(_joints(prims, spec, configurations)),
        bodies=tuple(_bodies(bodies, links, spec)),
        frames=tuple(
            str(prim.GetPath())
            for prim in prims
            if prim not in bodies and shown_name(prim) in links and _is_frame(prim)
        ),
    )


def apart(one: BodySite, other: BodySite | None) -> bool:
    """Whether two bodies, or a body and the world origin, have different positions."""
    start = other.world if other else np.eye(4)
    return bool(np.linalg.norm(one.world[:3, 3] - start[:3, 3]) > _APART)


def shown_name(prim: Usd.Prim) -> str:
    """Return the URDF name of a prim."""
    return str(prim.GetDisplayName() or prim.GetName())


def _is_frame(prim: Usd.Prim) -> bool:
    return bool(prim.GetAttribute("urdf:link").HasAuthoredValue())


def _joints(
    prims: tuple[Usd.Prim, ...], spec: Observation, configurations: Configurations
) -> Iterator[JointSite]:
    stated = {joint.name: joint for joint in spec.joints}
    positions = dict(zip(configurations.joints, configurations.positions, strict=True))
    for prim in prims:
        joint = stated.get(shown_name(prim))
        if joint is None or not prim.IsA(UsdPhysics.Joint):
            continue
        given = positions.get(joint.name)
        single = given is not None and given.shape[1] == 1
        yield JointSite(
            path=str(prim.GetPath()),
            stated=joint,
            positions=given[:, 0] if given is not None and single else np.zeros(1),
            prim=prim,
        )


def _bodies(
    prims: tuple[Usd.Prim, ...], links: Mapping[str, LinkObservation], spec: Observation
) -> Iterator[BodySite]:
    alone = _alone(prims, links, spec)
    for prim in prims:
        name = shown_name(prim)
        if name not in links:
            continue
        matrix = UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(Usd.TimeCode.Default())
        yield BodySite(
            path=str(prim.GetPath()),
            stated=links[name],
            alone=name in alone,
            prim=prim,
            world=np.array(matrix.RemoveScaleShear()).T,
        )


def _alone(
    prims: tuple[Usd.Prim, ...], links: Mapping[str, LinkObservation], spec: Observation
) -> set[str]:
    """Return the massive links of groups in which every massive link is a body."""
    bodies = {shown_name(prim): UsdPhysics.MassAPI(prim).GetMassAttr().Get() for prim in prims}
    names: set[str] = set()
    for group in rigid_groups(tuple(links), spec.joints):
        stated = {name: links[name].mass for name in group}
        massive = {name: mass.mass for name, mass in stated.items() if mass}
        if all(
            abs(bodies.get(name, 0.0) - mass) <= _SAME_MASS * mass for name, mass in massive.items()
        ):
            names |= {name for name, mass in massive.items() if mass}
    return names


def overlay(asset: GoodAsset) -> Usd.Stage:
    """Return a new stage that references the good one, for edits."""
    good = asset.stage
    stage = Usd.Stage.CreateInMemory("overlay.usda")
    UsdGeom.SetStageMetersPerUnit(stage, UsdGeom.GetStageMetersPerUnit(good))
    UsdGeom.SetStageUpAxis(stage, UsdGeom.GetStageUpAxis(good))
    UsdPhysics.SetStageKilogramsPerUnit(stage, UsdPhysics.GetStageKilogramsPerUnit(good))
    default = stage.DefinePrim(asset.root)
    default.GetReferences().AddReference(asset.root_layer)
    stage.SetDefaultPrim(default)
    return stage
