"""Joints in the schemas of Newton, PhysX and MuJoCo.

Angles are in degrees. Names of PhysX (Omniverse Physics) are those of ``physxSchema`` and
``physxSchemaAddition``. ``physxJoint:jointFriction`` is not used: it is a coefficient of the
joint's constraint force. A joint that mimics a mimic joint is coupled to the start of the chain,
because Newton refuses mimic joints as leaders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import degrees, inf, isfinite

from msgspec import Struct, structs
from pxr import Sdf, Usd, UsdGeom, UsdPhysics, Vt

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import Joint, Mimic
from urdf_usd.converter.simulation.resolution import Simulation
from urdf_usd.converter.usd.writer import specs

_DEGREES = degrees(1.0)


class AxisJoint(Struct, frozen=True, eq=False):
    """A revolute, continuous or prismatic joint, with its prim in the physics layer.

    The unit of a schema's number depends on the axis, so that it is not applicable to
    joints with several axes.
    """

    prim: Sdf.PrimSpec
    joint: Joint

    @property
    def is_angular(self) -> bool:
        return bool(self.prim.typeName == "PhysicsRevoluteJoint")

    @property
    def axis(self) -> str:
        """Instance name of a multiple-apply schema for the joint's axis."""
        return "angular" if self.is_angular else "linear"

    @property
    def unit(self) -> float:
        return _DEGREES if self.is_angular else 1.0

    @property
    def limits(self) -> tuple[float, float]:
        """Lower and upper limit [deg or m]; infinite if not authored, as in the schema."""
        lower = self.prim.attributes.get("physics:lowerLimit")
        upper = self.prim.attributes.get("physics:upperLimit")
        return -inf if lower is None else lower.default, inf if upper is None else upper.default


def _axis_joints(physics: Sdf.Layer, prims: specs.Prims) -> list[AxisJoint]:
    """Return the joints with one axis that have a prim."""
    joints = (joint for joint in prims.tree.parent_joint.values() if joint.name in prims.joint)
    found = (AxisJoint(physics.GetPrimAtPath(prims.joint[one.name]), one) for one in joints)
    return [one for one in found if one.is_angular or one.prim.typeName == "PhysicsPrismaticJoint"]


class JointAttribute(Struct, frozen=True):
    """An attribute of a schema with a number of a joint."""

    attribute: str
    number: Callable[[Joint], float | None]  # [SI]
    angular: float = 1.0  # Factor from SI to the schema's unit, for a revolute joint.
    positive: bool = False  # Whether zero is not allowed. Negative numbers never are.


def _damping(joint: Joint) -> float | None:
    return joint.dynamics.damping if joint.dynamics else None


def _friction(joint: Joint) -> float | None:
    return joint.dynamics.friction if joint.dynamics else None


_EFFORT = (JointAttribute("maxForce", lambda joint: joint.effort),)
# Zero is not allowed by Newton's schema, and would lock a joint of PhysX; many URDFs write
# zero for "unknown".
_VELOCITY = JointAttribute(
    "maxJointVelocity", lambda joint: joint.velocity, _DEGREES, positive=True
)
_NEWTON = (
    JointAttribute("newton:damping", _damping, 1 / _DEGREES),
    JointAttribute("newton:friction", _friction),
    structs.replace(_VELOCITY, attribute="newton:velocityLimit"),
)
_PHYSX = (
    _VELOCITY,
    # URDF does not distinguish static and dynamic friction.
    JointAttribute("staticFrictionEffort", _friction),
    JointAttribute("dynamicFrictionEffort", _friction),
    JointAttribute("viscousFrictionCoefficient", _damping, 1 / _DEGREES),
)
_MUJOCO = (JointAttribute("mjc:damping", _damping), JointAttribute("mjc:frictionloss", _friction))


def _schema_values(attributes: Iterable[JointAttribute], own: AxisJoint) -> dict[str, float]:
    """Return the values of a joint's attributes in the units of a schema.

    Values outside the schema's range, or zero or infinite in float32, are omitted; they
    are only in ``urdf:`` attributes.
    """
    values = {}
    for attribute in attributes:
        number = attribute.number(own.joint)
        if number is None or number < 0 or (attribute.positive and number == 0):
            continue
        value = number * attribute.angular if own.is_angular else number
        if specs.fits_float32(number) and specs.fits_float32(value):
            values[attribute.attribute] = value
    return values


def _write(prim: Sdf.PrimSpec, schema: str, values: Mapping[str, float], prefix: str = "") -> None:
    """Apply a schema by name, registered or not, and author its attributes."""
    specs.apply(prim, schema)
    for name, value in values.items():
        specs.write(prim, f"{prefix}{name}", value)


def _write_drive(own: AxisJoint) -> None:
    """Author the effort limit as ``maxForce`` of a drive without gains, unless there is one."""
    schema = f"PhysicsDriveAPI:{own.axis}"
    if schema not in specs.applied(own.prim) and (values := _schema_values(_EFFORT, own)):
        values |= {"stiffness": 0.0, "damping": 0.0}
        _write(own.prim, schema, values, f"drive:{own.axis}:physics:")


def author_newton(
    physics: Sdf.Layer, prims: specs.Prims, *, inertias: bool = True
) -> list[Diagnostic]:
    """Apply Newton's schemas to bodies and joints; report lost couplings."""
    for body in prims.bodies.bodies if inertias else ():
        # For Newton, which reads it in place of the principal moments in float32.
        prim = physics.GetPrimAtPath(prims.link[body.link])
        xx, xy, xz, yy, yz, zz = body.inertia
        specs.apply(prim, "NewtonMassAPI")
        tensor = Vt.DoubleArray([xx, yy, zz, xy, xz, yz])
        specs.write(prim, "newton:inertia", tensor, specs.KINDS.DoubleArray)
    joints = _axis_joints(physics, prims)
    for own in joints:
        # Newton reads the effort limit from the drive.
        _write_drive(own)
        # Also without values, to state that they are absent.
        _write(own.prim, "NewtonJointAPI", _schema_values(_NEWTON, own))

    def coefficients(own: AxisJoint, leader: AxisJoint, mimic: Mimic) -> tuple[float, float] | None:
        # Without unit, so that both joints must be of the same type.
        alike = own.is_angular == leader.is_angular
        return (mimic.offset * own.unit, mimic.multiplier) if alike else None

    lost: list[Diagnostic] = []
    for own, leader, (offset, factor) in couplings(joints, "NewtonMimicAPI", coefficients, lost):
        values = {"newton:mimicCoef0": offset, "newton:mimicCoef1": factor}
        _write(own.prim, "NewtonMimicAPI", values)
        specs.relate(own.prim, "newton:mimicJoint", leader.prim.path)
    return lost


def author_physx(physics: Sdf.Layer, prims: specs.Prims) -> list[Diagnostic]:
    """Apply PhysX's schemas to joints; report lost couplings."""
    joints = _axis_joints(physics, prims)
    for own in joints:
        _write_drive(own)
        # Read by PhysX before ovphysx 0.7, with which it was removed; ignored for an axis
        # with a schema. Also without values, to state that they are absent.
        _write(own.prim, "PhysxJointAPI", _schema_values((_VELOCITY,), own), "physxJoint:")
        if values := _schema_values(_PHYSX, own):
            schema, prefix = f"PhysxJointAxisAPI:{own.axis}", f"physxJointAxis:{own.axis}:"
            _write(own.prim, schema, values, prefix)

    def coefficients(own: AxisJoint, leader: AxisJoint, mimic: Mimic) -> tuple[float, float] | None:
        # Gearing and offset of position + gearing * leader + offset = 0. PhysX couples
        # revolute joints only if they have limits.
        if any(one.is_angular and not all(map(isfinite, one.limits)) for one in (own, leader)):
            return None
        gearing = -mimic.multiplier * own.unit / leader.unit
        return gearing, -mimic.offset * own.unit + 0.0

    lost: list[Diagnostic] = []
    found = couplings(joints, "PhysxMimicJointAPI", coefficients, lost)
    for own, leader, (gearing, offset) in found:
        # The name of an axis begins with "rot" also for prismatic joints.
        axis, leader_axis = (
            f"rot{one.prim.attributes['physics:axis'].default}" for one in (own, leader)
        )
        prefix = f"physxMimicJoint:{axis}:"
        values = {"gearing": gearing, "offset": offset}
        _write(own.prim, f"PhysxMimicJointAPI:{axis}", values, prefix)
        specs.relate(own.prim, f"{prefix}referenceJoint", leader.prim.path)
        specs.write(
            own.prim, f"{prefix}referenceJointAxis", leader_axis, specs.KINDS.Token, specs.UNIFORM
        )
    return lost


def couplings(
    joints: Sequence[AxisJoint],
    schema: str,
    coefficients: Callable[[AxisJoint, AxisJoint, Mimic], tuple[float, float] | None],
    lost: list[Diagnostic],
) -> Iterator[tuple[AxisJoint, AxisJoint, tuple[float, float]]]:
    """Yield mimic joints, the starts of their chains and numbers; report what is lost.

    A chain starts where the schema cannot represent a coupling, so that ``coefficients`` returns
    None; a joint that cannot be coupled to the start of the rest of its chain is coupled to the
    start of the whole chain.
    """
    by_name = {own.joint.name: own for own in joints}

    def numbers(name: str, mimic: Mimic) -> tuple[float, float] | None:
        leader = by_name.get(mimic.joint)
        found = coefficients(by_name[name], leader, mimic) if leader else None
        return found if found and all(map(specs.fits_float32, found)) else None

    whole: dict[str, Mimic] = {}
    decided: dict[str, Mimic | None] = {}
    for follower in by_name:
        chain = []
        name = follower
        while name in by_name and name not in decided and (mimic := by_name[name].joint.mimic):
            decided[name] = None
            chain.append((name, mimic))
            name = mimic.joint
        for name, mimic in reversed(chain):
            whole[name] = _behind(mimic, whole.get(mimic.joint))
            couplings = (_behind(mimic, decided.get(mimic.joint)), whole[name])
            decided[name] = next((one for one in couplings if numbers(name, one)), None)
    for own in joints:
        mimic = decided.get(own.joint.name)
        if mimic and (found := numbers(own.joint.name, mimic)):
            yield own, by_name[mimic.joint], found
        elif own.joint.mimic:
            leader = own.joint.mimic.joint
            message = f"{schema} cannot represent that joint {own.joint.name!r} follows {leader!r}"
            lost.append(Diagnostic("mimic-unrepresentable", message, own.joint.location))


def _behind(mimic: Mimic, leader: Mimic | None) -> Mimic:
    """Return the coupling to the leader of the leader, if it has one."""
    if leader is None:
        return mimic
    return Mimic(
        leader.joint,
        mimic.multiplier * leader.multiplier,
        mimic.multiplier * leader.offset + mimic.offset,
    )


# Schemas of MuJoCo (mjcPhysics), in a layer of their own. Angles are in radians. They are not part
# of OpenUSD; names are those of the plugin in mujoco-usd-converter. Newer versions of it replace
# mjc:damping, mjc:frictionloss, mjc:armature and the coefficients of couplings by attributes of
# Newton, and keep to read them; SimReady forbids those of Newton in an asset for MuJoCo (RV.011).

# MuJoCo refuses an empty range, so that a limit of zero is the smallest normal float32,
# also that of the drive: Newton's importer takes the smaller limit.
_NO_EFFORT = 2.0**-126
# MuJoCo refuses equal limits as well. They are apart by at least four units in the last
# place of float32, of which conversions to radians round away one.
_RELATIVE_RANGE, _LEAST_RANGE = 2.0**-21, 2.0**-120
# Numbers of the gains of an actuator.
_GAINS = 10
_MUJOCO_KINDS = {
    float: specs.KINDS.Double,
    str: specs.KINDS.Token,
    Vt.DoubleArray: specs.KINDS.DoubleArray,
}


def author_mujoco(
    layer: Sdf.Layer,
    physics: Sdf.Layer,
    stage: Usd.Stage,
    prims: specs.Prims,
    simulation: Simulation | None,
) -> list[Diagnostic]:
    """Write MuJoCo's schemas of joints and colliders, and an actuator per joint."""
    joints = _axis_joints(physics, prims)
    settings = simulation or Simulation()
    armatures = dict(settings.armatures)
    for own in joints:
        spec = specs.over(layer, own.prim.path)
        # Also without values: its actuators must have a joint of MuJoCo.
        specs.apply(spec, "MjcJointAPI")
        values = _schema_values(_MUJOCO, own)
        for effort in _schema_values(_EFFORT, own).values():
            bound = effort or _NO_EFFORT
            values |= {"mjc:actuatorfrcrange:min": -bound, "mjc:actuatorfrcrange:max": bound}
        if own.joint.name in armatures:
            values["mjc:armature"] = armatures[own.joint.name]
        for name, value in values.items():
            _write_uniform(spec, name, value)
        if own.joint.effort == 0.0:
            specs.write(spec, f"drive:{own.axis}:physics:maxForce", _NO_EFFORT)
        lower, upper = own.limits
        # Reversed limits, whose meaning is another for each simulator, are kept.
        if lower == upper and isfinite(lower):
            apart = max(abs(lower) * _RELATIVE_RANGE, _LEAST_RANGE)
            specs.write(spec, "physics:upperLimit", lower + apart)

    def coefficients(_: AxisJoint, _leader: AxisJoint, mimic: Mimic) -> tuple[float, float]:
        # Of position = coef0 + coef1 * leader [rad or m].
        return mimic.offset, mimic.multiplier

    lost: list[Diagnostic] = []
    for own, leader, numbers in couplings(joints, "MjcEqualityJointAPI", coefficients, lost):
        spec = specs.over(layer, own.prim.path)
        specs.apply(spec, "MjcEqualityJointAPI")
        specs.relate(spec, "mjc:target", leader.prim.path)
        for name, value in zip(("mjc:coef0", "mjc:coef1"), numbers, strict=True):
            _write_uniform(spec, name, value)
    _author_actuators(layer, stage, prims, joints, settings)
    for prim in stage.Traverse():
        if prim.HasAPI(UsdPhysics.CollisionAPI):
            spec = specs.over(layer, prim.GetPath())
            specs.apply(spec, "MjcCollisionAPI")
            name, hull = "physics:approximation", UsdPhysics.Tokens.convexHull
            attribute = prim.GetAttribute(name)
            is_mesh = prim.IsA(UsdGeom.Mesh) and attribute.HasAuthoredValue()
            if is_mesh and attribute.Get() != hull:
                # MuJoCo collides with convex hulls of meshes, whatever the attribute says.
                specs.write(spec, name, hull)
    if settings.self_collision is False:
        message = "self_collision is not written: MuJoCo has no such setting"
        lost.append(Diagnostic("description-lost", message))
    return lost


def _author_actuators(
    layer: Sdf.Layer,
    stage: Usd.Stage,
    prims: specs.Prims,
    joints: list[AxisJoint],
    settings: Simulation,
) -> None:
    """Write an actuator per joint: its control is a force, or a target of its drive.

    The effort limit is that of the joint. A control of zero is no force, so that an
    actuator without drive changes nothing.
    """
    drives = {drive.joint: drive for drive in settings.drives}
    taken = stage.GetPrimAtPath(prims.physics).GetAllChildrenNames()
    names = specs.sibling_names([f"{own.prim.name}_actuator" for own in joints], taken)
    for own, name in zip(joints, names, strict=True):
        spec = specs.define(layer, prims.physics.AppendChild(name), "MjcActuator")
        specs.relate(spec, "mjc:target", own.prim.path)
        drive = drives.get(own.joint.name)
        if drive is None or not (drive.stiffness or drive.damping):
            continue
        bias = (0.0, 0.0 - drive.stiffness, 0.0 - drive.damping)
        for key, values in (("gain", (drive.stiffness or drive.damping,)), ("bias", bias)):
            padded = [*values, *(0.0,) * (_GAINS - len(values))]
            _write_uniform(spec, f"mjc:{key}Prm", Vt.DoubleArray(padded))
        _write_uniform(spec, "mjc:biasType", "affine")


def _write_uniform(spec: Sdf.PrimSpec, name: str, value: float | str | Vt.DoubleArray) -> None:
    specs.write(spec, name, value, _MUJOCO_KINDS[type(value)], specs.UNIFORM)
