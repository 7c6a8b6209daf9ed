"""Attributes and couplings of joints in the schemas of simulators.

A joint that mimics a mimic joint is coupled to the start of the chain, because Newton
refuses mimic joints as leaders. The motion is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import degrees, inf

from msgspec import Struct
from pxr import Sdf

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import Joint, Mimic
from urdf_usd.converter.usd.writer.float32 import fits_float32
from urdf_usd.converter.usd.writer.prims import Prims
from urdf_usd.converter.usd.writer.specs import applied, apply, write_new

DEGREES = degrees(1.0)


class JointAttribute(Struct, frozen=True):
    """An attribute of a schema with a number of a joint.

    Attributes:
        attribute: Name of the attribute.
        number: Returns the number of a joint [SI], or None.
        angular: Factor from SI to the schema's unit, for a revolute joint.
        positive: Whether zero is not allowed. Negative numbers never are.
    """

    attribute: str
    number: Callable[[Joint], float | None]
    angular: float = 1.0
    positive: bool = False


_EFFORT = JointAttribute("maxForce", lambda joint: joint.effort)


def damping(joint: Joint) -> float | None:
    """Return a joint's damping [N m s/rad or N s/m], if any."""
    return joint.dynamics.damping if joint.dynamics else None


def friction(joint: Joint) -> float | None:
    """Return a joint's friction [N m or N], if any."""
    return joint.dynamics.friction if joint.dynamics else None


def schema_values(
    attributes: Iterable[JointAttribute], joint: Joint, *, angular: bool
) -> dict[str, float]:
    """Return the values of a joint's attributes in the units of a schema.

    Values outside the schema's range, or zero or infinite in float32, are omitted; they
    are only in ``urdf:`` attributes.
    """
    values = {}
    for attribute in attributes:
        number = attribute.number(joint)
        if number is None or number < 0 or (attribute.positive and number == 0):
            continue
        value = number * attribute.angular if angular else number
        if fits_float32(number) and fits_float32(value):
            values[attribute.attribute] = value
    return values


def write_schema(prim: Sdf.PrimSpec, schema: str, values: Mapping[str, float]) -> None:
    """Apply a schema by name, registered or not, and author its attributes."""
    apply(prim, schema)
    for name, value in values.items():
        write_new(prim, name, Sdf.ValueTypeNames.Float, value)


def write_drive(prim: Sdf.PrimSpec, joint: Joint) -> None:
    """Author the effort limit as ``maxForce`` of a drive without gains.

    Simulators read the limit from a drive, and users set gains there. A drive that is
    there, of another simulator, has the same limit.
    """
    angular = is_revolute(prim)
    instance = axis_instance(angular=angular)
    schema = f"PhysicsDriveAPI:{instance}"
    if schema in applied(prim):
        return
    for force in schema_values((_EFFORT,), joint, angular=angular).values():
        values = {"maxForce": force, "stiffness": 0.0, "damping": 0.0}
        begin = f"drive:{instance}:physics"
        write_schema(prim, schema, {f"{begin}:{n}": v for n, v in values.items()})


def axis_instance(*, angular: bool) -> str:
    """Return the instance name of a multiple-apply schema for a joint's axis."""
    return "angular" if angular else "linear"


def single_axis_joints(physics: Sdf.Layer, prims: Prims) -> list[tuple[Sdf.PrimSpec, Joint]]:
    """Return the revolute, continuous and prismatic joints with their prims.

    The unit of a schema's number depends on the axis, so that it is not applicable to
    joints with several axes.

    Args:
        physics: The layer that defines the joints.
        prims: The robot.
    """
    found = []
    for joint in prims.tree.parent_joint.values():
        if joint.name in prims.joint:
            prim = physics.GetPrimAtPath(prims.joint[joint.name])
            if is_revolute(prim) or prim.typeName == "PhysicsPrismaticJoint":
                found.append((prim, joint))
    return found


def is_revolute(prim: Sdf.PrimSpec) -> bool:
    """Return whether a joint with one axis is revolute (in degrees)."""
    return bool(prim.typeName == "PhysicsRevoluteJoint")


def position_limits(prim: Sdf.PrimSpec) -> tuple[float, float]:
    """Return the lower and the upper limit of a joint [deg or m].

    Those that are not authored are infinite, as in the schema.
    """
    lower = prim.attributes.get("physics:lowerLimit")
    upper = prim.attributes.get("physics:upperLimit")
    return (
        -inf if lower is None else lower.default,
        inf if upper is None else upper.default,
    )


def author_couplings(
    joints: Sequence[tuple[Sdf.PrimSpec, Joint]],
    schema: str,
    can_couple: Callable[[Sdf.PrimSpec, Sdf.PrimSpec, Mimic], bool],
    author: Callable[[Sdf.PrimSpec, Sdf.PrimSpec, Mimic], None],
) -> tuple[Diagnostic, ...]:
    """Couple mimic joints to the starts of their chains.

    Args:
        joints: Joints that can be coupled, with their prims.
        schema: Name of the schema of couplings, for diagnostics.
        can_couple: Whether the schema can represent a coupling of a joint to a leader.
        author: Writes a coupling.

    Returns:
        Diagnostics about joints whose coupling the schema cannot represent.
    """
    prim_of = {joint.name: prim for prim, joint in joints}
    couplings = head_couplings(
        (joint for _, joint in joints),
        lambda name, mimic: can_couple(prim_of[name], prim_of[mimic.joint], mimic),
    )
    for name, mimic in couplings.items():
        author(prim_of[name], prim_of[mimic.joint], mimic)
    return tuple(
        Diagnostic(
            "mimic-unrepresentable",
            f"{schema} cannot represent that joint {joint.name!r} follows {joint.mimic.joint!r}",
            joint.location,
        )
        for _, joint in joints
        if joint.mimic and joint.name not in couplings
    )


def head_couplings(
    joints: Iterable[Joint], can_couple: Callable[[str, Mimic], bool]
) -> dict[str, Mimic]:
    """Couple mimic joints to the starts of their chains.

    Args:
        joints: Joints that can be coupled.
        can_couple: Whether a schema can represent a coupling of a joint, by name. A
            chain starts where it cannot; a joint that cannot be coupled to the start of
            the rest of its chain is coupled to the start of the whole chain.

    Returns:
        Representable couplings, by mimic joint.
    """
    mimics = {joint.name: joint.mimic for joint in joints}
    whole: dict[str, Mimic] = {}
    decided: dict[str, Mimic | None] = {}
    for follower in mimics:
        chain = []
        name = follower
        while name not in decided and (mimic := mimics.get(name)):
            decided[name] = None
            chain.append((name, mimic))
            name = mimic.joint
        for name, mimic in reversed(chain):
            whole[name] = _behind(mimic, whole.get(mimic.joint))
            couplings = (_behind(mimic, decided.get(mimic.joint)), whole[name])
            decided[name] = next(
                (
                    coupling
                    for coupling in couplings
                    if coupling.joint in mimics and can_couple(name, coupling)
                ),
                None,
            )
    return {name: mimic for name, mimic in decided.items() if mimic}


def _behind(mimic: Mimic, leader: Mimic | None) -> Mimic:
    """Return the coupling to the leader of the leader, if it has one."""
    if leader is None:
        return mimic
    return Mimic(
        leader.joint,
        mimic.multiplier * leader.multiplier,
        mimic.multiplier * leader.offset + mimic.offset,
    )
