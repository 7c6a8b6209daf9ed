"""Faults in the set of links and joints, in their frames, and in the robot as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import numpy as np
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdPhysics

from tests.faults import fault as f
from tests.faults.fault import Edit, Place, Robot, author, fault, seed, seed_each
from urdf_usd.conformance.observation.robot import COORDINATES, Base, JointType
from urdf_usd.conformance.tolerance import Tolerance

_TOLERANCE = Tolerance()
_POSE = "kinematics.position kinematics.rotation"
_OUTSIDE = Sdf.Path(f"/{f.STRANGER}")
_BODY0, _BODY1 = "physics:body0", "physics:body1"


# Joints and their ends.


def _other_parent(place: Place) -> list[str] | None:
    """Choose a body with another pose that is not below the child."""
    ends = f.joint_ends(place.prim)
    if len(ends) < 2 or not place.robot.bodies.keys() >= set(ends):
        return None
    below = {place.robot.bodies[ends[1]].name}
    for _ in place.robot.spec.joints:
        below |= {joint.child for joint in place.robot.spec.joints if joint.parent in below}
    return [
        path
        for path, link in place.robot.bodies.items()
        if link.name not in below and place.robot.is_apart(path, ends[0])
    ][:1] or None


def _weld(place: Place, path: Sdf.Path, ends: Iterable[str]) -> None:
    """Fix the last of the ends to the others, or to the world."""
    joint = UsdPhysics.FixedJoint.Define(place.stage, path)
    *first, second = ends
    joint.CreateBody0Rel().SetTargets(list(first))
    joint.CreateBody1Rel().SetTargets([second])


def _weld_ends(place: Place) -> None:
    """Weld the first body to the last one."""
    if len(place.robot.bodies) > 1:
        first, *_, last = place.robot.bodies
        _weld(place, place.extra, (first, last))


seed("topology.joint-surplus", "structure.joints", f.robot, _weld_ends)
_FIXED = f.both(lambda place: place.prim.SetTypeName("PhysicsFixedJoint"))
_STUCK = f.both(_FIXED, author("physics:jointEnabled", value=True))
seed("topology.float-welded", "structure.types", f.typed(JointType.FLOATING), _STUCK)


_ANY = f"structure.types structure.joints {_POSE}"


@fault("topology.plane-turned", _ANY, f.typed(JointType.PLANAR))
def _(place: Place) -> None:
    """Move the limits of the degrees of freedom of a joint without a type to the next axes."""
    for kind in ("trans", "rot"):
        apis = [UsdPhysics.LimitAPI.Apply(place.prim, f"{kind}{axis}") for axis in "XYZ"]
        limits = [(api.GetLowAttr().Get(), api.GetHighAttr().Get()) for api in apis]
        for api, (low, high) in zip(apis, [*limits[1:], limits[0]], strict=True):
            api.CreateLowAttr(low)
            api.CreateHighAttr(high)


_NAMED = "structure.links structure.joints"


@fault("topology.renamed", _NAMED, lambda good: chain(f.joints(good), f.bodies(good)))
def _(place: Place) -> None:
    if not place.prim.GetDisplayName():
        renamed = Sdf.Path(f"{place.path}_misspelt")
        place.stage.GetRootLayer().relocates = [(place.prim.GetPath(), renamed)]
    elif place.prim.GetDisplayName() != place.prim.GetName():
        place.prim.SetDisplayName("")


def _in_series(place: Place) -> bool:
    ends = {tuple(f.joint_ends(joint.prim)) for joint in f.joints(place.robot)}
    return len(place.robot.joints) > len(ends)


# One of several joints of a body is no joint of its own then.
_enabled, _EITHER = f.where(f.joints, f.is_enabled), "structure.articulation structure.links"
_EXCLUDED = author("physics:excludeFromArticulation", value=True)
seed("topology.joint-excluded", _EITHER, _enabled, _EXCLUDED, equivalent=True)
_APART = f.change(lambda *_: False, "newton:jointsAddMobility")
seed("topology.series-parallel", "structure.links", f.where(f.roots, _in_series), _APART)
_REHUNG = f.retarget(_BODY0, _other_parent)
seed("topology.joint-rehung", f"structure.parents {_POSE}", f.joints, _REHUNG)

# Frames of joints.

_ORIGINS = ("physics:localPos0", "physics:localPos1")
_TURNS = ("physics:localRot0", "physics:localRot1")


def _across(place: Place) -> list[float]:
    """Return a direction that is perpendicular to the axis of a joint."""
    axis = "XYZ".index(f.authored(place.prim, "physics:axis") or "X")
    direction: list[float] = np.eye(3)[(axis + 1) % 3].tolist()
    return direction


def _set(names: Iterable[str], value: Callable[[Place, str], object]) -> Edit:
    """Set attributes of a joint, which may have their fallbacks."""

    def edit(place: Place) -> None:
        values = {name: value(place, name) for name in names}
        for name, new in values.items():
            place.prim.GetAttribute(name).Set(new)

    return edit


def _turned(names: Iterable[str], turn: Callable[[Place], Gf.Quatf]) -> Edit:
    return _set(names, lambda place, name: place.prim.GetAttribute(name).Get() * turn(place))


def _shifted(place: Place, name: str) -> Gf.Vec3f:
    return place.prim.GetAttribute(name).Get() + Gf.Vec3f(place.step)


def _swap_bodies(place: Place) -> None:
    ends = place.targets(_BODY0), place.targets(_BODY1)
    for name, targets in zip((_BODY1, _BODY0), ends, strict=True):
        place.prim.GetRelationship(name).SetTargets(targets)


_negate_axis = _turned(_TURNS, lambda place: f.rotation(_across(place), math.pi))
seed("joint.axis-negated", _POSE, f.moving, _negate_axis, equivalent=True)
seed("joint.bodies-swapped", f"{_POSE} dynamics.joints", f.joints, _swap_bodies, equivalent=True)
for _side in (0, 1):
    _edit = _set(_ORIGINS[_side : _side + 1], _shifted)
    seed(f"joint.pos{_side}-shifted", _POSE, f.joints, _edit, tolerance=_TOLERANCE.position)
    _turn = _turned(_TURNS[_side : _side + 1], lambda at: f.rotation(f.OBLIQUE, at.size))
    seed(f"joint.rot{_side}-turned", _POSE, f.joints, _turn, tolerance=_TOLERANCE.rotation)
_TILTED = _turned(_TURNS, lambda at: f.rotation(_across(at), at.size))
# A tilted axis moves links by more than its tilt.
_far = f.where(f.joints, lambda at: at.instance == "angular" and at.reach > 1.2)
seed("joint.axis-tilted", _POSE, _far, _TILTED, tolerance=_TOLERANCE.rotation)


@fault("joint.exchanged", "dynamics.joints structure.links", f.joints)
def _(place: Place) -> None:
    """Swap bodies and frames so that the joint moves as before."""
    if place.targets(_BODY0) and place.targets(_BODY1):
        _swap_bodies(place)
        for names in (_ORIGINS, _TURNS):
            values = [place.prim.GetAttribute(name).Get() for name in names]
            for name, value in zip(names, values[::-1], strict=True):
                place.prim.GetAttribute(name).Set(value)
        if place.instance:
            _negate_axis(place)


# Bodies and their poses.


def _is_nested(place: Place) -> bool:
    above = str(place.prim.GetPath().GetParentPath())
    return above in place.robot.bodies and place.robot.is_apart(above, None)


def _move(change: Callable[[Gf.Matrix4d, Place], object]) -> Edit:
    def edit(place: Place) -> None:
        placed = UsdGeom.Xformable(place.prim)
        reset = placed.GetResetXformStack()
        local = placed.GetLocalTransformation(Usd.TimeCode.Default())
        moved = Gf.Matrix4d(1.0)
        change(moved, place)
        # Gf matrices act on row vectors: the change comes first, in the body's frame.
        placed.MakeMatrixXform().Set(moved * local)
        if reset:
            placed.SetResetXformStack(True)

    return edit


_ANCHORS, _FRAMES = "kinematics.assembly.position", "kinematics.assembly.rotation"
_children = f.where(
    f.bodies, lambda at: at.link.name in [one.joint.child for one in _enabled(at.robot)]
)
seed("body.surplus", "structure.links", f.robot, f.add("body"))
_UNNESTED = f.both(lambda at: UsdGeom.Xformable(at.prim).SetResetXformStack(True))
seed("body.unnested", _ANCHORS, f.where(_children, _is_nested), _UNNESTED)
_SHIFTED = _move(lambda matrix, place: matrix.SetTranslate(place.step))
seed("body.shifted", _ANCHORS, _children, _SHIFTED, tolerance=_TOLERANCE.position)
_ROTATED = _move(lambda matrix, at: matrix.SetRotate(f.rotation(f.OBLIQUE, at.size)))
seed("body.turned", _FRAMES, _children, _ROTATED, tolerance=_TOLERANCE.rotation)


# The base and the articulation.


def _first_body(base: Base) -> Callable[[Robot], Iterator[Place]]:
    return lambda good: iter(list(f.bodies(good))[:1] if good.spec.base is base else ())


def _world_joints(good: Robot) -> list[tuple[Usd.Prim, str]]:
    """Return the joints that connect a body to the world, and the path of the body."""
    found = [(one, f.joint_ends(one)) for one in good.stage.Traverse() if one.IsA(UsdPhysics.Joint)]
    return [
        (prim, ends[-1] if ends else "")
        for prim, ends in found
        if not any(end in good.bodies for end in ends[:-1])
    ]


def _of_fixed_base(place: Place) -> bool:
    """Whether a moving joint begins at a body that is welded to the world."""
    welds = _world_joints(place.robot)
    held = [path for prim, path in welds if prim.IsA(UsdPhysics.FixedJoint)]
    ends, moves = f.joint_ends(place.prim), COORDINATES[place.joint.type]
    return place.robot.spec.base is Base.FIXED and bool(moves) and ends[0] in held


@fault("base.freed", "structure.base", _first_body(Base.FIXED))
def _(place: Place) -> None:
    for prim, _ in _world_joints(place.robot):
        place.stage.GetPrimAtPath(prim.GetPath()).SetActive(False)


@fault("base.hinged", "structure.world", _first_body(Base.FLOATING))
def _(place: Place) -> None:
    if place.prim.HasAPI(UsdPhysics.ArticulationRootAPI):
        joint = UsdPhysics.RevoluteJoint.Define(place.stage, place.extra)
        joint.CreateBody1Rel().SetTargets([place.path])


@fault("articulation.moved", "structure.articulation", f.bodies)
def _(place: Place) -> None:
    """Move the articulation root to a body that a joint moves."""
    found = [root.path for root in f.roots(place.robot)]
    carriers = [one.joint.child for one in f.joints(place.robot) if one.reach]
    if len(found) == 1 and place.link.name in carriers:
        place.stage.GetPrimAtPath(found[0]).RemoveAPI(UsdPhysics.ArticulationRootAPI)
        UsdPhysics.ArticulationRootAPI.Apply(place.prim)


_BYPASSED = f.retarget(_BODY0, lambda _: [])
seed("base.bypassed", "structure.world", f.where(f.joints, _of_fixed_base), _BYPASSED)
_WELDED = f.both(lambda place: _weld(place, place.extra, (place.path,)))
seed("base.welded", "structure.base", _first_body(Base.FLOATING), _WELDED)
_PHYSX_ROOT = "PhysxArticulationAPI"
_SWITCHES = {
    "articulation.off": author("physxArticulation:articulationEnabled", False, _PHYSX_ROOT),
    "articulation.sleep": author("physxArticulation:sleepThreshold", 1000.0, _PHYSX_ROOT),
}
seed_each("structure.articulation", f.roots, _SWITCHES)

# The stage.


_HINT = f.change(lambda old, _: [corner * 0.5 for corner in old], "extentsHint")
seed("asset.hint", "visual.geometry", f.robot, _HINT, equivalent=True)


@fault("asset.payload", "reader.parts-missing", f.robot)
def _(place: Place) -> None:
    # OpenUSD reports the missing file here already.
    with Tf.DiagnosticTrap() as trap:
        place.prim.GetPayloads().AddPayload("./no-such-file.usda")
        trap.Clear()


# A wrong conversion of up axes.
_LEAN = _move(lambda matrix, at: matrix.SetRotate(f.rotation((0.6, -0.8, 0.0), at.size)))
seed("asset.leaning", "kinematics.up", f.robot, _LEAN, tolerance=_TOLERANCE.rotation)
seed("asset.default", "reader.refuses", f.robot, lambda place: place.stage.ClearDefaultPrim())
seed("scene.instance", "structure.scene", f.robot, lambda place: place.prim.SetInstanceable(True))
for _case in ("light", "camera", "instances", "stopped", "ground", "ornament"):
    seed(f"scene.{_case}", "structure.scene", f.robot, f.add(_case))
# Joints outside of the default prim that fix a body to the world, or lock a joint.
_PIN = f.both(lambda at: _weld(at, _OUTSIDE, [at.path]))
_LOCK = f.both(lambda at: _weld(at, _OUTSIDE, f.joint_ends(at.prim)))
seed("scene.pinned", "structure.scene", f.bodies, _PIN)
seed("scene.locked", "structure.scene", f.joints, _LOCK)


# The lists of Isaac Sim's robot schema.


def _listed(name: str, schema: str) -> Callable[[Robot], Iterator[Place]]:
    """Yield the entries of a list that have their schema."""

    def places(good: Robot) -> Iterator[Place]:
        for path in (path for top in f.robot(good) for path in top.targets(name)):
            prim = good.stage.GetPrimAtPath(path)
            if schema in prim.GetPrimTypeInfo().GetAppliedAPISchemas():
                yield Place(good, prim)

    return places


def _unlist(name: str) -> Edit:
    def edit(place: Place) -> None:
        default = Place(place.robot, place.stage.GetDefaultPrim())
        # An empty list states nothing.
        if len(default.targets(name)) > 1:
            others = [path for path in default.targets(name) if path != place.path]
            default.prim.GetRelationship(name).SetTargets(others)

    return edit


_LISTS = "structure.articulation"
for _kind, _override in (("Link", "nameOverride"), ("Joint", "NameOverride")):
    _list, _schema, _id = f"isaac:physics:robot{_kind}s", f"Isaac{_kind}API", _kind.lower()
    for _how, _edit in (
        ("missing", _unlist(_list)),
        ("unlabelled", f.unapply(_schema)),
        ("name", author(f"isaac:{_override}", "other")),
    ):
        seed(f"isaac.{_id}-{_how}", _LISTS, _listed(_list, _schema), _edit, profile="isaac")
_RENAMED = author("isaac:namespace", "other")
seed("isaac.namespace", _LISTS, f.robot, _RENAMED, profile="isaac", equivalent=True)

# Edits that change nothing for any consumer.


@fault("harmless.grams", "", f.robot)
def _(place: Place) -> None:
    """Scale all attributes with a unit of mass."""
    UsdPhysics.SetStageKilogramsPerUnit(place.stage, 0.001)
    units = ("mass", "density", "nertia", "maxForce", "damping", "friction", "armature")
    for prim in place.stage.Traverse():
        for attribute in (
            () if prim.HasAPI(UsdPhysics.MaterialAPI) else prim.GetAuthoredAttributes()
        ):
            name = attribute.GetName()
            if name.startswith(("physics:", "drive:", "newton:")) and name.endswith(units):
                value = attribute.Get()
                scaled = [1e3 * one for one in value] if name.endswith(":inertia") else 1e3 * value
                attribute.Set(scaled)


_NEGATED = _set(_TURNS, lambda place, name: -1.0 * place.prim.GetAttribute(name).Get())
seed("harmless.quaternions-negated", "", f.joints, _NEGATED)
for _case in ("scene", "scope"):
    seed(f"harmless.{_case}", "", f.robot, f.add(_case))
seed("harmless.rest", "", f.bodies, author("physics:velocity", Gf.Vec3f(0.0)))
