"""Faults in the set of links and joints, in their frames, and in the robot as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import numpy as np
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdPhysics

from tests.faults.fault import (
    OBLIQUE,
    STRANGER,
    Edit,
    Place,
    Robot,
    add,
    author,
    authored,
    bodies,
    is_enabled,
    joint_ends,
    joints,
    moving,
    relocate,
    replace,
    retarget,
    robot,
    roots,
    rotation,
    seed,
    typed,
    unapply,
    where,
)
from urdf_usd.conformance.observation.robot import COORDINATES, Base, JointType
from urdf_usd.conformance.tolerance.bounds import Tolerance

_TOLERANCE = Tolerance()
_POSE = "kinematics.position kinematics.rotation"
_BODY0, _BODY1 = "physics:body0", "physics:body1"


# Joints and their ends.


def _ends_of(good: Robot) -> set[tuple[str, ...]]:
    return {tuple(joint_ends(place.prim)) for place in joints(good)}


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


def _weld(place: Place, path: Sdf.Path, ends: Iterable[str], name: str = "") -> None:
    """Fix the last of the ends to the others, or to the world."""
    joint = UsdPhysics.FixedJoint.Define(place.stage, path)
    joint.GetPrim().SetDisplayName(name)
    *first, second = ends
    joint.CreateBody0Rel().SetTargets(list(first))
    joint.CreateBody1Rel().SetTargets([second])


def _weld_loop(place: Place) -> None:
    """Weld the first body to the last one."""
    if len(place.robot.bodies) > 1:
        paths = list(place.robot.bodies)
        _weld(place, place.extra, (paths[0], paths[-1]))


def _weld_again(place: Place) -> None:
    """Add a fixed joint of the same name."""
    ends = joint_ends(place.prim)
    if len(ends) > 1:
        _weld(place, place.extra, ends, place.joint.name)


def _weld_float(place: Place) -> None:
    place.prim.SetTypeName("PhysicsFixedJoint")
    UsdPhysics.Joint(place.prim).CreateJointEnabledAttr(True)


def _free_degrees(wrong: Callable[[list[tuple[float, float]]], list[tuple[float, float]]]) -> Edit:
    """Change the limits of the degrees of freedom of a joint without a type, along X, Y and Z."""

    def edit(place: Place) -> None:
        for kind in ("trans", "rot"):
            apis = [UsdPhysics.LimitAPI.Apply(place.prim, f"{kind}{axis}") for axis in "XYZ"]
            limits = [(api.GetLowAttr().Get(), api.GetHighAttr().Get()) for api in apis]
            for api, (low, high) in zip(apis, wrong(limits), strict=True):
                api.CreateLowAttr(low)
                api.CreateHighAttr(high)

    return edit


def _rename(place: Place) -> None:
    if not place.prim.GetDisplayName():
        relocate(place, f"{place.path}_misspelt")


def _lose_name(place: Place) -> None:
    if place.prim.GetDisplayName() and place.prim.GetDisplayName() != place.prim.GetName():
        place.prim.SetDisplayName("")


_EXCLUDED = {"topology.joint-excluded": author("physics:excludeFromArticulation", value=True)}
_REHUNG = {"topology.joint-rehung": retarget(_BODY0, _other_parent)}
# One of several joints of a body is no joint of its own then.
seed(
    "structure.articulation structure.links", where(joints, is_enabled), _EXCLUDED, equivalent=True
)
_ADDS = "newton:jointsAddMobility"
_APART = {"topology.series-parallel": replace(_ADDS, value=False)}
_in_series = where(roots, lambda at: len(at.robot.joints) > len(_ends_of(at.robot)))
seed("structure.links", _in_series, _APART)
seed("structure.joints", robot, {"topology.joint-surplus": _weld_loop})
seed("structure.joints", joints, {"topology.joint-namesake": _weld_again})
seed(f"structure.parents {_POSE}", joints, _REHUNG)
_PLANE = f"structure.types structure.joints {_POSE}"
seed(
    _PLANE,
    typed(JointType.PLANAR),
    {
        "topology.plane-turned": _free_degrees(lambda limits: [*limits[1:], limits[0]]),
        # Parsers read infinite low above high as no limit.
        "topology.plane-infinite": _free_degrees(
            lambda limits: [
                (math.inf, -math.inf) if low > high else (low, high) for low, high in limits
            ]
        ),
    },
)
seed("structure.types", typed(JointType.FLOATING), {"topology.float-welded": _weld_float})
seed(
    "structure.links structure.joints",
    lambda good: chain(joints(good), bodies(good)),
    {"topology.name-lost": _lose_name, "topology.renamed": _rename},
)


# Frames of joints.

_ORIGINS = ("physics:localPos0", "physics:localPos1")
_TURNS = ("physics:localRot0", "physics:localRot1")


def _across(place: Place) -> list[float]:
    """Return a direction that is perpendicular to the axis of a joint."""
    axis = "XYZ".index(authored(place.prim, "physics:axis") or "X")
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
    return place.prim.GetAttribute(name).Get() + Gf.Vec3f(*(place.size * OBLIQUE).tolist())


_negate_axis = _turned(_TURNS, lambda place: rotation(_across(place), math.pi))


def _swap_bodies(place: Place) -> None:
    ends = place.targets(_BODY0), place.targets(_BODY1)
    for name, targets in zip((_BODY1, _BODY0), ends, strict=True):
        place.prim.GetRelationship(name).SetTargets(targets)


def _swap_with_frames(place: Place) -> None:
    _swap_bodies(place)
    for names in (_ORIGINS, _TURNS):
        other = dict(zip(names, names[::-1], strict=True))
        _set(names, lambda at, name, of=other: at.prim.GetAttribute(of[name]).Get())(place)  # type: ignore[misc]


def _exchange(place: Place) -> None:
    """Swap bodies and frames so that the joint moves as before."""
    if place.targets(_BODY0) and place.targets(_BODY1):
        _swap_with_frames(place)
        if place.instance:
            _negate_axis(place)


def _turns_far(place: Place) -> bool:
    """Whether a tilted axis moves links by more than its tilt."""
    positions = place.robot.positions.get(place.joint.name)
    return place.instance == "angular" and positions is not None and np.abs(positions).max() > 1.2


seed(_POSE, moving, {"joint.axis-negated": _negate_axis}, equivalent=True)
_SWAPPED = {"joint.bodies-swapped": _swap_bodies}
seed(f"{_POSE} dynamics.joints", joints, _SWAPPED, equivalent=True)
seed("dynamics.joints structure.links", joints, {"joint.exchanged": _exchange})
for _side in (0, 1):
    _edits = {f"joint.pos{_side}-shifted": _set(_ORIGINS[_side : _side + 1], _shifted)}
    seed(_POSE, joints, _edits, tolerance=_TOLERANCE.position)
    _turn = _turned(_TURNS[_side : _side + 1], lambda place: rotation(OBLIQUE.tolist(), place.size))
    seed(_POSE, joints, {f"joint.rot{_side}-turned": _turn}, tolerance=_TOLERANCE.rotation)
_TILTED = {"joint.axis-tilted": _turned(_TURNS, lambda at: rotation(_across(at), at.size))}
seed(_POSE, where(joints, _turns_far), _TILTED, tolerance=_TOLERANCE.rotation)


# Bodies and their poses.


def _add_body(place: Place) -> None:
    name = place.link.name if place.path in place.robot.bodies else ""
    add(f"""def Xform "{STRANGER}" (
        displayName = "{name}"
        apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
    ) {{
        float physics:mass = 0.25
        float3 physics:diagonalInertia = (0.25, 0.25, 0.25)
    }}""")(place)


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
        joint.child == place.link.name
        and is_enabled(Place(place.robot, place.robot.stage.GetPrimAtPath(path)))
        for path, joint in place.robot.joints.items()
    )


_children = where(bodies, _is_child)
_nested = where(
    _children, lambda place: (above := _body_above(place)) and place.robot.is_apart(above, None)
)


def _move(change: Callable[[Gf.Matrix4d, float], object]) -> Edit:
    def edit(place: Place) -> None:
        placed = UsdGeom.Xformable(place.prim)
        reset = placed.GetResetXformStack()
        local = placed.GetLocalTransformation(Usd.TimeCode.Default())
        moved = Gf.Matrix4d(1.0)
        change(moved, place.size)
        # Gf matrices act on row vectors: the change comes first, in the body's frame.
        placed.MakeMatrixXform().Set(moved * local)
        if reset:
            placed.SetResetXformStack(True)

    return edit


def _place_in_world(place: Place) -> None:
    UsdGeom.Xformable(place.prim).MakeMatrixXform().Set(place.robot.world(place.path))


_ANCHORS = "kinematics.assembly.position"
_SHIFTED = _move(lambda matrix, size: matrix.SetTranslate(Gf.Vec3d(*(size * OBLIQUE).tolist())))
_ROTATED = _move(lambda matrix, size: matrix.SetRotate(rotation(OBLIQUE.tolist(), size)))
seed("structure.links", robot, {"body.surplus": _add_body})
seed("structure.links", bodies, {"body.namesake": _add_body})
seed(_ANCHORS, bodies, {"body.renested": _renest})
seed(
    _ANCHORS,
    _nested,
    {
        "body.unnested": lambda place: UsdGeom.Xformable(place.prim).SetResetXformStack(True),
        "body.reset-lost": _place_in_world,
    },
)
seed(_ANCHORS, _children, {"body.shifted": _SHIFTED}, tolerance=_TOLERANCE.position)
seed(
    "kinematics.assembly.rotation",
    _children,
    {"body.turned": _ROTATED},
    tolerance=_TOLERANCE.rotation,
)


# The base and the articulation.


def _first_body(base: Base) -> Callable[[Robot], Iterator[Place]]:
    return lambda good: iter(list(bodies(good))[:1] if good.spec.base is base else ())


def _world_joints(good: Robot) -> list[tuple[Usd.Prim, str]]:
    """Return the joints that connect a body to the world, and the path of the body."""
    found = [(one, joint_ends(one)) for one in good.stage.Traverse() if one.IsA(UsdPhysics.Joint)]
    return [
        (prim, ends[-1] if ends else "")
        for prim, ends in found
        if not any(end in good.bodies for end in ends[:-1])
    ]


def _fixed_bases(good: Robot) -> Iterator[Place]:
    """Yield the bodies welded to the world that carry a moving joint."""
    held = [path for prim, path in _world_joints(good) if prim.IsA(UsdPhysics.FixedJoint)]
    on_world = (place for place in bodies(good) if place.path in held)
    return (one for one in on_world if good.spec.base is Base.FIXED and _carried(one, moving=True))


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
    unapply("PhysicsRigidBodyAPI", "PhysicsMassAPI")(place)
    _tie_to_world(place, _carried(place))


def _free(place: Place) -> None:
    for prim, _ in _world_joints(place.robot):
        place.stage.GetPrimAtPath(prim.GetPath()).SetActive(False)


def _hinge(place: Place) -> None:
    if place.prim.HasAPI(UsdPhysics.ArticulationRootAPI):
        joint = UsdPhysics.RevoluteJoint.Define(place.stage, place.extra)
        joint.CreateBody1Rel().SetTargets([place.path])


def _start_again(place: Place) -> None:
    """Add an articulation root; robots with floating joints may have several."""
    last = place.stage.GetPrimAtPath(list(place.robot.bodies)[-1])
    types = {joint.type for joint in place.robot.spec.joints}
    moves = any(COORDINATES[one] for one in types) and JointType.FLOATING not in types
    if moves and not last.HasAPI(UsdPhysics.ArticulationRootAPI):
        UsdPhysics.ArticulationRootAPI.Apply(last)


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


_WELDED = {"base.welded": lambda place: _weld(place, place.extra, (place.path,))}
_PHYSX_ROOT = "PhysxArticulationAPI"
seed("structure.base", _first_body(Base.FLOATING), _WELDED)
seed("structure.base", _first_body(Base.FIXED), {"base.freed": _free})
seed("structure.world", _first_body(Base.FLOATING), {"base.hinged": _hinge})
seed(
    "structure.world",
    _fixed_bases,
    {
        "base.dissolved": _dissolve,
        "base.bypassed": lambda place: _tie_to_world(place, _carried(place, moving=True)[:1]),
    },
)
seed("structure.articulation", robot, {"articulation.second": _start_again})
seed("structure.articulation", bodies, {"articulation.moved": _move_root})
seed(
    "structure.articulation",
    roots,
    {
        "articulation.off": author("physxArticulation:articulationEnabled", False, _PHYSX_ROOT),
        "articulation.sleep": author("physxArticulation:sleepThreshold", 1000.0, _PHYSX_ROOT),
    },
)


# The stage.


def _lean(place: Place) -> None:
    """Tilt the whole robot, as by a wrong conversion of up axes."""
    turn = Gf.Matrix4d(1.0).SetRotate(rotation((0.6, -0.8, 0.0), place.size))
    UsdGeom.Xformable(place.prim).MakeMatrixXform().Set(turn)


def _shrink_hint(place: Place) -> None:
    model = UsdGeom.ModelAPI(place.prim)
    if model.GetExtentsHint():
        model.SetExtentsHint([corner * 0.5 for corner in model.GetExtentsHint()])


def _draw_bounds(place: Place) -> None:
    api = UsdGeom.ModelAPI.Apply(place.prim)
    api.CreateModelDrawModeAttr(UsdGeom.Tokens.bounds)
    api.CreateModelApplyDrawModeAttr(True)


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
    _weld(place, Sdf.Path(f"/{STRANGER}"), ends)


def _prim(kind: str, fields: str = "", schema: str = "") -> Edit:
    """Add a prim of a type."""
    applied = f'(prepend apiSchemas = ["{schema}"])' if schema else ""
    return add(f'def {kind} "{STRANGER}" {applied} {{\n{fields}\n}}')


_INSTANCES = f"""rel prototypes = </{STRANGER}/cube>
int[] protoIndices = [0, 0]
point3f[] positions = [(1, 0, 0), (0, 1, 0)]
def Cube "cube" {{
}}"""
_HINTS = {"asset.hint": _shrink_hint, "asset.cards": _draw_bounds}
seed("kinematics.up", robot, {"asset.leaning": _lean}, tolerance=_TOLERANCE.rotation)
seed("visual.geometry", robot, _HINTS, equivalent=True)
seed("reader.parts-missing", robot, {"asset.payload": _lose_payload})
seed("reader.refuses", robot, {"asset.default": lambda place: place.stage.ClearDefaultPrim()})
seed(
    "structure.scene",
    robot,
    {
        "scene.instance": lambda place: place.prim.SetInstanceable(True),
        "scene.instance-below": _reference_instance,
        "scene.light": _prim("DistantLight"),
        "scene.camera": _prim("Camera"),
        "scene.instances": _prim("PointInstancer", _INSTANCES),
        "scene.stopped": _prim(
            "PhysicsScene", 'token physxScene:updateType = "Disabled"', "PhysxSceneAPI"
        ),
        "scene.ground": _prim("Plane", schema="PhysicsCollisionAPI"),
        "scene.ornament": _prim("Cube"),
    },
)
seed("structure.scene", bodies, {"scene.pinned": _pin})
seed("structure.scene", joints, {"scene.locked": _pin})


# The lists of Isaac Sim's robot schema.

_LISTS = {"link": "isaac:physics:robotLinks", "joint": "isaac:physics:robotJoints"}
_LISTED = {"link": "IsaacLinkAPI", "joint": "IsaacJointAPI"}


def _listed(kind: str) -> Callable[[Robot], Iterator[Place]]:
    """Yield the entries of a list that have their schema."""

    def places(good: Robot) -> Iterator[Place]:
        for path in (path for top in robot(good) for path in top.targets(_LISTS[kind])):
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


for _kind, _override in (("link", "nameOverride"), ("joint", "NameOverride")):
    seed(
        "structure.articulation",
        _listed(_kind),
        {
            f"isaac.{_kind}-missing": _unlist(_LISTS[_kind]),
            f"isaac.{_kind}-unlabelled": unapply(_LISTED[_kind]),
            f"isaac.{_kind}-name": author(f"isaac:{_override}", "other"),
        },
        profile="isaac",
    )
seed(
    "structure.articulation",
    robot,
    {
        "isaac.link-order": _reverse(_LISTS["link"]),
        "isaac.joint-order": _reverse(_LISTS["joint"]),
        "isaac.namespace": author("isaac:namespace", "other"),
    },
    profile="isaac",
    equivalent=True,
)

# Edits that change nothing for any consumer.


def _in_grams(place: Place) -> None:
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
seed("", joints, {"harmless.quaternions-negated": _NEGATED})
seed(
    "",
    robot,
    {
        "harmless.grams": _in_grams,
        "harmless.scene": _prim("PhysicsScene"),
        "harmless.scope": _prim("Scope"),
        "harmless.note": lambda place: place.prim.SetDocumentation("A robot."),
    },
)
seed(
    "",
    bodies,
    {
        "harmless.rest": author("physics:velocity", Gf.Vec3f(0.0)),
        "harmless.enabled": author("physics:rigidBodyEnabled", value=True),
        "harmless.custom": lambda place: place.prim.CreateAttribute(
            STRANGER, Sdf.ValueTypeNames.Float, custom=True
        ).Set(1.0),
    },
)
