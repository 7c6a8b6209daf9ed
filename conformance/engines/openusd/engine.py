"""Engine that reads a USD with OpenUSD alone, and the names of its prims.

The stage goes through OpenUSD's physics parser, masses through its mass utility, and link frames
are computed from joint frames, as a simulator does. What is stated is the *effective* value: custom
attributes under ``urdf:`` give names where the schemas have no place for them, and numbers only
where no schema does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import structs
from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines.mujoco_models import with_motion
from urdf_usd.conformance.engines.openusd.joint_attributes import (
    coupling,
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
from urdf_usd.conformance.engines.openusd.masses import body_mass
from urdf_usd.conformance.engines.openusd.mechanism_settings import unexpected_settings
from urdf_usd.conformance.engines.openusd.reading import (
    PROXIES,
    WORLD,
    LinkPrim,
    Reading,
    captured_diagnostics,
    incomplete,
    open_reading,
    text_attribute,
    urdf_name,
)
from urdf_usd.conformance.engines.openusd.shapes import state_shapes
from urdf_usd.conformance.engines.openusd.simulation import observe_simulation
from urdf_usd.conformance.engines.openusd.stacked_joints import is_between_joints
from urdf_usd.conformance.engines.openusd.transforms import inverses
from urdf_usd.conformance.engines.protocol import (
    Availability,
    Available,
    Request,
    Side,
    Unavailable,
    UnsupportedError,
)
from urdf_usd.conformance.engines.statements import read_only, vec3
from urdf_usd.conformance.observation.robot import (
    AssemblyGap,
    Base,
    Configurations,
    Frames,
    JointObservation,
    JointType,
    LinkObservation,
    NamedJoint,
    NamedPrim,
    NamedPrims,
    Observation,
    Quantity,
    Word,
    XmlContent,
)

# Ten times the engineering tolerance: gaps above it get a note.
_GAP = 1e-4
# Numbers and texts of a URDF are attributes on the prim of their owner; elements are Scopes with
# _WITHIN below it. Those of a joint without a prim are on its child link, below ``joint``.
_URDF, _WITHIN, _TEXT = "urdf:", "urdf:within", "urdf:text"


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
            UnsupportedError: The stage cannot be opened, lacks a default prim, or holds neither a
                body nor a frame.
            InvalidFileError: A unit, transform, type or number is unusable.
        """
        with captured_diagnostics() as warnings:
            observation = _observe(self.name, request, warnings)
        return with_motion(observation, request.configurations, perturbed=False)


def _observe(engine: str, request: Request, warnings: Callable[[], tuple[str, ...]]) -> Observation:
    reading = open_reading(request.path, partial=True)
    links = dict(reading.links.by_name)
    if not links:
        raise UnsupportedError(
            f"the stage holds neither a body nor a frame{incomplete(reading.missing)}"
        )
    joints, omitted = connections(reading)
    # A joint other than a floating one connects a body to the world.
    is_tied = any(
        WORLD in joint.bodies and joint.mobility.type is not JointType.FLOATING for joint in joints
    )
    free = free_bodies(request.configurations, reading, joints)
    joints += free
    if request.configurations.root == "world" and (is_tied or free):
        # The world needs no prim in UsdPhysics: a joint with one body connects it to the world,
        # which a URDF can only represent as a link.
        links.setdefault("world", LinkPrim("/", "world", WORLD, None, None))
    tree = span_tree(joints, tuple(reading.bodies), articulated_bodies(reading))
    masses = {path: body_mass(reading, path) for path in reading.bodies}
    stated, unstated = _joints(reading, links, tree)
    gaps, outside = assembly_gaps(joints, reading), unarticulated(reading, tree)
    # A massless root link may become an Xform without a body, whose joints connect to the world
    # instead. Only its name identifies such an Xform as a link.
    fixed = links.get(request.configurations.root or "")
    if fixed and fixed.body == WORLD and is_tied:
        root, known = fixed.name, {*links, *(link.path for link in links.values())}
        # It replaces the world as the parent of joints.
        stated = [x if x.parent in known else structs.replace(x, parent=root) for x in stated]
    else:
        root = _root(reading, links, tree, stated)
    base = Base.FIXED if is_tied else Base.FLOATING
    if not any(body.rigidBodyEnabled for body in reading.bodies.values()):
        base = Base.STATIC
    notes = [
        *(note.message(note.name) for note in omitted),
        *unstated,
        *reading.notes,
        *(note for mass in masses.values() for note in mass.notes),
        *_structure_notes(reading, links, tree, root, outside),
        *_gap_notes(gaps),
    ]
    # A frame has no own mass. A body whose name another body has is named by its path, and is no
    # link.
    names = {link.path: link.name for link in links.values()}
    properties = {
        path: mass.properties
        for path, mass in masses.items()
        if not is_between_joints(reading.stage, path)
    }
    stated_links = [
        LinkObservation(link.name, properties.get(link.path), names.get(link.body))
        for link in links.values()
    ]
    shadowed = reading.links.shadowed
    stated_links += [LinkObservation(path, properties.get(path), path) for path in shadowed]
    # The prim of a weld is that of its link.
    prims = {f"link {link.name}": link.path for link in links.values()}
    prims |= {f"joint {link.weld.joint}": link.path for link in links.values() if link.weld}
    prims |= {f"joint {joint.name}": joint.path for joint in (*tree.joints, *tree.loops)}

    def named(paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(names[path] for path in paths if path in names)

    return Observation(
        engine=engine,
        robot=str(reading.robot.GetAssetInfoByKey("name") or urdf_name(reading.robot)),
        root=root,
        states=frozenset(Quantity),
        links=tuple(stated_links),
        joints=tuple(stated),
        frames=_frames(links, tree, reading, request.configurations, root),
        base=base,
        articulation_roots=sum(len(found.rootPrims) for found in reading.articulations.values()),
        notes=(*dict.fromkeys(notes), *warnings()),
        departures=tuple(d for mass in masses.values() for d in mass.departures),
        assembly=gaps,
        defaulted=named(path for path, mass in masses.items() if mass.defaulted),
        restated=tuple(m.restated for m in masses.values() if m.restated),
        nondynamic=named(
            path
            for path, body in reading.bodies.items()
            if body.kinematicBody or not body.rigidBodyEnabled
        ),
        unarticulated=outside,
        at_world=at_world(reading, joints),
        articulation_starts=named(
            path
            for path in reading.bodies
            if reading.prim(path).HasAPI(UsdPhysics.ArticulationRootAPI)
        ),
        unexpected=unexpected_settings(reading, joints, tree),
        up=vec3(reading.rigid(links[root].path)[reading.up, :3]),
        prims=tuple(prims.items()),
        shapes=state_shapes(reading),
        missing=reading.missing,
        simulation=observe_simulation(reading, joints),
        words=tuple(_words(reading)),
    )


def _root(
    reading: Reading,
    links: Mapping[str, LinkPrim],
    tree: BodyTree,
    joints: Iterable[JointObservation],
) -> str:
    """Return the root link: from the base up along stated joints.

    An Xform above the base that no joint names is not a link: it may hold geometry.
    """
    base = reading.links.by_path.get(tree.base or "")
    root = base.name if base else next(iter(links))
    parents: dict[str, str] = {}
    for joint in joints:
        parents.setdefault(joint.child, joint.parent)
    seen = {root}
    while (above := parents.get(root, root)) in links and above not in seen:
        seen.add(above)
        root = above
    return root


def _frames(
    links: Mapping[str, LinkPrim],
    tree: BodyTree,
    reading: Reading,
    configurations: Configurations,
    root: str,
) -> Frames:
    bodies = place_bodies(tree, reading, configurations)
    poses = {
        link.name: bodies[link.body] @ (reading.inverse(link.body) @ reading.rigid(link.path))
        for link in links.values()
    }
    stacked = np.stack([*poses.values()], axis=1)
    relative = read_only(inverses(poses[root])[:, np.newaxis] @ stacked)
    positions, rotations = relative[..., :3, 3], relative[..., :3, :3]
    return Frames(tuple(poses), positions, rotations, configurations.labels)


def _structure_notes(
    reading: Reading,
    links: Mapping[str, LinkPrim],
    tree: BodyTree,
    root: str,
    outside: Sequence[str],
) -> Iterator[str]:
    for path in reading.links.shadowed:
        yield f"body {path} is named by its path: another body has its name"
    if adrift := tuple(start for start in tree.roots if start != tree.base):
        yield f"no joint connects {_listed(adrift)}"
    for path, body in reading.bodies.items():
        if body.kinematicBody or not body.rigidBodyEnabled:
            yield f"body {path} is {'kinematic' if body.kinematicBody else 'disabled'}"
    if outside:
        yield f"no articulation contains joint {_listed(outside)}"
    held = {
        joint.ends[1]
        for joint in tree.joints
        if joint.ends[0] == WORLD and joint.mobility.type is not JointType.FLOATING
    }
    for path in articulated_bodies(reading):
        if path in held:
            yield (
                f"the articulation starts at body {path}, as if floating, but a joint connects "
                "it to the world"
            )
    unnamed = []
    for link in links.values():
        if not link.is_body and link.weld is None and link.name != root:
            inside = reading.prim(link.path).GetFilteredChildren(PROXIES)
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
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _joints(
    reading: Reading, links: Mapping[str, LinkPrim], tree: BodyTree
) -> tuple[list[JointObservation], list[str]]:
    """State the joints between bodies, and fixed joints in custom attributes.

    Returns:
        The joints, and notes on joints without a URDF type.
    """
    notes: list[str] = []
    stated: list[JointObservation] = []
    for joint in (*tree.joints, *tree.loops):
        if joint.mobility.type is None:
            notes.append(f"joint {joint.name} is not stated: {joint.mobility.note}")
        else:
            kind, loops = joint.mobility.type, joint in tree.loops
            stated.append(_joint(joint, kind, links, reading, loops=loops))
    names = {joint.name for joint in stated}
    for link in links.values():
        weld = link.weld
        parent = links.get((weld and weld.parent) or link.above or "")
        if weld and parent and weld.joint not in names:
            note = None
            if weld.type is JointType.FLOATING:
                note = "urdf:joint:type is floating, but its prim has no body"
            ends = parent.name, link.name
            stated.append(JointObservation(weld.joint, JointType.FIXED, *ends, note=note))
    return stated, notes


def _joint(
    joint: Connection,
    kind: JointType,
    links: Mapping[str, LinkPrim],
    reading: Reading,
    *,
    loops: bool,
) -> JointObservation:
    prim, mobility = reading.prim(joint.path), joint.mobility
    hint = text_attribute(prim, "urdf:joint:type")
    remarks = [mobility.note] if mobility.note else []
    remarks += ["it closes a loop"] * loops
    remarks += ["its first body is the child"] * joint.reversed
    remarks += ["it connects the base to the world"] * (joint.ends[0] == WORLD)
    remarks += [f"urdf:joint:type is {hint}"] * (hint is not None and hint != kind)
    numbers = joint_numbers(prim, freedom_of(prim, kind, mobility.axis), reading, remarks)
    mimic = coupling(joint.name, reading, remarks)
    paths = {link.path: link for link in links.values()}
    ends = []
    for custom, side in (("parent", joint.parent), ("child", joint.child)):
        # As stated, if carried by the body of the joint; as targeted, else by its body.
        body, end = (
            joint.bodies[side],
            links.get(text_attribute(prim, f"urdf:joint:{custom}") or ""),
        )
        if end is None or end.body != body:
            end = paths.get(joint.targets[side]) or paths.get(body)
        # A link that is called world and moves is not the world.
        namesake = links.get("world")
        world = "world" if namesake is None or namesake.body == WORLD else "(the world)"
        ends.append(end.name if end else body or world)
    return JointObservation(
        name=joint.name,
        type=kind,
        parent=ends[0],
        child=ends[1],
        lower=mobility.lower,
        upper=mobility.upper,
        **numbers,
        mimic=mimic,
        axis=joint.axis_in_child,
        anchor=joint.anchor_in_child,
        note="; ".join(remarks) or None,
    )


def named_prims(usd: str) -> NamedPrims:
    """List the candidates for links and joints.

    Raises:
        UnsupportedError: The stage cannot be read.
    """
    with captured_diagnostics():
        reading = open_reading(usd, partial=True)
        joints, _ = connections(reading)
        tree = span_tree(joints, tuple(reading.bodies), articulated_bodies(reading))
        every = map(str, (prim.GetPath() for prim in Usd.PrimRange(reading.robot, PROXIES)))
        order = {path: index for index, path in enumerate(every) if path in reading.joints}
        connected = [joint for joint in (*tree.joints, *tree.loops) if joint.path in order]
        return NamedPrims(
            links=tuple(NamedPrim(x.path, x.name, is_body=x.is_body) for x in reading.ranked),
            joints=tuple(
                NamedJoint(joint.path, joint.name, joint.ends, joint.mobility.type)
                for joint in sorted(connected, key=lambda joint: order[joint.path])
            ),
        )


def labelled(usd: str, names: Mapping[str, str]) -> str:
    """Return the text of a layer over a USD that overrides display names."""
    below = Sdf.Layer.FindOrOpen(usd)
    layer = Sdf.Layer.CreateAnonymous(".usda")
    # Stage metadata is read from the root layer alone.
    for key in below.pseudoRoot.ListInfoKeys():
        if not key.startswith("subLayer"):
            layer.pseudoRoot.SetInfo(key, below.pseudoRoot.GetInfo(key))
    layer.subLayerPaths.append(below.identifier)
    for path, name in names.items():
        Sdf.CreatePrimInLayer(layer, path).SetInfo("displayName", name)
    text: str = layer.ExportToString()
    return text


def _words(reading: Reading) -> Iterator[Word]:
    """Yield what a USD keeps under ``urdf:``."""
    for prim, properties in reading.authored:
        values = {
            name: (attribute, value)
            for name, attribute, value in properties
            if name.startswith(_URDF) and isinstance(value, float | str)
        }
        if _WITHIN in values:
            within = str(values[_WITHIN][1])
            name = "/".join(filter(None, (within, f"<{urdf_name(prim)}>")))
            yield Word(_owners(prim.GetParent(), reading), name, str(_content(prim)))
        elif values.keys() - {_TEXT}:
            for name, (attribute, value) in values.items():
                shown = attribute.GetDisplayName() or name.removeprefix(_URDF)
                yield Word(_owners(prim, reading), shown, value)


def _owners(prim: Usd.Prim, reading: Reading) -> tuple[str, ...]:
    if prim.IsA(UsdPhysics.Joint):
        return (f"joint {urdf_name(prim)}",)
    links = [f"link {link.name}" for link in reading.links_above(prim)]
    if str(prim.GetPath()) in reading.links.by_path:
        return tuple(links)
    # A Scope of the robot's elements is none of its shapes.
    return "robot" if reading.robot in (prim, prim.GetParent()) else "", *links


def _content(prim: Usd.Prim) -> XmlContent:
    texts = {
        attribute.GetName(): (attribute.GetDisplayName(), str(attribute.Get()))
        for attribute in prim.GetAuthoredAttributes()
    }
    _, text = texts.pop(_TEXT, ("", ""))
    texts.pop(_WITHIN, None)
    attributes = tuple((shown or name, value) for name, (shown, value) in texts.items())
    children = tuple(map(_content, prim.GetAllChildren()))
    return XmlContent(urdf_name(prim), attributes, text, children)
