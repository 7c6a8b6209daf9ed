"""Faults in the values of joints and bodies: limits, couplings, masses, settings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Ts, Usd, UsdPhysics, UsdShade, Vt
from scipy.spatial.transform import Rotation

from tests.faults.fault import (
    OBLIQUE,
    STRANGER,
    Edit,
    Fault,
    Place,
    Places,
    ProfileName,
    Robot,
    author,
    authored,
    block,
    bodies,
    both,
    change,
    colliders,
    grow,
    joint_ends,
    joints,
    moving,
    prims,
    replace,
    retarget,
    robot,
    roots,
    row,
    single,
    table,
    typed,
    unapply,
    where,
)
from urdf_usd.conformance.observation.robot import COORDINATES, JointType, Observation
from urdf_usd.conformance.observation.shapes import Role
from urdf_usd.conformance.tolerance.bounds import RELATIVE, Tolerance
from urdf_usd.conformance.tolerance.rigid_groups import rigid_groups

_TOLERANCE = Tolerance()
_DEGREES = math.degrees(1.0)

# Position limits.

_LIMITS = ("physics:lowerLimit", "physics:upperLimit")
_Limits = tuple[float | None, float | None]


def _unit(place: Place) -> float:
    return _DEGREES if place.instance == "angular" else 1.0


def _limits(wrong: Callable[[float, float], _Limits]) -> Edit:
    """Change finite limits that float32 rounds little."""

    def edit(place: Place) -> None:
        limits = [authored(place.prim, name) for name in _LIMITS]
        if None in limits or max(map(abs, limits)) >= 100.0 * _unit(place):
            return
        for name, limit in zip(_LIMITS, wrong(*limits), strict=True):
            attribute = place.prim.GetAttribute(name)
            if limit is None:
                attribute.Block()
            elif not math.isclose(limit, attribute.Get(), abs_tol=1e-3):
                attribute.Set(limit)

    return edit


def _shift_limit(side: int) -> Edit:
    def edit(place: Place) -> None:
        limit = authored(place.prim, _LIMITS[side])
        if limit is not None and abs(limit) < 100.0 * _unit(place):
            step = place.size * max(_unit(place), abs(limit))
            place.prim.GetAttribute(_LIMITS[side]).Set(limit + step)

    return edit


LIMIT_FAULTS = (
    row(
        "limit.swapped",
        "limits.lower limits.upper",
        typed(JointType.REVOLUTE, JointType.PRISMATIC),
        _limits(lambda low, high: (high, low)),
    ),
    row(
        "limit.radians",
        "limits.lower limits.upper",
        typed(JointType.REVOLUTE),
        _limits(lambda low, high: (math.radians(low), math.radians(high))),
    ),
    row(
        "limit.invented",
        "limits.upper structure.types",
        where(typed(JointType.CONTINUOUS), lambda place: place.instance == "angular"),
        both(author(_LIMITS[0], -180.0), author(_LIMITS[1], 180.0)),
    ),
    *(
        fault
        for kind, motion in ((JointType.REVOLUTE, ""), (JointType.PRISMATIC, "-of-slide"))
        for side, name in enumerate(("lower", "upper"))
        for fault in table(
            "limit",
            f"limits.{name}",
            typed(kind),
            {f"{name}{motion}-shifted": _shift_limit(side)},
            tolerance=_TOLERANCE.limit,
        )
    ),
)

# Effort, velocity, damping and friction.

_CHECKS = {
    "effort": "limits.effort",
    "velocity": "limits.velocity",
    "damping": "dynamics.damping",
    "friction": "dynamics.friction",
}
_DRIVE = "drive:{}:physics:"
_FORCE = f"{_DRIVE}maxForce"
_RANGE = ("mjc:actuatorfrcrange:min", "mjc:actuatorfrcrange:max")
_AXIS = "physxJointAxis:{}:"
_SPEED, _DRY = f"{_AXIS}maxJointVelocity", f"{_AXIS}dynamicFrictionEffort"
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
        "velocity": ("physxJoint:maxJointVelocity", _SPEED),
        "damping": (f"{_AXIS}viscousFrictionCoefficient",),
        "friction": (_DRY, f"{_AXIS}staticFrictionEffort"),
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
_angular = where(_stated, lambda place: place.instance == "angular")


def _custom(name: str) -> str:
    return f"urdf:{'limit' if name in ('effort', 'velocity') else 'dynamics'}:{name}"


def _joint_values(profile: ProfileName) -> Iterator[Fault]:
    for name, attributes in _ATTRIBUTES[profile].items():
        edits = {f"{name}-dropped": block(*attributes, _custom(name))}
        if attributes:
            edits[f"{name}-unschematic"] = block(*attributes)
        yield from table(profile, _CHECKS[name], _stated, edits, profile=profile)
        yield from table(
            profile,
            _CHECKS[name],
            _stated,
            {f"{name}-scaled": grow(*(attributes or (_custom(name),)))},
            profile=profile,
            tolerance=_TOLERANCE.force,
        )


# Values in another unit: where, and the wrong value of one.
_UNITS: tuple[tuple[ProfileName, str, str, Places, float], ...] = (
    ("generic", "velocity", "radians", _angular, 1 / _DEGREES),
    ("generic", "damping", "per-radian", _angular, _DEGREES),
    ("physx", "velocity", "radians", _angular, 1 / _DEGREES),
    ("physx", "velocity", "degrees", _stated, _DEGREES),
    ("physx", "damping", "per-radian", _angular, _DEGREES),
    ("mujoco", "damping", "per-degree", _angular, 1 / _DEGREES),
)


def _scaled(factor: float, *names: str) -> Edit:
    return change(lambda old: old * factor, *names)


def _hold(place: Place) -> None:
    types = Sdf.ValueTypeNames
    for name, kind, value in (
        ("mjc:gainPrm", types.DoubleArray, [30.0]),
        ("mjc:biasPrm", types.DoubleArray, [0.0, -30.0, -2.0]),
        ("mjc:biasType", types.Token, "affine"),
    ):
        place.prim.CreateAttribute(name, kind, custom=False).Set(value)


DRIVE_FAULTS = (
    *(fault for profile in _ATTRIBUTES for fault in _joint_values(profile)),
    *(
        fault
        for profile, name, key, places, factor in _UNITS
        for fault in table(
            profile,
            _CHECKS[name],
            places,
            {f"{name}-{key}": _scaled(factor, *_ATTRIBUTES[profile][name])},
            profile=profile,
        )
    ),
    row(
        "mujoco.actuator-holds",
        "dynamics.drives",
        prims(lambda prim: prim.GetTypeName() == "MjcActuator"),
        _hold,
        profile="mujoco",
    ),
)

# Couplings: schema, beginning of its attributes (braces stand for its instance), relationship
# to the leader, offset, multiplier; whether the offset is in radians.

_COUPLINGS: dict[ProfileName, tuple[str, str, str, str, str, bool]] = {
    "generic": ("NewtonMimicAPI", "newton:", "mimicJoint", "mimicCoef0", "mimicCoef1", False),
    "physx": (
        *("PhysxMimicJointAPI", "physxMimicJoint:{}:"),
        *("referenceJoint", "offset", "gearing", False),
    ),
    "mujoco": ("MjcEqualityJointAPI", "mjc:", "target", "coef0", "coef1", True),
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


def _coupling_faults(profile: ProfileName) -> Iterator[Fault]:
    schema, beginning, leader, offset, multiplier, radians = _COUPLINGS[profile]

    def applied(place: Place) -> str | None:
        names = place.prim.GetPrimTypeInfo().GetAppliedAPISchemas()
        return next((name for name in names if name.split(":")[0] == schema), None)

    def name(place: Place, key: str) -> str:
        return beginning.format((applied(place) or "").partition(":")[2]) + key

    def drop(place: Place) -> None:
        names = [name(place, key) for key in (offset, multiplier)]
        if applied(place):
            place.prim.GetRelationship(name(place, leader)).SetTargets([])
            place.prim.RemoveAppliedSchema(applied(place))
        for one in (*names, *_KEPT_COUPLING):
            if authored(place.prim, one) is not None:
                place.prim.GetAttribute(one).Block()

    def lead(choose: Callable[[Place], object]) -> Edit:
        def edit(place: Place) -> None:
            if target := choose(place):
                place.prim.GetRelationship(name(place, leader)).SetTargets([str(target)])

        return edit

    def wrong(key: str, function: Callable[[Place, float], float], least: float = 0.0) -> Edit:
        """Change a value whose size in SI units is more than the least one."""

        def edit(place: Place) -> None:
            old = authored(place.prim, name(place, key))
            unit = 1.0 if radians or key == multiplier else _unit(place)
            if old is not None and abs(old) >= least * unit:
                place.prim.GetAttribute(name(place, key)).Set(function(place, old))

        return edit

    coupled = where(joints, applied)
    followers = where(joints, lambda place: place.joint.mimic)
    yield from table(
        "mimic", "structure.mimic", followers, {f"{profile}-dropped": drop}, profile=profile
    )
    edits = {
        "leader": lead(lambda place: (other := _other_leader(place)) and other.path),
    }
    to_other_unit = _DEGREES if radians else 1 / _DEGREES
    other_unit = wrong(
        offset,
        lambda place, old: old * to_other_unit if place.instance == "angular" else old,
        least=1e-3,
    )
    edits["offset-unit"] = lambda place: place.instance == "angular" and other_unit(place)
    if profile == "physx":
        edits["instance"] = lambda place: _rename_instance(place, str(applied(place)))
    named = {f"{profile}-{key}": edit for key, edit in edits.items()}
    yield from table("mimic", "structure.mimic", coupled, named, profile=profile)
    # Couplings are compared to float32, where one step is up to two roundings.
    scale = wrong(multiplier, lambda place, old: old * (1 + place.size))
    sized = {f"{profile}-multiplier-scaled": scale}
    yield from table(
        "mimic", "structure.mimic", coupled, sized, profile=profile, tolerance=4 * RELATIVE
    )
    if not radians:
        shift = wrong(offset, lambda place, old: old + place.size * _unit(place))
        yield from table(
            "mimic",
            "structure.mimic",
            coupled,
            {f"{profile}-offset-shifted": shift},
            profile=profile,
            tolerance=1e-5,
        )


def _rename_instance(place: Place, applied: str) -> None:
    """Apply the schema of PhysX with an instance that PhysX ignores."""
    schema, instance = applied.split(":")
    place.prim.RemoveAppliedSchema(applied)
    place.prim.AddAppliedSchema(f"{schema}:{place.instance}")
    old, new = (f"physxMimicJoint:{one}:" for one in (instance, place.instance))
    place.prim.CreateRelationship(f"{new}referenceJoint").SetTargets(
        place.prim.GetRelationship(f"{old}referenceJoint").GetTargets()
    )
    for key in ("offset", "gearing"):
        if (value := authored(place.prim, old + key)) is not None:
            kind = Sdf.ValueTypeNames.Float
            place.prim.CreateAttribute(new + key, kind, custom=False).Set(value)


def _other_leader_name(place: Place) -> None:
    if (other := _other_leader(place)) and place.joint.mimic:
        place.prim.GetAttribute(_KEPT_COUPLING[0]).Set(other.joint.name)


COUPLING_FAULTS = (
    *(fault for profile in _COUPLINGS for fault in _coupling_faults(profile)),
    *table(
        "mimic",
        "structure.mimic",
        joints,
        {
            "usdphysics-dropped": block(*_KEPT_COUPLING),
            "usdphysics-multiplier-negated": change(lambda old: -old, _KEPT_COUPLING[1]),
            "usdphysics-leader": _other_leader_name,
        },
        profile="usdphysics",
    ),
)

# Mass, centre of mass and inertia.


class _Mass:
    """The authored mass properties of a body: centre [m], principal moments and their axes."""

    def __init__(self, prim: Usd.Prim) -> None:
        self.api = UsdPhysics.MassAPI(prim)
        quat = self.api.GetPrincipalAxesAttr().Get()
        self.mass = float(self.api.GetMassAttr().Get())
        self.center = np.array(self.api.GetCenterOfMassAttr().Get(), np.float64)
        self.moments = np.array(self.api.GetDiagonalInertiaAttr().Get(), np.float64)
        self.axes = Rotation.from_quat((quat.GetReal(), *quat.GetImaginary()), scalar_first=True)

    def author(self) -> None:
        quat = self.axes.as_quat(scalar_first=True).tolist()
        self.api.CreateMassAttr(self.mass)
        self.api.CreateCenterOfMassAttr(Gf.Vec3f(*self.center.tolist()))
        self.api.CreateDiagonalInertiaAttr(Gf.Vec3f(*self.moments.tolist()))
        self.api.CreatePrincipalAxesAttr(Gf.Quatf(*quat))

    @property
    def values(self) -> NDArray[np.float64]:
        return np.array([self.mass, *self.center, *self.moments, *self.axes.as_quat()])

    @property
    def tensor(self) -> NDArray[np.float64]:
        turn = self.axes.as_matrix()
        tensor: NDArray[np.float64] = turn @ np.diag(self.moments) @ turn.T
        return tensor


def _alone(good: Robot) -> set[str]:
    """Return the links with a mass of their own, in groups whose massive links are bodies."""
    masses = {link.name: link.mass for link in good.spec.links}
    in_usd = {
        link.name: UsdPhysics.MassAPI(good.stage.GetPrimAtPath(path)).GetMassAttr().Get()
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


def _mass(wrong: Callable[[_Mass, float], object]) -> Edit:
    def edit(place: Place) -> None:
        good, mass = _Mass(place.prim), _Mass(place.prim)
        wrong(mass, place.size)
        if not np.array_equal(mass.values, good.values):
            mass.author()

    return edit


def _sized(**values: Callable[[_Mass, float], object]) -> Edit:
    """Change some of the mass properties, each a function of all and of the size."""

    def wrong(mass: _Mass, size: float) -> None:
        for name, function in values.items():
            setattr(mass, name, function(mass, size))

    return _mass(wrong)


def _set(name: str, function: Callable[[_Mass], object]) -> Edit:
    return _sized(**{name: lambda mass, _: function(mass)})


def _about_origin(mass: _Mass, _: float) -> None:
    """Take the inertia about the link's origin instead of the centre of mass."""
    arm = mass.center
    tensor = mass.tensor + mass.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    mass.moments, axes = np.linalg.eigh(tensor)
    mass.axes = Rotation.from_matrix(axes * np.sign(np.linalg.det(axes)))


def _turn_axes(mass: _Mass, size: float) -> None:
    """Turn the axes of the smallest and largest moment, to change the tensor by the size."""
    order = np.argsort(mass.moments)
    angle = size * mass.moments.max() / np.ptp(mass.moments)
    mass.axes = mass.axes * Rotation.from_rotvec(angle * np.eye(3)[order[1]])


def _oblong(place: Place) -> bool:
    moments = np.array(authored(place.prim, "physics:diagonalInertia"))
    return bool(np.ptp(moments) > 0.05 * moments.max())


def _contradict(place: Place) -> None:
    tensor = _Mass(place.prim).tensor * (1 + place.size)
    places = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    values = Vt.DoubleArray([float(tensor[at]) for at in places])
    author("newton:inertia", values)(place)


MASS_FAULTS = (
    row("mass.grams", "mass.link.mass", _extended, _set("mass", lambda m: m.mass * 1000)),
    row(
        "mass.density",
        "mass.stated",
        _massive,
        both(block("physics:mass"), author("physics:density", 7800.0)),
    ),
    row(
        "mass.frame-embodied",
        "mass.stated",
        prims(
            lambda prim: (
                prim.GetAttribute("urdf:link").HasAuthoredValue()
                and not prim.HasAPI(UsdPhysics.RigidBodyAPI)
            )
        ),
        lambda place: UsdPhysics.RigidBodyAPI.Apply(place.prim),
    ),
    *table(
        "mass",
        "mass.link.inertia",
        _extended,
        {
            "axes-identity": _set("axes", lambda _: Rotation.identity()),
            "about-origin": _mass(_about_origin),
        },
        equivalent=True,
    ),
    row(
        "mass.scaled",
        "mass.link.mass",
        _extended,
        _sized(mass=lambda m, size: m.mass * (1 + size)),
        tolerance=_TOLERANCE.mass,
    ),
    row(
        "mass.center-shifted",
        "mass.link.center",
        _extended,
        _sized(center=lambda m, size: m.center + size * OBLIQUE),
        tolerance=_TOLERANCE.position,
    ),
    row(
        "mass.moments-scaled",
        "mass.link.inertia",
        _extended,
        _sized(moments=lambda m, size: m.moments * (1 + size)),
        tolerance=_TOLERANCE.inertia,
    ),
    row(
        "mass.axes-turned",
        "mass.link.inertia",
        where(_extended, _oblong),
        _mass(_turn_axes),
        tolerance=_TOLERANCE.inertia,
    ),
    row(
        "mass.newton-contradicts",
        "mass.link.agreement",
        _extended,
        _contradict,
        tolerance=_TOLERANCE.inertia,
    ),
)

# Settings that no URDF has.

_PHYSX_BODY = "PhysxRigidBodyAPI"


def _spring(place: Place) -> None:
    for name in ("stiffness", "damping"):
        author(f"physxLimit:{{}}:{name}", 2.0, "PhysxLimitAPI:{}")(place)


def _apart(good: Robot) -> list[tuple[str, str]]:
    """Return pairs of bodies with colliders that no joint joins, and no chain of welds."""
    joined, welded = [], []
    for path, joint in good.joints.items():
        ends = set(joint_ends(good.stage.GetPrimAtPath(path)))
        joined.append(ends)
        welded += [] if COORDINATES[joint.type] else [ends]
    paths = [path for path in good.bodies if path in colliders(good)]
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


def _with_contacts(good: Robot) -> Iterator[Place]:
    return iter(list(robot(good)) if _apart(good) else ())


def _filter_pair(place: Place) -> None:
    path, other = _apart(place.robot)[0]
    api = UsdPhysics.FilteredPairsAPI.Apply(place.stage.GetPrimAtPath(path))
    api.CreateFilteredPairsRel().SetTargets([other])


def _group(place: Place, name: str) -> UsdPhysics.CollisionGroup:
    """Put the colliders of the robot in a group."""
    group = UsdPhysics.CollisionGroup.Define(place.stage, f"{place.extra}_{name}")
    members = group.GetCollidersCollectionAPI()
    members.CreateIncludesRel().SetTargets([place.prim.GetPath()])
    return group


def _filter_group(place: Place) -> None:
    """Let the group of the robot not collide with itself."""
    group = _group(place, "one")
    group.CreateFilteredGroupsRel().SetTargets([group.GetPath()])


def _invert_group(place: Place) -> None:
    """Let the group of the robot collide with another one alone."""
    other = UsdPhysics.CollisionGroup.Define(place.stage, place.extra)
    group = _group(place, "one")
    group.CreateFilteredGroupsRel().SetTargets([other.GetPath()])
    group.CreateInvertFilteredGroupsAttr(True)


def _merge_groups(place: Place) -> None:
    """Filter a group without members, and merge it with that of the robot."""
    other = UsdPhysics.CollisionGroup.Define(place.stage, place.extra)
    other.CreateFilteredGroupsRel().SetTargets([other.GetPath()])
    for group in (other, _group(place, "one")):
        group.CreateMergeGroupNameAttr(STRANGER)


SETTING_FAULTS = (
    row(
        "setting.state",
        "structure.initial",
        single,
        author("state:{}:physics:position", 0.1, "PhysicsJointStateAPI:{}"),
    ),
    *table(
        "setting",
        "dynamics.bodies",
        bodies,
        {
            "gravity-off": author("physxRigidBody:disableGravity", True, _PHYSX_BODY),
            "locked-position": author("physxRigidBody:lockedPosAxis", 7, _PHYSX_BODY),
            "locked-rotation": author("physxRigidBody:lockedRotAxis", 7, _PHYSX_BODY),
            "damped": author("physxRigidBody:linearDamping", 5.0, _PHYSX_BODY),
            "spin-damped": author("physxRigidBody:angularDamping", 5.0, _PHYSX_BODY),
            "slowed": author("physxRigidBody:maxLinearVelocity", 0.01, _PHYSX_BODY),
        },
    ),
    *table(
        "setting",
        "dynamics.joints",
        single,
        {
            "axis-armature": author(f"{_AXIS}armature", 0.5, "PhysxJointAxisAPI:{}"),
            "axis-limit": _spring,
            "limit-soft": author("mjc:solreflimit", Vt.DoubleArray([2.0, 1.0]), "MjcJointAPI"),
            "limit-margin": author("mjc:margin", 0.5, "MjcJointAPI"),
        },
    ),
    *table(
        "setting",
        "collision.filters",
        _with_contacts,
        {
            "filtered": _filter_pair,
            "grouped": _filter_group,
            "group-inverted": _invert_group,
            "groups-merged": _merge_groups,
        },
    ),
    row(
        "setting.articulation-collision",
        "collision.filters",
        where(roots, lambda place: _apart(place.robot)),
        author("physxArticulation:enabledSelfCollisions", False, "PhysxArticulationAPI"),
    ),
)

# Settings that a robot description file states.

_BINDING = "material:binding:physics"


def description_of(spec: Observation) -> str:
    """Return a robot description file that states every setting for a robot."""
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
    check: str,
    places: Callable[[Robot], Iterable[Place]],
    edits: dict[str, Edit],
    tolerance: float | None = None,
) -> Iterator[Fault]:
    return table("described", check, places, edits, profile="described", tolerance=tolerance)


def _per_radian(attribute: str) -> Edit:
    def edit(place: Place) -> None:
        factor = _DEGREES if place.instance == "angular" else 2.0
        change(lambda old: old * factor, attribute)(place)

    return edit


def _number(key: str, attribute: str, check: str) -> Iterator[Fault]:
    yield from _described(check, moving, {key: grow(attribute)}, _TOLERANCE.force)
    yield from _described(check, moving, {f"{key}-per-radian": _per_radian(attribute)})


def _driven(edit: Edit) -> Edit:
    """Edit a joint whose drive has a stiffness."""
    stiffness = f"{_DRIVE}stiffness"
    return lambda place: authored(place.prim, stiffness.format(place.instance)) and edit(place)


_filtered = prims(lambda prim: prim.HasAPI(UsdPhysics.FilteredPairsAPI))
_contact_materials = prims(
    lambda prim: prim.IsA(UsdShade.Material) and prim.HasAPI(UsdPhysics.MaterialAPI)
)
_collider_prims = prims(lambda prim: prim.HasAPI(UsdPhysics.CollisionAPI))
_bound = where(_collider_prims, lambda place: place.targets(_BINDING))
_unbound = where(_collider_prims, lambda place: not place.targets(_BINDING))


def _another_material(place: Place) -> list[str] | None:
    """Choose the contact material of a collider with another one."""
    materials = [path for other in _bound(place.robot) for path in other.targets(_BINDING)]
    return [path for path in materials if path not in place.targets(_BINDING)][:1] or None


def _bounce(place: Place) -> None:
    if authored(place.prim, "physics:restitution") is None:
        author("physics:restitution", 0.5)(place)


SIMULATION_FAULTS = (
    *_number("stiffness", f"{_DRIVE}stiffness", "simulation.gains"),
    *_number("damping", f"{_DRIVE}damping", "simulation.gains"),
    *_number("limit-stiffness", "newton:limitStiffness", "simulation.limits"),
    *_number("limit-damping", "newton:limitDamping", "simulation.limits"),
    *_described(
        "simulation.gains",
        moving,
        {
            "stiffness-zero": change(lambda _: 0.0, f"{_DRIVE}stiffness"),
            "damping-zero": change(lambda _: 0.0, f"{_DRIVE}damping"),
            "no-drive": _driven(unapply("PhysicsDriveAPI:{}")),
            "acceleration": replace(f"{_DRIVE}type", UsdPhysics.Tokens.acceleration),
        },
    ),
    *_described(
        "simulation.targets",
        moving,
        {
            "target": _per_radian(f"{_DRIVE}targetPosition"),
            "no-target": block(f"{_DRIVE}targetPosition"),
            "target-velocity": _driven(author(f"{_DRIVE}targetVelocity", 1.0)),
        },
    ),
    *_described(
        "simulation.armature", moving, {"armature": grow("newton:armature")}, _TOLERANCE.force
    ),
    *_described("simulation.armature", moving, {"no-armature": block("newton:armature")}),
    *_described(
        "simulation.positions",
        moving,
        {
            "position": _per_radian("state:{}:physics:position"),
            "position-of-one": block("newton:{}:position"),
        },
    ),
    *_described(
        "simulation.filters",
        _filtered,
        {
            "filter": unapply("PhysicsFilteredPairsAPI"),
            "filter-target": retarget("physics:filteredPairs", lambda place: [place.path]),
        },
    ),
    *_described(
        "simulation.contacts",
        prims(lambda prim: prim.GetAttribute("newton:selfCollisionEnabled").HasAuthoredValue()),
        {"self-collision": author("newton:selfCollisionEnabled", value=True)},
    ),
    *(
        fault
        for name in ("staticFriction", "dynamicFriction", "restitution")
        for fault in _described(
            "simulation.contacts",
            _contact_materials,
            {name: grow(f"physics:{name}")},
            _TOLERANCE.force,
        )
    ),
    *_described("simulation.contacts", _contact_materials, {"bouncing": _bounce}),
    *_described(
        "simulation.contacts",
        _bound,
        {
            "other-material": retarget(_BINDING, _another_material),
            "unbound-friction": retarget(_BINDING, lambda _: []),
        },
    ),
    *_described(
        "collision.materials",
        _unbound,
        {
            "material-as-well": both(
                lambda place: (
                    _another_material(place) and UsdShade.MaterialBindingAPI.Apply(place.prim)
                ),
                retarget(_BINDING, _another_material),
            )
        },
    ),
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


def _typed(name: str, kind: Sdf.ValueTypeName) -> Iterator[Fault]:
    """Author an attribute again as another type, with the same value."""

    def edit(place: Place) -> None:
        value = place.prim.GetAttribute(name).Get()
        if kind.isArray:
            value = [type(kind.scalarType.defaultValue)(one) for one in value]
        elif isinstance(value, Sdf.AssetPath):
            value = value.path
        elif kind == Sdf.ValueTypeNames.Color4f:
            value = Gf.Vec4f(*value, 1.0)
        else:
            value = type(kind.defaultValue)(value)
        # A stage authors the type of the schema, whatever is asked for.
        over = Sdf.CreatePrimInLayer(place.stage.GetRootLayer(), place.path)
        Sdf.AttributeSpec(over, name, kind).default = value

    key = f"{name.rpartition(':')[2]}-{kind}"
    return table("type", "reader.refuses", _authoring(name), {key: edit})


def _authoring(name: str) -> Callable[[Robot], Iterable[Place]]:
    """Return the prims that author an attribute of a schema, or an input of a shader."""
    return prims(
        lambda prim: (
            prim.GetAttribute(name).HasAuthoredValue()
            and (name.startswith("inputs:") or name in prim.GetPrimDefinition().GetPropertyNames())
        )
    )


_TYPES = Sdf.ValueTypeNames
AUTHORED_FAULTS = (
    *table(
        "time",
        "structure.animation reader.refuses",
        bodies,
        {"mass": _mass_in_time, "spline": _spline},
    ),
    row("time.anchor", "structure.animation reader.refuses", joints, _anchor_in_time),
    row("value.radius", "reader.refuses", _authoring("radius"), block("radius")),
    *(
        fault
        for name, kind in (
            ("physics:mass", _TYPES.Double),
            ("physics:diagonalInertia", _TYPES.Double3),
            ("physics:principalAxes", _TYPES.Quatd),
            ("drive:angular:physics:maxForce", _TYPES.Double),
            ("points", _TYPES.Point3dArray),
            ("faceVertexIndices", _TYPES.Int64Array),
            ("physics:approximation", _TYPES.String),
            ("inputs:diffuseColor", _TYPES.Color4f),
            ("inputs:file", _TYPES.String),
        )
        for fault in _typed(name, kind)
    ),
)

# Words of a URDF that no schema has.

_KEPT = ("urdf:safety_controller:", "urdf:calibration:", "urdf:limit:acceleration")


def _kept_numbers(prim: Usd.Prim) -> list[Usd.Attribute]:
    return [one for one in prim.GetAuthoredAttributes() if one.GetName().startswith(_KEPT)]


def _kept_number(wrong: Callable[[Usd.Attribute], object]) -> Edit:
    # A USD need not keep a kind of them, of which some prims have one only.
    return lambda place: wrong(_kept_numbers(place.prim)[-1])


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


WORD_FAULTS = (
    *table(
        "words",
        "structure.words",
        prims(_kept_numbers),
        {
            "number": _kept_number(lambda one: one.Set(2.0 * one.Get() + 1e-3)),
            "lost": _kept_number(Usd.Attribute.Block),
        },
    ),
    *table(
        "words",
        "structure.words",
        prims(_is_element),
        {"text": _reword, "tag": lambda place: place.prim.SetDisplayName(STRANGER)},
    ),
)

VALUE_FAULTS = (
    *LIMIT_FAULTS,
    *DRIVE_FAULTS,
    *COUPLING_FAULTS,
    *MASS_FAULTS,
    *SETTING_FAULTS,
    *SIMULATION_FAULTS,
    *AUTHORED_FAULTS,
    *WORD_FAULTS,
)
