"""The USD as OpenUSD's own utilities read it.

The stage goes through OpenUSD's physics parser, masses through its mass utility, and
link frames are computed from joint frames, as a simulator does. What is stated is the
*effective* value: custom attributes under ``urdf:`` give names where the schemas have
no place for them, and numbers only where no schema does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from msgspec import structs
from pxr import Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines.mujoco_models import with_motion
from urdf_usd.conformance.engines.openusd.joint_attributes import (
    Couplings,
    coupling,
    couplings_of,
    freedom_of,
    joint_numbers,
)
from urdf_usd.conformance.engines.openusd.joints import (
    BodyTree,
    Connection,
    articulated_bodies,
    assembly_gaps,
    at_world,
    connections,
    free_bodies,
    place_bodies,
    span_tree,
    unarticulated,
)
from urdf_usd.conformance.engines.openusd.links import WORLD, LinkPrims, find_links, with_world
from urdf_usd.conformance.engines.openusd.masses import body_mass
from urdf_usd.conformance.engines.openusd.mechanism_settings import unexpected_settings
from urdf_usd.conformance.engines.openusd.names import state_words
from urdf_usd.conformance.engines.openusd.shapes import state_shapes
from urdf_usd.conformance.engines.openusd.simulation import observe_simulation
from urdf_usd.conformance.engines.openusd.stacked_joints import is_between_joints
from urdf_usd.conformance.engines.openusd.stage import (
    Physics,
    WorldTransforms,
    captured_diagnostics,
    incomplete,
    read_physics,
    text_attribute,
    urdf_name,
)
from urdf_usd.conformance.engines.openusd.transforms import Array, inverses
from urdf_usd.conformance.engines.protocol import (
    AbstentionError,
    Availability,
    Available,
    Request,
    Side,
    Unavailable,
)
from urdf_usd.conformance.engines.statements import vec3
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
)

# Ten times the engineering tolerance: gaps above it get a note.
_GAP = 1e-4


class OpenusdEngine:
    """Reads a USD with OpenUSD's physics parser and mass utility."""

    @property
    def name(self) -> str:
        return "openusd"

    @property
    def side(self) -> Side:
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
        with captured_diagnostics() as warnings:
            reading = _observe(self.name, request, warnings)
        return with_motion(reading, request.configurations, perturbed=False)


def _observe(engine: str, request: Request, warnings: Callable[[], tuple[str, ...]]) -> Observation:
    physics = read_physics(request.path, partial=True)
    links = find_links(physics)
    if not links.by_name:
        raise AbstentionError(
            f"the stage holds neither a body nor a frame{incomplete(physics.missing)}"
        )
    world = WorldTransforms(physics)
    joints, omitted = connections(physics, links, world)
    # A joint other than a floating one connects a body to the world.
    is_tied = any(
        WORLD in joint.bodies and joint.mobility.type is not JointType.FLOATING for joint in joints
    )
    free = free_bodies(request.configurations, links, joints, world)
    joints += free
    if request.configurations.root == "world" and (is_tied or free):
        links = with_world(links)
    tree = span_tree(joints, tuple(physics.bodies), articulated_bodies(physics))
    masses = {path: body_mass(physics, world, path) for path in physics.bodies}
    stated, unstated = _state_joints(physics, links, tree)
    gaps = assembly_gaps(joints, world)
    # A massless root link may become an Xform without a body, whose joints connect to the world
    # instead. Only its name identifies such an Xform as a link.
    fixed = links.by_name.get(request.configurations.root or "")
    if fixed and fixed.body == WORLD and is_tied:
        root = fixed.name
        # It replaces the world as the parent of joints.
        stated = [
            joint
            if joint.parent in links.by_name or joint.parent in links.by_path
            else structs.replace(joint, parent=root)
            for joint in stated
        ]
    else:
        root = _root(links, tree, stated)
    base = Base.FIXED if is_tied else Base.FLOATING
    if not any(body.rigidBodyEnabled for body in physics.bodies.values()):
        base = Base.STATIC
    up = world.rigid(links.by_name[root].path)["XYZ".index(UsdGeom.GetStageUpAxis(physics.stage))]
    notes = [
        *(note.message(note.name) for note in omitted),
        *unstated,
        *physics.notes,
        *(note for mass in masses.values() for note in mass.notes),
        *_structure_notes(physics, links, tree, root),
        *_gap_notes(gaps),
    ]
    # A frame has no own mass. A body whose name another body has is named by its path, and is no
    # link.
    names = {link.path: link.name for link in links.by_name.values()}
    properties = {
        path: mass.properties
        for path, mass in masses.items()
        if not is_between_joints(physics.stage, path)
    }
    stated_links = [
        LinkObservation(link.name, properties.get(link.path), names.get(link.body))
        for link in links.by_name.values()
    ]
    stated_links += [LinkObservation(path, properties.get(path), path) for path in links.shadowed]
    # The prim of a weld is that of its link.
    prims = {f"link {link.name}": link.path for link in links.by_name.values()}
    prims |= {f"joint {link.weld.joint}": link.path for link in links.by_name.values() if link.weld}
    prims |= {f"joint {one.name}": one.path for one in (*tree.joints, *tree.loops)}

    def named(paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(links.by_path[path].name for path in paths if path in links.by_path)

    return Observation(
        engine=engine,
        robot=str(physics.default.GetAssetInfoByKey("name") or urdf_name(physics.default)),
        root=root,
        states=frozenset(Quantity),
        links=tuple(stated_links),
        joints=tuple(stated),
        frames=_frames(links, tree, world, request.configurations, root),
        base=base,
        articulation_roots=sum(len(found.rootPrims) for found in physics.articulations.values()),
        notes=(*dict.fromkeys(notes), *warnings()),
        departures=tuple(d for mass in masses.values() for d in mass.departures),
        assembly=gaps,
        invented=named(path for path, mass in masses.items() if mass.invented),
        restated=tuple(m.restated for m in masses.values() if m.restated),
        nondynamic=named(
            path
            for path, body in physics.bodies.items()
            if body.kinematicBody or not body.rigidBodyEnabled
        ),
        unarticulated=unarticulated(physics, tree),
        at_world=at_world(physics, joints),
        articulation_starts=named(
            path
            for path in physics.bodies
            if physics.stage.GetPrimAtPath(path).HasAPI(UsdPhysics.ArticulationRootAPI)
        ),
        unexpected=unexpected_settings(physics, links, joints, tree),
        up=vec3(up[:3]),
        prims=tuple(prims.items()),
        shapes=state_shapes(physics, links, world),
        missing=physics.missing,
        simulation=observe_simulation(physics, links, joints),
        words=state_words(physics, links),
    )


def _root(links: LinkPrims, tree: BodyTree, joints: Iterable[JointObservation]) -> str:
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


def _frames(
    links: LinkPrims,
    tree: BodyTree,
    world: WorldTransforms,
    configurations: Configurations,
    root: str,
) -> Frames:
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
    return Frames(names, relative[..., :3, 3], relative[..., :3, :3], configurations.labels)


def _structure_notes(
    physics: Physics, links: LinkPrims, tree: BodyTree, root: str
) -> Iterator[str]:
    for path in links.shadowed:
        yield f"body {path} is named by its path: another body has its name"
    if adrift := tuple(root for root in tree.roots if root != tree.base):
        yield f"no joint connects {_listed(adrift)}"
    for path, body in physics.bodies.items():
        if body.kinematicBody or not body.rigidBodyEnabled:
            yield f"body {path} is {'kinematic' if body.kinematicBody else 'disabled'}"
    if outside := unarticulated(physics, tree):
        yield f"no articulation contains joint {_listed(outside)}"
    held = {
        joint.bodies[joint.child]
        for joint in tree.joints
        if joint.bodies[joint.parent] == WORLD and joint.mobility.type is not JointType.FLOATING
    }
    for path in articulated_bodies(physics):
        if path in held:
            yield (
                f"the articulation starts at body {path}, as if floating, but a joint connects "
                "it to the world"
            )
    unnamed = []
    for link in links.by_name.values():
        if not link.is_body and link.weld is None and link.name != root:
            prim = physics.stage.GetPrimAtPath(link.path)
            inside = prim.GetFilteredChildren(Usd.TraverseInstanceProxies())
            # One that only groups shapes, such as the pieces of one collider, is no link.
            if not (inside and all(child.IsA(UsdGeom.Gprim) for child in inside)):
                unnamed.append(link.name)
    if unnamed:
        yield f"{_listed(unnamed)} state no joint: links, or Xforms that hold geometry"


def _gap_notes(gaps: Sequence[AssemblyGap]) -> Iterator[str]:
    apart = [gap for gap in gaps if max(gap.position, gap.rotation) > _GAP]
    if apart:
        worst = max(apart, key=lambda gap: max(gap.position, gap.rotation))
        amount = f"{worst.position:.3g} m, {worst.rotation:.3g} rad"
        yield f"joints with a gap: {len(apart)}, worst {worst.joint} ({amount})"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    more = len(names) - 3
    return f"{shown} and {more} more" if more > 0 else shown


def _state_joints(
    physics: Physics, links: LinkPrims, tree: BodyTree
) -> tuple[list[JointObservation], list[str]]:
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
        else:
            loops = joint in tree.loops
            stated.append(_joint(joint, joint.mobility.type, links, couplings, loops=loops))
    names = {joint.name for joint in stated}
    for link in links.by_name.values():
        weld = link.weld
        parent = links.by_name.get((weld and weld.parent) or link.above or "")
        if weld and parent and weld.joint not in names:
            note = None
            if weld.type is JointType.FLOATING:
                note = "urdf:joint:type is floating, but its prim has no body"
            ends = parent.name, link.name
            stated.append(JointObservation(weld.joint, JointType.FIXED, *ends, note=note))
    return stated, notes


def _joint(
    joint: Connection, kind: JointType, links: LinkPrims, couplings: Couplings, *, loops: bool
) -> JointObservation:
    prim, mobility = couplings.stage.GetPrimAtPath(joint.path), joint.mobility
    hint = text_attribute(prim, "urdf:joint:type")
    remarks = [mobility.note] if mobility.note else []
    remarks += ["it closes a loop"] * loops
    remarks += ["its first body is the child"] * joint.reversed
    remarks += ["it connects the base to the world"] * (joint.bodies[joint.parent] == WORLD)
    remarks += [f"urdf:joint:type is {hint}"] * (hint is not None and hint != kind)
    freedom = freedom_of(prim, kind, mobility.axis)
    numbers = joint_numbers(prim, freedom, couplings.units, couplings.families, remarks)
    mimic = coupling(joint.name, couplings, remarks)
    return JointObservation(
        name=joint.name,
        type=kind,
        parent=_end(prim, "urdf:joint:parent", joint, joint.parent, links),
        child=_end(prim, "urdf:joint:child", joint, joint.child, links),
        lower=mobility.lower,
        upper=mobility.upper,
        effort=numbers["effort"],
        velocity=numbers["velocity"],
        damping=numbers["damping"],
        friction=numbers["friction"],
        mimic=mimic,
        axis=joint.axis_in_child,
        anchor=joint.anchor_in_child,
        note="; ".join(remarks) or None,
    )


def _end(prim: Usd.Prim, custom: str, joint: Connection, side: int, links: LinkPrims) -> str:
    """Return the link at one side: as stated, as targeted, else by its body.

    A stated link has to be carried by the body of the joint.
    """
    stated = links.by_name.get(text_attribute(prim, custom) or "")
    if stated and stated.body == joint.bodies[side]:
        return stated.name
    for path in (joint.targets[side], joint.bodies[side]):
        if path in links.by_path:
            return links.by_path[path].name
    if joint.bodies[side] != WORLD:
        return joint.bodies[side]
    # A link that is called world and moves is not the world.
    namesake = links.by_name.get("world")
    return "world" if namesake is None or namesake.body == WORLD else "(the world)"
