"""Matching of the links and joints of a URDF with prims of a USD.

Equal names are matched first, then names that are equal but for letter case and
characters that are not allowed in prim names, then by the chain of parents: the base, the
child of a matched joint, the joint between matched links, and the only joint of its type at
a matched link. A layer over the USD gives the matched prims their URDF names as display
names, so that every USD engine, and the URDF written from the USD, use the same names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from itertools import product

from msgspec import Struct, structs

from urdf_usd.conformance.engines.openusd.engine import labelled, named_prims
from urdf_usd.conformance.engines.protocol import UnsupportedError
from urdf_usd.conformance.observation import robot as obs

# Types that may match each other: a converter may write a continuous joint with limits.
_TURNING = frozenset({obs.JointType.REVOLUTE, obs.JointType.CONTINUOUS})
_MOTIONS = (_TURNING, *(frozenset({type}) for type in obs.JointType if type not in _TURNING))
_OTHER = re.compile(r"[^0-9A-Za-z]+")


class Labelled(Struct, frozen=True):
    text: str  # the layer
    # links and joints, such as ``link arm``, and their names in the USD: those that differ in
    # spelling alone, and those that were matched by the chain of parents
    spelled: tuple[tuple[str, str], ...]
    inferred: tuple[tuple[str, str], ...]


def label_robot(usd: str, expected: obs.Observation) -> Labelled | None:
    """Match names and make the layer, unless all are equal; run in a worker process."""
    try:
        prims = named_prims(usd)
    except UnsupportedError:
        return None
    spelled, inferred = match_names(expected, prims)
    if not spelled and not inferred:
        return None
    names_of = {prim.path: ("link", prim.name) for prim in prims.links}
    names_of |= {prim.path: ("joint", prim.name) for prim in prims.joints}
    pairs = (
        tuple((f"{names_of[path][0]} {name}", names_of[path][1]) for path, name in labels.items())
        for labels in (spelled, inferred)
    )
    return Labelled(labelled(usd, spelled | inferred), *pairs)


def match_names(
    expected: obs.Observation, prims: obs.NamedPrims
) -> tuple[dict[str, str], dict[str, str]]:
    """Find the prims for the names of a URDF that have another name.

    Returns URDF names by path: where the spelling differs, and matched by the chain of parents.
    """
    if _has_world(expected) and all(prim.name != "world" for prim in prims.links):
        # The stage itself, which needs no prim.
        stage = obs.NamedPrim("/", "world", is_body=False)
        prims = structs.replace(prims, links=(*prims.links, stage))
    # A body comes before a frame of the same name.
    frames = {prim.path for prim in prims.links if not prim.is_body}
    ordered = sorted(prims.links, key=lambda prim: not prim.is_body)
    links = _Matches(expected.links, ordered, frames)
    joints = _Matches(expected.joints, prims.joints)
    for key in (str, _plain):
        for part in (links, joints):
            part.match(key)
    spelled = {**links.new, **joints.new}
    # The root link is the only body that is no child of another body.
    children = {joint.ends[1] for joint in prims.joints if joint.ends[0]}
    bases = [path for path in links.prims if path not in frames and path not in children]
    if len(bases) == 1:
        links.add(expected.root, bases[0])
    matches = None
    while matches != (matches := (len(links.path_of), len(joints.path_of))):
        _match_by_joints(expected, prims, links, joints)
    new = {**links.new, **joints.new}
    return spelled, {path: name for path, name in new.items() if path not in spelled}


class _Matches:
    """One-to-one matches between URDF names and prims."""

    def __init__(
        self,
        parts: Sequence[obs.LinkObservation | obs.JointObservation],
        prims: Sequence[obs.NamedPrim | obs.NamedJoint],
        frames: AbstractSet[str] = frozenset(),
    ) -> None:
        self.names = list(dict.fromkeys(part.name for part in parts))
        self.prims = {prim.path: prim.name for prim in prims}  # those of bodies first
        self.frames = frames  # candidates for links that are no bodies
        self.path_of: dict[str, str] = {}
        self.name_of: dict[str, str] = {}

    @property
    def new(self) -> dict[str, str]:
        """URDF names of matched prims that have another name, by path."""
        return {path: name for path, name in self.name_of.items() if self.prims[path] != name}

    def match(self, key: Callable[[str], str]) -> None:
        """Match names and prims with equal keys that are unique on both sides."""
        names = Counter(key(name) for name in self.names if name not in self.path_of)
        unmatched: dict[str, list[str]] = {}
        for path, name in self.prims.items():
            if path not in self.name_of:
                unmatched.setdefault(key(name), []).append(path)
        for name in self.names:
            paths = unmatched.get(key(name), [])
            bodies = [path for path in paths if path not in self.frames] or paths
            if bodies and names[key(name)] == 1 and (key is str or len(bodies) == 1):
                self.add(name, bodies[0])

    def add(self, name: str, path: str) -> None:
        if name not in self.path_of and path in self.prims and path not in self.name_of:
            self.path_of[name] = path
            self.name_of[path] = name

    def body(self, path: str) -> str:
        """Return the path of the body that carries a prim; empty for the world."""
        body = path
        while body:
            if body in self.prims and body not in self.frames:
                return body
            body = body.rpartition("/")[0]
        return "" if path in self.prims else path

    def bodies(self, joint: obs.JointObservation | obs.NamedJoint) -> frozenset[str]:
        """Return the bodies that a prim connects, or those of the matched links of a joint."""
        if isinstance(joint, obs.NamedJoint):
            return frozenset(map(self.body, joint.ends))
        ends = map(self.path_of.get, (joint.parent, joint.child))
        return frozenset(self.body(path) for path in ends if path is not None)


def _has_world(expected: obs.Observation) -> bool:
    """Whether the root is ``world``, made up or empty, which only fixed joints connect."""
    if expected.root != "world":
        return False
    return "link world" in expected.made_up or not (
        any(shape.link == "world" for shape in expected.shapes)
        or any(link.mass and link.mass.mass for link in expected.links if link.name == "world")
        or any(
            joint.type is not obs.JointType.FIXED
            for joint in expected.joints
            if joint.parent == "world"
        )
    )


def _match_by_joints(
    expected: obs.Observation, prims: obs.NamedPrims, links: _Matches, joints: _Matches
) -> None:
    """Match ends of matched joints, joints between matched links, and the only ones of a type."""
    prim_at = {prim.path: prim for prim in prims.joints}
    for joint in expected.joints:
        if (path := joints.path_of.get(joint.name)) is None:
            continue
        # Most converters let the parent come first.
        first, second = prim_at[path].ends
        bodies = [links.body(first), links.body(second)]
        parent, child = (
            end and links.body(end) for end in map(links.path_of.get, (joint.parent, joint.child))
        )
        if parent in bodies and child is None:
            links.add(joint.child, second if parent == bodies[0] else first)
        elif child in bodies and parent is None:
            links.add(joint.parent, second if child == bodies[0] else first)
        elif parent is None and child is None:
            links.add(joint.parent, first)
            links.add(joint.child, second)
    unpaired = (joint for joint in expected.joints if joint.name not in joints.path_of)
    pairs = ((links.bodies(joint), joint.name) for joint in unpaired)
    between = {ends: name for ends, name in pairs if len(ends) == 2}
    for prim in prims.joints:
        if (matched := between.get(links.bodies(prim))) is not None:
            joints.add(matched, prim.path)
    for link, motion in product(tuple(links.name_of), _MOTIONS):
        # One body may carry both links of a joint, which then has no prim.
        unmatched = [
            joint
            for joint in expected.joints
            if joint.name not in joints.path_of
            and joint.type in motion
            and link in (ends := links.bodies(joint))
            and (len(ends) > 1 or not {joint.parent, joint.child} <= links.path_of.keys())
        ]
        free = (x for x in prims.joints if x.path not in joints.name_of and x.type in motion)
        found = [prim for prim in free if link in links.bodies(prim)]
        if len(unmatched) == len(found) == 1:
            joint, prim = unmatched[0], found[0]
            # A joint between the base and the world matches no joint below the base.
            to_world = "" in prim.ends and joint.parent in links.path_of
            if not to_world and links.bodies(joint) <= links.bodies(prim):
                joints.add(joint.name, prim.path)


def _plain(name: str) -> str:
    """Replace characters that are not allowed in prim names, and fold case."""
    return _OTHER.sub("_", name).strip("_").casefold()
