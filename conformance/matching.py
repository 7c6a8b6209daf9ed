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
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct, field, structs

from urdf_usd.conformance.engines.openusd.engine import labelled, named_prims
from urdf_usd.conformance.engines.protocol import UnsupportedError
from urdf_usd.conformance.observation.robot import (
    JointObservation,
    JointType,
    NamedJoint,
    NamedPrim,
    NamedPrims,
    Observation,
)

# Types that may match each other: a converter may write a continuous joint with limits.
_TURNING = frozenset({JointType.REVOLUTE, JointType.CONTINUOUS})
_MOTIONS = (_TURNING, *(frozenset({type}) for type in JointType if type not in _TURNING))
_OTHER = re.compile(r"[^0-9A-Za-z]+")


class Labels(Struct, frozen=True):
    """URDF names of prims that have another name."""

    # by path, where names differ in spelling alone
    spelled: Mapping[str, str] = field(default_factory=dict)
    # by path, where they were matched by the chain of parents
    inferred: Mapping[str, str] = field(default_factory=dict)


class Labelled(Struct, frozen=True):
    """A layer over a USD."""

    text: str  # the layer
    # links and joints, such as ``link arm``, whose names differ in spelling alone, and their names
    # in the USD
    spelled: tuple[tuple[str, str], ...]
    # those that were matched by the chain of parents, likewise
    inferred: tuple[tuple[str, str], ...]


def label_robot(usd: str, expected: Observation) -> Labelled | None:
    """Match names and make the layer; run in a worker process.

    Args:
        usd: Root layer.
        expected: Observation of the URDF.

    Returns:
        None if no link or joint is matched under another name.
    """
    try:
        prims = named_prims(usd)
    except UnsupportedError:
        return None
    labels = match_names(expected, prims)
    if not labels.spelled and not labels.inferred:
        return None
    names_of = {prim.path: ("link", prim.name) for prim in prims.links}
    names_of |= {prim.path: ("joint", prim.name) for prim in prims.joints}

    def pairs(names: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        return tuple(
            (f"{names_of[path][0]} {name}", names_of[path][1]) for path, name in names.items()
        )

    return Labelled(
        text=labelled(usd, {**labels.spelled, **labels.inferred}),
        spelled=pairs(labels.spelled),
        inferred=pairs(labels.inferred),
    )


def match_names(expected: Observation, prims: NamedPrims) -> Labels:
    """Find the prims for the names of a URDF that have another name.

    Args:
        expected: Observation of the URDF.
        prims: Candidates in the USD.
    """
    if _has_world(expected) and all(prim.name != "world" for prim in prims.links):
        # The stage itself, which needs no prim.
        stage = NamedPrim("/", "world", is_body=False)
        prims = structs.replace(prims, links=(*prims.links, stage))
    links = _Matches([link.name for link in expected.links], prims.links)
    joints = _Matches([joint.name for joint in expected.joints], prims.joints)
    # A body comes before a frame of the same name.
    for key in (str, _plain):
        for part in (links, joints):
            part.match(key)
    spelled = {**links.new, **joints.new}
    _match_base(expected, prims, links)
    matches = None
    while matches != (matches := (len(links.path_of), len(joints.path_of))):
        _match_along_joints(expected.joints, links, joints)
        _match_single_joints(expected.joints, links, joints)
    new = {**links.new, **joints.new}
    return Labels(spelled, {path: name for path, name in new.items() if path not in spelled})


class _Matches:
    """One-to-one matches between URDF names and prims; bodies come before frames."""

    def __init__(self, names: Sequence[str], prims: Sequence[NamedPrim | NamedJoint]) -> None:
        self.names = list(dict.fromkeys(names))
        self.prims = {prim.path: prim for prim in sorted(prims, key=_is_frame)}
        self.path_of: dict[str, str] = {}
        self.name_of: dict[str, str] = {}

    @property
    def new(self) -> dict[str, str]:
        """URDF names of matched prims that have another name, by path."""
        return {path: name for path, name in self.name_of.items() if self.prims[path].name != name}

    def match(self, key: Callable[[str], str]) -> None:
        """Match names and prims with equal keys that are unique on both sides."""
        names = Counter(key(name) for name in self.names if name not in self.path_of)
        unmatched: dict[str, list[str]] = {}
        for path, prim in self.prims.items():
            if path not in self.name_of:
                unmatched.setdefault(key(prim.name), []).append(path)
        for name in self.names:
            paths = unmatched.get(key(name), [])
            if name in self.path_of or not paths or names[key(name)] > 1:
                continue
            bodies = [path for path in paths if not _is_frame(self.prims[path])]
            if key is str or len(bodies or paths) == 1:
                self.add(name, (bodies or paths)[0])

    def add(self, name: str, path: str) -> None:
        """Match a name with the prim at a path, unless one of them is matched."""
        if name not in self.path_of and path in self.prims and path not in self.name_of:
            self.path_of[name] = path
            self.name_of[path] = name

    def body(self, path: str) -> str:
        """Return the path of the body that carries a prim; empty for the world.

        A path that is none of the prims is returned as it is.
        """
        body = path
        while body:
            prim = self.prims.get(body)
            if prim is not None and not _is_frame(prim):
                return body
            body = body.rpartition("/")[0]
        return "" if path in self.prims else path


def _has_world(expected: Observation) -> bool:
    """Whether the root is an empty link ``world`` that only fixed joints connect.

    That of an MJCF, which has no name in the file, is the world whatever moves there.
    """
    if expected.root == "world" and "link world" in expected.made_up:
        return True
    return (
        expected.root == "world"
        and all(shape.link != "world" for shape in expected.shapes)
        and not any(link.mass and link.mass.mass for link in expected.links if link.name == "world")
        and all(
            joint.type is JointType.FIXED for joint in expected.joints if joint.parent == "world"
        )
    )


def _match_base(expected: Observation, prims: NamedPrims, links: _Matches) -> None:
    """Match the root link with the only body that is no child of another body."""
    children = {joint.ends[1] for joint in prims.joints if joint.ends[0]}
    bases = [prim.path for prim in prims.links if prim.is_body and prim.path not in children]
    if len(bases) == 1 and expected.root is not None:
        links.add(expected.root, bases[0])


def _match_along_joints(
    expected: Sequence[JointObservation], links: _Matches, joints: _Matches
) -> None:
    """Match the links of matched joints, and joints between matched links."""
    for joint in expected:
        path = joints.path_of.get(joint.name)
        if path is not None:
            for name, body in _unmatched_ends(joint, joints.prims[path], links):
                links.add(name, body)
    between = {
        bodies: joint.name
        for joint in expected
        if joint.name not in joints.path_of
        for bodies in [_matched_bodies(joint, links)]
        if len(bodies) == 2
    }
    for path, prim in joints.prims.items():
        joint_name = between.get(_bodies(prim, links))
        if joint_name is not None:
            joints.add(joint_name, path)


def _unmatched_ends(
    joint: JointObservation, prim: NamedPrim | NamedJoint, links: _Matches
) -> Iterator[tuple[str, str]]:
    """Pair the links of a joint with the bodies of its prim, where they are not matched."""
    first, second = _ends(prim)
    bodies = [links.body(first), links.body(second)]
    parent, child = (
        path and links.body(path)
        for path in (links.path_of.get(joint.parent), links.path_of.get(joint.child))
    )
    if parent in bodies and child is None:
        yield joint.child, second if parent == bodies[0] else first
    elif child in bodies and parent is None:
        yield joint.parent, second if child == bodies[0] else first
    elif parent is None and child is None:
        # Most converters let the parent come first.
        yield joint.parent, first
        yield joint.child, second


def _match_single_joints(
    expected: Sequence[JointObservation], links: _Matches, joints: _Matches
) -> None:
    """Match joints that are the only unmatched ones of their type at a matched link."""
    for link in tuple(links.name_of):
        for motion in _MOTIONS:
            unmatched = [
                joint
                for joint in expected
                if joint.name not in joints.path_of
                and joint.type in motion
                and link in _matched_bodies(joint, links)
                and not _is_within_a_body(joint, links)
            ]
            paths = [
                path
                for path, prim in joints.prims.items()
                if path not in joints.name_of
                and isinstance(prim, NamedJoint)
                and prim.type in motion
                and link in _bodies(prim, links)
            ]
            if len(unmatched) == len(paths) == 1 and _may_match(
                unmatched[0], joints.prims[paths[0]], links
            ):
                joints.add(unmatched[0].name, paths[0])


def _may_match(joint: JointObservation, prim: NamedPrim | NamedJoint, links: _Matches) -> bool:
    """Whether the existing matches of a joint's links allow it to match a prim.

    A joint between the base and the world matches no joint below the base.
    """
    if "" in _ends(prim) and joint.parent in links.path_of:
        return False
    return _matched_bodies(joint, links) <= _bodies(prim, links)


def _matched_bodies(joint: JointObservation, links: _Matches) -> frozenset[str]:
    """Return the bodies of the matched links of a joint of the URDF."""
    paths = map(links.path_of.get, (joint.parent, joint.child))
    return frozenset(links.body(path) for path in paths if path is not None)


def _is_within_a_body(joint: JointObservation, links: _Matches) -> bool:
    """Whether one body carries both matched links, so that the joint has no prim."""
    matched = joint.parent in links.path_of and joint.child in links.path_of
    return matched and len(_matched_bodies(joint, links)) < 2


def _bodies(prim: NamedPrim | NamedJoint, links: _Matches) -> frozenset[str]:
    return frozenset(links.body(path) for path in _ends(prim))


def _ends(prim: NamedPrim | NamedJoint) -> tuple[str, str]:
    return prim.ends if isinstance(prim, NamedJoint) else ("", "")


def _is_frame(prim: NamedPrim | NamedJoint) -> bool:
    """Whether a prim is a candidate for a link without being a body."""
    return isinstance(prim, NamedPrim) and not prim.is_body


def _plain(name: str) -> str:
    """Replace characters that are not allowed in prim names, and fold case."""
    return _OTHER.sub("_", name).strip("_").casefold()
