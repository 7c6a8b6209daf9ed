"""The kinematic tree of a robot, and groups of links connected by fixed joints."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, structs

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError, truncate_list
from urdf_usd.converter.robot.model import Fixed, Joint, Link, Robot

# Number of links of a loop that a message lists.
_LONGEST_LOOP = 12


class Tree(Struct, frozen=True):
    """A robot's links and joints, ordered from the root outwards."""

    root: str  # name of the root link
    # All link names, parents before children, siblings in the order in which their
    # joints are written.
    links: tuple[str, ...]
    link: dict[str, Link]  # link by name
    parent_joint: dict[str, Joint]  # joint whose child a link is; the root has none
    child_joints: dict[str, tuple[Joint, ...]]  # joints whose parent a link is, in document order


def problems(robot: Robot) -> tuple[Diagnostic, ...]:
    """Return everything that prevents a robot from being one tree with unique names.

    Consequences are not reported: links below a loop are not also missing a root.
    """
    if not robot.links:
        return (Diagnostic("robot-empty", f"robot {robot.name!r} has no links", robot.location),)
    found: list[Diagnostic] = []

    def report(rule: str, message: str, location: Location | None) -> None:
        found.append(Diagnostic(rule, message, location))

    for kind, items in (("link", robot.links), ("joint", robot.joints)):
        first: dict[str, Link | Joint] = {}
        for item in items:
            known = first.setdefault(item.name, item)
            if known is not item:
                place = f", first at line {known.location.line}" if known.location else ""
                message = f"{kind} {item.name!r} is defined again{place}"
                report("name-duplicate", message, item.location)
    defined = {link.name for link in robot.links}
    for joint in robot.joints:
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in defined:
                message = f"joint {joint.name!r} names {role} link {name!r}, which is not defined"
                report("link-undefined", message, joint.location)
    counts = Counter(joint.child for joint in robot.joints)
    joint_to: dict[str, Joint] = {}
    for joint in robot.joints:
        leader = joint_to.setdefault(joint.child, joint)
        # A repeated joint is reported as a duplicate.
        if leader is not joint and leader.name != joint.name:
            message = (
                f"link {joint.child!r} is the child of {counts[joint.child]} joints, "
                f"here of {joint.name!r} and before of {leader.name!r}"
            )
            report("tree-parents", message, joint.location)
    settled: set[str] = set()
    for link in robot.links:
        path: dict[str, Joint] = {}
        name = link.name
        while name not in settled and name not in path and name in joint_to:
            path[name] = joint_to[name]
            name = joint_to[name].parent
        if name in path and name not in settled:
            members = [*list(path)[list(path).index(name) :], name]
            more = ["..."] if len(members) > _LONGEST_LOOP else []
            shown = " <- ".join([*map(repr, members[:_LONGEST_LOOP]), *more])
            message = f"joint {path[name].name!r} closes a loop: {shown}"
            report("tree-loop", message, path[name].location)
        settled |= {*path, link.name}
    roots = [link for link in robot.links if link.name not in counts]
    # After other problems, further roots are a consequence.
    if not found and len(roots) > 1:
        names = ", ".join(truncate_list(repr(root.name) for root in roots))
        message = f"{len(roots)} links have no parent: {names}; a robot has one root"
        report("tree-roots", message, roots[1].location)
    return tuple(found)


def build_tree(robot: Robot) -> Tree:
    """Order a robot as a tree.

    Raises:
        SourceError: The robot is not one tree; see :func:`problems`.
    """
    diagnostics = problems(robot)
    if diagnostics:
        raise SourceError(diagnostics)
    parent_joint = {joint.child: joint for joint in robot.joints}
    children: dict[str, list[Joint]] = {link.name: [] for link in robot.links}
    for joint in robot.joints:
        children[joint.parent].append(joint)
    root = next(link.name for link in robot.links if link.name not in parent_joint)
    order: list[str] = []
    pending = [root]
    while pending:
        name = pending.pop()
        order.append(name)
        pending.extend(joint.child for joint in reversed(children[name]))
    return Tree(
        root=root,
        links=tuple(order),
        link={link.name: link for link in robot.links},
        parent_joint=parent_joint,
        child_joints={name: tuple(joints) for name, joints in children.items()},
    )


def subtree(robot: Robot, root: str) -> Robot:
    """Return the subtree of a robot below a link, with that link."""
    children: dict[str, list[str]] = {}
    for joint in robot.joints:
        children.setdefault(joint.parent, []).append(joint.child)
    reached = {root}
    pending = [root]
    while pending:
        below = [name for name in children.get(pending.pop(), []) if name not in reached]
        reached.update(below)
        pending.extend(below)
    return structs.replace(
        robot,
        links=tuple(link for link in robot.links if link.name in reached),
        joints=tuple(joint for joint in robot.joints if joint.parent in reached),
    )


def rigid_groups(tree: Tree) -> tuple[tuple[str, ...], ...]:
    """Partition the links into groups connected by fixed joints.

    Returns:
        Groups in tree order; the first link of a group is the nearest to the root.
    """
    head: dict[str, str] = {}
    groups: dict[str, list[str]] = {}
    for name in tree.links:
        joint = tree.parent_joint.get(name)
        if joint is not None and isinstance(joint.kind, Fixed):
            head[name] = head[joint.parent]
        else:
            head[name] = name
        groups.setdefault(head[name], []).append(name)
    return tuple(tuple(group) for group in groups.values())
