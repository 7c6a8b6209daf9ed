"""Copies of a URDF that an engine can read, and what in them is not the file's.

Engines share these texts alone and interpret them themselves. Each change of a copy is
reported in a note, and no engine states an added value: :class:`UrdfCopy` names the links
and joints concerned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from lxml import etree
from msgspec import Struct, field
from numpy.typing import ArrayLike

from urdf_usd.conformance.engines.mesh_materials import LARGEST_MESH
from urdf_usd.conformance.engines.protocol import AbstentionError, Request
from urdf_usd.conformance.engines.statements import vec3, vec6
from urdf_usd.conformance.observation.robot import MassProperties
from urdf_usd.conformance.observation.shapes import Role, ShapeKind, ShapeObservation

# lxml's own name for this type is private.
UrdfElement: TypeAlias = etree._Element

_WORLD = "world"
_TENSOR = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_BOUNDED = frozenset({"revolute", "prismatic"})
_COUPLED = frozenset({"revolute", "continuous", "prismatic"})
# XML errors that no engine rejects, and from which lxml recovers without loss.
_HARMLESS = {
    etree.ErrorTypes.ERR_UNKNOWN_VERSION: "a declaration of an unknown XML version",
    # Such as "1".
    etree.ErrorTypes.ERR_VERSION_MISSING: "a declaration without an XML version",
    etree.ErrorTypes.ERR_RESERVED_XML_NAME: "an XML declaration that is not at the top",
    etree.ErrorTypes.ERR_HYPHEN_IN_COMMENT: "a double hyphen within a comment",
    etree.ErrorTypes.ERR_DOCUMENT_END: "text after the end of the document",
    etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE: "an undeclared namespace prefix",
}


class UrdfCopy(Struct, eq=False):
    """A copy of a URDF; the sets have the links and joints whose values are not the file's."""

    robot: UrdfElement
    notes: list[str] = field(default_factory=list)
    without_inertial: frozenset[str] = frozenset()  # links of the file
    mass_unknown: set[str] = field(default_factory=set)
    inertia_unknown: set[str] = field(default_factory=set)
    limits_unknown: set[str] = field(default_factory=set)
    effort_unknown: set[str] = field(default_factory=set)
    velocity_unknown: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)  # name in the file, by that in the copy
    robot_unnamed: bool = False

    @property
    def text(self) -> bytes:
        """UTF-8, one element per line."""
        etree.indent(self.robot)
        return etree.tostring(self.robot, encoding="utf-8")

    @property
    def links(self) -> frozenset[str]:
        """Names of all links, as in the copy."""
        return frozenset(map(_name, self.robot.iterfind("link")))

    @property
    def joint_of_child(self) -> dict[str, str]:
        """Name of each joint, by its child link in the copy."""
        return {
            child.get("link", ""): _name(joint)
            for joint in self.robot.iterfind("joint")
            for child in joint.iterfind("child")
        }

    def original(self, link: str) -> str:
        """Return the name in the file of a link of the copy."""
        return self.renamed.get(link, link)

    def stated_mass(
        self, links: Iterable[str], mass: float, center: ArrayLike, inertia: ArrayLike
    ) -> MassProperties | None:
        """Return mass properties as far as they are those of the file.

        Args:
            links: The links, by their names in the file, whose mass it is.
            mass: [kg].
            center: (3,) in the link frame [m].
            inertia: (3, 3) about the centre, along the axes of the link [kg m^2].
        """
        names = frozenset(links)
        if not self.mass_unknown.isdisjoint(names):
            return None
        known = self.inertia_unknown.isdisjoint(names)
        return MassProperties(mass, vec3(center), vec6(inertia) if known else None)

    def change(self, note: str, names: Iterable[str]) -> None:
        """Add a note on the change of some parts; ``{}`` in it becomes their names."""
        if listed := ", ".join(sorted(names)):
            self.notes.append(note.format(listed))

    def leave_out(self, elements: Sequence[UrdfElement], note: str) -> None:
        """Remove elements, with a note if there are any."""
        _remove(elements)
        if elements:
            self.notes.append(note)


Step: TypeAlias = Callable[[UrdfCopy], None]


def prepare(path: str, steps: Sequence[Step]) -> UrdfCopy:
    """Read a URDF and apply ``steps`` to a copy of it.

    Raises:
        AbstentionError: The text is not XML, or not a robot.
    """
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
        robot = etree.fromstring(Path(path).read_bytes(), parser)
    except OSError as error:
        raise AbstentionError(f"the file cannot be read: {error.strerror}") from error
    except etree.XMLSyntaxError as error:
        raise AbstentionError(f"the text is not XML: {error.msg}") from error
    errors = {entry.type: entry for entry in reversed(parser.error_log.filter_from_errors())}
    for kind, entry in errors.items():
        if kind not in _HARMLESS:
            raise AbstentionError(
                f"the text is not well-formed XML: {entry.message}, line {entry.line}"
            )
    # lxml may return None, contrary to its annotation.
    tag = getattr(robot, "tag", None)
    if tag != "robot":
        raise AbstentionError(f"the root element is {tag}, not robot")
    copy = UrdfCopy(robot)
    for kind, what in _HARMLESS.items():
        if kind in errors:
            copy.notes.append(f"The copy leaves out {what}.")
    _define_world(copy)
    copy.without_inertial = frozenset(
        _name(link) for link in robot.iterfind("link") if link.find("inertial") is None
    )
    for step in steps:
        step(copy)
    return copy


def _name(element: UrdfElement) -> str:
    return element.get("name", "")


def _remove(elements: Iterable[UrdfElement]) -> None:
    for element in elements:
        parent = element.getparent()
        if parent is not None:
            parent.remove(element)


def _define_world(copy: UrdfCopy) -> None:
    """Add an empty link ``world`` if joints name it as parent and it is not defined.

    Drake reads such a file, MuJoCo and PyBullet reject it. If a child of such a joint
    has another parent as well, the file is left unchanged.
    """
    children = [child.get("link", "") for child in copy.robot.iterfind("joint/child")]
    hung = [
        child.get("link", "")
        for joint in copy.robot.iterfind("joint")
        if joint.find(f"parent[@link='{_WORLD}']") is not None
        for child in joint.iterfind("child")
    ]
    hung = [child for child in hung if child in copy.links]
    if _WORLD in (*copy.links, *children) or not hung:
        return
    if all(children.count(child) == 1 for child in hung):
        copy.robot.insert(0, etree.Element("link", name=_WORLD))
        copy.notes.append(f"Link {_WORLD}, a parent of joints that is not defined, was added.")


def strip_shapes(copy: UrdfCopy) -> None:
    """Leave out everything but kinematics and mass."""
    irrelevant = [child for child in copy.robot if child.tag not in {"link", "joint"}]
    irrelevant += [part for part in copy.robot.iterfind("link/*") if part.tag != "inertial"]
    note = (
        "Shapes, materials and extension elements, irrelevant to kinematics and mass,"
        " were left out."
    )
    copy.leave_out(irrelevant, note)


def complete_inertials(copy: UrdfCopy) -> None:
    """Fill missing parts of an ``<inertial>`` with zeros; engines reject the file otherwise."""
    mass, inertia = set(), set()
    for link in copy.robot.iterfind("link"):
        for inertial in link.iterfind("inertial"):
            if _lacks(inertial.find("mass"), ("value",)):
                link.remove(inertial)
                mass.add(_name(link))
            elif _lacks(tensor := inertial.find("inertia"), _TENSOR):
                if tensor is not None:
                    inertial.remove(tensor)
                etree.SubElement(inertial, "inertia", dict.fromkeys(_TENSOR, "0"))
                inertia.add(_name(link))
    copy.mass_unknown |= mass
    copy.inertia_unknown |= inertia
    note = "Incomplete <inertial> elements were filled up or left out, and are not stated: {}."
    copy.change(note, mass | inertia)


def _lacks(element: UrdfElement | None, attributes: Iterable[str]) -> bool:
    return element is None or any(element.get(key) is None for key in attributes)


def keep_first_inertial(copy: UrdfCopy) -> None:
    """Leave out repeated ``<inertial>`` elements."""
    repeated = set()
    for link in copy.robot.iterfind("link"):
        for inertial in link.findall("inertial")[1:]:
            link.remove(inertial)
            repeated.add(_name(link))
    copy.mass_unknown |= repeated
    note = "Repeated <inertial> elements were left out, and the mass is not stated: {}."
    copy.change(note, repeated)


def name_robot(copy: UrdfCopy) -> None:
    """Name a robot that has no name."""
    if copy.robot.get("name") is None:
        copy.robot.set("name", "unnamed")
        copy.robot_unnamed = True
        copy.notes.append("A robot without a name was given one.")


def add_missing_limits(copy: UrdfCopy) -> None:
    """Add an empty ``<limit>`` to revolute and prismatic joints without one."""
    added = set()
    for joint in copy.robot.iterfind("joint"):
        if joint.get("type") in _BOUNDED and joint.find("limit") is None:
            etree.SubElement(joint, "limit")
            added.add(_name(joint))
    copy.limits_unknown |= added
    copy.change("A missing <limit> was added, and the limits are not stated: {}.", added)


def complete_limits(copy: UrdfCopy) -> None:
    """Add missing effort and velocity to limits, and missing limits to joints."""
    lacking = {"effort": copy.effort_unknown, "velocity": copy.velocity_unknown}
    for joint in copy.robot.iterfind("joint"):
        limit = joint.find("limit")
        if limit is None and joint.get("type") in _BOUNDED:
            limit = etree.SubElement(joint, "limit")
            copy.limits_unknown.add(_name(joint))
        if limit is None:
            continue
        for attribute, names in lacking.items():
            if limit.get(attribute) is None:
                limit.set(attribute, "0")
                names.add(_name(joint))
    note = (
        "A missing <limit>, or its missing effort and velocity, were added, and are not stated: {}."
    )
    copy.change(note, copy.effort_unknown | copy.velocity_unknown)


def leave_out_reversed_bounds(copy: UrdfCopy) -> None:
    """Leave out bounds if the lower one is above the upper one."""
    changed = set()
    for joint in copy.robot.iterfind("joint"):
        for limit in joint.iterfind("limit"):
            try:
                # Engines report what is not a number.
                lower, upper = (float(limit.get(name, "nan")) for name in ("lower", "upper"))
            except ValueError:
                continue
            if lower > upper:
                del limit.attrib["lower"], limit.attrib["upper"]
                changed.add(_name(joint))
    copy.change("Bounds with lower above upper were left out: {}.", changed)


def leave_out(tag: str, reason: str) -> Step:
    """Make a step that leaves out an element of joints; ``reason`` is a clause."""

    def leave(copy: UrdfCopy) -> None:
        note = f"<{tag}> of joints was left out: {reason}."
        copy.leave_out(copy.robot.findall(f"joint/{tag}"), note)

    return leave


def leave_out_idle_couplings(copy: UrdfCopy) -> None:
    """Leave out couplings of or to a joint that has not exactly one coordinate."""
    types = {_name(joint): joint.get("type") for joint in copy.robot.iterfind("joint")}
    idle = [
        (_name(joint), mimic)
        for joint in copy.robot.iterfind("joint")
        for mimic in joint.iterfind("mimic")
        if {joint.get("type"), types.get(mimic.get("joint", ""), "revolute")} - _COUPLED
    ]
    _remove(mimic for _, mimic in idle)
    note = "<mimic> of or to a joint without one coordinate left out: {}."
    copy.change(note, {name for name, _ in idle})


def leave_out_empty_dynamics(copy: UrdfCopy) -> None:
    """Leave out ``<dynamics>`` that states neither damping nor friction."""
    empty = [
        element
        for element in copy.robot.iterfind("joint/dynamics")
        if element.get("damping") is None and element.get("friction") is None
    ]
    copy.leave_out(empty, "Empty <dynamics> was left out.")


def rename_link(reserved: str, *, inner_only: bool = False) -> Step:
    """Make a step that renames a link which the engine would treat as its world.

    Args:
        reserved: The name.
        inner_only: Whether a root of that name is left, as the engine's world is its link.
    """

    def rename(copy: UrdfCopy) -> None:
        where = f"joint/child[@link='{reserved}']" if inner_only else f"link[@name='{reserved}']"
        if copy.robot.find(where) is None:
            return
        fresh = reserved
        while fresh in copy.links:
            fresh += "_"
        for tag in ("parent", "child"):
            for end in copy.robot.iterfind(f"joint/{tag}[@link='{reserved}']"):
                end.set("link", fresh)
        for link in copy.robot.iterfind(f"link[@name='{reserved}']"):
            link.set("name", fresh)
        copy.renamed[fresh] = reserved
        because = "it is not the root, and" if inner_only else "otherwise"
        copy.notes.append(
            f"Link {reserved} was renamed in the copy: {because} the engine would treat it"
            " as its world."
        )

    return rename


class ShapeCopy(Struct, frozen=True):
    """A copy with links and shapes alone, and the shapes that were left out, as not stated."""

    urdf: UrdfCopy
    unread: tuple[ShapeObservation, ...]


def prepare_shapes(
    request: Request, loads: Callable[[Role, Path], bool], *steps: Step
) -> ShapeCopy:
    """Copy links and shapes.

    Every joint is fixed and no link has mass, so that an engine can only reject shapes.

    Args:
        request: The URDF, and the folders of packages.
        loads: Whether the engine loads a mesh file in a role; other meshes are left out.
        steps: Further changes that the engine needs.

    Raises:
        AbstentionError: The text is not XML, or not a robot.
    """
    unread: list[ShapeObservation] = []

    def leave_shapes(copy: UrdfCopy) -> None:
        kept = {"joint": ("origin", "parent", "child"), "link": ("visual", "collision")}
        removed = [part for part in copy.robot if part.tag not in (*kept, "material")]
        for tag, tags in kept.items():
            removed += [part for part in copy.robot.iterfind(f"{tag}/*") if part.tag not in tags]
        _remove([*removed, *copy.robot.iter("texture")])
        for joint in copy.robot.iterfind("joint"):
            joint.set("type", "fixed")
        unread.extend(_without_meshes(copy.robot, request, loads))

    urdf = prepare(request.path, (leave_shapes, *steps))
    return ShapeCopy(urdf, tuple(unread))


def _without_meshes(
    robot: UrdfElement, request: Request, loads: Callable[[Role, Path], bool]
) -> Iterator[ShapeObservation]:
    """Leave out meshes that cannot be loaded; give the others their absolute path."""
    for link in robot.iterfind("link"):
        for shape in list(link):
            mesh = shape.find("geometry/mesh")
            if mesh is None:
                continue
            reference, role = mesh.get("filename", ""), Role(str(shape.tag))
            file = find_mesh(reference, Path(request.path), request.packages)
            if file is not None and loads(role, file):
                mesh.set("filename", str(file))
                continue
            link.remove(shape)
            yield ShapeObservation(
                link=_name(link),
                role=role,
                source=f"{_name(link)} {role} {reference}",
                name=reference,
                kind=ShapeKind.MESH,
                stated=False,
            )


def find_mesh(reference: str, urdf: Path, packages: Mapping[str, str]) -> Path | None:
    """Find a mesh file: relative to the URDF, or in a package above it.

    One that is too large is left out, as by the reference engine.

    Args:
        reference: As written in the URDF.
        urdf: The URDF.
        packages: Folders of ROS packages, by name.
    """
    folder = urdf.absolute().parent
    scheme = next((s for s in ("package://", "model://") if reference.startswith(s)), None)
    if scheme is None:
        candidates = [folder / reference.removeprefix("file://")]
    else:
        package, _, rest = reference.removeprefix(scheme).partition("/")
        candidates = [Path(packages[package], rest)] if package in packages else []
        candidates += [above / rest for above in folder.parents if above.name == package]
        candidates += [above / package / rest for above in (folder, *folder.parents)]
    found = next((path for path in candidates if path.is_file()), None)
    return None if found is None or found.stat().st_size > LARGEST_MESH else found
