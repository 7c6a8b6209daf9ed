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
from msgspec import Struct, structs
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from urdf_usd.conformance.engines.openusd.reading import urdf_name
from urdf_usd.conformance.observation import robot as obs

ROBOTS = Path(__file__).parent / "robots"
_ADDITIONS = (ROBOTS / "additions.usda").read_text("utf-8")

# `described`: with a simulation settings file. `mujoco`: that variant of several ones.
ProfileName: TypeAlias = Literal["generic", "usdphysics", "physx", "mujoco", "isaac", "described"]
# In place of checks: the USD engine rejects the USD; parts of the USD are missing.
REFUSED = "reader.refuses"
PARTS_MISSING = "reader.parts-missing"
# A direction that is parallel to no axis of any robot.
OBLIQUE = np.array([2.0, -3.0, 6.0]) / 7.0
# Name of a prim that no good asset has.
STRANGER = "stranger"


class Robot(Struct, frozen=True, eq=False):
    """A good USD of a robot, and what its URDF says."""

    stage: Usd.Stage
    spec: obs.Observation  # with the base of the USD where its URDF leaves that open
    positions: Mapping[str, NDArray[np.float64]]  # compared positions, by joint [rad or m]
    joints: Mapping[str, obs.JointObservation]  # by path of the prim
    bodies: Mapping[str, obs.LinkObservation]  # by path of the prim

    @classmethod
    def of(cls, stage: Usd.Stage, spec: obs.Observation, positions: Mapping[str, Any]) -> Robot:
        own: list[dict[str, Any]] = [{one.name: one for one in spec.joints}]
        own.append({one.name: one for one in spec.links})
        found: list[dict[str, Any]] = [{}, {}]
        for prim in stage.Traverse():
            kinds = prim.IsA(UsdPhysics.Joint), prim.HasAPI(UsdPhysics.RigidBodyAPI)
            for is_one, parts, named in zip(kinds, found, own, strict=True):
                if is_one and urdf_name(prim) in named:
                    parts[str(prim.GetPath())] = named[urdf_name(prim)]
        return cls(stage, spec, positions, *found)

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

    def on(self, stage: Usd.Stage) -> Place:
        """Return the same place on a stage that is changed."""
        return structs.replace(self, prim=stage.GetPrimAtPath(self.path))

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
    def step(self) -> Any:  # noqa: ANN401  a vector
        """A step of the size of the fault, along no axis."""
        return Gf.Vec3d(*(self.size * OBLIQUE).tolist())

    @property
    def joint(self) -> obs.JointObservation:
        return self.robot.joints[self.path]

    @property
    def link(self) -> obs.LinkObservation:
        return self.robot.bodies[self.path]

    @property
    def reach(self) -> float:
        """Largest compared position of a joint [rad or m]."""
        return float(np.abs(self.robot.positions.get(self.joint.name, np.zeros(1))).max())

    @property
    def instance(self) -> str:
        """Instance of the schemas for the degree of freedom of a joint."""
        if self.prim.IsA(UsdPhysics.RevoluteJoint):
            return "angular"
        return "linear" if self.prim.IsA(UsdPhysics.PrismaticJoint) else ""

    @property
    def unit(self) -> float:
        """Unit of USD in radians or metres."""
        return float(np.degrees(1.0)) if self.instance == "angular" else 1.0

    def properties(self, *names: str) -> list[str]:
        """Return names with the instance for `{}`; for `*:gearing`, the property that ends so."""
        own = [name for name in self.prim.GetPropertyNames() if not name.startswith("urdf:")]
        found: list[str] = []
        for name in names:
            ends = [one for one in own if f"*:{one.rpartition(':')[2]}" == name][:1]
            found += ends if name.startswith("*:") else [name.format(self.instance)]
        return found

    def targets(self, name: str) -> list[str]:
        relationship = self.prim.GetRelationship(name)
        return [str(path) for path in relationship.GetTargets()] if relationship else []


Edit: TypeAlias = Callable[[Place], object]
Places: TypeAlias = Callable[[Robot], Iterable[Place]]
Wrong: TypeAlias = Callable[[Any, Place], Any]


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


FAULTS: list[Fault] = []


def seed(
    name: str,
    detected_by: str,
    places: Places,
    edit: Edit,
    *,
    profile: ProfileName = "generic",
    tolerance: float | None = None,
    equivalent: bool = False,
) -> None:
    """Add a fault that is detected by one of several checks."""
    checks = tuple(detected_by.split())
    FAULTS.append(Fault(name, checks, places, edit, profile, tolerance, equivalent))


def seed_each(detected_by: str, places: Places, edits: Mapping[str, Edit], **fields: Any) -> None:  # noqa: ANN401
    """Add faults, by id, that are seeded in the same places and detected by the same checks."""
    for name, edit in edits.items():
        seed(name, detected_by, places, edit, **fields)


def fault(
    name: str, detected_by: str, places: Places, *, equivalent: bool = False
) -> Callable[[Edit], None]:
    """Decorate the edit of a fault."""
    return lambda edit: seed(name, detected_by, places, edit, equivalent=equivalent)


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


def typed(*types: obs.JointType) -> Places:
    return where(joints, lambda place: place.joint.type in types)


def is_enabled(place: Place) -> bool:
    return bool(UsdPhysics.Joint(place.prim).GetJointEnabledAttr().Get())


moving = where(joints, lambda place: place.instance)
# With one coordinate and a type of their own.
single = where(moving, lambda place: obs.COORDINATES[place.joint.type] == 1)
roots = prims(lambda prim: prim.HasAPI(UsdPhysics.ArticulationRootAPI))


def joint_ends(joint: Usd.Prim) -> list[str]:
    ends = UsdPhysics.Joint(joint).GetBody0Rel(), UsdPhysics.Joint(joint).GetBody1Rel()
    return [str(path) for path in chain.from_iterable(end.GetTargets() for end in ends)]


def rotation(axis: Iterable[float], angle: float) -> Gf.Quatf:
    """Return the rotation about an axis by an angle [rad]."""
    return Gf.Quatf(Gf.Rotation(Gf.Vec3d(*axis), float(np.degrees(angle))).GetQuat())


# Edits. In names of attributes and schemas, `{}` stands for the instance of a joint's schemas.


def authored(prim: Usd.Prim, name: str) -> Any:  # noqa: ANN401  a value of any type
    """Return an authored value, or None."""
    attribute = prim.GetAttribute(name)
    return attribute.Get() if attribute and attribute.HasAuthoredValue() else None


def change(wrong: Wrong, *names: str) -> Edit:
    """Author a function of the authored values other than zero, and of the place."""

    def edit(place: Place) -> None:
        for name in place.properties(*names):
            old = authored(place.prim, name)
            if old is not None and old != 0 and (new := wrong(old, place)) != old:
                place.prim.GetAttribute(name).Set(new)

    return edit


def grow(*names: str) -> Edit:
    """Scale values by one and the size."""
    return change(lambda old, place: old * (1.0 + place.size), *names)


def author(name: str, value: object, *schemas: str) -> Edit:
    """Author an attribute of schemas that may not be registered."""

    def edit(place: Place) -> None:
        apply(*schemas)(place)
        kind = Sdf.GetValueTypeNameForValue(value)
        if isinstance(value, float) and not name.startswith("mjc:"):
            kind = Sdf.ValueTypeNames.Float
        if isinstance(value, str) and not name.startswith("isaac:"):
            kind = Sdf.ValueTypeNames.Token
        place.prim.CreateAttribute(name.format(place.instance), kind, custom=False).Set(value)

    return edit


def block(*names: str) -> Edit:
    """Drop values other than zero."""
    return lambda place: [
        place.prim.GetAttribute(name).Block()
        for name in place.properties(*names)
        if authored(place.prim, name)
    ]


def schemas_of(prim: Usd.Prim) -> list[str]:
    """Return the applied schemas of a prim, also those that are not registered."""
    unregistered = prim.GetPrimTypeInfo().GetAppliedAPISchemas()
    return list(dict.fromkeys((*prim.GetAppliedSchemas(), *unregistered)))


def unapply(schema: str) -> Edit:
    """Remove a schema, or all instances of one that is named without."""
    return lambda place: [
        place.prim.RemoveAppliedSchema(one)
        for one in schemas_of(place.prim)
        if schema.format(place.instance) in (one, one.split(":")[0])
    ]


def apply(*schemas: str) -> Edit:
    return lambda place: [
        place.prim.AddAppliedSchema(one.format(place.instance)) for one in schemas
    ]


def retarget(name: str, choose: Callable[[Place], Iterable[str | Sdf.Path] | None]) -> Edit:
    """Set the targets of a relationship, unless there are none to choose."""

    def edit(place: Place) -> None:
        targets = choose(place)
        for one in [] if targets is None else place.properties(name):
            place.prim.CreateRelationship(one, custom=False).SetTargets([*map(str, targets or ())])

    return edit


def both(*edits: Edit) -> Edit:
    return lambda place: [edit(place) for edit in edits]


def add(case: str, *, below: bool = False) -> Edit:
    """Add the prims of a case of the file below the robot, or below the prim."""

    def edit(place: Place) -> None:
        layer, target = Sdf.Layer.CreateAnonymous(".usda"), place.stage.GetRootLayer()
        layer.ImportFromString(_ADDITIONS.replace("</robot", f"<{place.robot.root}"))
        parent = place.prim.GetPath() if below else place.robot.root
        for prim in layer.GetPrimAtPath(f"/{case}").nameChildren:
            path = parent.AppendChild(prim.name)
            Sdf.CreatePrimInLayer(target, path)
            Sdf.CopySpec(layer, prim.path, target, path)

    return edit


def bind(place: Place, material: str | Sdf.Path, purpose: str = UsdShade.Tokens.allPurpose) -> None:
    binding = UsdShade.MaterialBindingAPI.Apply(place.prim)
    bound = UsdShade.Material(place.stage.GetPrimAtPath(material))
    binding.Bind(bound, materialPurpose=purpose)
