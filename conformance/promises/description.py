"""The settings that a robot description file states for a robot.

Files are read by ``tomllib``, and inertia for natural frequencies is computed by
MuJoCo: nothing is shared with the converter.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any
from xml.parsers import expat

import numpy as np
from msgspec import Struct, field, structs

from urdf_usd.conformance.engines.mujoco.distances import link_distances
from urdf_usd.conformance.engines.mujoco.model import build
from urdf_usd.conformance.engines.mujoco.motion import equations_of_motion
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    Configurations,
    JointObservation,
    JointType,
    Observation,
    head_coupling,
)
from urdf_usd.conformance.observation.shapes import Role
from urdf_usd.conformance.observation.simulation import (
    ContactMaterialObservation,
    DriveObservation,
    SimulationObservation,
)
from urdf_usd.conformance.observation.solids import Solid
from urdf_usd.conformance.promises.elements import UrdfElements, read_urdf_elements
from urdf_usd.conformance.promises.markup import Node, read_tree
from urdf_usd.conformance.promises.srdf import srdf_pairs, srdf_positions

# Distance of colliders that touch [m].
_TOUCHING = 1e-4
# Overlap from which a pair has to be filtered, and distance up to which it may be [m].
_DEEP = 1e-3
_GAINS = ("stiffness", "damping")
_OSCILLATION = ("natural_frequency", "damping_ratio")


def read_promise(
    text: str,
    spec: Observation,
    attached: Mapping[str, bytes] = MappingProxyType({}),
    solids: Sequence[Solid] = (),
    urdf: str | None = None,
    repair: Callable[[bytes], Node] | None = None,
) -> SimulationObservation:
    """Return what a description file promises of the USD of a robot.

    Args:
        text: Of the description file, which the converter has accepted.
        spec: Observation of the URDF, with frames at the zero configuration.
        attached: Content of the files that it names, by name as written.
        solids: Colliders of the USD, if overlapping pairs are filtered.
        urdf: Path of the URDF, if elements of it count.
        repair: Returns the root element of a malformed URDF or SRDF.

    Raises:
        ValueError: It is not what the converter has accepted.
        ExpatError: A file is malformed, and there is no repair.
        UnbuildableError: MuJoCo cannot simulate the robot.
    """
    document = tomllib.loads(text)
    files = _XmlFiles(repair)
    joints = {joint.name: joint for joint in spec.joints if _is_driven(joint)}
    sources = document.get("sources", {})
    elements = UrdfElements()
    if any(sources.values()) and urdf is not None:
        elements = read_urdf_elements(files.read("URDF", Path(urdf).read_bytes()))
    trees = {
        name: files.read(Path(name).name, attached[name]) for name in sorted(_named_srdfs(document))
    }
    pose = _stated_positions(document, trees)
    if sources.get("ros2_control"):
        own = {_literal(name): value for name, value in elements.positions.items()}
        pose = own | pose
    positions = _positions(pose, joints)
    settings = _settings(document, elements, joints)
    inertias: Mapping[str, float] = {}
    if any("natural_frequency" in given for given in settings.values()):
        inertias = _moved_inertias(spec, positions)
    drives = tuple(_drives(settings, joints, positions, inertias))

    def stated(key: str) -> tuple[tuple[str, float], ...]:
        return tuple((n, float(one[key])) for n, one in settings.items() if key in one)

    started = tuple((name, value) for name, value in positions.items() if value)
    if not pose:
        # Nothing is stated, so that followers start at zero as well.
        started = ()
    filtered, tolerated = _filtered(document, spec, trees, solids)
    self_collision = document.get("self_collision")
    if self_collision is None and sources.get("gazebo"):
        self_collision = elements.self_collision
    promise = SimulationObservation(
        drives=drives,
        armatures=stated("armature"),
        limit_stiffnesses=stated("limit_stiffness"),
        limit_dampings=stated("limit_damping"),
        positions=started,
        filtered_pairs=filtered,
        tolerated_pairs=tolerated,
        self_collision=self_collision,
        contact_materials=tuple(_contact_materials(document, elements, spec)),
    )
    promise = structs.replace(promise, repaired=tuple(files.repaired))
    return structs.replace(promise, sources=tuple(_lines(promise)))


class _XmlFiles(Struct):
    """Reads XML files, and remembers which are malformed.

    Attributes:
        repair: Returns the root element of a malformed file.
        repaired: Names of the malformed files.
    """

    repair: Callable[[bytes], Node] | None
    repaired: list[str] = field(default_factory=list)

    def read(self, name: str, data: bytes) -> Node:
        """Return the root element of a file."""
        try:
            return read_tree(data)
        except (expat.ExpatError, LookupError, ValueError):
            if self.repair is None:
                raise
            self.repaired.append(name)
            return self.repair(data)


def _lines(promise: SimulationObservation) -> Iterator[str]:
    """Yield what a promise contains, for the record."""
    listed = {
        "drive": [drive.joint for drive in promise.drives or ()],
        "armature": [name for name, _ in promise.armatures or ()],
        "limit stiffness": [name for name, _ in promise.limit_stiffnesses or ()],
        "limit damping": [name for name, _ in promise.limit_dampings or ()],
        "initial position": [name for name, _ in promise.positions or ()],
        "friction": [one.link for one in promise.contact_materials or ()],
        "restitution": [one.link for one in promise.contact_materials or () if one.restitution],
    }
    for what, names in listed.items():
        if names:
            yield f"{what}: {', '.join(names)}"
    if promise.filtered_pairs:
        yield f"filtered pairs: {len(promise.filtered_pairs)}"
    if promise.self_collision is not None:
        yield f"self-collision: {'on' if promise.self_collision else 'off'}"
    if promise.repaired:
        yield (
            "malformed, so that what it states rests on the converter's repair alone: "
            f"{', '.join(promise.repaired)}"
        )


def _settings(
    document: Mapping[str, Any], elements: UrdfElements, joints: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """Return what the URDF and the tables state of each joint."""
    settings = _actuated(document.get("sources", {}), elements, joints)
    for table in document.get("joints", ()):
        for name in _matching(table["match"], joints):
            _override(settings.setdefault(name, {}), table)
    return settings


def _is_driven(joint: JointObservation) -> bool:
    return COORDINATES[joint.type] == 1


def _matching(patterns: str | Sequence[str], names: Iterable[str]) -> Iterator[str]:
    """Yield the names that one of the patterns of a shell matches, case counts."""
    listed = [patterns] if isinstance(patterns, str) else patterns
    expression = re.compile("|".join(map(_expression, listed)), re.DOTALL)
    return (name for name in names if expression.fullmatch(name))


def _expression(pattern: str) -> str:
    """Return the regular expression of a pattern with ``*``, ``?`` and ``[...]``."""
    parts = re.split(r"(\*|\?|\[!?\]?[^\]]*\])", pattern)
    plain = {"*": ".*", "?": "."}
    return "".join(
        plain.get(part)
        or (
            f"[{part[1:-1].replace('!', '^', part[1] == '!')}]"
            if part.startswith("[") and part.endswith("]") and len(part) > len("[]")
            else re.escape(part)
        )
        for part in parts
    )


def _override(settings: dict[str, Any], table: Mapping[str, Any]) -> None:
    """Apply one table to the settings of a joint."""
    if any(name in table for name in _GAINS):
        dropped: tuple[str, ...] = _OSCILLATION
    elif "natural_frequency" in table:
        dropped = _GAINS
    else:
        dropped = ()
    for name in dropped:
        settings.pop(name, None)
    settings.update({key: value for key, value in table.items() if key != "match"})


def _actuated(
    sources: Mapping[str, Any],
    elements: UrdfElements,
    joints: Iterable[str],
) -> dict[str, dict[str, Any]]:
    """Return the control modes that the URDF states, by joint."""
    if sources.get("ros2_control") and elements.modes is not None:
        return {name: {"control": elements.modes.get(name, "none")} for name in joints}
    if sources.get("transmissions") and elements.transmitted is not None:
        return {
            name: {} if name in elements.transmitted else {"control": "none"} for name in joints
        }
    return {}


def _contact_materials(
    document: Mapping[str, Any], elements: UrdfElements, spec: Observation
) -> Iterator[ContactMaterialObservation]:
    """Yield the contact materials of links with colliders."""
    shaped = dict.fromkeys(one.link for one in spec.shapes if one.role is Role.COLLISION)
    stated: dict[str, dict[str, Any]] = {}
    for table in document.get("links", ()):
        for name in _matching(table["match"], shaped):
            stated.setdefault(name, {}).update(table)
    of_urdf = elements.frictions if document.get("sources", {}).get("gazebo") else {}
    for link in shaped:
        own = stated.get(link, {})
        coefficients = [own[key] for key in ("static_friction", "dynamic_friction") if key in own]
        if not coefficients and link in of_urdf:
            coefficients = [of_urdf[link]]
        if coefficients:
            # Both are the same if one alone is stated, as in a URDF.
            static, dynamic = coefficients[0], coefficients[-1]
            restitution = own.get("restitution", 0.0)
            yield ContactMaterialObservation(
                link, float(static), float(dynamic), float(restitution)
            )


def _named_srdfs(document: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of SRDFs that a description uses."""
    tables = (document.get("filters", {}), document.get("pose", {}))
    return frozenset(one["srdf"] for one in tables if "srdf" in one)


def _filtered(
    document: Mapping[str, Any],
    spec: Observation,
    srdfs: Mapping[str, Node],
    solids: Sequence[Solid],
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Return the pairs that have to be filtered, and those that may be."""
    filters = document.get("filters", {})
    names = [link.name for link in spec.links]
    links = frozenset(names)
    pairs = {frozenset(pair) for pair in filters.get("pairs", ())}
    if "srdf" in filters:
        pairs |= srdf_pairs(srdfs[filters["srdf"]], links)
    joined = {frozenset((joint.parent, joint.child)) for joint in spec.joints}
    if filters.get("parent_child"):
        pairs |= joined
    tolerated: set[frozenset[str]] = set()
    if filters.get("overlap"):
        distances, thin = link_distances(solids)
        free = {
            frozenset(pair): distance
            for pair, distance in distances.items()
            if frozenset(pair) not in joined
        }
        deep = {pair for pair, distance in free.items() if distance < -_DEEP}
        # Rigid groups are bodies in the USD, and joints connect these.
        pairs |= {pair for pair in deep if not _of_one_joint(pair, spec)}
        tolerated = {pair for pair, distance in free.items() if distance < _DEEP}
        tolerated |= {frozenset((one, other)) for one in thin for other in names}
    return _listed(pairs, links), _listed(tolerated, links)


def touching_links(spec: Observation, solids: Sequence[Solid]) -> dict[tuple[str, str], float]:
    """Return the distances of links that touch or overlap at rest, the least first [m].

    Links of one rigid group, and those that a joint connects, are left out: simulators
    do not let them collide. So are links with thin colliders.

    Args:
        spec: Observation of the URDF.
        solids: Colliders of the USD at rest.
    """
    distances, _ = link_distances(solids)
    return {
        links: distance
        for links, distance in sorted(distances.items(), key=lambda item: item[1])
        if distance < _TOUCHING and not _of_one_joint(frozenset(links), spec)
    }


def _of_one_joint(pair: frozenset[str], spec: Observation) -> bool:
    """Return whether a joint connects the rigid groups of two links."""
    group = {link.name: link.name for link in spec.links}
    for joint in spec.joints:
        if joint.type is JointType.FIXED:
            old, new = group[joint.child], group[joint.parent]
            group |= {name: new for name, own in group.items() if own == old}
    ends = {group[name] for name in pair}
    return len(ends) == 1 or any(
        {group[joint.parent], group[joint.child]} == ends for joint in spec.joints
    )


def _listed(pairs: Iterable[frozenset[str]], links: frozenset[str]) -> tuple[tuple[str, str], ...]:
    known = (sorted(pair) for pair in pairs if len(pair) > 1 and pair <= links)
    return tuple(sorted((one, other) for one, other in known))


def _stated_positions(document: Mapping[str, Any], srdfs: Mapping[str, Node]) -> dict[str, float]:
    """Return positions by pattern of joint names; later ones count."""
    pose = document.get("pose", {})
    stated: dict[str, float] = {}
    if "state" in pose:
        file = pose.get("srdf") or document["filters"]["srdf"]
        named = srdf_positions(srdfs[file], pose["state"])
        stated = {_literal(name): value for name, value in named.items()}
    return stated | {k: float(v) for k, v in pose.get("joints", {}).items()}


def _literal(name: str) -> str:
    """Return a pattern that matches a name alone."""
    return "".join(f"[{one}]" if one in "*?[" else one for one in name)


def _positions(
    stated: Mapping[str, float], joints: Mapping[str, JointObservation]
) -> dict[str, float]:
    """Return the initial position of every joint; followers follow."""
    positions = dict.fromkeys(joints, 0.0)
    for pattern, value in stated.items():
        positions |= dict.fromkeys(_matching(pattern, joints), value)
    return positions | {
        name: head.multiplier * positions.get(head.leader, 0.0) + head.offset
        for name in joints
        if (head := head_coupling(name, lambda one: _coupling(one, joints)))
    }


def _coupling(name: str, joints: Mapping[str, JointObservation]) -> Any:  # noqa: ANN401
    return joints[name].mimic if name in joints else None


def _drives(
    settings: Mapping[str, Mapping[str, Any]],
    joints: Mapping[str, JointObservation],
    positions: Mapping[str, float],
    inertias: Mapping[str, float],
) -> Iterator[DriveObservation]:
    for name, given in settings.items():
        if joints[name].mimic is not None:
            continue
        stiffness = float(given.get("stiffness", 0.0))
        damping = float(given.get("damping", 0.0))
        if "natural_frequency" in given:
            inertia = inertias[name] + float(given.get("armature", 0.0))
            rate = 2.0 * math.pi * float(given["natural_frequency"])
            stiffness = inertia * rate * rate
            damping = 2.0 * float(given.get("damping_ratio", 1.0)) * inertia * rate
        implied = "position" if stiffness else "velocity" if damping else "effort"
        mode = given.get("control", implied)
        target = given.get("target")
        if mode == "position" and stiffness:
            place = positions[name] if target is None else float(target)
            yield DriveObservation(name, stiffness, damping, place, 0.0)
        elif mode == "velocity" and damping:
            speed = 0.0 if target is None else float(target)
            yield DriveObservation(name, 0.0, damping, 0.0, speed)


def _moved_inertias(spec: Observation, positions: Mapping[str, float]) -> dict[str, float]:
    """Return the inertia that each joint moves with all others held, by MuJoCo.

    Args:
        spec: Observation with frames at the zero configuration.
        positions: Of joints with one axis [rad or m]; others are at zero.

    Raises:
        UnbuildableError: MuJoCo cannot simulate the observation.
    """
    at_zero = {
        JointType.PLANAR: [0.0] * 4,
        JointType.FLOATING: [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        JointType.SPHERICAL: [1.0, 0.0, 0.0, 0.0],
    }
    moving = [joint for joint in spec.joints if COORDINATES[joint.type]]

    def configuration(positions: Mapping[str, float]) -> Configurations:
        return Configurations(
            joints=tuple(joint.name for joint in moving),
            positions=tuple(
                np.array([at_zero.get(joint.type, [positions.get(joint.name, 0.0)])])
                for joint in moving
            ),
            labels=("pose",),
        )

    # Where frames were observed: leaders at zero.
    driven = {joint.name: joint for joint in moving if _is_driven(joint)}
    mechanism = build(spec, configuration(_positions({}, driven)))
    dynamics = equations_of_motion(mechanism, configuration(positions))
    return dict(zip(dynamics.joints, np.diag(dynamics.inertia[0]).tolist(), strict=True))
