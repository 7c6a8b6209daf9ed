"""Which prims stand for the links and joints of a URDF, where names alone do not say.

Names are matched as they are first. What is left is matched by names that a prim could
not keep: letters that are no identifier's are replaced by each converter in its way.
What is left then is matched by structure: the child of a joint that is known, and the
joint between links that are.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.observation import JointType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from conformance.observation import JointObservation, Observation

# A range may be lost with a name, so that joints that turn are not told apart.
_TURNING = frozenset({JointType.REVOLUTE, JointType.CONTINUOUS})
_MOTIONS = (
    _TURNING,
    *(frozenset({kind}) for kind in JointType if kind not in _TURNING),
)
# Bodies that a joint connects.
_ENDS = 2
_OTHER = re.compile(r"[^0-9A-Za-z]+")


@dataclass(frozen=True, slots=True)
class NamedPrim:
    """A prim that may stand for a link.

    Attributes:
        path: Where it is.
        name: What it is called.
        is_body: Whether it is a rigid body, rather than a frame or a folder.
    """

    path: str
    name: str
    is_body: bool


@dataclass(frozen=True, slots=True)
class NamedJoint:
    """A joint prim.

    Attributes:
        path: Where it is.
        name: What it is called.
        ends: Paths of the bodies that it connects; empty for the world.
        type: How it moves; None if URDF has no word for that.
    """

    path: str
    name: str
    ends: tuple[str, str]
    type: JointType | None


@dataclass(frozen=True, slots=True)
class NamedPrims:
    """What has a name in a USD.

    Attributes:
        links: Bodies, and frames that may be links.
        joints: Joints between them.
    """

    links: tuple[NamedPrim, ...]
    joints: tuple[NamedJoint, ...]


@dataclass(frozen=True, slots=True)
class Labels:
    """URDF names of prims that are called otherwise.

    Attributes:
        spelled: By path, where the name is only spelled as prims have to be.
        found: By path, where structure alone tells.
    """

    spelled: Mapping[str, str] = field(default_factory=dict)
    found: Mapping[str, str] = field(default_factory=dict)

    @property
    def by_path(self) -> dict[str, str]:
        """All of them."""
        return {**self.spelled, **self.found}


def missing_names(expected: Observation, actual: Observation) -> bool:
    """Whether a USD has no link, or no joint that moves, of some name in the URDF."""
    links = {link.name for link in actual.links}
    joints = {joint.name for joint in actual.joints}
    return any(link.name not in links for link in expected.links) or any(
        joint.name not in joints for joint in expected.joints
    )


def match_names(expected: Observation, prims: NamedPrims) -> Labels:
    """Find the prims that stand for what a URDF names, where they are called otherwise.

    Args:
        expected: What the URDF says.
        prims: What the USD has.
    """
    links = _Matches([link.name for link in expected.links], prims.links)
    joints = _Matches([joint.name for joint in expected.joints], prims.joints)
    # A body comes before a frame of the same name.
    for part in (links, joints):
        part.match(str)
    for part in (links, joints):
        part.match(_plain)
    spelled = {**links.new, **joints.new}
    while _match_by_structure(expected.joints, links, joints):
        pass
    found = {**links.new, **joints.new}
    return Labels(
        spelled, {path: name for path, name in found.items() if path not in spelled}
    )


class _Matches:
    """Names on one side and prims on the other, and which belong together."""

    def __init__(
        self, names: Sequence[str], prims: Sequence[NamedPrim | NamedJoint]
    ) -> None:
        self.names = list(dict.fromkeys(names))
        self.prims = {prim.path: prim for prim in sorted(prims, key=_is_frame)}
        self.path_of: dict[str, str] = {}
        self.name_of: dict[str, str] = {}

    @property
    def new(self) -> dict[str, str]:
        """Names of prims that are called otherwise, by path."""
        return {
            path: name
            for path, name in self.name_of.items()
            if self.prims[path].name != name
        }

    def match(self, key: Callable[[str], str]) -> None:
        """Match what has the same key, where nothing else has it."""
        names = Counter(key(name) for name in self.names if name not in self.path_of)
        bodies: dict[str, list[str]] = {}
        for path, prim in self.prims.items():
            if path not in self.name_of:
                bodies.setdefault(key(prim.name), []).append(path)
        for name in self.names:
            paths = bodies.get(key(name), [])
            if name in self.path_of or not paths or names[key(name)] > 1:
                continue
            solid = [path for path in paths if not _is_frame(self.prims[path])]
            if key is str or len(solid or paths) == 1:
                self.add(name, (solid or paths)[0])

    def add(self, name: str, path: str) -> None:
        """Say that a prim stands for what has a name."""
        self.path_of[name] = path
        self.name_of[path] = name

    def is_open(self, name: str, path: str) -> bool:
        """Whether nothing is known of both."""
        return (
            name not in self.path_of
            and path in self.prims
            and (path not in self.name_of)
        )


def _match_by_structure(
    expected: Sequence[JointObservation], links: _Matches, joints: _Matches
) -> bool:
    """Match what hangs together with what is known; say whether anything was."""
    before = len(links.path_of), len(joints.path_of)
    for joint in expected:
        known = joints.path_of.get(joint.name)
        if known is not None:
            for name, place in _ends(joint, joints.prims[known], links):
                if links.is_open(name, place):
                    links.add(name, place)
    between = {
        bodies: joint.name
        for joint in expected
        if joint.name not in joints.path_of
        for bodies in [_known_bodies(joint, links)]
        if len(bodies) == _ENDS
    }
    for path, prim in joints.prims.items():
        joint_name = between.get(_bodies_of(prim, links))
        if joint_name is not None and joints.is_open(joint_name, path):
            joints.add(joint_name, path)
    _match_lonely(expected, links, joints)
    return before != (len(links.path_of), len(joints.path_of))


def _match_lonely(
    expected: Sequence[JointObservation], links: _Matches, joints: _Matches
) -> None:
    """Match joints that are the only ones left of their kind at a known link."""
    for place in tuple(links.name_of):
        for motion in _MOTIONS:
            left = [
                joint
                for joint in expected
                if joint.name not in joints.path_of
                and joint.type in motion
                and place in _known_bodies(joint, links)
                and not _is_within_a_body(joint, links)
            ]
            paths = [
                path
                for path, prim in joints.prims.items()
                if path not in joints.name_of
                and isinstance(prim, NamedJoint)
                and prim.type in motion
                and place in _bodies_of(prim, links)
            ]
            if len(left) == len(paths) == 1 and (
                _known_bodies(left[0], links)
                <= _bodies_of(joints.prims[paths[0]], links)
            ):
                joints.add(left[0].name, paths[0])


def _ends(
    joint: JointObservation, prim: NamedPrim | NamedJoint, links: _Matches
) -> Iterator[tuple[str, str]]:
    """Pair the links of a joint with the bodies of its prim, if one end is known."""
    first, second = _ends_of(prim)
    bodies = [_body(first, links), _body(second, links)]
    parent, child = (
        place and _body(place, links)
        for place in (links.path_of.get(joint.parent), links.path_of.get(joint.child))
    )
    if parent in bodies and child is None:
        yield joint.child, second if parent == bodies[0] else first
    elif child in bodies and parent is None:
        yield joint.parent, second if child == bodies[0] else first
    elif parent is None and child is None:
        # Most converters let the parent come first.
        yield joint.parent, first
        yield joint.child, second


def _known_bodies(joint: JointObservation, links: _Matches) -> frozenset[str]:
    """Return the bodies at the ends of a joint of the URDF, of links that are known."""
    places = map(links.path_of.get, (joint.parent, joint.child))
    return frozenset(_body(place, links) for place in places if place is not None)


def _is_within_a_body(joint: JointObservation, links: _Matches) -> bool:
    """Whether a joint welds a frame to the body that carries it: no prim does that."""
    known = joint.parent in links.path_of and joint.child in links.path_of
    return known and len(_known_bodies(joint, links)) < _ENDS


def _bodies_of(prim: NamedPrim | NamedJoint, links: _Matches) -> frozenset[str]:
    return frozenset(_body(place, links) for place in _ends_of(prim))


def _body(place: str, links: _Matches) -> str:
    """Return the body that carries a prim; the prim itself if none does."""
    body = place
    while body:
        prim = links.prims.get(body)
        if prim is not None and not _is_frame(prim):
            return body
        body = body.rpartition("/")[0]
    return place


def _ends_of(prim: NamedPrim | NamedJoint) -> tuple[str, str]:
    return prim.ends if isinstance(prim, NamedJoint) else ("", "")


def _is_frame(prim: NamedPrim | NamedJoint) -> bool:
    return isinstance(prim, NamedPrim) and not prim.is_body


def _plain(name: str) -> str:
    """A name without what prims cannot be called, and without letter case."""
    return _OTHER.sub("_", name).strip("_").casefold()
