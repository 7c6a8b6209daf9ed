"""Engine that reads a USD with OpenUSD alone, and the names of its prims.

The stage goes through OpenUSD's physics parser, masses through its mass utility, and link frames
are computed from joint frames, as a simulator does. What is stated is the *effective* value: custom
attributes under ``urdf:`` give names where the schemas have no place for them, and numbers only
where no schema does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
from msgspec import structs
from pxr import Sdf, Usd, UsdPhysics

from urdf_usd.conformance.engines import protocol
from urdf_usd.conformance.engines.mujoco_models import with_motion
from urdf_usd.conformance.engines.openusd import joints as mechanisms
from urdf_usd.conformance.engines.openusd import reading as stages
from urdf_usd.conformance.engines.openusd import simulation
from urdf_usd.conformance.engines.openusd.masses import body_mass
from urdf_usd.conformance.engines.openusd.reading import WORLD, LinkPrim, Reading, urdf_name
from urdf_usd.conformance.engines.openusd.settings import unexpected_settings
from urdf_usd.conformance.engines.openusd.shapes import state_shapes
from urdf_usd.conformance.engines.statements import inverses, read_only, vec3
from urdf_usd.conformance.observation import robot as observed
from urdf_usd.conformance.observation.robot import JointObservation, JointType, Observation

# Numbers and texts of a URDF are attributes on the prim of their owner; elements are Scopes with
# _WITHIN below it. Those of a joint without a prim are on its child link, below ``joint``.
_URDF, _WITHIN, _TEXT = "urdf:", "urdf:within", "urdf:text"


class OpenusdEngine:
    name = "openusd"
    side = protocol.Side.USD

    def availability(self) -> protocol.Availability:
        _, minor, patch = Usd.GetVersion()
        return protocol.Available(f"usd-core {minor}.{patch:02}")

    def observe(self, request: protocol.Request) -> Observation:
        with stages.captured_diagnostics() as warnings:
            observation = _observe(request, warnings)
        return with_motion(observation, request.configurations, perturbed=False)


def _observe(request: protocol.Request, warnings: Callable[[], tuple[str, ...]]) -> Observation:
    reading, settings = stages.open_reading(request.path), request.configurations
    links = dict(reading.links)
    if not links:
        missing = stages.incomplete(reading.missing)
        raise protocol.UnsupportedError(f"the stage holds neither a body nor a frame{missing}")
    joints, _ = mechanisms.connections(reading)
    # A joint other than a floating one connects a body to the world.
    is_tied = any(
        WORLD in joint.bodies and joint.mobility.type is not JointType.FLOATING for joint in joints
    )
    free = mechanisms.free_bodies(settings, reading, joints)
    joints += free
    if settings.root == "world" and (is_tied or free):
        # The world needs no prim in UsdPhysics: a joint with one body connects it to the world,
        # which a URDF can only represent as a link.
        links.setdefault("world", LinkPrim("/", "world", WORLD, None, None))
    starts = mechanisms.articulated_bodies(reading)
    tree = mechanisms.span_tree(joints, tuple(reading.bodies), starts)
    masses = {path: body_mass(reading, path) for path in reading.bodies}
    stated = _joints(reading, links, tree)
    # A massless root link may become an Xform without a body, whose joints connect to the world
    # instead. Only its name identifies such an Xform as a link.
    fixed = links.get(settings.root or "")
    if fixed and fixed.body == WORLD and is_tied:
        root, known = fixed.name, {*links, *(link.path for link in links.values())}
        # It replaces the world as the parent of joints.
        stated = [x if x.parent in known else structs.replace(x, parent=root) for x in stated]
    else:
        # From the base up along stated joints. An Xform above the base that no joint names is not a
        # link: it may hold geometry.
        base_link = reading.links_by_path.get(tree.base or "")
        root = base_link.name if base_link else next(iter(links))
        parents = {joint.child: joint.parent for joint in reversed(stated)}
        seen = {root}
        while (above := parents.get(root, root)) in links and above not in seen:
            seen.add(above)
            root = above
    base = observed.Base.FIXED if is_tied else observed.Base.FLOATING
    if not any(body.rigidBodyEnabled for body in reading.bodies.values()):
        base = observed.Base.STATIC
    # A frame has no own mass. A body whose name another body has is named by its path, and is no
    # link.
    names = {link.path: link.name for link in links.values()}
    # Nor has a link between joints of one body, which is in no file.
    between = {path for path in masses if stages.is_between_joints(reading.stage, path)}
    own = {path: mass for path, mass in masses.items() if path not in between}
    properties = {path: mass.properties for path, mass in own.items()}
    stated_links = [
        observed.LinkObservation(link.name, properties.get(link.path), names.get(link.body))
        for link in links.values()
    ]
    stated_links += (
        observed.LinkObservation(link.path, properties.get(link.path), link.path)
        for link in reading.candidates
        if link.is_body and link.path not in reading.links_by_path
    )
    # The prim of a weld is that of its link.
    prims = {f"link {link.name}": link.path for link in links.values()}
    prims |= {f"joint {link.weld.joint}": link.path for link in links.values() if link.weld}
    prims |= {f"joint {joint.name}": joint.path for joint in (*tree.joints, *tree.loops)}
    bodies = mechanisms.place_bodies(tree, reading, settings)
    poses = {
        link.name: bodies[link.body] @ (reading.inverse(link.body) @ reading.rigid(link.path))
        for link in links.values()
    }
    to_root = inverses(poses[root])[:, np.newaxis]
    relative = read_only(to_root @ np.stack([*poses.values()], axis=1))
    positions, rotations = relative[..., :3, 3], relative[..., :3, :3]

    outside, at_world = mechanisms.articulation_faults(reading, joints, tree)

    def named(paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(names[path] for path in paths if path in names)

    return Observation(
        engine=OpenusdEngine.name,
        robot=str(reading.robot.GetAssetInfoByKey("name") or urdf_name(reading.robot)),
        root=root,
        states=frozenset(observed.Quantity),
        links=tuple(stated_links),
        joints=tuple(stated),
        frames=observed.Frames(tuple(poses), positions, rotations, settings.labels),
        base=base,
        articulation_roots=sum(len(found.rootPrims) for found in reading.articulations.values()),
        notes=(*reading.notes, *warnings()),
        departures=tuple(d for mass in own.values() for d in mass.departures),
        assembly=mechanisms.assembly_gaps(joints, reading),
        defaulted=named(path for path, mass in masses.items() if "mass" in mass.computed),
        restated=tuple(m.restated for m in masses.values() if m.restated),
        nondynamic=named(
            path
            for path, body in reading.bodies.items()
            if body.kinematicBody or not body.rigidBodyEnabled
        ),
        unarticulated=outside,
        at_world=at_world,
        articulation_starts=named(
            path
            for path in reading.bodies
            if reading.prim(path).HasAPI(UsdPhysics.ArticulationRootAPI)
        ),
        unexpected=unexpected_settings(reading, joints, tree),
        up=vec3(reading.rigid(links[root].path)[reading.up, :3]),
        prims=tuple(prims.items()),
        shapes=state_shapes(reading, hulls=request.hulls),
        missing=reading.missing,
        simulation=simulation.observe_simulation(reading, joints),
        words=tuple(_words(reading)),
    )


def _joints(
    reading: Reading, links: Mapping[str, LinkPrim], tree: mechanisms.BodyTree
) -> list[JointObservation]:
    """State the joints between bodies, and fixed joints in custom attributes."""
    stated = [
        _joint(joint, joint.mobility.type, links, reading, loops=joint in tree.loops)
        for joint in (*tree.joints, *tree.loops)
        if joint.mobility.type is not None
    ]
    names = {joint.name for joint in stated}
    for link in links.values():
        weld = link.weld
        parent = links.get((weld and weld.parent) or link.above or "")
        if weld and parent and weld.joint not in names:
            # Also of one that is called floating, but whose prim has no body.
            stated.append(JointObservation(weld.joint, JointType.FIXED, parent.name, link.name))
    return stated


def _joint(
    joint: mechanisms.Connection,
    kind: JointType,
    links: Mapping[str, LinkPrim],
    reading: Reading,
    *,
    loops: bool,
) -> JointObservation:
    prim, mobility = reading.prim(joint.path), joint.mobility
    hint = stages.text_attribute(prim, "urdf:joint:type")
    remarks = [mobility.note] if mobility.note else []
    remarks += ["it closes a loop"] * loops
    remarks += [f"urdf:joint:type is {hint}"] * (hint is not None and hint != kind)
    numbers = simulation.joint_numbers(
        prim, simulation.freedom_of(prim, kind, mobility.axis), reading, remarks
    )
    mimic = simulation.coupling(joint.name, reading, remarks)
    paths = {link.path: link for link in links.values()}
    # A link that is called world and moves is not the world.
    namesake = links.get("world")
    world = "world" if namesake is None or namesake.body == WORLD else "(the world)"
    ends = []
    for custom, side in (("parent", joint.parent), ("child", joint.child)):
        # As stated, if carried by the body of the joint; as targeted, else by its body.
        body = joint.bodies[side]
        end = links.get(stages.text_attribute(prim, f"urdf:joint:{custom}") or "")
        if end is None or end.body != body:
            end = paths.get(joint.targets[side]) or paths.get(body)
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
        anchor=vec3(joint.anchors[joint.child][:3, 3]),
        note="; ".join(remarks) or None,
    )


def named_prims(usd: str) -> observed.NamedPrims:
    with stages.captured_diagnostics():
        reading = stages.open_reading(usd)
        joints, _ = mechanisms.connections(reading)
        starts = mechanisms.articulated_bodies(reading)
        tree = mechanisms.span_tree(joints, tuple(reading.bodies), starts)
        connected = {joint.path: joint for joint in (*tree.joints, *tree.loops)}
        every = (str(prim.GetPath()) for prim in Usd.PrimRange(reading.robot, stages.PROXIES))
        in_order = [connected[x] for x in every if x in connected and x in reading.joints]
        named = (observed.NamedJoint(x.path, x.name, x.ends, x.mobility.type) for x in in_order)
        return observed.NamedPrims(
            links=tuple(observed.NamedPrim(x.path, x.name, x.is_body) for x in reading.ranked),
            joints=tuple(named),
        )


def labelled(usd: str, names: Mapping[str, str]) -> str:
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


def _words(reading: Reading) -> Iterator[observed.Word]:
    for prim, properties in reading.authored:
        values = {
            name: (attribute, value)
            for name, attribute, value in properties
            if name.startswith(_URDF) and isinstance(value, float | str)
        }
        if not values.keys() - {_TEXT}:
            continue
        owner = prim.GetParent() if _WITHIN in values else prim
        owners = [f"link {link.name}" for link in reading.links_above(owner)]
        if owner.IsA(UsdPhysics.Joint):
            owners = [f"joint {urdf_name(owner)}"]
        elif str(owner.GetPath()) not in reading.links_by_path:
            # A Scope of the robot's elements is none of its shapes.
            is_robot = reading.robot in (owner, owner.GetParent())
            owners.insert(0, "robot" if is_robot else "")
        if _WITHIN in values:
            name = "/".join(filter(None, (str(values[_WITHIN][1]), f"<{urdf_name(prim)}>")))
            yield observed.Word(tuple(owners), name, str(_content(prim)))
            continue
        for name, (attribute, value) in values.items():
            shown = attribute.GetDisplayName() or name.removeprefix(_URDF)
            yield observed.Word(tuple(owners), shown, value)


def _content(prim: Usd.Prim) -> observed.XmlContent:
    texts = {
        attribute.GetName(): (attribute.GetDisplayName(), str(attribute.Get()))
        for attribute in prim.GetAuthoredAttributes()
    }
    _, text = texts.pop(_TEXT, ("", ""))
    texts.pop(_WITHIN, None)
    attributes = tuple((shown or name, value) for name, (shown, value) in texts.items())
    children = tuple(map(_content, prim.GetAllChildren()))
    return observed.XmlContent(urdf_name(prim), attributes, text, children)
