"""Matching of the links and joints of a URDF with prims of a USD.

Equal names are matched first, then names that are equal but for letter case and
characters that are not allowed in prim names, then by structure: the child of a matched
joint, and the joint between matched links; finally by the structure of the whole robot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field, structs

from urdf_usd.conformance.matching.name_recovery import match_by_tree
from urdf_usd.conformance.matching.rigid_trees import TURNING
from urdf_usd.conformance.observation.named_prims import (
    Matches,
    NamedJoint,
    NamedPrim,
    NamedPrims,
)
from urdf_usd.conformance.observation.robot import (
    JointObservation,
    JointType,
    Observation,
)

_MOTIONS = (
    TURNING,
    *(frozenset({kind}) for kind in JointType if kind not in TURNING),
)
# Bodies that a joint connects.
_ENDS = 2
_OTHER = re.compile(r"[^0-9A-Za-z]+")


class Labels(Struct, frozen=True):
    """URDF names of prims that have another name.

    Attributes:
        spelled: By path, where names differ in spelling alone.
        inferred: By path, where they were matched by structure.
        alike: Those of them that are one of several equivalent matches.
    """

    spelled: Mapping[str, str] = field(default_factory=dict)
    inferred: Mapping[str, str] = field(default_factory=dict)
    alike: frozenset[str] = frozenset()

    @property
    def by_path(self) -> dict[str, str]:
        """All of them."""
        return {**self.spelled, **self.inferred}


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
    links = Matches([link.name for link in expected.links], prims.links)
    joints = Matches([joint.name for joint in expected.joints], prims.joints)
    # A body comes before a frame of the same name.
    for part in (links, joints):
        part.match(str)
    for part in (links, joints):
        part.match(_plain)
    spelled = {**links.new, **joints.new}
    while _match_by_structure(expected.joints, links, joints):
        pass
    alike: frozenset[str] = frozenset()
    if links.has_unmatched() or joints.has_unmatched():
        alike = match_by_tree(expected, prims, links, joints)
        while _match_by_structure(expected.joints, links, joints):
            pass
    matches = {**links.new, **joints.new}
    return Labels(
        spelled,
        {path: name for path, name in matches.items() if path not in spelled},
        alike.intersection(matches),
    )


def _has_world(expected: Observation) -> bool:
    """Whether the root is an empty link ``world`` that only fixed joints connect."""
    return (
        expected.root == "world"
        and all(shape.link != "world" for shape in expected.shapes)
        and not any(link.mass and link.mass.mass for link in expected.links if link.name == "world")
        and all(
            joint.type is JointType.FIXED for joint in expected.joints if joint.parent == "world"
        )
    )


def _match_by_structure(
    expected: Sequence[JointObservation], links: Matches, joints: Matches
) -> bool:
    """Match neighbours of existing matches; return whether there were any."""
    before = len(links.path_of), len(joints.path_of)
    for joint in expected:
        known = joints.path_of.get(joint.name)
        if known is not None:
            for name, place in _ends(joint, joints.prims[known], links):
                if links.is_unmatched(name, place):
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
        if joint_name is not None and joints.is_unmatched(joint_name, path):
            joints.add(joint_name, path)
    _match_single_joints(expected, links, joints)
    return before != (len(links.path_of), len(joints.path_of))


def _match_single_joints(
    expected: Sequence[JointObservation], links: Matches, joints: Matches
) -> None:
    """Match joints that are the only unmatched ones of their type at a matched link."""
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
            if len(left) == len(paths) == 1 and _may_be(left[0], joints.prims[paths[0]], links):
                joints.add(left[0].name, paths[0])


def _may_be(joint: JointObservation, prim: NamedPrim | NamedJoint, links: Matches) -> bool:
    """Whether the existing matches of a joint's links allow it to match a prim.

    A joint between the base and the world matches no joint below the base.
    """
    if "" in _ends_of(prim) and joint.parent in links.path_of:
        return False
    return _known_bodies(joint, links) <= _bodies_of(prim, links)


def _ends(
    joint: JointObservation, prim: NamedPrim | NamedJoint, links: Matches
) -> Iterator[tuple[str, str]]:
    """Pair the links of a joint with the bodies of its prim, if one end is matched."""
    first, second = _ends_of(prim)
    bodies = [links.body(first), links.body(second)]
    parent, child = (
        place and links.body(place)
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


def _known_bodies(joint: JointObservation, links: Matches) -> frozenset[str]:
    """Return the bodies of the matched links of a joint of the URDF."""
    places = map(links.path_of.get, (joint.parent, joint.child))
    return frozenset(links.body(place) for place in places if place is not None)


def _is_within_a_body(joint: JointObservation, links: Matches) -> bool:
    """Whether one body carries both matched links, so that the joint has no prim."""
    known = joint.parent in links.path_of and joint.child in links.path_of
    return known and len(_known_bodies(joint, links)) < _ENDS


def _bodies_of(prim: NamedPrim | NamedJoint, links: Matches) -> frozenset[str]:
    return frozenset(links.body(place) for place in _ends_of(prim))


def _ends_of(prim: NamedPrim | NamedJoint) -> tuple[str, str]:
    return prim.ends if isinstance(prim, NamedJoint) else ("", "")


def _plain(name: str) -> str:
    """Replace characters that are not allowed in prim names, and fold case."""
    return _OTHER.sub("_", name).strip("_").casefold()
