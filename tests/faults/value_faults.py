"""Faults in the values of joints and bodies: limits, couplings, masses, settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Ts, Usd, UsdPhysics, UsdShade, Vt

from tests.faults.fault import (
    OBLIQUE,
    STRANGER,
    Edit,
    Place,
    Places,
    ProfileName,
    Robot,
    add,
    author,
    authored,
    block,
    bodies,
    both,
    change,
    grow,
    is_enabled,
    joint_ends,
    joints,
    moving,
    prims,
    replace,
    retarget,
    robot,
    roots,
    rotation,
    seed,
    single,
    typed,
    unapply,
    where,
)
from urdf_usd.conformance.observation.robot import COORDINATES, JointType, Observation
from urdf_usd.conformance.observation.shapes import Role
from urdf_usd.conformance.tolerance.bounds import RELATIVE, Tolerance
from urdf_usd.conformance.tolerance.model import rigid_groups

_TOLERANCE = Tolerance()
_DEGREES = math.degrees(1.0)

# Position limits.

_LIMITS = ("physics:lowerLimit", "physics:upperLimit")


def _shifted(limit: float, place: Place) -> float:
    step = place.size * max(place.unit, abs(limit))
    return limit + step if abs(limit) < 100.0 * place.unit else limit


_DEFAULTED = {"limit.invented": both(author(_LIMITS[0], -180.0), author(_LIMITS[1], 180.0))}
_turning, _sliding = typed(JointType.REVOLUTE), typed(JointType.PRISMATIC)
_continuous = where(typed(JointType.CONTINUOUS), lambda place: place.instance == "angular")
seed("limits.upper structure.types", _continuous, _DEFAULTED)
for _places, _motion in ((_turning, ""), (_sliding, "-of-slide")):
    for _name, _key in zip(_LIMITS, ("lower", "upper"), strict=True):
        _edits = {f"limit.{_key}{_motion}-shifted": change(_shifted, _name)}
        seed(f"limits.{_key}", _places, _edits, tolerance=_TOLERANCE.limit)

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


def _of_one_axis(place: Place) -> bool:
    positions = place.robot.positions.get(place.joint.name)
    return positions is not None and len(positions) > 1


_stated = where(joints, _of_one_axis)
for _profile, _numbers in _ATTRIBUTES.items():
    for _key, _names in _numbers.items():
        _custom = f"urdf:{'limit' if _key in ('effort', 'velocity') else 'dynamics'}:{_key}"
        _id, _check = f"{_profile}.{_key}", _CHECKS[_key]
        _edits = {f"{_id}-dropped": block(*_names, _custom)}
        if _names:
            _edits[f"{_id}-unschematic"] = block(*_names)
        seed(_check, _stated, _edits, profile=_profile)
        _edits = {f"{_id}-scaled": grow(*(_names or (_custom,)))}
        seed(_check, _stated, _edits, profile=_profile, tolerance=_TOLERANCE.force)


# The drive states the effort as well.
seed(
    "limits.effort",
    _stated,
    {
        "mujoco.effort-unlimited": block(*_RANGE),
        "mujoco.effort-halved": change(lambda old, _: old / 2, _RANGE[0]),
    },
    profile="mujoco",
)
seed(
    "dynamics.drives",
    prims(lambda prim: prim.GetTypeName() == "MjcActuator"),
    {
        "mujoco.actuator-holds": both(
            author("mjc:gainPrm", Vt.DoubleArray([30.0])),
            author("mjc:biasPrm", Vt.DoubleArray([0.0, -30.0, -2.0])),
            author("mjc:biasType", "affine"),
        )
    },
    profile="mujoco",
)

# Couplings: schema, names of the relationship to the leader, of the offset and of the multiplier;
# whether the offset is in radians.

_COUPLINGS: dict[ProfileName, tuple[str, str, str, str, bool]] = {
    "generic": ("NewtonMimicAPI", "mimicJoint", "mimicCoef0", "mimicCoef1", False),
    "physx": ("PhysxMimicJointAPI", "referenceJoint", "offset", "gearing", False),
    "mujoco": ("MjcEqualityJointAPI", "target", "coef0", "coef1", True),
}
_KEPT_COUPLING = ("urdf:mimic:joint", "urdf:mimic:multiplier", "urdf:mimic:offset")


def _other_leader(place: Place) -> Place | None:
    """Return another joint of a follower's type that is not in its chain."""
    mimic = {joint.name: joint.mimic for joint in place.robot.joints.values()}
    chain = [place.joint.name]
    while (coupling := mimic.get(chain[-1])) and coupling.leader not in chain:
        chain.append(coupling.leader)
    return next(
        (
            other
            for other in joints(place.robot)
            if other.joint.name not in chain
            and other.prim.GetTypeName() == place.prim.GetTypeName()
        ),
        None,
    )


def _coupling_faults(profile: ProfileName) -> None:
    schema, leader, offset, multiplier, radians = _COUPLINGS[profile]

    def applied(place: Place) -> list[str]:
        names = place.prim.GetPrimTypeInfo().GetAppliedAPISchemas()
        return [name for name in names if name.split(":")[0] == schema]

    def name(place: Place, key: str) -> str:
        names = (one for one in place.prim.GetPropertyNames() if not one.startswith("urdf:"))
        return next((one for one in names if one.split(":")[-1] == key), "")

    def drop(place: Place) -> None:
        if found := applied(place):
            place.prim.GetRelationship(name(place, leader)).SetTargets([])
            block(name(place, offset), name(place, multiplier))(place)
            place.prim.RemoveAppliedSchema(found[0])
        block(*_KEPT_COUPLING)(place)

    def lead(place: Place) -> None:
        if other := _other_leader(place):
            place.prim.GetRelationship(name(place, leader)).SetTargets([other.path])

    def rename(place: Place) -> None:
        """Apply the schema of PhysX with an instance that PhysX ignores."""
        (old,) = applied(place)
        place.prim.RemoveAppliedSchema(old)
        place.prim.AddAppliedSchema(f"{schema}:{place.instance}")
        for one in place.prim.GetPropertiesInNamespace(f"physxMimicJoint:{old.split(':')[1]}"):
            new = f"physxMimicJoint:{place.instance}:{one.GetBaseName()}"
            if isinstance(one, Usd.Relationship):
                place.prim.CreateRelationship(new).SetTargets(one.GetTargets())
            elif one.HasAuthoredValue():
                kind = one.GetTypeName()
                place.prim.CreateAttribute(new, kind, custom=False).Set(one.Get())

    def wrong(key: str, function: Callable[[float, Place], float]) -> Edit:
        return lambda place: change(function, name(place, key))(place)

    def sown(places: Places, key: str, edit: Edit, tolerance: float | None = None) -> None:
        edits = {f"mimic.{profile}-{key}": edit}
        seed("structure.mimic", places, edits, profile=profile, tolerance=tolerance)

    coupled = where(joints, applied)
    sown(where(joints, lambda place: place.joint.mimic), "dropped", drop)
    sown(coupled, "leader", lead)
    if profile == "physx":
        sown(coupled, "instance", rename)
    # Couplings are compared to float32, where one step is up to two roundings.
    scale = wrong(multiplier, lambda old, place: old * (1 + place.size))
    sown(coupled, "multiplier-scaled", scale, 4 * RELATIVE)
    shift = wrong(offset, lambda old, at: old + at.size * (1.0 if radians else at.unit))
    sown(coupled, "offset-shifted", shift, 1e-5)


def _other_leader_name(place: Place) -> None:
    if (other := _other_leader(place)) and place.joint.mimic:
        place.prim.GetAttribute(_KEPT_COUPLING[0]).Set(other.joint.name)


for _profile in _COUPLINGS:
    _coupling_faults(_profile)
seed(
    "structure.mimic",
    joints,
    {
        "mimic.usdphysics-dropped": block(*_KEPT_COUPLING),
        "mimic.usdphysics-multiplier-negated": change(lambda old, _: -old, _KEPT_COUPLING[1]),
        "mimic.usdphysics-leader": _other_leader_name,
    },
    profile="usdphysics",
)

# Mass, centre of mass and inertia.

_MASS, _CENTER = "physics:mass", "physics:centerOfMass"
_MOMENTS, _AXES = "physics:diagonalInertia", "physics:principalAxes"


def _alone(good: Robot) -> set[str]:
    """Return the links with a mass of their own, in groups whose massive links are bodies."""
    masses = {link.name: link.mass for link in good.spec.links}
    in_usd = {
        link.name: authored(good.stage.GetPrimAtPath(path), _MASS) or 0.0
        for path, link in good.bodies.items()
    }
    names: set[str] = set()
    for group in rigid_groups(tuple(masses), good.spec.joints):
        massive = {name: mass.mass for name in group if (mass := masses[name]) and mass.mass}
        if all(math.isclose(in_usd.get(n, 0.0), mass, rel_tol=1e-6) for n, mass in massive.items()):
            names |= massive.keys()
    return names


def _massive(good: Robot) -> Iterator[Place]:
    names = _alone(good)
    return (place for place in bodies(good) if place.link.name in names)


def _extended(good: Robot) -> Iterator[Place]:
    return (p for p in _massive(good) if p.link.mass and any(p.link.mass.inertia or ()))


def _moments(place: Place) -> NDArray[np.float64]:
    return np.array(authored(place.prim, _MOMENTS), np.float64)


def _turned(axes: Gf.Quatf, place: Place) -> Gf.Quatf:
    """Turn the axes of the smallest and largest moment, to change the tensor by the size."""
    moments = _moments(place)
    middle = np.eye(3)[np.argsort(moments)[1]].tolist()
    return axes * rotation(middle, place.size * moments.max() / np.ptp(moments))


def _is_oblong(place: Place) -> bool:
    return bool(np.ptp(_moments(place)) > 0.05 * _moments(place).max())


def _contradict(place: Place) -> None:
    # Gf matrices act on row vectors.
    axes = np.array(Gf.Matrix3d(Gf.Quatd(authored(place.prim, _AXES))))
    tensor = axes.T @ np.diag(_moments(place)) @ axes * (1 + place.size)
    places = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    author("newton:inertia", Vt.DoubleArray([float(tensor[at]) for at in places]))(place)


def _is_frame(prim: Usd.Prim) -> bool:
    named = prim.GetAttribute("urdf:link").HasAuthoredValue()
    return named and not prim.HasAPI(UsdPhysics.RigidBodyAPI)


_DENSITY = both(block(_MASS), author("physics:density", 7800.0))
_MOVED = change(lambda old, place: old + Gf.Vec3f(*(place.size * OBLIQUE).tolist()), _CENTER)
# Colliders of an MJCF may state the same mass.
_DENSE = {"mass.density": _DENSITY}
seed("mass.stated mass.link.mass", _massive, _DENSE, equivalent=True)
_EMBODIED = {"mass.frame-embodied": lambda place: UsdPhysics.RigidBodyAPI.Apply(place.prim)}
seed("mass.stated", prims(_is_frame), _EMBODIED)
for _check, _places, _id, _edit, _tolerance in (
    ("mass.link.mass", _extended, "scaled", grow(_MASS), _TOLERANCE.mass),
    ("mass.link.center", _extended, "center-shifted", _MOVED, _TOLERANCE.position),
    ("mass.link.inertia", _extended, "moments-scaled", grow(_MOMENTS), _TOLERANCE.inertia),
    (
        "mass.link.inertia",
        where(_extended, _is_oblong),
        "axes-turned",
        change(_turned, _AXES),
        _TOLERANCE.inertia,
    ),
    ("mass.link.agreement", _extended, "newton-contradicts", _contradict, _TOLERANCE.inertia),
):
    seed(_check, _places, {f"mass.{_id}": _edit}, tolerance=_tolerance)

# Settings that no URDF has.


def _colliders(good: Robot) -> set[str]:
    """Return the paths of the bodies with colliders."""
    found = set()
    for prim in good.stage.Traverse():
        if prim.HasAPI(UsdPhysics.CollisionAPI):
            above = (str(path) for path in reversed(prim.GetPath().GetPrefixes()))
            found.add(next((path for path in above if path in good.bodies), ""))
    return found - {""}


def _apart(good: Robot) -> list[tuple[str, str]]:
    """Return pairs of bodies with colliders that no joint joins, and no chain of welds."""
    joined, welded = [], []
    for path, joint in good.joints.items():
        ends = set(joint_ends(good.stage.GetPrimAtPath(path)))
        joined.append(ends)
        welded += [] if COORDINATES[joint.type] else [ends]
    paths = [path for path in good.bodies if path in _colliders(good)]
    pairs = []
    for at, path in enumerate(paths):
        group = {path}
        for _ in welded:
            group = group.union(*(ends for ends in welded if ends & group))
        pairs += [
            (path, other)
            for other in paths[at + 1 :]
            if other not in group and {path, other} not in joined
        ]
    return pairs


def _filter_pair(place: Place) -> None:
    path, other = _apart(place.robot)[0]
    api = UsdPhysics.FilteredPairsAPI.Apply(place.stage.GetPrimAtPath(path))
    api.CreateFilteredPairsRel().SetTargets([other])


def _group(fields: str = "", *, filtered: str = "", of_robot: bool = True) -> str:
    """Return a collision group: `one` of all colliders of the robot, or `other` without any."""
    name = "one" if of_robot else "other"
    rels = "rel collection:colliders:includes = <$root>\n" if of_robot else ""
    rels += f"rel physics:filteredGroups = <$root/{filtered}>\n" if filtered else ""
    return f'def PhysicsCollisionGroup "{name}" {{\n{rels}{fields}\n}}\n'


_INVERTED = "bool physics:invertFilteredGroups = true"
_MERGED = f'string physics:mergeGroup = "{STRANGER}"'
seed(
    "structure.initial",
    single,
    {"setting.state": author("state:{}:physics:position", 0.1, "PhysicsJointStateAPI:{}")},
)
seed(
    "dynamics.bodies",
    bodies,
    {
        f"setting.{key}": author(f"physxRigidBody:{name}", value, "PhysxRigidBodyAPI")
        for key, name, value in (
            ("gravity-off", "disableGravity", True),
            ("locked-position", "lockedPosAxis", 7),
            ("locked-rotation", "lockedRotAxis", 7),
            ("damped", "linearDamping", 5.0),
            ("spin-damped", "angularDamping", 5.0),
            ("slowed", "maxLinearVelocity", 0.01),
        )
    },
)
seed(
    "dynamics.joints simulation.armature",
    single,
    {"setting.axis-armature": author(f"{_AXIS}armature", 0.5, "PhysxJointAxisAPI:{}")},
)
seed(
    "dynamics.joints",
    single,
    {
        "setting.axis-limit": both(
            author("physxLimit:{}:stiffness", 2.0, "PhysxLimitAPI:{}"),
            author("physxLimit:{}:damping", 2.0),
        ),
        "setting.limit-soft": author("mjc:solreflimit", Vt.DoubleArray([2.0, 1.0]), "MjcJointAPI"),
        "setting.limit-margin": author("mjc:margin", 0.5, "MjcJointAPI"),
    },
)
seed(
    "collision.filters",
    where(robot, lambda place: _apart(place.robot)),
    {
        "setting.filtered": _filter_pair,
        # It does not collide with itself; it collides with another group alone.
        "setting.grouped": add(_group(filtered="one")),
        "setting.group-inverted": add(_group(_INVERTED, filtered="other") + _group(of_robot=False)),
        # A group without members is filtered, and merged with that of the robot.
        "setting.groups-merged": add(
            _group(_MERGED) + _group(_MERGED, filtered="other", of_robot=False)
        ),
    },
)


def _is_between_colliders(place: Place) -> bool:
    ends = joint_ends(place.prim)
    alone = sum(joint_ends(other.prim) == ends for other in joints(place.robot)) == 1
    return is_enabled(place) and alone and len(ends) > 1 and _colliders(place.robot) >= {*ends}


_NEIGHBOURS = {"setting.neighbours": author("physics:collisionEnabled", value=True)}
seed("collision.filters", where(joints, _is_between_colliders), _NEIGHBOURS)
seed(
    "collision.filters",
    where(roots, lambda place: _apart(place.robot)),
    {
        "setting.articulation-collision": author(
            "physxArticulation:enabledSelfCollisions", False, "PhysxArticulationAPI"
        )
    },
)

# Settings that a simulation settings file states.

_BINDING = "material:binding:physics"


def description_of(spec: Observation) -> str:
    """Return a simulation settings file that states every setting for a robot."""
    joined = {frozenset((joint.parent, joint.child)) for joint in spec.joints}
    # Without colliders there is no contact to filter.
    shapes = {shape.link for shape in spec.shapes if shape.role is Role.COLLISION}
    names = [link.name for link in spec.links if link.name in shapes]
    pairs = [
        f"[{name!r}, {other!r}]"
        for at, name in enumerate(names)
        for other in names[at + 1 :]
        if frozenset((name, other)) not in joined
    ][:1]
    # Other links have no contact material, or that of the URDF.
    soft = names[-1] if names else "*"
    filtered = f"pairs = [{pairs[0]}]" if pairs else ""
    return f"""\
self_collision = false

[[joints]]
match = "*"
stiffness = 40.0
damping = 3.0
armature = 0.2
target = 0.15
limit_stiffness = 5e4
limit_damping = 200.0

[[links]]
match = {soft!r}
static_friction = 0.9
dynamic_friction = 0.7
restitution = 0.3

[pose.joints]
"*" = 0.1

[filters]
{filtered}

[sources]
gazebo = true
"""


def _described(
    check: str, places: Places, edits: dict[str, Edit], tolerance: float | None = None
) -> None:
    named = {f"described.{key}": edit for key, edit in edits.items()}
    seed(f"simulation.{check}", places, named, profile="described", tolerance=tolerance)


def _per_radian(attribute: str) -> Edit:
    return change(lambda old, at: old * (_DEGREES if at.unit > 1 else 2.0), attribute)


def _driven(edit: Edit) -> Edit:
    """Edit a joint whose drive has a stiffness."""
    return lambda place: authored(place.prim, _STIFFNESS.format(place.instance)) and edit(place)


def _another_material(place: Place) -> list[str] | None:
    """Choose the contact material of a collider with another one."""
    materials = [path for other in _bound(place.robot) for path in other.targets(_BINDING)]
    return [path for path in materials if path not in place.targets(_BINDING)][:1] or None


def _bind_another(place: Place) -> None:
    if _another_material(place):
        UsdShade.MaterialBindingAPI.Apply(place.prim)
        retarget(_BINDING, _another_material)(place)


def _bounce(place: Place) -> None:
    if authored(place.prim, "physics:restitution") is None:
        author("physics:restitution", 0.5)(place)


_filtered = prims(lambda prim: prim.HasAPI(UsdPhysics.FilteredPairsAPI))
_contact_materials = prims(
    lambda prim: prim.IsA(UsdShade.Material) and prim.HasAPI(UsdPhysics.MaterialAPI)
)
_bound = prims(lambda prim: prim.HasAPI(UsdPhysics.CollisionAPI) and prim.HasRelationship(_BINDING))
_STIFFNESS, _DAMPING = f"{_DRIVE}stiffness", f"{_DRIVE}damping"
for _key, _name, _check in (
    ("stiffness", _STIFFNESS, "gains"),
    ("damping", _DAMPING, "gains"),
    ("limit-stiffness", "newton:limitStiffness", "limits"),
    ("limit-damping", "newton:limitDamping", "limits"),
):
    _described(_check, moving, {_key: grow(_name)}, _TOLERANCE.force)
_described(
    "gains",
    moving,
    {
        "no-drive": _driven(unapply("PhysicsDriveAPI:{}")),
        "acceleration": replace(f"{_DRIVE}type", UsdPhysics.Tokens.acceleration),
    },
)
_described(
    "targets",
    moving,
    {
        "target": _per_radian(f"{_DRIVE}targetPosition"),
        "no-target": block(f"{_DRIVE}targetPosition"),
        "target-velocity": _driven(author(f"{_DRIVE}targetVelocity", 1.0)),
    },
)
_described("armature", moving, {"armature": grow("newton:armature")}, _TOLERANCE.force)
_described("armature", moving, {"no-armature": block("newton:armature")})
_described(
    "positions",
    moving,
    {
        "position": _per_radian("state:{}:physics:position"),
        "position-of-one": block("newton:{}:position"),
    },
)
_described(
    "filters",
    _filtered,
    {
        "filter": unapply("PhysicsFilteredPairsAPI"),
        "filter-target": retarget("physics:filteredPairs", lambda place: [place.path]),
    },
)
_COLLIDES = "newton:selfCollisionEnabled"
_described(
    "contacts",
    prims(lambda prim: prim.GetAttribute(_COLLIDES).HasAuthoredValue()),
    {"self-collision": author(_COLLIDES, value=True)},
)
for _name in ("staticFriction", "dynamicFriction", "restitution"):
    _edits = {_name: grow(f"physics:{_name}")}
    _described("contacts", _contact_materials, _edits, _TOLERANCE.force)
_described("contacts", _contact_materials, {"bouncing": _bounce})
_described(
    "contacts",
    _bound,
    {
        "other-material": retarget(_BINDING, _another_material),
        "unbound-friction": retarget(_BINDING, lambda _: []),
    },
)
seed(
    "collision.materials",
    prims(lambda prim: prim.HasAPI(UsdPhysics.CollisionAPI) and not prim.HasRelationship(_BINDING)),
    {"described.material-as-well": _bind_another},
    profile="described",
)

# Values over time, unusable values, and values of another type.


def _spline(place: Place) -> None:
    spline = Ts.Spline("float")
    for time, value in ((0.0, 1.0), (10.0, 2.0)):
        spline.SetKnot(Ts.Knot(typeName="float", time=time, value=value))
    UsdPhysics.MassAPI(place.prim).GetMassAttr().SetSpline(spline)


def _mass_in_time(place: Place) -> None:
    mass = UsdPhysics.MassAPI(place.prim).GetMassAttr()
    mass.Set(2.0 * (mass.Get() or 1.0), 0.0)


def _anchor_in_time(place: Place) -> None:
    anchor = UsdPhysics.Joint(place.prim).CreateLocalPos1Attr()
    anchor.Set((anchor.Get() or Gf.Vec3f(0.0)) + Gf.Vec3f(0.1, 0.0, 0.0), 5.0)


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
    return prims(
        lambda prim: (
            prim.GetAttribute(name).HasAuthoredValue()
            and (name.startswith("inputs:") or name in prim.GetPrimDefinition().GetPropertyNames())
        )
    )


_TYPES = Sdf.ValueTypeNames
_ANIMATED = "structure.animation reader.refuses"
_weighed = where(bodies, lambda place: authored(place.prim, _MASS) is not None)
seed(_ANIMATED, _weighed, {"time.mass": _mass_in_time, "time.spline": _spline})
seed(_ANIMATED, joints, {"time.anchor": _anchor_in_time})
seed("reader.refuses", _authoring("radius"), {"value.radius": block("radius")})
for _name, _id in (("physics:localRot0", "rotation"), (_AXES, "axes")):
    _edits = {f"value.{_id}-length": change(lambda old, _: 2.0 * old, _name)}
    seed("structure.values reader.refuses", _authoring(_name), _edits)
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
    _edits = {f"type.{_name.rpartition(':')[2]}-{_kind}": _typed(_name, _kind)}
    seed("reader.refuses", _authoring(_name), _edits)

# Words of a URDF that no schema has.

_KEPT = ("urdf:safety_controller:", "urdf:calibration:", "urdf:limit:acceleration")


def _kept_numbers(prim: Usd.Prim) -> list[Usd.Attribute]:
    # A USD need not keep a kind of them, of which some prims have one only.
    return [one for one in prim.GetAuthoredAttributes() if one.GetName().startswith(_KEPT)][-1:]


def _kept_number(wrong: Callable[[Usd.Attribute], object]) -> Edit:
    return lambda place: [wrong(one) for one in _kept_numbers(place.prim)]


def _reword(place: Place) -> None:
    """Change the text of an element, or of an element inside."""
    for inside in Usd.PrimRange(place.prim):
        if text := inside.GetAttribute("urdf:text"):
            text.Set(f"{text.Get()}2")
            return
    place.prim.CreateAttribute("urdf:text", _TYPES.String).Set("2")


def _is_element(prim: Usd.Prim) -> bool:
    """Whether a prim is an element of the robot, a link or a joint, not of a shape."""
    above = prim.GetParent()
    within = prim.GetAttribute("urdf:within").HasAuthoredValue()
    return within and above.GetTypeName() not in ("Mesh", "Cube", "Sphere", "Cylinder", "Capsule")


seed(
    "structure.words",
    prims(_kept_numbers),
    {
        "words.number": _kept_number(lambda one: one.Set(2.0 * one.Get() + 1e-3)),
        "words.lost": _kept_number(Usd.Attribute.Block),
    },
)
_RETAGGED = {"words.text": _reword, "words.tag": lambda place: place.prim.SetDisplayName(STRANGER)}
seed("structure.words", prims(_is_element), _RETAGGED)
