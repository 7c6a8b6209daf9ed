"""A fault is a row: id, checks that must catch it, places on a robot, and an edit.

An edit changes one prim of a layer above a good USD. Where it authors nothing, the robot
has no such place. A robot's USD is converted once per profile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    Base,
    JointObservation,
    JointType,
    LinkObservation,
    Observation,
)

ROBOTS = Path(__file__).parent / "robots"

# `described`: with a robot description file. `mujoco`: that variant of several ones.
ProfileName: TypeAlias = Literal["generic", "usdphysics", "physx", "mujoco", "isaac", "described"]
# In place of checks: the USD engine rejects the USD; parts of the USD are missing.
REFUSED = "reader.refuses"
PARTS_MISSING = "reader.parts-missing"
# A direction that is parallel to no axis of any robot.
OBLIQUE = np.array([2.0, -3.0, 6.0]) / 7.0
# Name of a prim that no good asset has.
STRANGER = "stranger"
# A colour that no robot has.
RED = Gf.Vec3f(0.97, 0.03, 0.11)


class Robot(Struct, frozen=True, eq=False):
    """A good USD of a robot, and what its URDF says."""

    stage: Usd.Stage
    spec: Observation
    base: Base | None
    positions: Mapping[str, NDArray[np.float64]]  # compared positions, by joint [rad or m]
    joints: Mapping[str, JointObservation]  # by path of the prim
    bodies: Mapping[str, LinkObservation]  # by path of the prim

    @classmethod
    def of(
        cls, stage: Usd.Stage, spec: Observation, base: Base | None, positions: Mapping[str, Any]
    ) -> Robot:
        joints = {joint.name: joint for joint in spec.joints}
        links = {link.name: link for link in spec.links}
        prims = tuple(stage.Traverse())
        return cls(
            stage,
            spec,
            spec.base or base,
            positions,
            {
                str(prim.GetPath()): joints[urdf_name(prim)]
                for prim in prims
                if prim.IsA(UsdPhysics.Joint) and urdf_name(prim) in joints
            },
            {
                str(prim.GetPath()): links[urdf_name(prim)]
                for prim in prims
                if prim.HasAPI(UsdPhysics.RigidBodyAPI) and urdf_name(prim) in links
            },
        )

    @property
    def root(self) -> Sdf.Path:
        return self.stage.GetDefaultPrim().GetPath()

    def world(self, path: str) -> Gf.Matrix4d:
        """Return the placement of a body of the good USD, without scale [m]."""
        prim = UsdGeom.Xformable(self.stage.GetPrimAtPath(path))
        return prim.ComputeLocalToWorldTransform(Usd.TimeCode.Default()).RemoveScaleShear()

    def is_apart(self, path: str, other: str | None) -> bool:
        """Whether a body is elsewhere than another one, or than the world's origin."""
        start = self.world(other) if other else Gf.Matrix4d(1)
        apart = self.world(path).ExtractTranslation() - start.ExtractTranslation()
        return bool(apart.GetLength() > 1e-3)


class Place(Struct, frozen=True, eq=False):
    """A prim in which a fault is seeded, on the stage that is changed."""

    robot: Robot
    prim: Usd.Prim
    size: float = 0.0  # of a fault of a size
    share: float = 1.0  # of the surface of a visual: a part has a material of its own
    mesh: str = ""  # path of the visual that the part is of
    diagonal: float = 0.0  # of the bounds of a shape in its link [m]

    @property
    def path(self) -> str:
        return str(self.prim.GetPath())

    @property
    def stage(self) -> Usd.Stage:
        return self.prim.GetStage()

    @property
    def extra(self) -> Sdf.Path:
        """Path of a prim that can be added."""
        return self.robot.root.AppendChild(STRANGER)

    @property
    def joint(self) -> JointObservation:
        return self.robot.joints[self.path]

    @property
    def link(self) -> LinkObservation:
        return self.robot.bodies[self.path]

    @property
    def instance(self) -> str:
        """Instance of the schemas for the degree of freedom of a joint."""
        if self.prim.IsA(UsdPhysics.RevoluteJoint):
            return "angular"
        return "linear" if self.prim.IsA(UsdPhysics.PrismaticJoint) else ""

    def targets(self, name: str) -> list[str]:
        relationship = self.prim.GetRelationship(name)
        return [str(path) for path in relationship.GetTargets()] if relationship else []


Edit: TypeAlias = Callable[[Place], object]
Places: TypeAlias = Callable[[Robot], Iterable[Place]]


class Fault(Struct, frozen=True, eq=False):
    """One kind of fault; a harmless edit if no check is to catch it."""

    id: str  # the part before the dot is the group
    detected_by: tuple[str, ...]  # one of them must fail
    places: Places
    edit: Edit
    profile: ProfileName = "generic"
    tolerance: float | None = None  # largest size that may pass, if a fault has a size
    # Whether the USD may be equivalent in some places: a half turn has no sign. There the
    # observation stays the same.
    equivalent: bool = False


def row(
    name: str,
    detected_by: str,
    places: Places,
    edit: Edit,
    *,
    profile: ProfileName = "generic",
    tolerance: float | None = None,
    equivalent: bool = False,
) -> Fault:
    checks = tuple(detected_by.split())
    return Fault(name, checks, places, edit, profile, tolerance, equivalent)


def table(
    group: str,
    detected_by: str,
    places: Places,
    edits: Mapping[str, Edit],
    *,
    profile: ProfileName = "generic",
    tolerance: float | None = None,
    equivalent: bool = False,
) -> Iterator[Fault]:
    """Yield the faults of some places, by their names in a group, as :func:`row`."""
    for name, edit in edits.items():
        yield row(
            f"{group}.{name}",
            detected_by,
            places,
            edit,
            profile=profile,
            tolerance=tolerance,
            equivalent=equivalent,
        )


def urdf_name(prim: Usd.Prim) -> str:
    return str(prim.GetDisplayName() or prim.GetName())


# Places.


def robot(good: Robot) -> Iterator[Place]:
    if good.bodies:
        yield Place(good, good.stage.GetDefaultPrim())


def bodies(good: Robot) -> Iterator[Place]:
    return (Place(good, good.stage.GetPrimAtPath(path)) for path in good.bodies)


def joints(good: Robot) -> Iterator[Place]:
    return (Place(good, good.stage.GetPrimAtPath(path)) for path in good.joints)


def prims(condition: Callable[[Usd.Prim], object]) -> Places:
    return lambda good: (Place(good, prim) for prim in good.stage.Traverse() if condition(prim))


def where(places: Places, condition: Callable[[Place], object]) -> Places:
    return lambda good: (place for place in places(good) if condition(place))


def typed(*types: JointType) -> Places:
    return where(joints, lambda place: place.joint.type in types)


def is_enabled(place: Place) -> bool:
    return bool(UsdPhysics.Joint(place.prim).GetJointEnabledAttr().Get())


enabled = where(joints, is_enabled)
moving = where(joints, lambda place: place.instance)
# With one coordinate and a type of their own.
single = where(moving, lambda place: COORDINATES[place.joint.type] == 1)
roots = prims(lambda prim: prim.HasAPI(UsdPhysics.ArticulationRootAPI))


def colliders(good: Robot) -> set[str]:
    """Return the paths of the bodies with colliders."""
    found = set()
    for prim in good.stage.Traverse():
        if prim.HasAPI(UsdPhysics.CollisionAPI):
            above = (str(path) for path in reversed(prim.GetPath().GetPrefixes()))
            found.add(next((path for path in above if path in good.bodies), ""))
    return found - {""}


# Edits.


def authored(prim: Usd.Prim, name: str) -> Any:  # noqa: ANN401  a value of any type
    """Return an authored value, or None."""
    attribute = prim.GetAttribute(name)
    return attribute.Get() if attribute and attribute.HasAuthoredValue() else None


def _named(names: Iterable[str], place: Place) -> Iterator[str]:
    return (name.format(place.instance) for name in names)


def change(wrong: Callable[[Any], object], *names: str) -> Edit:
    """Author a function of the authored values other than zero.

    In names, as everywhere here, `{}` stands for the instance of a joint's schemas.
    """

    def edit(place: Place) -> None:
        for name in _named(names, place):
            old = authored(place.prim, name)
            if old is not None and old != 0 and wrong(old) != old:
                place.prim.GetAttribute(name).Set(wrong(old))

    return edit


def grow(*names: str) -> Edit:
    """Scale values by one and the size."""
    return lambda place: change(lambda old: old * (1.0 + place.size), *names)(place)


def author(name: str, value: object, *schemas: str) -> Edit:
    """Author an attribute of schemas that may not be registered."""

    def edit(place: Place) -> None:
        for schema in _named(schemas, place):
            place.prim.AddAppliedSchema(schema)
        kind = Sdf.GetValueTypeNameForValue(value)
        if isinstance(value, float) and not name.startswith("mjc:"):
            kind = Sdf.ValueTypeNames.Float
        if isinstance(value, str) and not name.startswith("isaac:"):
            kind = Sdf.ValueTypeNames.Token
        place.prim.CreateAttribute(name.format(place.instance), kind, custom=False).Set(value)

    return edit


def replace(name: str, value: object) -> Edit:
    """Author an attribute where it is authored."""

    def edit(place: Place) -> None:
        if authored(place.prim, name.format(place.instance)) is not None:
            place.prim.GetAttribute(name.format(place.instance)).Set(value)

    return edit


def block(*names: str) -> Edit:
    """Drop values other than zero."""

    def edit(place: Place) -> None:
        for name in _named(names, place):
            old = authored(place.prim, name)
            if old is not None and old != 0:
                place.prim.GetAttribute(name).Block()

    return edit


def unapply(*schemas: str) -> Edit:
    def edit(place: Place) -> None:
        applied = place.prim.GetPrimTypeInfo().GetAppliedAPISchemas()
        for schema in set(_named(schemas, place)) & {*applied, *place.prim.GetAppliedSchemas()}:
            place.prim.RemoveAppliedSchema(schema)

    return edit


def apply(*schemas: str) -> Edit:
    return lambda place: [place.prim.AddAppliedSchema(name) for name in _named(schemas, place)]


def retarget(name: str, choose: Callable[[Place], Iterable[str | Sdf.Path] | None]) -> Edit:
    """Set the targets of a relationship, unless there are none to choose."""

    def edit(place: Place) -> None:
        targets = choose(place)
        if targets is not None:
            place.prim.CreateRelationship(name, custom=False).SetTargets(list(map(str, targets)))

    return edit


def both(*edits: Edit) -> Edit:
    return lambda place: [edit(place) for edit in edits]


def deactivate(place: Place) -> None:
    place.prim.SetActive(False)


def relocate(place: Place, target: Sdf.Path | str) -> None:
    place.stage.GetRootLayer().relocates = [(place.prim.GetPath(), Sdf.Path(str(target)))]


def bind(place: Place, material: str | Sdf.Path, purpose: str = UsdShade.Tokens.allPurpose) -> None:
    binding = UsdShade.MaterialBindingAPI.Apply(place.prim)
    bound = UsdShade.Material(place.stage.GetPrimAtPath(material))
    binding.Bind(bound, materialPurpose=purpose)


def red_material(stage: Usd.Stage, path: Sdf.Path) -> UsdShade.Material:
    material = UsdShade.Material.Define(stage, path)
    shader = UsdShade.Shader.Define(stage, path.AppendChild("surface"))
    shader.CreateIdAttr("UsdPreviewSurface")
    shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).Set(RED)
    output = shader.CreateOutput("surface", Sdf.ValueTypeNames.Token)
    material.CreateSurfaceOutput().ConnectToSource(output)
    return material


def joint_ends(joint: Usd.Prim) -> list[str]:
    ends = UsdPhysics.Joint(joint).GetBody0Rel(), UsdPhysics.Joint(joint).GetBody1Rel()
    return [str(path) for path in chain.from_iterable(end.GetTargets() for end in ends)]
