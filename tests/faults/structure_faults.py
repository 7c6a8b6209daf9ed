"""Faults in the set of links and joints, in their frames, and in the robot as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdLux, UsdPhysics
from scipy.spatial.transform import Rotation

from tests.faults.fault import (
    OBLIQUE,
    STRANGER,
    Edit,
    Place,
    Robot,
    author,
    authored,
    bodies,
    is_enabled,
    joint_ends,
    joints,
    moving,
    relocate,
    retarget,
    robot,
    roots,
    row,
    table,
    typed,
    unapply,
    where,
)
from urdf_usd.conformance.observation.robot import COORDINATES, Base, JointType
from urdf_usd.conformance.tolerance.bounds import Tolerance

_Array: TypeAlias = NDArray[np.float64]
_TOLERANCE = Tolerance()
_POSE = "kinematics.position kinematics.rotation"
_BODY0, _BODY1 = "physics:body0", "physics:body1"
# A horizontal direction that is parallel to no axis.
_LEVEL = Gf.Vec3d(0.6, -0.8, 0.0)


# Joints and their ends.


def _misspelt(name: str) -> Edit:
    def choose(place: Place) -> list[str] | None:
        return [f"{path}/misspelt" for path in place.targets(name)] or None

    return retarget(name, choose)


def _other_parent(place: Place) -> list[str] | None:
    """Choose a body with another pose that is not below the child."""
    ends = joint_ends(place.prim)
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


def _weld(stage: Usd.Stage, path: Sdf.Path, ends: Iterable[str], name: str = "") -> None:
    joint = UsdPhysics.FixedJoint.Define(stage, path)
    joint.GetPrim().SetDisplayName(name)
    *first, second = ends
    joint.CreateBody0Rel().SetTargets(list(first))
    joint.CreateBody1Rel().SetTargets([second])


def _weld_loop(place: Place) -> None:
    """Weld the first body to the last one."""
    if len(place.robot.bodies) > 1:
        paths = list(place.robot.bodies)
        _weld(place.stage, place.extra, (paths[0], paths[-1]))


def _weld_again(place: Place) -> None:
    """Add a fixed joint of the same name."""
    ends = joint_ends(place.prim)
    if len(ends) > 1:
        _weld(place.stage, place.extra, ends, place.joint.name)


_Limits: TypeAlias = dict[str, tuple[float, float]]


def _free_degrees(change: Callable[[_Limits], _Limits]) -> Edit:
    """Change the limits of the degrees of freedom of a joint without a type."""

    def edit(place: Place) -> None:
        names = [f"{kind}{axis}" for kind in ("trans", "rot") for axis in "XYZ"]
        apis = {name: UsdPhysics.LimitAPI.Apply(place.prim, name) for name in names}
        limits = {
            name: (api.GetLowAttr().Get(), api.GetHighAttr().Get()) for name, api in apis.items()
        }
        for name, (low, high) in change(limits).items():
            apis[name].CreateLowAttr(low)
            apis[name].CreateHighAttr(high)

    return edit


def _lock_to_infinity(limits: _Limits) -> _Limits:
    """Lock with infinite low above high, which parsers read as no limit."""
    return {name: (math.inf, -math.inf) for name, (low, high) in limits.items() if low > high}


def _lock_one_more(limits: _Limits) -> _Limits:
    return {next(name for name, (low, high) in limits.items() if low < high): (1.0, -1.0)}


def _permute_normal(limits: _Limits) -> _Limits:
    return {name: limits[name[:-1] + "YZX"["XYZ".index(name[-1])]] for name in limits}


def _rename(place: Place) -> None:
    if not place.prim.GetDisplayName():
        relocate(place, f"{place.path}_misspelt")


def _lose_name(place: Place) -> None:
    if place.prim.GetDisplayName() and place.prim.GetDisplayName() != place.prim.GetName():
        place.prim.SetDisplayName("")


def _named(good: Robot) -> Iterator[Place]:
    return chain(joints(good), bodies(good))


TOPOLOGY_FAULTS = (
    row(
        "topology.joint-excluded",
        "structure.articulation",
        where(joints, is_enabled),
        author("physics:excludeFromArticulation", value=True),
        equivalent=True,
    ),
    row("topology.joint-surplus", "structure.joints", robot, _weld_loop),
    row("topology.joint-namesake", "structure.joints", joints, _weld_again),
    row(
        "topology.joint-rehung",
        f"structure.parents {_POSE}",
        joints,
        retarget(_BODY0, _other_parent),
    ),
    *table(
        "topology",
        f"structure.types structure.joints {_POSE}",
        typed(JointType.PLANAR),
        {
            "plane-infinite": _free_degrees(_lock_to_infinity),
            "plane-locked": _free_degrees(_lock_one_more),
            "plane-turned": _free_degrees(_permute_normal),
        },
    ),
    row(
        "topology.float-welded",
        "structure.types",
        typed(JointType.FLOATING),
        lambda place: (
            place.prim.SetTypeName("PhysicsFixedJoint"),
            UsdPhysics.Joint(place.prim).CreateJointEnabledAttr(True),
        ),
    ),
    *table(
        "topology",
        "structure.links structure.joints",
        _named,
        {"name-lost": _lose_name, "renamed": _rename},
    ),
)


# Frames of joints.


def _frames(change: Callable[[list[_Array], list[Rotation], Place], object]) -> Edit:
    """Change the two origins and the two rotations of a joint, in its bodies."""

    def edit(place: Place) -> None:
        joint = UsdPhysics.Joint(place.prim)
        positions = joint.GetLocalPos0Attr(), joint.GetLocalPos1Attr()
        rotations = joint.GetLocalRot0Attr(), joint.GetLocalRot1Attr()
        origins: list[_Array] = [np.array(one.Get(), np.float64) for one in positions]
        quats = [one.Get() for one in rotations]
        turns = [
            Rotation.from_quat((q.GetReal(), *q.GetImaginary()), scalar_first=True) for q in quats
        ]
        change(origins, turns, place)
        for position, origin in zip(positions, origins, strict=True):
            position.Set(Gf.Vec3f(*origin.tolist()))
        for rotation, turn in zip(rotations, turns, strict=True):
            rotation.Set(Gf.Quatf(*turn.as_quat(scalar_first=True).tolist()))

    return edit


def _axis(place: Place) -> int:
    return "XYZ".index(authored(place.prim, "physics:axis") or "X")


def _across(place: Place, angle: float) -> Rotation:
    """Return a rotation about a direction that is perpendicular to the axis."""
    return Rotation.from_rotvec(angle * np.eye(3)[(_axis(place) + 1) % 3])


def _turn(turns: list[Rotation], sides: Iterable[int], turn: Rotation) -> None:
    for side in sides:
        turns[side] = turns[side] * turn


def _reorder(_: list[_Array], turns: list[Rotation], __: Place) -> None:
    """Read a quaternion xyzw as wxyz."""
    turns[:] = [Rotation.from_quat(turn.as_quat(), scalar_first=True) for turn in turns]


def _swap_bodies(place: Place) -> None:
    ends = place.targets(_BODY0), place.targets(_BODY1)
    for name, targets in zip((_BODY1, _BODY0), ends, strict=True):
        place.prim.GetRelationship(name).SetTargets(targets)


def _reverse_frames(origins: list[_Array], turns: list[Rotation], _: Place) -> None:
    origins.reverse()
    turns.reverse()


def _swap_with_frames(place: Place) -> None:
    _swap_bodies(place)
    _frames(_reverse_frames)(place)


def _exchange(place: Place) -> None:
    """Swap bodies and frames so that the joint moves as before."""
    if place.targets(_BODY0) and place.targets(_BODY1):
        _swap_with_frames(place)
        if place.instance:
            _frames(lambda _, turns, at: _turn(turns, (0, 1), _across(at, np.pi)))(place)


def _shift(side: int) -> Edit:
    def change(origins: list[_Array], _: list[Rotation], place: Place) -> None:
        origins[side] = origins[side] + place.size * OBLIQUE

    return _frames(change)


def _rotate(side: int) -> Edit:
    return _frames(
        lambda _, turns, place: _turn(turns, (side,), Rotation.from_rotvec(place.size * OBLIQUE))
    )


def _turns_far(place: Place) -> bool:
    """Whether a tilted axis moves links by more than its tilt."""
    positions = place.robot.positions.get(place.joint.name)
    return place.instance == "angular" and positions is not None and np.abs(positions).max() > 1.2


JOINT_FAULTS = (
    *table(
        "joint",
        _POSE,
        moving,
        {
            "axis-negated": _frames(
                lambda _, turns, place: _turn(turns, (0, 1), _across(place, np.pi))
            ),
            "reversed": _swap_with_frames,
        },
        equivalent=True,
    ),
    row("joint.quaternion-order", _POSE, joints, _frames(_reorder), equivalent=True),
    row("joint.bodies-swapped", f"{_POSE} dynamics.joints", joints, _swap_bodies, equivalent=True),
    row("joint.exchanged", "dynamics.joints", joints, _exchange),
    *table(
        "joint",
        _POSE,
        joints,
        {"pos0-shifted": _shift(0), "pos1-shifted": _shift(1)},
        tolerance=_TOLERANCE.position,
    ),
    *table(
        "joint",
        _POSE,
        joints,
        {"rot0-turned": _rotate(0), "rot1-turned": _rotate(1)},
        tolerance=_TOLERANCE.rotation,
    ),
    row(
        "joint.axis-tilted",
        _POSE,
        where(joints, _turns_far),
        _frames(lambda _, turns, place: _turn(turns, (0, 1), _across(place, place.size))),
        tolerance=_TOLERANCE.rotation,
    ),
)


# Bodies and their poses.


def _add_body(place: Place) -> None:
    prim = UsdGeom.Xform.Define(place.stage, place.extra).GetPrim()
    if place.path in place.robot.bodies:
        prim.SetDisplayName(place.link.name)
    UsdPhysics.RigidBodyAPI.Apply(prim)
    mass = UsdPhysics.MassAPI.Apply(prim)
    mass.CreateMassAttr(0.25)
    mass.CreateDiagonalInertiaAttr(Gf.Vec3f(0.25))


def _body_above(place: Place) -> str | None:
    above = str(place.prim.GetPath().GetParentPath())
    return above if above in place.robot.bodies else None


def _renest(place: Place) -> None:
    """Move a leaf below another body, with the same local transform."""
    good, above = place.robot, _body_above(place)
    if above is None or any(path.startswith(f"{place.path}/") for path in good.bodies):
        return
    others = [path for path in good.bodies if path != place.path and good.is_apart(path, above)]
    if others:
        relocate(place, f"{others[0]}/{place.prim.GetName()}")


def _is_child(place: Place) -> bool:
    return any(
        joint.child == place.link.name and is_enabled(Place(place.robot, prim))
        for path, joint in place.robot.joints.items()
        if (prim := place.robot.stage.GetPrimAtPath(path))
    )


_children = where(bodies, _is_child)
_nested = where(
    _children, lambda place: (above := _body_above(place)) and place.robot.is_apart(above, None)
)


def _move(change: Callable[[float], Gf.Matrix4d]) -> Edit:
    def edit(place: Place) -> None:
        placed = UsdGeom.Xformable(place.prim)
        reset = placed.GetResetXformStack()
        local = placed.GetLocalTransformation(Usd.TimeCode.Default())
        # Gf matrices act on row vectors: the change comes first, in the body's frame.
        placed.MakeMatrixXform().Set(change(place.size) * local)
        if reset:
            placed.SetResetXformStack(True)

    return edit


def _place_in_world(place: Place) -> None:
    UsdGeom.Xformable(place.prim).MakeMatrixXform().Set(place.robot.world(place.path))


def _translation(size: float) -> Gf.Matrix4d:
    return Gf.Matrix4d(1.0).SetTranslate(Gf.Vec3d(*(size * OBLIQUE).tolist()))


def _rotation(size: float) -> Gf.Matrix4d:
    turn = Gf.Rotation(Gf.Vec3d(*OBLIQUE.tolist()), math.degrees(size))
    return Gf.Matrix4d(1.0).SetRotate(turn)


BODY_FAULTS = (
    row("body.surplus", "structure.links", robot, _add_body),
    row("body.namesake", "structure.links", bodies, _add_body),
    row("body.renested", "kinematics.assembly.position", bodies, _renest),
    *table(
        "body",
        "kinematics.assembly.position",
        _nested,
        {
            "unnested": lambda place: UsdGeom.Xformable(place.prim).SetResetXformStack(True),
            "reset-lost": _place_in_world,
        },
    ),
    row(
        "body.shifted",
        "kinematics.assembly.position",
        _children,
        _move(_translation),
        tolerance=_TOLERANCE.position,
    ),
    row(
        "body.turned",
        "kinematics.assembly.rotation",
        _children,
        _move(_rotation),
        tolerance=_TOLERANCE.rotation,
    ),
)


# The base and the articulation.


def _first_body(base: Base) -> Callable[[Robot], Iterator[Place]]:
    return lambda good: iter(list(bodies(good))[:1] if good.base is base else ())


def _held(good: Robot) -> list[str]:
    """Return the bodies that fixed joints connect to the world."""
    return [
        ends[-1]
        for prim in good.stage.Traverse()
        if prim.IsA(UsdPhysics.FixedJoint) and (ends := joint_ends(prim))
        if not any(end in good.bodies for end in ends[:-1])
    ]


def _fixed_bases(good: Robot) -> Iterator[Place]:
    """Yield the bodies welded to the world that carry a moving joint."""
    held = _held(good) if good.base is Base.FIXED else ()
    return (place for place in bodies(good) if place.path in held and _carried(place, moving=True))


def _carried(place: Place, *, moving: bool = False) -> list[str]:
    """Return the paths of the joints of which a body is the first one."""
    return [
        path
        for path, joint in place.robot.joints.items()
        if joint_ends(place.robot.stage.GetPrimAtPath(path))[:-1] == [place.path]
        and (COORDINATES[joint.type] or not moving)
    ]


def _tie_to_world(place: Place, paths: list[str]) -> None:
    """Let joints begin at the world, where their first body is placed."""
    world = place.robot.world(place.path)
    for path in paths:
        joint = UsdPhysics.Joint(place.stage.GetPrimAtPath(path))
        joint.GetBody0Rel().SetTargets([])
        position, rotation = joint.GetLocalPos0Attr(), joint.GetLocalRot0Attr()
        turn = world.ExtractRotationQuat() * Gf.Quatd(rotation.Get())
        position.Set(Gf.Vec3f(world.Transform(Gf.Vec3d(position.Get()))))
        rotation.Set(Gf.Quatf(turn))


def _dissolve(place: Place) -> None:
    """Remove the body of a fixed base, and connect its joints to the world."""
    place.prim.RemoveAPI(UsdPhysics.RigidBodyAPI)
    place.prim.RemoveAPI(UsdPhysics.MassAPI)
    _tie_to_world(place, _carried(place))


def _free(place: Place) -> None:
    for prim in place.robot.stage.Traverse():
        if prim.IsA(UsdPhysics.Joint):
            ends = joint_ends(prim)
            if not any(end in place.robot.bodies for end in ends[:-1]):
                place.stage.GetPrimAtPath(prim.GetPath()).SetActive(False)


def _hinge(place: Place) -> None:
    if place.prim.HasAPI(UsdPhysics.ArticulationRootAPI):
        joint = UsdPhysics.RevoluteJoint.Define(place.stage, place.extra)
        joint.CreateBody1Rel().SetTargets([place.path])


def _start_again(place: Place) -> None:
    """Add an articulation root; robots with floating joints may have several."""
    last = place.stage.GetPrimAtPath(list(place.robot.bodies)[-1])
    split = any(joint.type is JointType.FLOATING for joint in place.robot.spec.joints)
    if _moves(place) and not split and not last.HasAPI(UsdPhysics.ArticulationRootAPI):
        UsdPhysics.ArticulationRootAPI.Apply(last)


def _moves(place: Place) -> bool:
    joints = place.robot.spec.joints
    return any(COORDINATES[one.type] and one.type is not JointType.FLOATING for one in joints)


def _move_root(place: Place) -> None:
    """Move the articulation root to a body that a joint moves."""
    found = [root.path for root in roots(place.robot)]
    moved = {
        joint.child
        for joint in place.robot.joints.values()
        if np.any(place.robot.positions.get(joint.name, np.zeros(1)))
    }
    if len(found) == 1 and place.link.name in moved:
        place.stage.GetPrimAtPath(found[0]).RemoveAPI(UsdPhysics.ArticulationRootAPI)
        UsdPhysics.ArticulationRootAPI.Apply(place.prim)


BASE_FAULTS = (
    row(
        "base.welded",
        "structure.base",
        _first_body(Base.FLOATING),
        lambda place: _weld(place.stage, place.extra, (place.path,)),
    ),
    row("base.freed", "structure.base", _first_body(Base.FIXED), _free),
    row("base.hinged", "structure.world", _first_body(Base.FLOATING), _hinge),
    *table(
        "base",
        "structure.world",
        _fixed_bases,
        {
            "dissolved": _dissolve,
            "bypassed": lambda place: _tie_to_world(place, _carried(place, moving=True)[:1]),
        },
    ),
    row("articulation.second", "structure.articulation", robot, _start_again),
    row("articulation.moved", "structure.articulation", bodies, _move_root),
    *table(
        "articulation",
        "structure.articulation",
        roots,
        {
            "off": author("physxArticulation:articulationEnabled", False, "PhysxArticulationAPI"),
            "sleep": author("physxArticulation:sleepThreshold", 1000.0, "PhysxArticulationAPI"),
        },
    ),
)


# The stage.


def _lean(place: Place) -> None:
    """Tilt the whole robot, as by a wrong conversion of up axes."""
    turn = Gf.Rotation(_LEVEL, math.degrees(place.size))
    UsdGeom.Xformable(place.prim).MakeMatrixXform().Set(Gf.Matrix4d(1.0).SetRotate(turn))


def _shrink_hint(place: Place) -> None:
    model = UsdGeom.ModelAPI(place.prim)
    if model.GetExtentsHint():
        model.SetExtentsHint([corner * 0.5 for corner in model.GetExtentsHint()])


def _lose_payload(place: Place) -> None:
    # OpenUSD reports the missing file here already.
    with Tf.DiagnosticTrap() as trap:
        place.prim.GetPayloads().AddPayload("./no-such-file.usda")
        trap.Clear()


def _reference_instance(place: Place) -> None:
    """Make the default prim one with an instance of the robot below it."""
    held = place.stage.DefinePrim(f"/{STRANGER}/robot")
    held.GetReferences().AddInternalReference(place.prim.GetPath())
    held.SetInstanceable(True)
    place.prim.SetSpecifier(Sdf.SpecifierClass)
    place.stage.SetDefaultPrim(held.GetParent())


def _pin(place: Place) -> None:
    """Fix a body to the world, or lock a joint, outside of the default prim."""
    ends = joint_ends(place.prim) if place.prim.IsA(UsdPhysics.Joint) else [place.path]
    _weld(place.stage, Sdf.Path(f"/{STRANGER}"), ends)


def _instances(place: Place) -> None:
    instancer = UsdGeom.PointInstancer.Define(place.stage, place.extra)
    cube = UsdGeom.Cube.Define(place.stage, place.extra.AppendChild("cube"))
    instancer.CreatePrototypesRel().SetTargets([cube.GetPath()])
    instancer.CreateProtoIndicesAttr([0, 0])
    instancer.CreatePositionsAttr([(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])


def _draw_bounds(place: Place) -> None:
    api = UsdGeom.ModelAPI.Apply(place.prim)
    api.CreateModelDrawModeAttr(UsdGeom.Tokens.bounds)
    api.CreateModelApplyDrawModeAttr(True)


def _scene(**attributes: object) -> Edit:
    """Add a scene with gravity of another direction or size."""

    def edit(place: Place) -> None:
        scene = UsdPhysics.Scene.Define(place.stage, place.extra)
        for name, value in attributes.items():
            scene.GetPrim().GetAttribute(f"physics:{name}").Set(value)

    return edit


def _added_scene(name: str, value: object, schema: str) -> Edit:
    def edit(place: Place) -> None:
        scene = UsdPhysics.Scene.Define(place.stage, place.extra)
        author(name, value, schema)(Place(place.robot, scene.GetPrim()))

    return edit


def _ground(place: Place) -> None:
    plane = UsdGeom.Plane.Define(place.stage, place.extra)
    UsdPhysics.CollisionAPI.Apply(plane.GetPrim())


ASSET_FAULTS = (
    row("asset.leaning", "kinematics.up", robot, _lean, tolerance=_TOLERANCE.rotation),
    *table(
        "asset",
        "visual.geometry",
        robot,
        {"hint": _shrink_hint, "cards": _draw_bounds},
        equivalent=True,
    ),
    row("asset.payload", "reader.parts-missing", robot, _lose_payload),
    row("asset.default", "reader.refuses", robot, lambda place: place.stage.ClearDefaultPrim()),
    *table(
        "scene",
        "structure.scene",
        robot,
        {
            "instance": lambda place: place.prim.SetInstanceable(True),
            "instance-below": _reference_instance,
            "light": lambda place: UsdLux.DistantLight.Define(place.stage, place.extra),
            "camera": lambda place: UsdGeom.Camera.Define(place.stage, place.extra),
            "instances": _instances,
            "stopped": _added_scene("physxScene:updateType", "Disabled", "PhysxSceneAPI"),
            "ground": _ground,
            "ornament": lambda place: UsdGeom.Cube.Define(place.stage, place.extra),
        },
    ),
    row("scene.pinned", "structure.scene", bodies, _pin),
    row("scene.locked", "structure.scene", joints, _pin),
)


# The lists of Isaac Sim's robot schema.

_LISTS = {"link": "isaac:physics:robotLinks", "joint": "isaac:physics:robotJoints"}
_LISTED = {"link": "IsaacLinkAPI", "joint": "IsaacJointAPI"}


def _listed(kind: str) -> Callable[[Robot], Iterator[Place]]:
    """Yield the entries of a list that have their schema."""

    def places(good: Robot) -> Iterator[Place]:
        for (top,) in [list(robot(good))] if good.bodies else ():
            for path in top.targets(_LISTS[kind]):
                prim = good.stage.GetPrimAtPath(path)
                if _LISTED[kind] in prim.GetPrimTypeInfo().GetAppliedAPISchemas():
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


def _reverse(name: str) -> Edit:
    def choose(place: Place) -> list[str] | None:
        return place.targets(name)[::-1] if len(place.targets(name)) > 2 else None

    return retarget(name, choose)


ROBOT_SCHEMA_FAULTS = (
    *(
        fault
        for kind in _LISTS
        for fault in table(
            "isaac",
            "structure.articulation",
            _listed(kind),
            {
                f"{kind}-missing": _unlist(_LISTS[kind]),
                f"{kind}-unlabelled": unapply(_LISTED[kind]),
                f"{kind}-name": author(
                    f"isaac:{'n' if kind == 'link' else 'N'}ameOverride", "other"
                ),
            },
            profile="isaac",
        )
    ),
    *table(
        "isaac",
        "structure.articulation",
        robot,
        {
            "link-order": _reverse(_LISTS["link"]),
            "joint-order": _reverse(_LISTS["joint"]),
            "namespace": author("isaac:namespace", "other"),
        },
        profile="isaac",
        equivalent=True,
    ),
)

# Edits that change nothing for any consumer.


def _negate_quaternions(place: Place) -> None:
    for name in ("physics:localRot0", "physics:localRot1"):
        quaternion = place.prim.GetAttribute(name).Get()
        place.prim.GetAttribute(name).Set(-1.0 * quaternion)


def _in_grams(place: Place) -> None:
    """Scale all attributes with a unit of mass."""
    UsdPhysics.SetStageKilogramsPerUnit(place.stage, 0.001)
    units = ("mass", "density", "nertia", "maxForce", "damping", "friction")
    for prim in place.stage.Traverse():
        for attribute in (
            () if prim.HasAPI(UsdPhysics.MaterialAPI) else prim.GetAuthoredAttributes()
        ):
            name = attribute.GetName()
            if name.startswith(("physics:", "drive:", "newton:")) and name.endswith(units):
                value = attribute.Get()
                scaled = [1e3 * one for one in value] if name.endswith(":inertia") else 1e3 * value
                attribute.Set(scaled)


HARMLESS_EDITS = (
    row("harmless.quaternions-negated", "", joints, _negate_quaternions),
    *table(
        "harmless",
        "",
        robot,
        {
            "grams": _in_grams,
            "scene": _scene(),
            "scope": lambda place: UsdGeom.Scope.Define(place.stage, place.extra),
            "note": lambda place: place.prim.SetDocumentation("A robot."),
        },
    ),
    *table(
        "harmless",
        "",
        bodies,
        {
            "rest": author("physics:velocity", Gf.Vec3f(0.0)),
            "enabled": author("physics:rigidBodyEnabled", value=True),
            "custom": lambda place: place.prim.CreateAttribute(
                STRANGER, Sdf.ValueTypeNames.Float, custom=True
            ).Set(1.0),
        },
    ),
)

STRUCTURE_FAULTS = (
    *TOPOLOGY_FAULTS,
    *JOINT_FAULTS,
    *BODY_FAULTS,
    *BASE_FAULTS,
    *ASSET_FAULTS,
    *ROBOT_SCHEMA_FAULTS,
    *HARMLESS_EDITS,
)
