"""Attributes of joints in the schemas of simulators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import degrees

from msgspec import Struct
from pxr import Sdf, Usd, UsdPhysics

from urdf_usd.converter.robot.model import Joint
from urdf_usd.converter.robot.topology import Tree
from urdf_usd.converter.usd.writer.float32 import fits_float32
from urdf_usd.converter.usd.writer.prims import Prims

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


def write_schema(prim: Usd.Prim, schema: str, values: Mapping[str, float]) -> None:
    """Apply a schema by name, registered or not, and author its attributes."""
    prim.AddAppliedSchema(schema)
    for name, value in values.items():
        attribute = prim.CreateAttribute(name, Sdf.ValueTypeNames.Float, custom=False)
        attribute.Set(value)


def write_drive(prim: Usd.Prim, joint: Joint, *, angular: bool) -> None:
    """Author the effort limit as ``maxForce`` of a drive without gains.

    Simulators read the limit from a drive, and users set gains there.
    """
    effort = schema_values(_EFFORT, joint, angular=angular)
    for force in effort.values():
        drive = UsdPhysics.DriveAPI.Apply(prim, axis_instance(angular=angular))
        drive.CreateMaxForceAttr(force)
        drive.CreateStiffnessAttr(0.0)
        drive.CreateDampingAttr(0.0)


def axis_instance(*, angular: bool) -> str:
    """Return the instance name of a multiple-apply schema for a joint's axis."""
    return "angular" if angular else "linear"


def single_axis_joints(
    stage: Usd.Stage, tree: Tree, prims: Prims
) -> list[tuple[Usd.Prim, Joint]]:
    """Return the revolute, continuous and prismatic joints with their prims.

    The unit of a schema's number depends on the axis, so that it is not applicable to
    joints with several axes.
    """
    found = []
    for joint in tree.parent_joint.values():
        if joint.name in prims.joint:
            prim = stage.GetPrimAtPath(prims.joint[joint.name])
            if is_revolute(prim) or prim.IsA(UsdPhysics.PrismaticJoint):
                found.append((prim, joint))
    return found


def is_revolute(prim: Usd.Prim) -> bool:
    """Return whether a joint with one axis is revolute (in degrees)."""
    return bool(prim.IsA(UsdPhysics.RevoluteJoint))


_EFFORT = (JointAttribute("maxForce", lambda joint: joint.effort),)
