"""Numbers of joints in the attributes of simulators' schemas."""

from __future__ import annotations

from dataclasses import dataclass
from math import degrees
from typing import TYPE_CHECKING

from pxr import Sdf, Usd, UsdPhysics

from urdf_usd.converter.usd.writer.float32 import fits_float32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from urdf_usd.converter.robot.model import Joint
    from urdf_usd.converter.robot.topology import Tree
    from urdf_usd.converter.usd.writer.prims import Prims

DEGREES = degrees(1.0)


@dataclass(frozen=True, slots=True)
class JointAttribute:
    """One number of a joint in an attribute of a schema.

    Attributes:
        attribute: Name of the attribute.
        number: Reads the number from a joint [SI]; None if the joint does not say it.
        angular: Units of the schema in one SI unit, for a joint that turns.
        positive: Whether the schema has no zero. It never has negative numbers.
    """

    attribute: str
    number: Callable[[Joint], float | None]
    angular: float = 1.0
    positive: bool = False


def damping(joint: Joint) -> float | None:
    """Return a joint's damping [N m s/rad or N s/m], if it says one."""
    return joint.dynamics.damping if joint.dynamics else None


def friction(joint: Joint) -> float | None:
    """Return a joint's friction [N m or N], if it says one."""
    return joint.dynamics.friction if joint.dynamics else None


def schema_values(
    attributes: Iterable[JointAttribute], joint: Joint, *, angular: bool
) -> dict[str, float]:
    """Return what a joint says in words of a schema, by attribute, in its units.

    What lies outside the schema's range stays in ``urdf:`` alone, and so does what
    float32 would turn into zero or infinity.
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
    """Apply a schema by name, registered or not, and author its numbers."""
    prim.AddAppliedSchema(schema)
    for name, value in values.items():
        attribute = prim.CreateAttribute(name, Sdf.ValueTypeNames.Float, custom=False)
        attribute.Set(value)


def write_drive(prim: Usd.Prim, joint: Joint, *, angular: bool) -> None:
    """Bound the effort by a drive that exerts none: it has no gains.

    A drive is where simulators look for the bound, and where their users set gains.
    """
    effort = schema_values(_EFFORT, joint, angular=angular)
    for force in effort.values():
        drive = UsdPhysics.DriveAPI.Apply(prim, axis_instance(angular=angular))
        drive.CreateMaxForceAttr(force)
        drive.CreateStiffnessAttr(0.0)
        drive.CreateDampingAttr(0.0)


def axis_instance(*, angular: bool) -> str:
    """Instance of a multiple-apply schema for the one freedom of a joint."""
    return "angular" if angular else "linear"


def single_axis_joints(
    stage: Usd.Stage, tree: Tree, prims: Prims
) -> list[tuple[Usd.Prim, Joint]]:
    """Joints that turn about or slide along one axis, with their prims.

    A schema's number holds for all freedoms of a joint, each in a unit of its own, so
    it says nothing about the others.
    """
    found = []
    for joint in tree.parent_joint.values():
        if joint.name in prims.joint:
            prim = stage.GetPrimAtPath(prims.joint[joint.name])
            if is_revolute(prim) or prim.IsA(UsdPhysics.PrismaticJoint):
                found.append((prim, joint))
    return found


def is_revolute(prim: Usd.Prim) -> bool:
    """Return whether a joint of one freedom is measured in degrees."""
    return bool(prim.IsA(UsdPhysics.RevoluteJoint))


_EFFORT = (JointAttribute("maxForce", lambda joint: joint.effort),)
