"""Links, joints and couplings of a USD in the terms of the URDF."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from urdf_usd.conformance.engines.openusd.couplings import coupling, couplings_of
from urdf_usd.conformance.engines.openusd.joint_attributes import (
    freedom_of,
    joint_numbers,
)
from urdf_usd.conformance.engines.openusd.links import WORLD
from urdf_usd.conformance.engines.openusd.stage import text_attribute
from urdf_usd.conformance.observation.robot import (
    JointObservation,
    JointType,
    LinkObservation,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from urdf_usd.conformance.engines.openusd.couplings import Couplings
    from urdf_usd.conformance.engines.openusd.joints import Connection
    from urdf_usd.conformance.engines.openusd.links import LinkPrim, LinkPrims
    from urdf_usd.conformance.engines.openusd.masses import BodyMass
    from urdf_usd.conformance.engines.openusd.stage import Physics
    from urdf_usd.conformance.engines.openusd.tree import BodyTree


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
    couplings = couplings_of(physics)
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
        kind = joint.mobility.type
        stated.append(_joint(joint, kind, links, couplings, remarks))
    names = {joint.name for joint in stated}
    welds = [
        _weld_joint(link, links)
        for link in links.by_name.values()
        if link.weld and link.weld.joint not in names
    ]
    return (*stated, *(weld for weld in welds if weld)), notes


def hung_on(
    joints: Sequence[JointObservation], root: str, links: LinkPrims
) -> tuple[JointObservation, ...]:
    """Hang joints that are tied to the world on the link that stands still there."""
    return tuple(
        joint
        if joint.parent in links.by_name or joint.parent in links.by_path
        else replace(joint, parent=root)
        for joint in joints
    )


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


def _joint(
    joint: Connection,
    kind: JointType,
    links: LinkPrims,
    couplings: Couplings,
    remarks: list[str],
) -> JointObservation:
    prim = couplings.stage.GetPrimAtPath(joint.path)
    hint = text_attribute(prim, "urdf:joint:type")
    if hint is not None and hint != kind:
        remarks.append(f"it is named {hint}")
    numbers = joint_numbers(
        prim,
        freedom_of(prim, kind, joint.mobility.axis),
        couplings.units,
        couplings.spoken,
        remarks,
    )
    return JointObservation(
        name=joint.name,
        type=kind,
        parent=_end(prim, "urdf:joint:parent", joint, joint.parent, links),
        child=_end(prim, "urdf:joint:child", joint, joint.child, links),
        lower=joint.mobility.lower,
        upper=joint.mobility.upper,
        effort=numbers.effort,
        velocity=numbers.velocity,
        damping=numbers.damping,
        friction=numbers.friction,
        mimic=coupling(joint.name, couplings, remarks),
        axis=joint.axis_in_child,
        anchor=joint.anchor_in_child,
        note="; ".join(remarks) or None,
    )


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
