"""Faults in the values of joints and bodies: limits, couplings, masses, settings."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Usd, UsdPhysics, UsdShade, Vt

from tests.faults import fault as f
from tests.faults.fault import Edit, Place, Places, ProfileName, Robot, author, seed, seed_each
from urdf_usd.conformance.observation.robot import JointType, Observation
from urdf_usd.conformance.observation.shapes import Role
from urdf_usd.conformance.tolerance import RELATIVE, Tolerance, rigid_groups

_TOLERANCE = Tolerance()
_DEGREES = math.degrees(1.0)

# Position limits.

_LIMITS = ("physics:lowerLimit", "physics:upperLimit")


def _shifted(limit: float, place: Place) -> float:
    step = place.size * max(place.unit, abs(limit))
    return limit + step if abs(limit) < 100.0 * place.unit else limit


_DEFAULTED = f.both(author(_LIMITS[0], -180.0), author(_LIMITS[1], 180.0))
_continuous = f.where(f.typed(JointType.CONTINUOUS), lambda place: place.instance == "angular")
seed("limit.invented", "limits.upper structure.types", _continuous, _DEFAULTED)
for _type, _motion in ((JointType.REVOLUTE, ""), (JointType.PRISMATIC, "-of-slide")):
    for _name, _key in zip(_LIMITS, ("lower", "upper"), strict=True):
        _ids, _edit = (
            (f"limit.{_key}{_motion}-shifted", f"limits.{_key}"),
            f.change(_shifted, _name),
        )
        seed(*_ids, f.typed(_type), _edit, tolerance=_TOLERANCE.limit)

# Effort, velocity, damping and friction.

_CHECKS = {
    "effort": "limits.effort",
    "velocity": "limits.velocity",
    "damping": "dynamics.damping",
    "friction": "dynamics.friction",
}
_DRIVE = "drive:{}:physics:"
_FORCE = f"{_DRIVE}maxForce"
_AXIS = "physxJointAxis:{}:"
_RANGE = ("mjc:actuatorfrcrange:min", "mjc:actuatorfrcrange:max")
_ATTRIBUTES: dict[ProfileName, dict[str, tuple[str, ...]]] = {
    "usdphysics": dict.fromkeys(_CHECKS, ()),
    "generic": {
        "effort": (_FORCE,),
        "velocity": ("newton:velocityLimit",),
        "damping": ("newton:damping",),
        "friction": ("newton:friction",),
    },
    "physx": {
        "effort": (_FORCE,),
        "velocity": ("physxJoint:maxJointVelocity", f"{_AXIS}maxJointVelocity"),
        "damping": (f"{_AXIS}viscousFrictionCoefficient",),
        "friction": (f"{_AXIS}dynamicFrictionEffort", f"{_AXIS}staticFrictionEffort"),
    },
    "mujoco": {
        "effort": (_FORCE, *_RANGE),
        "damping": ("mjc:damping",),
        "friction": ("mjc:frictionloss",),
    },
}


_stated = f.where(f.joints, lambda at: len(at.robot.positions.get(at.joint.name, ())) > 1)
for _profile, _numbers in _ATTRIBUTES.items():
    for _key, _names in _numbers.items():
        _custom = f"urdf:{'limit' if _key in ('effort', 'velocity') else 'dynamics'}:{_key}"
        _id, _check = f"{_profile}.{_key}", _CHECKS[_key]
        _edits = {f"{_id}-dropped": f.block(*_names, _custom)}
        if _names:
            _edits[f"{_id}-unschematic"] = f.block(*_names)
        seed_each(_check, _stated, _edits, profile=_profile)
        _edit = f.grow(*(_names or (_custom,)))
        seed(f"{_id}-scaled", _check, _stated, _edit, profile=_profile, tolerance=_TOLERANCE.force)

_HOLDS = f.both(
    author("mjc:gainPrm", Vt.DoubleArray([30.0])),
    author("mjc:biasPrm", Vt.DoubleArray([0.0, -30.0, -2.0])),
    author("mjc:biasType", "affine"),
)
_actuators = f.prims(lambda prim: prim.GetTypeName() == "MjcActuator")
seed("mujoco.actuator-holds", "dynamics.drives", _actuators, _HOLDS, profile="mujoco")

# Couplings: schema, ends of the names of the relationship to the leader, of the offset and of the
# multiplier; whether the offset is in radians.

_COUPLINGS: dict[ProfileName, tuple[str, str, str, str, bool]] = {
    "generic": ("NewtonMimicAPI", "*:mimicJoint", "*:mimicCoef0", "*:mimicCoef1", False),
    "physx": ("PhysxMimicJointAPI", "*:referenceJoint", "*:offset", "*:gearing", False),
    "mujoco": ("MjcEqualityJointAPI", "*:target", "*:coef0", "*:coef1", True),
}
_KEPT_COUPLING = ("urdf:mimic:joint", "urdf:mimic:multiplier", "urdf:mimic:offset")


def _other_leaders(place: Place) -> list[Place]:
    """Return the other joints of a follower's type that are not in its chain."""
    mimic = {joint.name: joint.mimic for joint in place.robot.joints.values()}
    chain = [place.joint.name]
    while (coupling := mimic.get(chain[-1])) and coupling.leader not in chain:
        chain.append(coupling.leader)
    alike = [p for p in f.joints(place.robot) if p.prim.GetTypeName() == place.prim.GetTypeName()]
    return [one for one in alike if one.joint.name not in chain]


def _has(schema: str, place: Place) -> bool:
    return any(name.split(":")[0] == schema for name in f.schemas_of(place.prim))


def _shifted_offset(radians: bool, old: float, place: Place) -> float:
    return old + place.size * (1.0 if radians else place.unit)


_lead = partial(f.retarget, choose=lambda at: [one.path for one in _other_leaders(at)][:1] or None)
_following = f.where(f.joints, lambda place: place.joint.mimic)
for _profile, (_schema, _leader, _offset, _multiplier, _radians) in _COUPLINGS.items():
    _coupled = f.where(f.joints, partial(_has, _schema))
    _blocked = f.block(_multiplier, _offset, *_KEPT_COUPLING)
    _drop = f.both(f.retarget(_leader, lambda _: []), _blocked, f.unapply(_schema))
    _shift = f.change(partial(_shifted_offset, _radians), _offset)
    for _of, _key, _edit, _tolerance in (
        (_following, "dropped", _drop, None),
        (_coupled, "leader", _lead(_leader), None),
        # Couplings are compared to float32, where one step is up to two roundings.
        (_coupled, "multiplier-scaled", f.grow(_multiplier), 4 * RELATIVE),
        (_coupled, "offset-shifted", _shift, 1e-5),
    ):
        _id = f"mimic.{_profile}-{_key}"
        seed(_id, "structure.mimic", _of, _edit, profile=_profile, tolerance=_tolerance)


def _other_name(name: str, place: Place) -> str:
    return next((one.joint.name for one in _other_leaders(place)), name)


_KEPT_WRONGLY = {
    "mimic.usdphysics-dropped": f.block(*_KEPT_COUPLING),
    "mimic.usdphysics-multiplier-negated": f.change(lambda old, _: -old, _KEPT_COUPLING[1]),
    "mimic.usdphysics-leader": f.change(_other_name, _KEPT_COUPLING[0]),
}
seed_each("structure.mimic", f.joints, _KEPT_WRONGLY, profile="usdphysics")

# Mass, centre of mass and inertia.

_MASS, _CENTER = "physics:mass", "physics:centerOfMass"
_MOMENTS, _AXES = "physics:diagonalInertia", "physics:principalAxes"


def _alone(good: Robot) -> set[str]:
    """Return the links with a mass of their own, in groups whose massive links are bodies."""
    masses = {link.name: link.mass for link in good.spec.links}
    in_usd = {
        link.name: f.authored(good.stage.GetPrimAtPath(path), _MASS) or 0.0
        for path, link in good.bodies.items()
    }
    names: set[str] = set()
    for group in rigid_groups(tuple(masses), good.spec.joints):
        massive = {name: mass.mass for name in group if (mass := masses[name]) and mass.mass}
        if all(math.isclose(in_usd.get(n, 0.0), mass, rel_tol=1e-6) for n, mass in massive.items()):
            names |= massive.keys()
    return names


_massive = f.where(f.bodies, lambda at: at.link.name in _alone(at.robot))
_extended = f.where(_massive, lambda at: at.link.mass and any(at.link.mass.inertia or ()))


def _moments(place: Place) -> NDArray[np.float64]:
    return np.array(f.authored(place.prim, _MOMENTS), np.float64)


def _turned(axes: Gf.Quatf, place: Place) -> Gf.Quatf:
    """Turn the axes of the smallest and largest moment, to change the tensor by the size."""
    moments = _moments(place)
    middle = np.eye(3)[np.argsort(moments)[1]].tolist()
    return axes * f.rotation(middle, place.size * moments.max() / np.ptp(moments))


def _contradict(place: Place) -> None:
    # Gf matrices act on row vectors.
    axes = np.array(Gf.Matrix3d(Gf.Quatd(f.authored(place.prim, _AXES))))
    tensor = axes.T @ np.diag(_moments(place)) @ axes * (1 + place.size)
    places = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    author("newton:inertia", Vt.DoubleArray([float(tensor[at]) for at in places]))(place)


_DENSE = f.both(f.block(_MASS), author("physics:density", 7800.0))
seed("mass.density", "mass.stated mass.link.mass", _massive, _DENSE, equivalent=True)
_frames = f.prims(
    lambda prim: (
        prim.GetAttribute("urdf:link").HasAuthoredValue()
        and not prim.HasAPI(UsdPhysics.RigidBodyAPI)
    )
)
seed("mass.frame-embodied", "mass.stated", _frames, f.apply("PhysicsRigidBodyAPI"))
_moved = f.change(lambda old, place: old + Gf.Vec3f(place.step), _CENTER)
_oblong = f.where(_extended, lambda at: np.ptp(_moments(at)) > 0.05 * _moments(at).max())
for _check, _places, _id, _edit, _limit in (
    ("mass", _extended, "scaled", f.grow(_MASS), _TOLERANCE.mass),
    ("center", _extended, "center-shifted", _moved, _TOLERANCE.position),
    ("inertia", _extended, "moments-scaled", f.grow(_MOMENTS), _TOLERANCE.inertia),
    ("inertia", _oblong, "axes-turned", f.change(_turned, _AXES), _TOLERANCE.inertia),
    ("agreement", _extended, "newton-contradicts", _contradict, _TOLERANCE.inertia),
):
    seed(f"mass.{_id}", f"mass.link.{_check}", _places, _edit, tolerance=_limit)

# Settings that no URDF has.


def _colliders(good: Robot) -> set[str]:
    """Return the paths of the bodies with colliders."""
    links = {shape.link for shape in good.spec.shapes if shape.role is Role.COLLISION}
    return {path for path, link in good.bodies.items() if link.name in links}


def _apart(place: Place) -> list[tuple[str, str]]:
    """Return pairs of bodies with colliders that no joint joins, and no chain of welds."""
    good = place.robot
    joined = [{joint.parent, joint.child} for joint in good.spec.joints]
    joined += map(set, rigid_groups(tuple(one.name for one in good.spec.links), good.spec.joints))
    found = combinations([path for path in good.bodies if path in _colliders(good)], 2)
    return [p for p in found if not any({good.bodies[one].name for one in p} <= k for k in joined)]


def _filter_pair(place: Place) -> None:
    path, other = _apart(place)[0]
    api = UsdPhysics.FilteredPairsAPI.Apply(place.stage.GetPrimAtPath(path))
    api.CreateFilteredPairsRel().SetTargets([other])


_STATE = author("state:{}:physics:position", 0.1, "PhysicsJointStateAPI:{}")
seed("setting.state", "structure.initial", f.single, _STATE)
_OF_BODY = {
    "gravity-off": ("disableGravity", True),
    "locked-position": ("lockedPosAxis", 7),
    "locked-rotation": ("lockedRotAxis", 7),
    "damped": ("linearDamping", 5.0),
    "spin-damped": ("angularDamping", 5.0),
    "slowed": ("maxLinearVelocity", 0.01),
}
for _key, (_name, _value) in _OF_BODY.items():
    _edit = author(f"physxRigidBody:{_name}", _value, "PhysxRigidBodyAPI")
    seed(f"setting.{_key}", "dynamics.bodies", f.bodies, _edit)
_HEAVY = author(f"{_AXIS}armature", 0.5, "PhysxJointAxisAPI:{}")
seed("setting.axis-armature", "dynamics.joints simulation.armature", f.single, _HEAVY)
_STIFF = author("physxLimit:{}:stiffness", 2.0, "PhysxLimitAPI:{}")
_SOFT = author("mjc:solreflimit", Vt.DoubleArray([2.0, 1.0]), "MjcJointAPI")
for _key, _edit in (
    ("axis-limit", f.both(_STIFF, author("physxLimit:{}:damping", 2.0))),
    ("limit-soft", _SOFT),
    ("limit-margin", author("mjc:margin", 0.5, "MjcJointAPI")),
):
    seed(f"setting.{_key}", "dynamics.joints", f.single, _edit)
_GROUPS = {f"setting.{case}": f.add(case) for case in ("grouped", "inverted", "merged")}
_with_apart, _FILTERS = f.where(f.robot, _apart), "collision.filters"
seed_each(_FILTERS, _with_apart, {"setting.filtered": _filter_pair, **_GROUPS})


def _is_between_colliders(place: Place) -> bool:
    ends = f.joint_ends(place.prim)
    alone = sum(f.joint_ends(other.prim) == ends for other in f.joints(place.robot)) == 1
    return f.is_enabled(place) and alone and len(ends) > 1 and _colliders(place.robot) >= {*ends}


_neighbours = f.where(f.joints, _is_between_colliders)
seed("setting.neighbours", _FILTERS, _neighbours, author("physics:collisionEnabled", value=True))
_OFF = author("physxArticulation:enabledSelfCollisions", False, "PhysxArticulationAPI")
seed("setting.articulation-collision", _FILTERS, f.where(f.roots, _apart), _OFF)

# Settings that a simulation settings file states.

_BINDING = "material:binding:physics"


def description_of(spec: Observation) -> str:
    """Return a simulation settings file that states every setting for a robot."""
    joined = {frozenset((joint.parent, joint.child)) for joint in spec.joints}
    # Without colliders there is no contact to filter.
    shapes = {shape.link for shape in spec.shapes if shape.role is Role.COLLISION}
    names = [link.name for link in spec.links if link.name in shapes]
    apart = [list(pair) for pair in combinations(names, 2) if frozenset(pair) not in joined]
    # Other links have no contact material, or that of the URDF.
    text = (f.ROBOTS / "described.toml").read_text("utf-8")
    return text.replace("SOFT", names[-1] if names else "*").replace("PAIRS", str(apart[:1]))


def _described(
    check: str, places: Places, key: str, edit: Edit, tolerance: float | None = None
) -> None:
    ids = f"described.{key}", f"simulation.{check}"
    seed(*ids, places, edit, profile="described", tolerance=tolerance)


def _per_radian(attribute: str) -> Edit:
    return f.change(lambda old, at: old * (_DEGREES if at.unit > 1 else 2.0), attribute)


def _another_material(place: Place) -> list[str] | None:
    """Choose the contact material of a collider with another one."""
    materials = [path for other in _bound(place.robot) for path in other.targets(_BINDING)]
    return [path for path in materials if path not in place.targets(_BINDING)][:1] or None


_filtered = f.prims(lambda prim: prim.HasAPI(UsdPhysics.FilteredPairsAPI))
_contact_materials = f.prims(
    lambda prim: prim.IsA(UsdShade.Material) and prim.HasAPI(UsdPhysics.MaterialAPI)
)
_bounceless = f.where(
    _contact_materials, lambda at: f.authored(at.prim, "physics:restitution") is None
)
_collides = f.prims(lambda prim: prim.HasAPI(UsdPhysics.CollisionAPI))
_bound = f.where(_collides, lambda place: place.prim.HasRelationship(_BINDING))
_STIFFNESS, _DAMPING = f"{_DRIVE}stiffness", f"{_DRIVE}damping"
_driven = f.where(f.moving, lambda at: f.authored(at.prim, _STIFFNESS.format(at.instance)))
_SELF = "newton:selfCollisionEnabled"
_stating_collision = f.prims(lambda prim: prim.GetAttribute(_SELF).HasAuthoredValue())
for _key, _name, _check, _of in (
    ("stiffness", _STIFFNESS, "gains", f.moving),
    ("damping", _DAMPING, "gains", f.moving),
    ("limit-stiffness", "newton:limitStiffness", "limits", f.moving),
    ("limit-damping", "newton:limitDamping", "limits", f.moving),
    ("armature", "newton:armature", "armature", f.moving),
    ("staticFriction", "physics:staticFriction", "contacts", _contact_materials),
    ("dynamicFriction", "physics:dynamicFriction", "contacts", _contact_materials),
    ("restitution", "physics:restitution", "contacts", _contact_materials),
):
    _described(_check, _of, _key, f.grow(_name), _TOLERANCE.force)
for _check, _of, _key, _edit in (
    ("gains", _driven, "no-drive", f.unapply("PhysicsDriveAPI:{}")),
    ("gains", f.moving, "acceleration", f.change(lambda *_: "acceleration", f"{_DRIVE}type")),
    ("targets", f.moving, "target", _per_radian(f"{_DRIVE}targetPosition")),
    ("targets", f.moving, "no-target", f.block(f"{_DRIVE}targetPosition")),
    ("targets", _driven, "target-velocity", author(f"{_DRIVE}targetVelocity", 1.0)),
    ("armature", f.moving, "no-armature", f.block("newton:armature")),
    ("positions", f.moving, "position", _per_radian("state:{}:physics:position")),
    ("positions", f.moving, "position-of-one", f.block("newton:{}:position")),
    ("filters", _filtered, "filter", f.unapply("PhysicsFilteredPairsAPI")),
    (
        "filters",
        _filtered,
        "filter-target",
        f.retarget("physics:filteredPairs", lambda at: [at.path]),
    ),
    ("contacts", _stating_collision, "self-collision", author(_SELF, value=True)),
    ("contacts", _bounceless, "bouncing", author("physics:restitution", 0.5)),
    ("contacts", _bound, "other-material", f.retarget(_BINDING, _another_material)),
    ("contacts", _bound, "unbound-friction", f.retarget(_BINDING, lambda _: [])),
):
    _described(_check, _of, _key, _edit)

# Values over time, unusable values, and values of another type.

_TYPES = Sdf.ValueTypeNames
_ANIMATED = "structure.animation reader.refuses"
_weighed = f.where(f.bodies, lambda place: f.authored(place.prim, _MASS) is not None)


def _later(name: str, time: float, wrong: Callable[[Any], object]) -> Edit:
    """Author another value at a time."""
    return lambda at: at.prim.GetAttribute(name).Set(wrong(at.prim.GetAttribute(name).Get()), time)


seed("time.mass", _ANIMATED, _weighed, _later(_MASS, 0.0, lambda old: 2.0 * (old or 1.0)))
_ANCHORED = _later("physics:localPos1", 5.0, lambda old: old + Gf.Vec3f(0.1, 0, 0))
seed("time.anchor", _ANIMATED, f.joints, _ANCHORED)


def _typed(name: str, kind: Sdf.ValueTypeName) -> Edit:
    """Author an attribute again as another type, with the same value."""

    def edit(place: Place) -> None:
        value = place.prim.GetAttribute(name).Get()
        if kind.isArray:
            value = [type(kind.scalarType.defaultValue)(one) for one in value]
        elif isinstance(value, Sdf.AssetPath):
            value = value.path
        elif kind == _TYPES.Color4f:
            value = Gf.Vec4f(*value, 1.0)
        else:
            value = type(kind.defaultValue)(value)
        # A stage authors the type of the schema, whatever is asked for.
        over = Sdf.CreatePrimInLayer(place.stage.GetRootLayer(), place.path)
        Sdf.AttributeSpec(over, name, kind).default = value

    return edit


def _authoring(name: str) -> Places:
    """Return the prims that author an attribute of a schema, or an input of a shader."""
    return f.prims(
        lambda prim: (
            prim.GetAttribute(name).HasAuthoredValue()
            and (name.startswith("inputs:") or name in prim.GetPrimDefinition().GetPropertyNames())
        )
    )


seed("value.radius", "reader.refuses", _authoring("radius"), f.block("radius"))
for _name, _id in (("physics:localRot0", "rotation"), (_AXES, "axes")):
    _edit = f.change(lambda old, _: 2.0 * old, _name)
    seed(f"value.{_id}-length", "structure.values reader.refuses", _authoring(_name), _edit)
for _name, _kind in (
    (_MASS, _TYPES.Double),
    (_MOMENTS, _TYPES.Double3),
    (_AXES, _TYPES.Quatd),
    ("drive:angular:physics:maxForce", _TYPES.Double),
    ("points", _TYPES.Point3dArray),
    ("faceVertexIndices", _TYPES.Int64Array),
    ("physics:approximation", _TYPES.String),
    ("inputs:diffuseColor", _TYPES.Color4f),
    ("inputs:file", _TYPES.String),
):
    _edit = _typed(_name, _kind)
    seed(f"type.{_name.rpartition(':')[2]}-{_kind}", "reader.refuses", _authoring(_name), _edit)

# Words of a URDF that no schema has.

_KEPT = ("urdf:safety_controller:", "urdf:calibration:", "urdf:limit:acceleration")


def _kept_numbers(prim: Usd.Prim) -> list[Usd.Attribute]:
    """Return one: a USD need not keep a kind of them, of which some prims have one only."""
    return [one for one in prim.GetAuthoredAttributes() if one.GetName().startswith(_KEPT)][-1:]


def _kept_number(wrong: Callable[[Usd.Attribute], object]) -> Edit:
    return lambda place: [wrong(one) for one in _kept_numbers(place.prim)]


def _is_element(prim: Usd.Prim) -> bool:
    """Whether a prim is an element of the robot, a link or a joint, not of a shape."""
    above = prim.GetParent()
    within = prim.GetAttribute("urdf:within").HasAuthoredValue()
    return within and above.GetTypeName() not in ("Mesh", "Cube", "Sphere", "Cylinder", "Capsule")


@f.fault("words.text", "structure.words", f.prims(_is_element))
def _(place: Place) -> None:
    """Change the text of an element, or of an element inside."""
    for inside in Usd.PrimRange(place.prim):
        if text := inside.GetAttribute("urdf:text"):
            text.Set(f"{text.Get()}2")
            return
    place.prim.CreateAttribute("urdf:text", _TYPES.String).Set("2")


_RENUMBERED = {
    "words.number": _kept_number(lambda one: one.Set(2.0 * one.Get() + 1e-3)),
    "words.lost": _kept_number(Usd.Attribute.Block),
}
seed_each("structure.words", f.prims(_kept_numbers), _RENUMBERED)
