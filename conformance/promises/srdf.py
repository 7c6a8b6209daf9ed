"""SRDF: pairs of links and named poses."""

from __future__ import annotations

from collections.abc import Mapping

from urdf_usd.conformance.promises.markup import Node


def srdf_pairs(root: Node, links: frozenset[str]) -> set[frozenset[str]]:
    """Return the pairs of a robot's links that do not collide.

    Args:
        root: Root element of the SRDF.
        links: Names of the links.
    """
    muted = {one.get("link") for one in root.all("disable_default_collisions")}
    pairs = set(map(_pair, root.all("disable_collisions")))
    pairs |= {frozenset((one, other)) for one in muted for other in links}
    pairs -= set(map(_pair, root.all("enable_collisions")))
    return {pair for pair in pairs if len(pair) > 1 and pair <= links}


def srdf_positions(root: Node, state: str) -> Mapping[str, float]:
    """Return the positions of a pose by joint, given its name or ``group/name``."""
    (found,) = (
        one
        for one in root.all("group_state")
        if state in {one.get("name"), f"{one.get('group')}/{one.get('name')}"}
    )
    return {
        joint.get("name"): float(joint.get("value"))
        for joint in found.all("joint")
        if len(joint.get("value").split()) == 1
    }


def _pair(node: Node) -> frozenset[str]:
    return frozenset((node.get("link1"), node.get("link2")))
