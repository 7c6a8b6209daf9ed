"""A copy of a URDF that an engine can read, and the values that are not the file's.

Engines share this text alone and interpret it themselves. Each change of the copy is
reported in a note, and no added value is stated by an engine: :class:`UrdfText` names
the links and joints concerned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from lxml import etree
from msgspec import Struct

from urdf_usd.conformance.engines.protocol import AbstentionError

# lxml's own name for this type is private.
UrdfElement: TypeAlias = etree._Element


class Change(Struct, frozen=True):
    """One change of the copy.

    Attributes:
        note: The change and its reason, in one sentence.
        mass: Links whose mass properties in the copy are not the file's.
        inertia: Links whose inertia tensor in the copy is not the file's.
        limits: Joints whose ``<limit>`` in the copy is not the file's.
        effort: Joints whose effort in the copy is not the file's.
        velocity: Joints whose velocity in the copy is not the file's.
        renamed: Pairs of link names, in the copy and in the file.
        unnamed_robot: Whether the robot's name in the copy is not the file's.
    """

    note: str
    mass: frozenset[str] = frozenset()
    inertia: frozenset[str] = frozenset()
    limits: frozenset[str] = frozenset()
    effort: frozenset[str] = frozenset()
    velocity: frozenset[str] = frozenset()
    renamed: tuple[tuple[str, str], ...] = ()
    unnamed_robot: bool = False


# Name of the world in URDF.
_WORLD = "world"

Step: TypeAlias = Callable[["UrdfElement"], Change | None]


class UrdfText(Struct, frozen=True):
    """The prepared copy.

    Attributes:
        text: UTF-8, one element per line.
        links: Names of all links, as in the copy.
        without_inertial: Links for which the file has no ``<inertial>``.
        joint_of_child: Name of each joint, by its child link in the copy.
        changes: The changes.
        mass_unknown: Links whose mass properties in the copy are not the file's.
        inertia_unknown: Links whose inertia tensor in the copy is not the file's.
        limits_unknown, effort_unknown, velocity_unknown: Likewise of joints.
    """

    text: bytes
    links: frozenset[str]
    without_inertial: frozenset[str]
    joint_of_child: dict[str, str]
    changes: tuple[Change, ...]
    mass_unknown: frozenset[str]
    inertia_unknown: frozenset[str]
    limits_unknown: frozenset[str]
    effort_unknown: frozenset[str]
    velocity_unknown: frozenset[str]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the changes."""
        return tuple(change.note for change in self.changes)

    @property
    def unread_masses(self) -> tuple[str, ...]:
        """Names in the file of the links in :attr:`mass_unknown`, sorted."""
        return tuple(sorted(map(self.original, self.mass_unknown)))

    @property
    def robot_unnamed(self) -> bool:
        """Whether the robot's name in the copy is not the file's."""
        return any(change.unnamed_robot for change in self.changes)

    def original(self, link: str) -> str:
        """Return the name in the file of a link of the copy."""
        renamed = dict(pair for change in self.changes for pair in change.renamed)
        return renamed.get(link, link)


def prepare(path: str, steps: Sequence[Step]) -> UrdfText:
    """Read a URDF and apply ``steps`` to a copy of it.

    Raises:
        AbstentionError: The text is not XML, or not a robot.
    """
    robot, changes = _read(path)
    if (change := _define_world(robot)) is not None:
        changes += (change,)
    bare = frozenset(
        _name(link) for link in robot.iterfind("link") if link.find("inertial") is None
    )
    changes += tuple(change for step in steps if (change := step(robot)) is not None)
    etree.indent(robot)
    return UrdfText(
        text=etree.tostring(robot, encoding="utf-8"),
        links=frozenset(map(_name, robot.iterfind("link"))),
        without_inertial=bare,
        joint_of_child={
            child.get("link", ""): _name(joint)
            for joint in robot.iterfind("joint")
            for child in joint.iterfind("child")
        },
        changes=changes,
        mass_unknown=frozenset().union(*(change.mass for change in changes)),
        inertia_unknown=frozenset().union(*(change.inertia for change in changes)),
        limits_unknown=frozenset().union(*(change.limits for change in changes)),
        effort_unknown=frozenset().union(*(change.effort for change in changes)),
        velocity_unknown=frozenset().union(*(change.velocity for change in changes)),
    )


# XML errors that no engine rejects, and that do not affect the elements: lxml recovers
# from these without loss.
_HARMLESS = {
    etree.ErrorTypes.ERR_UNKNOWN_VERSION: "a declaration of an unknown XML version",
    # Such as "1".
    etree.ErrorTypes.ERR_VERSION_MISSING: "a declaration without an XML version",
    etree.ErrorTypes.ERR_RESERVED_XML_NAME: "an XML declaration that is not at the top",
    etree.ErrorTypes.ERR_HYPHEN_IN_COMMENT: "a double hyphen within a comment",
    etree.ErrorTypes.ERR_DOCUMENT_END: "text after the end of the document",
    etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE: "an undeclared namespace prefix",
}


def _read(path: str) -> tuple[UrdfElement, tuple[Change, ...]]:
    parser = etree.XMLParser(
        recover=True,
        resolve_entities=False,
        no_network=True,
        remove_comments=True,
        remove_pis=True,
        remove_blank_text=True,
        huge_tree=True,
    )
    try:
        root = etree.fromstring(Path(path).read_bytes(), parser)
    except OSError as error:
        raise AbstentionError(f"the file cannot be read: {error.strerror}") from error
    except etree.XMLSyntaxError as error:
        raise AbstentionError(f"the text is not XML: {error.msg}") from error
    for entry in parser.error_log.filter_from_errors():
        if entry.type not in _HARMLESS:
            raise AbstentionError(
                f"the text is not well-formed XML: {entry.message}, line {entry.line}"
            )
    # lxml may return None, contrary to its annotation.
    tag = getattr(root, "tag", None)
    if tag != "robot":
        raise AbstentionError(f"the root element is {tag}, not robot")
    oddities = {entry.type for entry in parser.error_log.filter_from_errors()}
    changes = tuple(
        Change(f"The copy leaves out {what}.")
        for kind, what in _HARMLESS.items()
        if kind in oddities
    )
    return root, changes


def _define_world(robot: UrdfElement) -> Change | None:
    """Add an empty link ``world`` if joints name it as parent and it is not defined.

    Drake reads such a file, MuJoCo and PyBullet reject it. If a child of such a joint
    has another parent as well, the file is left unchanged.
    """
    names = {_name(link) for link in robot.iterfind("link")}
    children = [child.get("link") for child in robot.iterfind("joint/child")]
    hung = [
        child.get("link")
        for joint in robot.iterfind("joint")
        if joint.find(f"parent[@link='{_WORLD}']") is not None
        for child in joint.iterfind("child")
        if child.get("link") in names
    ]
    if _WORLD in names or _WORLD in children or not hung:
        return None
    if any(children.count(child) > 1 for child in hung):
        return None
    robot.insert(0, etree.Element("link", {"name": _WORLD}))
    return Change(f"Link {_WORLD}, a parent of joints that is not defined, was added.")


def _name(element: UrdfElement) -> str:
    return element.get("name", "")


def _links(robot: UrdfElement) -> Iterator[tuple[str, UrdfElement]]:
    return ((_name(link), link) for link in robot.iterfind("link"))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _remove(elements: Sequence[UrdfElement], note: str) -> Change | None:
    for element in elements:
        parent = element.getparent()
        if parent is not None:
            parent.remove(element)
    return Change(note) if elements else None


def strip_shapes(robot: UrdfElement) -> Change | None:
    """Leave out everything but kinematics and mass."""
    irrelevant = [child for child in robot if child.tag not in {"link", "joint"}]
    irrelevant += [part for part in robot.iterfind("link/*") if part.tag != "inertial"]
    return _remove(
        irrelevant,
        "Shapes, materials and extension elements, irrelevant to kinematics and mass,"
        " were left out.",
    )


_TENSOR = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def complete_inertials(robot: UrdfElement) -> Change | None:
    """Fill missing parts of an ``<inertial>`` with zeros.

    Engines reject the whole file otherwise.
    """
    mass, inertia = set(), set()
    for name, link in _links(robot):
        for inertial in link.iterfind("inertial"):
            if _lacks(inertial.find("mass"), ("value",)):
                link.remove(inertial)
                mass.add(name)
            elif _lacks(tensor := inertial.find("inertia"), _TENSOR):
                if tensor is not None:
                    inertial.remove(tensor)
                etree.SubElement(inertial, "inertia", dict.fromkeys(_TENSOR, "0"))
                inertia.add(name)
    if not mass | inertia:
        return None
    return Change(
        f"Incomplete <inertial> elements were filled up or left out, and are not"
        f" stated: {_listed(mass | inertia)}.",
        mass=frozenset(mass),
        inertia=frozenset(inertia),
    )


def _lacks(element: UrdfElement | None, attributes: Iterable[str]) -> bool:
    return element is None or any(element.get(key) is None for key in attributes)


def keep_first_inertial(robot: UrdfElement) -> Change | None:
    """Leave out repeated ``<inertial>`` elements."""
    repeated = set()
    for name, link in _links(robot):
        for inertial in link.findall("inertial")[1:]:
            link.remove(inertial)
            repeated.add(name)
    if not repeated:
        return None
    return Change(
        f"Repeated <inertial> elements were left out, and the mass is not stated:"
        f" {_listed(repeated)}.",
        mass=frozenset(repeated),
    )


def name_robot(robot: UrdfElement) -> Change | None:
    """Name a robot that has no name."""
    if robot.get("name") is not None:
        return None
    robot.set("name", "unnamed")
    return Change("A robot without a name was given one.", unnamed_robot=True)


def add_missing_limits(robot: UrdfElement) -> Change | None:
    """Add an empty ``<limit>`` to revolute and prismatic joints without one."""
    added = set()
    for joint in robot.iterfind("joint"):
        bounded = joint.get("type") in {"revolute", "prismatic"}
        if bounded and joint.find("limit") is None:
            etree.SubElement(joint, "limit")
            added.add(_name(joint))
    if not added:
        return None
    return Change(
        f"A missing <limit> was added, and the limits are not stated: {_listed(added)}.",
        limits=frozenset(added),
    )


def rename_inner_link(reserved: str) -> Step:
    """Make a step that renames a link called ``reserved`` unless it is the root.

    The step is for an engine that treats any link of that name as its world.
    """

    def rename(robot: UrdfElement) -> Change | None:
        inner = robot.find(f"joint/child[@link='{reserved}']") is not None
        return _rename(robot, reserved, "it is not the root, and") if inner else None

    return rename


def rename_link(reserved: str) -> Step:
    """Make a step that renames a link called ``reserved``, the root included.

    The step is for an engine whose world has neither mass nor a pose.
    """

    def rename(robot: UrdfElement) -> Change | None:
        found = robot.find(f"link[@name='{reserved}']") is not None
        return _rename(robot, reserved, "otherwise") if found else None

    return rename


def _rename(robot: UrdfElement, reserved: str, because: str) -> Change:
    taken = {name for name, _ in _links(robot)}
    fresh = reserved
    while fresh in taken:
        fresh += "_"
    for tag in ("parent", "child"):
        for end in robot.iterfind(f"joint/{tag}[@link='{reserved}']"):
            end.set("link", fresh)
    for link in robot.iterfind(f"link[@name='{reserved}']"):
        link.set("name", fresh)
    return Change(
        f"Link {reserved} was renamed in the copy: {because} the engine would treat it"
        " as its world.",
        renamed=((fresh, reserved),),
    )


def leave_out(tag: str, reason: str) -> Step:
    """Make a step that leaves out an element of joints; ``reason`` is a clause."""

    def leave(robot: UrdfElement) -> Change | None:
        note = f"<{tag}> of joints was left out: {reason}."
        return _remove(robot.findall(f"joint/{tag}"), note)

    return leave


_COUPLED = frozenset({"revolute", "continuous", "prismatic"})


def leave_out_idle_couplings(robot: UrdfElement) -> Change | None:
    """Leave out couplings of or to a joint that has not exactly one coordinate."""
    types = {_name(joint): joint.get("type") for joint in robot.iterfind("joint")}
    idle = [
        (_name(joint), mimic)
        for joint in robot.iterfind("joint")
        for mimic in joint.iterfind("mimic")
        if {joint.get("type"), types.get(mimic.get("joint", ""), "revolute")} - _COUPLED
    ]
    names = _listed({name for name, _ in idle})
    note = f"<mimic> of or to a joint without one coordinate left out: {names}."
    return _remove([mimic for _, mimic in idle], note)


def leave_out_empty_dynamics(robot: UrdfElement) -> Change | None:
    """Leave out ``<dynamics>`` that states neither damping nor friction."""
    empty = [
        dynamics
        for dynamics in robot.iterfind("joint/dynamics")
        if dynamics.get("damping") is None and dynamics.get("friction") is None
    ]
    return _remove(empty, "Empty <dynamics> was left out.")


def complete_limits(robot: UrdfElement) -> Change | None:
    """Add missing effort and velocity to limits, and missing limits to joints."""
    effort: set[str] = set()
    velocity: set[str] = set()
    limits: set[str] = set()
    for joint in robot.iterfind("joint"):
        name = _name(joint)
        bounded = joint.get("type") in {"revolute", "prismatic"}
        limit = joint.find("limit")
        if limit is None and bounded:
            limit = etree.SubElement(joint, "limit")
            limits.add(name)
        if limit is None:
            continue
        for attribute, lacking in (("effort", effort), ("velocity", velocity)):
            if limit.get(attribute) is None:
                limit.set(attribute, "0")
                lacking.add(name)
    filled = effort | velocity
    if not filled:
        return None
    return Change(
        "A missing <limit>, or its missing effort and velocity, were added, and are not"
        f" stated: {_listed(filled)}.",
        limits=frozenset(limits),
        effort=frozenset(effort),
        velocity=frozenset(velocity),
    )


def leave_out_reversed_bounds(robot: UrdfElement) -> Change | None:
    """Leave out bounds if the lower one is above the upper one."""
    changed = set()
    for joint in robot.iterfind("joint"):
        for limit in joint.iterfind("limit"):
            if _reversed(limit):
                del limit.attrib["lower"], limit.attrib["upper"]
                changed.add(_name(joint))
    if not changed:
        return None
    return Change(f"Bounds with lower above upper were left out: {_listed(changed)}.")


def _reversed(limit: UrdfElement) -> bool:
    lower, upper = limit.get("lower"), limit.get("upper")
    if lower is None or upper is None:
        return False
    try:
        return float(lower) > float(upper)
    except ValueError:
        # The engine reports what is not a number.
        return False
