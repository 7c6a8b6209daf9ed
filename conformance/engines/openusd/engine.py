"""The USD as OpenUSD's own utilities read it.

The stage goes through OpenUSD's physics parser, masses through its mass utility, and
link frames are computed from joint frames, as a simulator does. What is stated is the
*effective* value: custom attributes under ``urdf:`` give names where the schemas have
no place for them, and numbers only where no schema does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import structs
from pxr import Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines.mujoco.model import with_motion
from urdf_usd.conformance.engines.openusd.couplings import (
    Couplings,
    coupling,
    couplings_of,
)
from urdf_usd.conformance.engines.openusd.joint_attributes import (
    freedom_of,
    joint_numbers,
)
from urdf_usd.conformance.engines.openusd.joints import Connection, connections
from urdf_usd.conformance.engines.openusd.links import (
    WORLD,
    LinkPrim,
    LinkPrims,
    find_links,
    with_world,
)
from urdf_usd.conformance.engines.openusd.masses import BodyMass, body_mass
from urdf_usd.conformance.engines.openusd.settings.authored import authored_settings
from urdf_usd.conformance.engines.openusd.settings.unimplied import (
    articulation_starts,
    unimplied_settings,
)
from urdf_usd.conformance.engines.openusd.settings.words import state_words
from urdf_usd.conformance.engines.openusd.shapes import state_shapes
from urdf_usd.conformance.engines.openusd.simulation import observe_simulation
from urdf_usd.conformance.engines.openusd.stage import (
    Diagnostics,
    Physics,
    WorldTransforms,
    captured_diagnostics,
    incomplete,
    read_physics,
    text_attribute,
    urdf_name,
)
from urdf_usd.conformance.engines.openusd.transforms import Array, inverses
from urdf_usd.conformance.engines.openusd.tree import (
    BodyTree,
    articulated_bodies,
    assembly_gaps,
    at_world,
    exchanged_bodies,
    nondynamic,
    place_bodies,
    span_tree,
    unarticulated,
)
from urdf_usd.conformance.engines.protocol import (
    AbstentionError,
    Availability,
    Available,
    Request,
    Side,
    Unavailable,
)
from urdf_usd.conformance.observation.robot import (
    AssemblyGap,
    Base,
    Configurations,
    Frames,
    JointObservation,
    JointType,
    LinkObservation,
    Observation,
    Quantity,
    Vec3,
)

# Ten times the engineering tolerance: gaps above it get a note.
_GAP = 1e-4


class OpenusdEngine:
    """Reads a USD with OpenUSD's physics parser and mass utility."""

    @property
    def name(self) -> str:
        """Stable lower-case name."""
        return "openusd"

    @property
    def side(self) -> Side:
        """It reads USD."""
        return Side.USD

    def availability(self) -> Availability:
        """Return the version, if this OpenUSD has the parser."""
        if not hasattr(UsdPhysics, "UsdPhysicsLoadStageFromPrimRange"):
            return Unavailable(
                "this OpenUSD has no UsdPhysicsLoadStageFromPrimRange",
                "install usd-core 25.11 or newer",
            )
        _, minor, patch = Usd.GetVersion()
        return Available(f"usd-core {minor}.{patch:02}")

    def observe(self, request: Request) -> Observation:
        """Read the stage at ``request.path``.

        Raises:
            AbstentionError: The stage cannot be opened, lacks a default prim, or holds
                neither a body nor a frame.
            InvalidFileError: A unit, transform, type or number is unusable.
        """
        with captured_diagnostics() as diagnostics:
            reading = _observe(self.name, request, diagnostics)
        return with_motion(reading, request.configurations, perturbed=False)


def _observe(engine: str, request: Request, diagnostics: Diagnostics) -> Observation:
    physics = read_physics(request.path, partial=True)
    links = find_links(physics)
    if not links.by_name:
        raise AbstentionError(
            f"the stage holds neither a body nor a frame{incomplete(physics.missing)}"
        )
    world = WorldTransforms(physics)
    joints, found = connections(physics, links, world)
    notes = [note.message(note.name) for note in found]
    if request.configurations.root == "world" and _is_tied(joints):
        links = with_world(links)
    tree = span_tree(joints, tuple(physics.bodies), articulated_bodies(physics))
    masses = {path: body_mass(physics, world, path) for path in physics.bodies}
    stated, unstated = state_joints(physics, links, tree)
    gaps = assembly_gaps(joints, world)
    root = _root(links, tree, stated)
    if still := _fixed_frame_root(links, joints, request.configurations.root):
        root, stated = still, attach_to(stated, still, links)
    notes += (*unstated, *physics.notes)
    notes += (note for mass in masses.values() for note in mass.notes)
    notes += _structure_notes(physics, links, tree, root)
    notes += _gap_notes(gaps)
    return Observation(
        engine=engine,
        robot=_robot_name(physics.default),
        root=root,
        states=frozenset(Quantity),
        links=state_links(links, masses),
        joints=stated,
        frames=_frames(links, tree, world, request.configurations, root),
        base=_base(physics, joints),
        articulation_roots=sum(len(found.rootPrims) for found in physics.articulations.values()),
        notes=(*dict.fromkeys(notes), *diagnostics.warnings()),
        departures=tuple(d for mass in masses.values() for d in mass.departures),
        assembly=gaps,
        invented=tuple(
            links.by_path[path].name
            for path, mass in masses.items()
            if mass.invented and path in links.by_path
        ),
        restated=tuple(m.restated for m in masses.values() if m.restated),
        nondynamic=nondynamic(physics, links),
        unarticulated=unarticulated(physics, tree),
        at_world=at_world(physics, joints),
        articulation_starts=articulation_starts(physics, links),
        unimplied=(
            *unimplied_settings(physics, links, joints),
            *authored_settings(physics, links),
            *exchanged_bodies(physics, tree),
        ),
        up=_up(physics, world, links.by_name[root].path),
        shapes=state_shapes(physics, links, world),
        prims=_prims(links, tree),
        missing=physics.missing,
        simulation=observe_simulation(physics, links, joints),
        words=state_words(physics, links),
    )


def _prims(links: LinkPrims, tree: BodyTree) -> tuple[tuple[str, str], ...]:
    """Return the prim of every link and joint; that of a weld is its link's."""
    found = {f"link {link.name}": link.path for link in links.by_name.values()}
    found |= {f"joint {link.weld.joint}": link.path for link in links.by_name.values() if link.weld}
    found |= {f"joint {one.name}": one.path for one in (*tree.joints, *tree.loops)}
    return tuple(found.items())


def _robot_name(default: Usd.Prim) -> str:
    return str(default.GetAssetInfoByKey("name") or urdf_name(default))


def _base(physics: Physics, joints: Sequence[Connection]) -> Base:
    if not any(body.rigidBodyEnabled for body in physics.bodies.values()):
        return Base.STATIC
    return Base.FIXED if _is_tied(joints) else Base.FLOATING


def _is_tied(joints: Sequence[Connection]) -> bool:
    """Whether a joint other than a floating one connects a body to the world."""
    return any(
        WORLD in joint.bodies and joint.mobility.type is not JointType.FLOATING for joint in joints
    )


def _up(physics: Physics, world: WorldTransforms, root: str) -> Vec3:
    """Return the stage's up axis in the root link's frame."""
    axis = "XYZ".index(UsdGeom.GetStageUpAxis(physics.stage))
    x, y, z = (float(value) for value in world.rigid(root)[axis, :3])
    return x, y, z


def _root(links: LinkPrims, tree: BodyTree, joints: Sequence[JointObservation]) -> str:
    """Return the root link: from the base up along stated joints.

    An Xform above the base that no joint names is not a link: it may hold geometry.
    """
    base = links.by_path.get(tree.base or "")
    root = base.name if base else next(iter(links.by_name))
    parents: dict[str, str] = {}
    for joint in joints:
        parents.setdefault(joint.child, joint.parent)
    seen = {root}
    while (above := parents.get(root, root)) in links.by_name and above not in seen:
        seen.add(above)
        root = above
    return root


def _fixed_frame_root(
    links: LinkPrims, joints: Sequence[Connection], name: str | None
) -> str | None:
    """Return the root link if it is a static Xform, with its joints to the world.

    A massless root link may become an Xform without a body, whose joints connect to the
    world instead. Only its name identifies such an Xform as a link.
    """
    link = links.by_name.get(name or "")
    return link.name if link and link.body == WORLD and _is_tied(joints) else None


def _frames(
    links: LinkPrims,
    tree: BodyTree,
    world: WorldTransforms,
    configurations: Configurations,
    root: str,
) -> Frames:
    """Compute the frames of all links relative to the root."""
    bodies = place_bodies(tree, world, configurations)
    poses: dict[str, Array] = {}
    for link in links.by_name.values():
        own = world.rigid(link.path)
        if link.body != WORLD:
            own = world.inverse(link.body) @ own
        poses[link.name] = bodies[link.body] @ own
    names = tuple(poses)
    relative = inverses(poses[root])[:, np.newaxis] @ np.stack(
        [poses[name] for name in names], axis=1
    )
    relative.flags.writeable = False
    return Frames(
        links=names,
        positions=relative[..., :3, 3],
        rotations=relative[..., :3, :3],
        labels=configurations.labels,
    )


def _structure_notes(physics: Physics, links: LinkPrims, tree: BodyTree, root: str) -> list[str]:
    notes = [
        f"body {path} is named by its path: another body has its name" for path in links.shadowed
    ]
    if adrift := tuple(root for root in tree.roots if root != tree.base):
        notes.append(f"no joint connects {_listed(adrift)}")
    notes += (
        f"body {path} is {'kinematic' if body.kinematicBody else 'disabled'}"
        for path, body in physics.bodies.items()
        if body.kinematicBody or not body.rigidBodyEnabled
    )
    notes += _articulation_notes(physics, tree)
    unnamed = [
        link.name
        for link in links.by_name.values()
        if not link.is_body
        and link.weld is None
        and link.name != root
        and not _groups_shapes(physics.default.GetStage().GetPrimAtPath(link.path))
    ]
    if unnamed:
        notes.append(f"{_listed(unnamed)} state no joint: links, or Xforms that hold geometry")
    return notes


def _groups_shapes(prim: Usd.Prim) -> bool:
    """Whether an Xform only groups shapes, such as the pieces of one collider."""
    inside = prim.GetFilteredChildren(Usd.TraverseInstanceProxies())
    return bool(inside) and all(child.IsA(UsdGeom.Gprim) for child in inside)


def _articulation_notes(physics: Physics, tree: BodyTree) -> list[str]:
    outside = unarticulated(physics, tree)
    notes = [f"no articulation contains joint {_listed(outside)}"] if outside else []
    held = {
        joint.bodies[joint.child]
        for joint in tree.joints
        if joint.bodies[joint.parent] == WORLD and joint.mobility.type is not JointType.FLOATING
    }
    notes += (
        f"the articulation starts at body {path}, as if floating, but a joint connects "
        "it to the world"
        for path in articulated_bodies(physics)
        if path in held
    )
    return notes


def _gap_notes(gaps: Sequence[AssemblyGap]) -> list[str]:
    apart = [gap for gap in gaps if max(gap.position, gap.rotation) > _GAP]
    if not apart:
        return []
    worst = max(apart, key=lambda gap: max(gap.position, gap.rotation))
    amount = f"{worst.position:.3g} m, {worst.rotation:.3g} rad"
    return [f"joints with a gap: {len(apart)}, worst {worst.joint} ({amount})"]


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    more = len(names) - 3
    return f"{shown} and {more} more" if more > 0 else shown


def state_links(links: LinkPrims, masses: Mapping[str, BodyMass]) -> tuple[LinkObservation, ...]:
    """State every link candidate; a frame has no own mass.

    A body whose name another body has is named by its path, and is no link.
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
    """State the joints between bodies, and fixed joints in custom attributes.

    Returns:
        The joints, and notes on joints without a URDF type.
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
            remarks.append("it connects the base to the world")
        kind = joint.mobility.type
        stated.append(_joint(joint, kind, links, couplings, remarks))
    names = {joint.name for joint in stated}
    welds = [
        _weld_joint(link, links)
        for link in links.by_name.values()
        if link.weld and link.weld.joint not in names
    ]
    return (*stated, *(weld for weld in welds if weld)), notes


def attach_to(
    joints: Sequence[JointObservation], root: str, links: LinkPrims
) -> tuple[JointObservation, ...]:
    """Replace the world by the root link as the parent of joints."""
    return tuple(
        joint
        if joint.parent in links.by_name or joint.parent in links.by_path
        else structs.replace(joint, parent=root)
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
        note="urdf:joint:type is floating, but its prim has no body" if moves else None,
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
        remarks.append(f"urdf:joint:type is {hint}")
    numbers = joint_numbers(
        prim,
        freedom_of(prim, kind, joint.mobility.axis),
        couplings.units,
        couplings.families,
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
    prim: Usd.Prim,
    custom: str,
    joint: Connection,
    side: int,
    links: LinkPrims,
) -> str:
    """Return the link at one side: as stated, as targeted, else by its body.

    A stated link has to be carried by the body of the joint.
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
