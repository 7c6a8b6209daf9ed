"""The grammar of URDF (elements, attributes, their types and defaults), and reading by it.

Defaults are only defined here. The specification is at ``wiki.ros.org/urdf/XML``; ``since`` is
the URDF version that introduced an attribute.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, Generic, Literal, TypeVar, cast

from msgspec import Struct

from urdf_usd.converter.diagnostics import RULES, Location, Notes, Severity, truncate
from urdf_usd.converter.robot.model import Vec4
from urdf_usd.converter.urdf.xml import Element, describe, name_part

T = TypeVar("T")
Version = tuple[int, int]
FIRST_VERSION = (1, 0)
Numbers = tuple[float, ...]
# What is wrong with a value: rule and description.
Flaws = tuple[tuple[str, str], ...]


class Kind(Struct, frozen=True):
    """A type of attribute values: text, a name or reference, a truth value, or numbers."""

    type: Literal["text", "name", "flag", "numbers"]
    count: int = 1  # of numbers
    infinity: float | None = None  # the infinite number that means unlimited
    complete: Callable[[Numbers], Numbers | None] = lambda _: None  # a vector that is too short

    def read(self, text: str) -> tuple[Any, Flaws]:
        """Return the value of an attribute, None if it is unusable, and what is wrong with it."""
        if self.type == "flag":
            return text.strip().lower() in {"true", "1"}, ()
        if self.type != "numbers":
            return text if text.strip() else None, ()
        values, flaws = read_decimals(text, self.count)
        if values is None:
            several = f"does not hold {self.count} decimal numbers"
            what = "is not a decimal number" if self.count == 1 else several
            return None, (("number-invalid", what),)
        if not all(math.isfinite(value) or value == self.infinity for value in values):
            return None, (("number-nonfinite", "is not finite"),)
        if len(values) < self.count:
            short = f"holds {len(values)} of {self.count} numbers"
            values = self.complete(values)
            if values is None:
                return None, (("number-invalid", short),)
            flaws = (*flaws, ("vector-completed", short))
        return values[0] if self.count == 1 else values, flaws


TEXT, NAME_KIND = Kind("text"), Kind("name")

_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)",
    re.IGNORECASE | re.ASCII,
)


def read_decimals(text: str, count: int) -> tuple[Numbers | None, Flaws]:
    """Read up to ``count`` numbers separated by white space, and what is wrong with them.

    Unlike ``float``: no digit separators, and only ASCII digits. Punctuation around numbers and
    a full stop after a fraction are dropped (``0.07,``, ``-1.57.``, ``[0, 0, 1]`` or ``0,0,1``).

    Returns:
        The numbers, including NaN and infinities, without negative zeros; None if the
        text is blank, or does not start with numbers.
    """
    words, parts = text.split(), text.strip(" \t\r\n[]()").split(",")
    # "1,2,3" is a vector; in "0,5 1 2", a comma may be that of a decimal.
    is_vector = len(words) == 1 and len(parts) == count > 1
    found = parts if is_vector else words
    bare = (w if _NUMBER.fullmatch(w) else w.strip(",;[]()").rstrip(".") for w in found)
    numbers = list(filter(None, bare))
    if not text.isascii() or not numbers or not all(map(_NUMBER.fullmatch, numbers[:count])):
        return None, ()
    flaws: list[tuple[str, str]] = []
    if numbers != words:
        flaws.append(("number-punctuation", "has stray punctuation"))
    if len(numbers) > count:
        plural = "s" if count > 1 else ""
        flaws.append(("vector-length", f"holds more than {count} number{plural}"))
    # Adding zero turns -0.0 into 0.0.
    return tuple([float(number) + 0.0 for number in numbers[:count]]), tuple(flaws)


class AttributeType(Struct, Generic[T], frozen=True):
    """An attribute of the language."""

    name: str
    kind: Kind
    # Value if it is absent. For a required attribute a placeholder until the error is
    # raised, which causes no further errors.
    default: T
    required: bool = False
    since: Version = FIRST_VERSION  # ignored in older files
    unit: str = ""


class Child(Struct, frozen=True):
    """A child element."""

    type: ElementType
    required: bool = False
    repeats: bool = False
    dispensable: bool = False  # left out in case of errors in it, which refuse no file
    since: Version = FIRST_VERSION  # it is read in any version


class ElementType(Struct, frozen=True, eq=False):
    """An element of the language; compared by identity."""

    tag: str
    attributes: tuple[AttributeType[Any], ...] = ()
    children: tuple[Child, ...] = ()

    def child(self, tag: str) -> Child | None:
        """Find a child by tag."""
        return next((child for child in self.children if child.type.tag == tag), None)


Optional4 = AttributeType[Vec4 | None]
NUMBER, _VEC3 = Kind("numbers"), Kind("numbers", 3)


def _number(
    name: str, unit: str = "", infinity: float | None = None, since: Version = FIRST_VERSION
) -> AttributeType[float | None]:
    return AttributeType(name, Kind("numbers", infinity=infinity), None, since=since, unit=unit)


def _required_number(name: str, unit: str) -> AttributeType[float]:
    return AttributeType(name, NUMBER, 1.0, required=True, unit=unit)


def _required_name(name: str) -> AttributeType[str]:
    return AttributeType(name, NAME_KIND, "", required=True)


def _text(name: str, kind: Kind) -> AttributeType[str | None]:
    return AttributeType(name, kind, None)


# Poses
XYZ = AttributeType("xyz", _VEC3, (0.0, 0.0, 0.0), unit="m")
RPY = AttributeType("rpy", _VEC3, (0.0, 0.0, 0.0), unit="rad")
QUAT_XYZW: Optional4 = AttributeType("quat_xyzw", Kind("numbers", 4), None, since=(1, 1))
ORIGIN = ElementType("origin", (XYZ, RPY, QUAT_XYZW))

# Mass
MASS_VALUE = _required_number("value", "kg")
MASS = ElementType("mass", (MASS_VALUE,))
# Products of inertia are often left out of hand-written files; Bullet reads those.
_MOMENTS = ("ixx", "iyy", "izz")
INERTIA = ElementType(
    "inertia",
    tuple(
        AttributeType(name, NUMBER, float(name in _MOMENTS), name in _MOMENTS, unit="kg m^2")
        for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    ),
)
_PARTS = (Child(ORIGIN), Child(MASS), Child(INERTIA))
INERTIAL = ElementType("inertial", children=_PARTS)

# Shapes
SIZE = AttributeType("size", _VEC3, (1.0, 1.0, 1.0), required=True, unit="m")
RADIUS = _required_number("radius", "m")
LENGTH = _required_number("length", "m")
FILENAME = AttributeType("filename", TEXT, "", required=True)
SCALE = AttributeType(
    "scale", Kind("numbers", 3, complete=lambda n: n * 3 if len(n) == 1 else None), (1.0, 1.0, 1.0)
)
BOX = ElementType("box", (SIZE,))
CYLINDER = ElementType("cylinder", (RADIUS, LENGTH))
CAPSULE = ElementType("capsule", (RADIUS, LENGTH))
SPHERE = ElementType("sphere", (RADIUS,))
MESH = ElementType("mesh", (FILENAME, SCALE))
GEOMETRY = ElementType(
    "geometry",
    children=tuple(
        Child(shape, dispensable=True, since=(1, 1) if shape is CAPSULE else FIRST_VERSION)
        for shape in (BOX, CYLINDER, CAPSULE, SPHERE, MESH)
    ),
)

# Appearance
RGBA: Optional4 = AttributeType(
    "rgba", Kind("numbers", 4, complete=lambda n: (*n, 1.0) if len(n) == 3 else None), None
)
COLOR = ElementType("color", (RGBA,))
IMAGE = _text("filename", TEXT)
TEXTURE = ElementType("texture", (IMAGE,))
OPTIONAL_NAME = _text("name", NAME_KIND)
_LOOKS = (Child(COLOR), Child(TEXTURE))
MATERIAL = ElementType("material", (OPTIONAL_NAME,), _LOOKS)

# Links
NAME = _required_name("name")
_SHAPE = (Child(ORIGIN), Child(GEOMETRY))
VISUAL = ElementType("visual", (OPTIONAL_NAME,), (*_SHAPE, Child(MATERIAL)))
COLLISION = ElementType("collision", (OPTIONAL_NAME,), _SHAPE)
_OF_LINK = (Child(INERTIAL), Child(VISUAL, repeats=True), Child(COLLISION, repeats=True))
LINK = ElementType("link", (NAME,), _OF_LINK)

# Joints
LINK_NAME = _required_name("link")
PARENT = ElementType("parent", (LINK_NAME,))
CHILD = ElementType("child", (LINK_NAME,))
AXIS_XYZ = AttributeType("xyz", _VEC3, (1.0, 0.0, 0.0))
AXIS = ElementType("axis", (AXIS_XYZ,))
# An absent limit is zero up to URDF 1.1. Infinity is unlimited.
LOWER = AttributeType("lower", Kind("numbers", infinity=-math.inf), 0.0, unit="rad or m")
UPPER = AttributeType("upper", Kind("numbers", infinity=math.inf), 0.0, unit="rad or m")
EFFORT = _number("effort", "N m or N", math.inf)
VELOCITY = _number("velocity", "rad/s or m/s", math.inf)
ACCELERATION = _number("acceleration", "rad/s^2 or m/s^2", math.inf, since=(1, 2))
DECELERATION = _number("deceleration", "rad/s^2 or m/s^2", math.inf, since=(1, 2))
JERK = _number("jerk", "rad/s^3 or m/s^3", math.inf, since=(1, 2))
RATES = (EFFORT, VELOCITY, ACCELERATION, DECELERATION, JERK)
LIMIT = ElementType("limit", (LOWER, UPPER, *RATES))
DAMPING = _number("damping", "N m s/rad or N s/m")
FRICTION = _number("friction", "N m or N")
DYNAMICS = ElementType("dynamics", (DAMPING, FRICTION))
LEADER, MULTIPLIER = _required_name("joint"), AttributeType("multiplier", NUMBER, 1.0)
OFFSET = AttributeType("offset", NUMBER, 0.0, unit="rad or m")
MIMIC = ElementType("mimic", (LEADER, MULTIPLIER, OFFSET))
_GAINS = (_number("k_velocity"), _number("k_position"))
SOFT_LOWER_LIMIT = _number("soft_lower_limit", "rad or m", -math.inf)
SOFT_UPPER_LIMIT = _number("soft_upper_limit", "rad or m", math.inf)
_SAFETY = (*_GAINS, SOFT_LOWER_LIMIT, SOFT_UPPER_LIMIT)
SAFETY_CONTROLLER = ElementType("safety_controller", _SAFETY)
_EDGES = (_number("rising", "rad or m"), _number("falling", "rad or m"))
CALIBRATION = ElementType("calibration", _EDGES)
TYPE = _required_name("type")
# Extension of Isaac Sim's importer: keep this fixed joint when others are merged.
DONT_COLLAPSE = AttributeType("dont_collapse", Kind("flag"), default=False)
_ENDS = (Child(PARENT, required=True), Child(CHILD, required=True))
_MOTION = (Child(AXIS), Child(LIMIT), Child(DYNAMICS), Child(MIMIC, dispensable=True))
_OF_JOINT = (Child(ORIGIN), *_ENDS, *_MOTION, Child(SAFETY_CONTROLLER), Child(CALIBRATION))
JOINT = ElementType("joint", (NAME, TYPE, DONT_COLLAPSE), _OF_JOINT)

VERSION = _text("version", TEXT)
_OF_ROBOT = tuple(Child(part, repeats=True) for part in (LINK, JOINT, MATERIAL))
ROBOT = ElementType("robot", (OPTIONAL_NAME, VERSION), _OF_ROBOT)


class Node(Struct, frozen=True):
    """An element of the language with typed values."""

    type: ElementType
    attributes: Mapping[str, Any]  # value of each, defaults applied
    written: Set[str]  # names of those in the file, valid or not
    children: tuple[Node, ...]  # in document order
    location: Location
    left_out: Set[str] = frozenset()  # tags of omitted children
    element: Element | None = None  # None for a node of defaults

    def __getitem__(self, attribute: AttributeType[T]) -> T:
        return cast("T", self.attributes[attribute.name])

    @property
    def values(self) -> tuple[Any, ...]:
        """Values of all attributes, in the order of the grammar."""
        return tuple(self.attributes.values())

    def all(self, element_type: ElementType) -> tuple[Node, ...]:
        """Return the children of one type, in document order."""
        return tuple([child for child in self.children if child.type is element_type])

    def first(self, element_type: ElementType) -> Node | None:
        """Return the first child of one type."""
        return next((child for child in self.children if child.type is element_type), None)

    def descendants(self, element_type: ElementType) -> Iterator[Node]:
        """Yield all nodes of one type below, in document order."""
        for child in self.children:
            if child.type is element_type:
                yield child
            yield from child.descendants(element_type)

    def first_or_default(self, element_type: ElementType) -> Node:
        """Return the first child of one type, or a node of defaults."""
        defaults = {a.name: a.default for a in element_type.attributes}
        default = Node(element_type, defaults, frozenset(), (), self.location)
        return self.first(element_type) or default


def read(element: Element, element_type: ElementType, version: Version, notes: Notes) -> Node:
    """Parse an element and its children."""
    written = {name for name, _ in element.attributes}
    values = {
        attribute.name: _read_attribute(element, attribute, version, notes)
        if attribute.required or attribute.name in written
        else attribute.default
        for attribute in element_type.attributes
    }
    children: list[Node] = []
    left_out: set[str] = set()
    seen: set[str] = set()
    for inner in element.children:
        if (child := element_type.child(inner.tag)) is None:
            continue
        if inner.tag in seen and not child.repeats:
            message = f"{describe(element)} has another {name_part(inner)}; left out"
            notes.add("element-repeated", inner, message)
            continue
        seen.add(inner.tag)
        found = Notes()
        node = read(inner, child.type, version, found)
        errors = [note for note in found if note.severity is Severity.ERROR]
        if child.dispensable and errors:
            left_out.add(inner.tag)
            found = Notes(note for note in found if note.severity is not Severity.ERROR)
            for error in errors:
                message = f"{error.message}; <{inner.tag}> is left out"
                found.add("element-incomplete", error, message)
        else:
            children.append(node)
        notes += found
    for child in element_type.children:
        if child.required and child.type.tag not in seen:
            notes.add("element-missing", element, f"{describe(element)} has no <{child.type.tag}>")
    known, place = values.keys() & written, element.location
    return Node(element_type, values, known, tuple(children), place, left_out, element)


def _read_attribute(
    element: Element, attribute: AttributeType[Any], version: Version, notes: Notes
) -> Any:  # noqa: ANN401  of any attribute
    text = element.get(attribute.name)
    value, flaws = (None, ()) if text is None else attribute.kind.read(text)
    used = attribute.default if value is None else value
    if value is not None and not flaws and version >= attribute.since:
        return used
    subject = f"{attribute.name} of {describe(element)}"
    if text is not None and version < attribute.since:
        since = ".".join(map(str, attribute.since))
        message = f"{subject} needs <robot version={since!r}>; ignored"
        notes.add("attribute-version", element, message)
        return attribute.default
    for flaw, what in flaws:
        rule = "number-required" if flaw == "number-invalid" and attribute.required else flaw
        message = f"{subject} {what}: {truncate(repr(text))}"
        if RULES[rule].severity is not Severity.ERROR:
            message += f"; {_use(used)}"
        notes.add(rule, element, message)
    if attribute.required and value is None and not flaws:
        absent = f"{describe(element)} has no {attribute.name}"
        message = absent if text is None else f"{subject} is empty"
        notes.add("attribute-missing", element, message)
    return used


def _use(value: object) -> str:
    if value is None:
        return "ignored"
    numbers = value if isinstance(value, tuple) else (value,)
    words = [f"{n:.9g}" if isinstance(n, float) else str(n).lower() for n in numbers]
    return f"{' '.join(words)} is used"


def walk(
    element: Element, element_type: ElementType | None
) -> Iterator[tuple[Element, ElementType | None]]:
    """Yield an element and its descendants with their types.

    Elements that are not in the grammar have the type None; their children are skipped.
    """
    yield element, element_type
    if element_type:
        for inner in element.children:
            child = element_type.child(inner.tag)
            yield from walk(inner, child.type if child else None)
