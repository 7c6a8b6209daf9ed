"""Copies of a URDF that an engine can read, and what in them is not the file's.

Engines share these texts alone and interpret them themselves. Each change of a copy is
reported in a note, and no engine states an added value: :class:`UrdfCopy` names the links
and joints concerned.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from lxml import etree
from msgspec import Struct, field
from msgspec.structs import replace

from urdf_usd.conformance.engines.mesh_materials import LARGEST_MESH
from urdf_usd.conformance.engines.protocol import Request, UnsupportedError
from urdf_usd.conformance.observation.robot import MassProperties
from urdf_usd.conformance.observation.shapes import Role, ShapeKind, ShapeObservation

# lxml's own name for this type is private.
UrdfElement: TypeAlias = etree._Element

_WORLD = "world"
_TENSOR = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
# XPath of joints with one coordinate.
_COUPLED = "@type='revolute' or @type='continuous' or @type='prismatic'"
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
        ends = ((x, end) for x in self.robot.iterfind("joint") for end in x.iterfind("child"))
        return {end.get("link", ""): _name(joint) for joint, end in ends}

    def original(self, link: str) -> str:
        return self.renamed.get(link, link)

    def known(self, links: Iterable[str], mass: MassProperties | None) -> MassProperties | None:
        """Return mass properties of links, by their names in the file, as far as they are its."""
        names = frozenset(links)
        if mass is None or not self.mass_unknown.isdisjoint(names):
            return None
        return mass if self.inertia_unknown.isdisjoint(names) else replace(mass, inertia=None)

    def note(self, text: str, names: Iterable[str]) -> None:
        """Add a note, if there is one and parts were changed; ``{}`` becomes their names."""
        if text and (changed := sorted(set(names))):
            self.notes.append(text.format(", ".join(changed)))


Step: TypeAlias = Callable[[UrdfCopy], None]


def prepare(path: str, steps: Sequence[Step]) -> UrdfCopy:
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
        raise UnsupportedError(f"the file cannot be read: {error.strerror}") from error
    except etree.XMLSyntaxError as error:
        raise UnsupportedError(f"the text is not XML: {error.msg}") from error
    errors = {entry.type: entry for entry in reversed(parser.error_log.filter_from_errors())}
    for kind, entry in errors.items():
        if kind not in _HARMLESS:
            raise UnsupportedError(
                f"the text is not well-formed XML: {entry.message}, line {entry.line}"
            )
    # lxml may return None, contrary to its annotation.
    tag = getattr(robot, "tag", None)
    if tag != "robot":
        raise UnsupportedError(f"the root element is {tag}, not robot")
    copy = UrdfCopy(robot)
    harmless = (what for kind, what in _HARMLESS.items() if kind in errors)
    copy.notes += (f"The copy leaves out {what}." for what in harmless)
    _define_world(copy)
    copy.without_inertial = frozenset(map(_name, _found(copy, "link[not(inertial)]")))
    for step in steps:
        step(copy)
    return copy


def _name(element: UrdfElement) -> str:
    return element.get("name", "")


def _found(copy: UrdfCopy, xpath: str) -> list[UrdfElement]:
    found: list[UrdfElement] = copy.robot.xpath(xpath)
    return found


def _define_world(copy: UrdfCopy) -> None:
    """Add an empty link ``world`` if joints name it as parent and it is not defined."""
    # Drake reads such a file, MuJoCo and PyBullet reject it. If a child of such a joint has another
    # parent as well, the file is left unchanged.
    children = [child.get("link", "") for child in copy.robot.iterfind("joint/child")]
    ends = _found(copy, f"joint[parent/@link='{_WORLD}']/child[@link=/robot/link/@name]")
    if _WORLD in (*copy.links, *children) or not ends:
        return
    if all(children.count(end.get("link", "")) == 1 for end in ends):
        copy.robot.insert(0, etree.Element("link", name=_WORLD))
        copy.notes.append(f"Link {_WORLD}, a parent of joints that is not defined, was added.")


def leave_out(xpath: str, note: str = "", unknown: str = "") -> Step:
    """Make a step that leaves out elements.

    The names of their parents fill the note's ``{}``, and are added to the copy's set ``unknown``.
    """

    def leave(copy: UrdfCopy) -> None:
        names = set()
        for element in _found(copy, xpath):
            parent = element.getparent()
            if parent is not None:
                names.add(_name(parent))
                parent.remove(element)
        if unknown:
            getattr(copy, unknown).update(names)
        copy.note(note, names)

    return leave


strip_shapes = leave_out(
    "*[not(self::link or self::joint)] | link/*[not(self::inertial)]",
    "Shapes, materials and extension elements, irrelevant to kinematics and mass, were left out.",
)
keep_first_inertial = leave_out(
    "link/inertial[position() > 1]",
    "Repeated <inertial> elements were left out, and the mass is not stated: {}.",
    "mass_unknown",
)
leave_out_idle_couplings = leave_out(
    f"joint[not({_COUPLED})]/mimic | joint/mimic[@joint = /robot/joint[not({_COUPLED})]/@name]",
    "<mimic> of or to a joint without one coordinate left out: {}.",
)
leave_out_empty_dynamics = leave_out(
    "joint/dynamics[not(@damping or @friction)]", "Empty <dynamics> was left out."
)


def complete_inertials(copy: UrdfCopy) -> None:
    """Fill missing parts of an ``<inertial>`` with zeros; engines reject the file otherwise."""
    mass, inertia = set(), set()
    for link in copy.robot.iterfind("link"):
        for inertial in link.findall("inertial"):
            tensor = inertial.find("inertia")
            if not inertial.xpath("mass[1]/@value"):
                link.remove(inertial)
                mass.add(_name(link))
            elif tensor is None or not set(_TENSOR) <= set(tensor.attrib):
                if tensor is not None:
                    inertial.remove(tensor)
                etree.SubElement(inertial, "inertia", dict.fromkeys(_TENSOR, "0"))
                inertia.add(_name(link))
    copy.mass_unknown |= mass
    copy.inertia_unknown |= inertia
    note = "Incomplete <inertial> elements were filled up or left out, and are not stated: {}."
    copy.note(note, mass | inertia)


# For engines that read frames and masses.
WITHOUT_SHAPES = (strip_shapes, keep_first_inertial, complete_inertials)


def name_robot(copy: UrdfCopy) -> None:
    if copy.robot.get("name") is None:
        copy.robot.set("name", "unnamed")
        copy.robot_unnamed = True
        copy.notes.append("A robot without a name was given one.")


def add_missing_limits(
    copy: UrdfCopy, note: str = "A missing <limit> was added, and the limits are not stated: {}."
) -> None:
    for joint in _found(copy, "joint[@type='revolute' or @type='prismatic'][not(limit)]"):
        etree.SubElement(joint, "limit")
        copy.limits_unknown.add(_name(joint))
    copy.note(note, copy.limits_unknown)


def complete_limits(copy: UrdfCopy) -> None:
    add_missing_limits(copy, "")
    lacking = {"effort": copy.effort_unknown, "velocity": copy.velocity_unknown}
    for attribute, names in lacking.items():
        for limit in _found(copy, f"joint/limit[1][not(@{attribute})]"):
            limit.set(attribute, "0")
            names.update(_name(joint) for joint in limit.iterancestors("joint"))
    note = (
        "A missing <limit>, or its missing effort and velocity, were added, and are not stated: {}."
    )
    copy.note(note, copy.effort_unknown | copy.velocity_unknown)


def leave_out_reversed_bounds(copy: UrdfCopy) -> None:
    names = set[str]()
    for limit in _found(copy, "joint/limit[@lower and @upper]"):
        # Engines report what is not a number.
        with contextlib.suppress(ValueError):
            if float(limit.get("lower", "")) > float(limit.get("upper", "")):
                del limit.attrib["lower"], limit.attrib["upper"]
                names.update(map(_name, limit.iterancestors("joint")))
    copy.note("Bounds with lower above upper were left out: {}.", names)


def rename_link(reserved: str, *, inner_only: bool = False) -> Step:
    """Make a step that renames a link which the engine would treat as its world.

    With ``inner_only``, a root of that name is left, as the engine's world is its link.
    """

    def rename(copy: UrdfCopy) -> None:
        names = "joint/child/@link" if inner_only else "link/@name"
        if not _found(copy, f"{names}[.='{reserved}']"):
            return
        fresh = reserved
        while fresh in copy.links:
            fresh += "_"
        for end in _found(copy, f"joint/*[self::parent or self::child][@link='{reserved}']"):
            end.set("link", fresh)
        for link in _found(copy, f"link[@name='{reserved}']"):
            link.set("name", fresh)
        copy.renamed[fresh] = reserved
        because = "it is not the root, and" if inner_only else "otherwise"
        note = f"Link {reserved} was renamed in the copy: {because} the engine would treat it"
        copy.notes.append(f"{note} as its world.")

    return rename


_leave_all_but_shapes = leave_out(
    "*[not(self::link or self::joint or self::material)] | //texture"
    " | joint/*[not(self::origin or self::parent or self::child)]"
    " | link/*[not(self::visual or self::collision)]"
)


def prepare_shapes(
    request: Request, loads: Callable[[Role, Path], bool], *steps: Step
) -> tuple[UrdfCopy, list[ShapeObservation]]:
    """Copy links and shapes; also return the shapes that are left out, as not stated.

    Every joint is fixed and no link has mass, so that an engine can only reject shapes. ``loads``
    tells whether the engine loads a mesh file in a role: these have absolute paths then, and other
    meshes are left out. ``steps`` are further changes that the engine needs.
    """
    unread: list[ShapeObservation] = []

    def leave_meshes(copy: UrdfCopy) -> None:
        for joint in copy.robot.iterfind("joint"):
            joint.set("type", "fixed")
        for link in copy.robot.iterfind("link"):
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
                unread.append(
                    ShapeObservation(
                        link=_name(link),
                        role=role,
                        source=f"{_name(link)} {role} {reference}",
                        name=reference,
                        kind=ShapeKind.MESH,
                        stated=False,
                    )
                )

    return prepare(request.path, (_leave_all_but_shapes, leave_meshes, *steps)), unread


def find_mesh(reference: str, urdf: Path, packages: Mapping[str, str]) -> Path | None:
    """Find a mesh file that is not too large: relative to the URDF, or in a package above it."""
    folder = urdf.absolute().parent
    scheme = next((s for s in ("package://", "model://") if reference.startswith(s)), None)
    if scheme is None:
        folders, rest = iter([folder]), reference.removeprefix("file://")
    else:
        package, _, rest = reference.removeprefix(scheme).partition("/")
        given = [Path(packages[package])] if package in packages else []
        named = (above for above in folder.parents if above.name == package)
        folders = chain(given, named, (above / package for above in (folder, *folder.parents)))
    found = next((path for one in folders if (path := one / rest).is_file()), None)
    return None if found is None or found.stat().st_size > LARGEST_MESH else found
