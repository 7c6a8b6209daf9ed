"""Links, joints and couplings of a USD in the terms of the URDF."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.observation import (
    JointObservation,
    JointType,
    LinkObservation,
    MimicObservation,
)
from conformance.witnesses.usdphysics_joints import ANGULAR, LINEAR, UNBOUNDED
from conformance.witnesses.usdphysics_links import WORLD
from conformance.witnesses.usdphysics_stage import (
    number_attribute,
    text_attribute,
    urdf_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.witnesses.usdphysics_joints import Connection
    from conformance.witnesses.usdphysics_links import LinkPrim, LinkPrims
    from conformance.witnesses.usdphysics_masses import BodyMass
    from conformance.witnesses.usdphysics_stage import Physics, Units
    from conformance.witnesses.usdphysics_tree import BodyTree

# float32 keeps 6e-8; a custom attribute in double and a schema's float agree this far.
_SAME = 1e-6
# Below this float32 loses digits, and everything in the end.
_SMALLEST = 2.0**-126


def state_links(
    links: LinkPrims, masses: Mapping[str, BodyMass]
) -> tuple[LinkObservation, ...]:
    """State every link candidate; a frame has no mass of its own.

    A body whose name another body has goes by its path: it stands for no link.
    """
    names = {link.path: link.name for link in links.by_name.values()}
    stated = tuple(
        LinkObservation(
            name=link.name,
            mass=masses[link.path].properties if link.path in masses else None,
            body=names.get(link.body),
        )
        for link in links.by_name.values()
    )
    return stated + tuple(
        LinkObservation(name=path, mass=masses[path].properties, body=path)
        for path in links.shadowed
    )


def state_joints(
    physics: Physics, links: LinkPrims, tree: BodyTree
) -> tuple[tuple[JointObservation, ...], list[str]]:
    """State the joints between bodies, and the welds that custom attributes name.

    Returns:
        The joints, and notes on what URDF has no word for.
    """
    notes: list[str] = []
    stated: list[JointObservation] = []
    for joint in (*tree.joints, *tree.loops):
        if joint.mobility.type is None:
            notes.append(f"joint {joint.name} is not stated: {joint.mobility.note}")
            continue
        remarks = [joint.mobility.note] if joint.mobility.note else []
        if joint in tree.loops:
            remarks.append("it closes a loop")
        if joint.reversed:
            remarks.append("its first body is the child")
        if joint.bodies[joint.parent] == WORLD:
            remarks.append("it attaches the base to the world")
        stated.append(_joint(joint, joint.mobility.type, links, physics, remarks))
    names = {joint.name for joint in stated}
    welds = [
        _weld_joint(link, links)
        for link in links.by_name.values()
        if link.weld and link.weld.joint not in names
    ]
    return (*stated, *(weld for weld in welds if weld)), notes


def _weld_joint(link: LinkPrim, links: LinkPrims) -> JointObservation | None:
    weld = link.weld
    parent = links.by_name.get((weld and weld.parent) or link.above or "")
    if weld is None or parent is None:
        return None
    moves = weld.type is JointType.FLOATING
    return JointObservation(
        name=weld.joint,
        type=JointType.FIXED,
        parent=parent.name,
        child=link.name,
        note="named as floating, but its prim has no body" if moves else None,
    )


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a value of a joint is found.

    Attributes:
        schema: Attribute of a schema, in units of the stage and degrees.
        custom: Custom attribute, in SI units.
        angular: SI value of one schema unit for an angular joint.
        linear: SI value of one schema unit for a linear joint.
        beyond: Whether the schema has no word for a value, so that the custom
            attribute is all there is.
    """

    schema: str
    custom: str
    angular: float
    linear: float
    beyond: Callable[[float], bool]


def _joint(
    joint: Connection,
    kind: JointType,
    links: LinkPrims,
    physics: Physics,
    remarks: list[str],
) -> JointObservation:
    prim = physics.stage.GetPrimAtPath(joint.path)
    units = physics.units
    hint = text_attribute(prim, "urdf:joint:type")
    if hint is not None and hint != kind:
        remarks.append(f"it is named {hint}")
    torque, force = units.effort(angular=True), units.effort(angular=False)
    velocity = _Source(
        "newton:velocityLimit",
        "urdf:limit:velocity",
        math.radians(1.0),
        units.length,
        # The schema's range excludes zero.
        lambda value: value <= 0.0,
    )
    damping = _Source(
        "newton:damping",
        "urdf:dynamics:damping",
        torque / math.radians(1.0),
        force / units.length,
        lambda _: False,
    )
    friction = _Source(
        "newton:friction", "urdf:dynamics:friction", torque, force, lambda _: False
    )
    # A bound on effort is part of a drive, and URDF joints have none.
    effort = _Source(_drive(kind), "urdf:limit:effort", torque, force, lambda _: True)
    return JointObservation(
        name=joint.name,
        type=kind,
        parent=_end(prim, "urdf:joint:parent", joint, joint.parent, links),
        child=_end(prim, "urdf:joint:child", joint, joint.child, links),
        lower=joint.mobility.lower,
        upper=joint.mobility.upper,
        effort=_value(prim, kind, effort, remarks),
        velocity=_value(prim, kind, velocity, remarks),
        damping=_value(prim, kind, damping, remarks),
        friction=_value(prim, kind, friction, remarks),
        mimic=_mimic(prim, kind, physics, remarks),
        axis=joint.axis_in_child,
        anchor=joint.anchor_in_child,
        note="; ".join(remarks) or None,
    )


def _drive(kind: JointType) -> str:
    drive = "angular" if kind in ANGULAR else "linear"
    return f"drive:{drive}:physics:maxForce"


def _end(
    prim: Any,  # noqa: ANN401  pxr is untyped
    custom: str,
    joint: Connection,
    side: int,
    links: LinkPrims,
) -> str:
    """Return the link at one side: as stated, as targeted, else by its body.

    A link that is stated has to ride on the body that the joint holds.
    """
    stated = text_attribute(prim, custom)
    if (
        stated is not None
        and stated in links.by_name
        and links.by_name[stated].body == joint.bodies[side]
    ):
        return stated
    for path in (joint.targets[side], joint.bodies[side]):
        if path in links.by_path:
            return links.by_path[path].name
    if joint.bodies[side] != WORLD:
        return joint.bodies[side]
    # A link that is called world and moves is not the world.
    namesake = links.by_name.get("world")
    return "world" if namesake is None or namesake.body == WORLD else "(the world)"


def _value(
    prim: Any,  # noqa: ANN401  pxr is untyped
    kind: JointType,
    source: _Source,
    remarks: list[str],
) -> float | None:
    """Return a schema's value, or the custom attribute's where no schema can say it.

    A schema's value holds for every degree of freedom, each in its own unit, so only
    joints with one are asked. An infinite bound is no bound. What a schema could say
    and does not is lost on simulators, whatever a custom attribute says.
    """
    custom = number_attribute(prim, source.custom)
    if kind not in ANGULAR and kind not in LINEAR:
        return custom
    unit = source.angular if kind in ANGULAR else source.linear
    authored = number_attribute(prim, source.schema)
    if authored is None or abs(authored) >= UNBOUNDED:
        if (
            custom is None
            or source.beyond(custom)
            or _unstorable(custom)
            or _unstorable(custom / unit)
        ):
            return custom
        remarks.append(f"{source.custom} is {custom:g}, and {source.schema} is silent")
        return None
    value = authored * unit
    if custom is not None and not math.isclose(value, custom, rel_tol=_SAME):
        remarks.append(f"{source.schema} is {value:g}, {source.custom} is {custom:g}")
    return value


def _unstorable(value: float) -> bool:
    """Say whether float32 has nothing for a value, or only zero."""
    return abs(value) < _SMALLEST or abs(value) >= UNBOUNDED


def _mimic(
    prim: Any,  # noqa: ANN401  pxr is untyped
    kind: JointType,
    physics: Physics,
    remarks: list[str],
) -> MimicObservation | None:
    effective = _newton_mimic(prim, kind, physics)
    leader = text_attribute(prim, "urdf:mimic:joint")
    if leader is None:
        return effective
    multiplier = number_attribute(prim, "urdf:mimic:multiplier")
    custom = MimicObservation(
        leader,
        1.0 if multiplier is None else multiplier,
        number_attribute(prim, "urdf:mimic:offset") or 0.0,
    )
    if effective is None:
        unit = math.radians(1.0) if kind in ANGULAR else 1.0
        numbers = (custom.multiplier, custom.offset / unit)
        lost = any(number and _unstorable(number) for number in numbers)
        if lost or not _schema_couples(prim, leader, physics):
            return custom
        remarks.append(f"urdf:mimic names {leader}, but NewtonMimicAPI does not")
        return None
    same = effective.leader == leader and all(
        math.isclose(schema, ours, rel_tol=_SAME, abs_tol=1e-12)
        for schema, ours in (
            (effective.multiplier, custom.multiplier),
            (effective.offset, custom.offset),
        )
    )
    if not same:
        remarks.append("NewtonMimicAPI and urdf:mimic disagree")
    return effective


def _schema_couples(
    prim: Any,  # noqa: ANN401  pxr is untyped
    leader: str,
    physics: Physics,
) -> bool:
    """Say whether NewtonMimicAPI could couple a joint to its leader.

    It couples joints of one type: its coefficients have one unit.
    """
    prims = (physics.stage.GetPrimAtPath(path) for path in physics.joints)
    return any(
        urdf_name(other) == leader and other.GetTypeName() == prim.GetTypeName()
        for other in prims
    )


def _newton_mimic(
    prim: Any,  # noqa: ANN401  pxr is untyped
    kind: JointType,
    physics: Physics,
) -> MimicObservation | None:
    # By name, with the schema's fallbacks: OpenUSD does not take note of schemas that
    # are registered after a stage was opened in the same process.
    if "NewtonMimicAPI" not in prim.GetPrimTypeInfo().GetAppliedAPISchemas():
        return None
    enabled = prim.GetAttribute("newton:mimicEnabled").Get()
    targets = prim.GetRelationship("newton:mimicJoint").GetTargets()
    leader = physics.stage.GetPrimAtPath(targets[0]) if targets else None
    if enabled is False or not leader:
        return None
    offset = number_attribute(prim, "newton:mimicCoef0")
    multiplier = number_attribute(prim, "newton:mimicCoef1")
    return MimicObservation(
        leader=urdf_name(leader),
        multiplier=1.0 if multiplier is None else multiplier,
        offset=_position(offset or 0.0, kind, physics.units),
    )


def _position(value: float, kind: JointType, units: Units) -> float:
    return math.radians(value) if kind in ANGULAR else value * units.length
