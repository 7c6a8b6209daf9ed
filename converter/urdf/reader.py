"""Parsing of elements to typed nodes, by recursion over the grammar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar, cast

from msgspec import Struct, structs

from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.diagnostics.messages import truncate
from urdf_usd.converter.diagnostics.rules import Severity
from urdf_usd.converter.urdf.grammar import AttributeType, ElementType
from urdf_usd.converter.urdf.kinds import Value
from urdf_usd.converter.urdf.xml import Element, describe, name_part

T = TypeVar("T")
# Number of omitted elements that a message lists.
_NAMED = 20


class Node(Struct, frozen=True):
    """An element of the language with typed values.

    Attributes:
        type: Its entry in the grammar.
        values: Value per attribute of the grammar, defaults applied.
        written: Names of the attributes in the file, valid or not.
        children: Nodes inside, in document order.
        location: Position of its ``<``.
        left_out: Tags of omitted children.
        element: The element; None for a node of defaults.
    """

    type: ElementType
    values: Mapping[str, object]
    written: frozenset[str]
    children: tuple[Node, ...]
    location: Location
    left_out: frozenset[str] = frozenset()
    element: Element | None = None

    def __getitem__(self, attribute: AttributeType[T]) -> T:
        return cast("T", self.values[attribute.name])

    def all(self, element_type: ElementType) -> tuple[Node, ...]:
        """Return the children of one type, in document order."""
        return tuple(child for child in self.children if child.type is element_type)

    def first(self, element_type: ElementType) -> Node | None:
        """Return the first child of one type."""
        return next(iter(self.all(element_type)), None)

    def descendants(self, element_type: ElementType) -> tuple[Node, ...]:
        """Return all nodes of one type below, in document order."""
        found: list[Node] = []
        pending = list(reversed(self.children))
        while pending:
            node = pending.pop()
            if node.type is element_type:
                found.append(node)
            if node.children:
                pending.extend(reversed(node.children))
        return tuple(found)

    def first_or_default(self, element_type: ElementType) -> Node:
        """Return the first child of one type, or a node of defaults."""
        found = self.first(element_type)
        if found:
            return found
        defaults = {a.name: a.default for a in element_type.attributes}
        return Node(element_type, defaults, frozenset(), (), self.location)


def read(
    element: Element, element_type: ElementType, version: tuple[int, int], notes: list[Diagnostic]
) -> Node:
    """Parse an element and its children.

    Args:
        element: The element.
        element_type: Its type in the grammar.
        version: URDF version of the file.
        notes: Receives diagnostics.
    """
    texts = dict(element.attributes)
    values: dict[str, object] = {}
    for attribute in element_type.attributes:
        content = None
        if attribute.required or attribute.name in texts:
            text = texts.get(attribute.name)
            content, found = _content(element, attribute, text, version)
            notes.extend(found)
        values[attribute.name] = attribute.default if content is None else content
    children: tuple[Node, ...] = ()
    left_out: frozenset[str] = frozenset()
    if element_type.children:
        children, left_out = _children(element, element_type, version, notes)
    return Node(
        element_type,
        values,
        frozenset(values.keys() & texts.keys()),
        children,
        element.location,
        left_out,
        element,
    )


def _children(
    element: Element, element_type: ElementType, version: tuple[int, int], notes: list[Diagnostic]
) -> tuple[tuple[Node, ...], frozenset[str]]:
    """Parse the children; also return the tags of omitted ones."""
    children: list[Node] = []
    left_out: set[str] = set()
    seen: set[str] = set()
    repeated: dict[str, list[Element]] = {}
    for inner in element.children:
        child = element_type.child(inner.tag)
        if child is None:
            continue
        if inner.tag in seen and not child.repeats:
            repeated.setdefault(inner.tag, []).append(inner)
            continue
        seen.add(inner.tag)
        reading = _read_dispensable if child.dispensable else read
        node = reading(inner, child.type, version, notes)
        if node is None:
            left_out.add(inner.tag)
        else:
            children.append(node)
    notes += [_repeated(element, others) for others in repeated.values()]
    for child in element_type.children:
        if child.required and child.type.tag not in seen:
            message = f"{describe(element)} has no <{child.type.tag}>"
            notes.append(Diagnostic("element-missing", message, element.location))
    return tuple(children), frozenset(left_out)


def _repeated(element: Element, others: Sequence[Element]) -> Diagnostic:
    """Report repeated elements, which are omitted."""
    first, *more = others
    named = [name_part(first)]
    named += [f"{name_part(one)} in line {one.location.line}" for one in more[:_NAMED]]
    if more[_NAMED:]:
        named.append(f"{len(more) - _NAMED} more")
    message = f"{describe(element)} has another {', '.join(named)}; left out"
    return Diagnostic("element-repeated", message, first.location)


def _read_dispensable(
    element: Element, element_type: ElementType, version: tuple[int, int], notes: list[Diagnostic]
) -> Node | None:
    """Parse an element; None in case of an error in it."""
    found: list[Diagnostic] = []
    node = read(element, element_type, version, found)
    errors = [one for one in found if one.severity is Severity.ERROR]
    notes += [one for one in found if one.severity is not Severity.ERROR]
    for one in errors:
        message = f"{one.message}; <{element.tag}> is left out"
        notes.append(Diagnostic("element-incomplete", message, one.location))
    return None if errors else node


def walk(
    element: Element, element_type: ElementType
) -> Iterator[tuple[Element, ElementType | None]]:
    """Yield an element and its descendants with their types.

    Elements that are not in the grammar have the type None; their children are skipped.
    """
    pending: list[tuple[Element, ElementType | None]] = [(element, element_type)]
    while pending:
        one, one_type = pending.pop()
        yield one, one_type
        if one_type is None:
            continue
        for inner in reversed(one.children):
            child = one_type.child(inner.tag)
            pending.append((inner, child.type if child else None))


def _content(
    element: Element,
    attribute: AttributeType[T],
    text: str | None,
    version: tuple[int, int],
) -> tuple[T | None, tuple[Diagnostic, ...]]:
    """Parse one attribute; None means the default."""
    if text is None or version < attribute.since:
        return None, tuple(_unread(element, attribute, text))
    value = attribute.kind.read(text)
    if value.content is not None and not value.flaws:
        return value.content, ()
    return value.content, tuple(_flaws(element, attribute, text, value))


def _unread(
    element: Element, attribute: AttributeType[T], text: str | None
) -> Iterator[Diagnostic]:
    """Return why an attribute is not read, unless it is one that may be absent."""
    if text is not None:
        since = ".".join(map(str, attribute.since))
        message = f"{_subject(element, attribute)} needs <robot version={since!r}>"
        yield Diagnostic("attribute-version", f"{message}; ignored", element.location)
    elif attribute.required:
        message = f"{describe(element)} has no {attribute.name}"
        yield Diagnostic("attribute-missing", message, element.location)


def _flaws(
    element: Element, attribute: AttributeType[T], text: str, value: Value[T]
) -> Iterator[Diagnostic]:
    """Report the problems of an attribute's value."""
    for flaw in value.flaws:
        no_default = flaw.rule == "number-invalid" and attribute.required
        rule = "number-required" if no_default else flaw.rule
        what = f"{_subject(element, attribute)} {flaw.message}"
        found = Diagnostic(rule, f"{what}: {truncate(repr(text))}", element.location)
        if found.severity is not Severity.ERROR:
            used = attribute.default if value.content is None else value.content
            found = structs.replace(found, message=f"{found.message}; {_use(used)}")
        yield found
    if attribute.required and value.content is None and not value.flaws:
        message = f"{_subject(element, attribute)} is empty"
        yield Diagnostic("attribute-missing", message, element.location)


def _use(value: object) -> str:
    if value is None:
        return "ignored"
    numbers = value if isinstance(value, tuple) else (value,)
    words = [f"{n:.9g}" if isinstance(n, float) else str(n).lower() for n in numbers]
    return f"{' '.join(words)} is used"


def _subject(element: Element, attribute: AttributeType[T]) -> str:
    return f"{attribute.name} of {describe(element)}"
