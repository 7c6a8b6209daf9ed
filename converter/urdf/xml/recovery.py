"""Recovery of elements from malformed XML.

Tags and text are repaired first (``scanning``), then unmatched tags (``nesting``), by
adding or dropping end tags. Links and joints that are misplaced afterwards are
reported. General recovering parsers are not used, because a stray end tag closes the
parent there, and the following links are lost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.diagnostics.findings import Findings
from urdf_usd.converter.diagnostics.messages import truncate
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.grammar import ROBOT, ElementType
from urdf_usd.converter.urdf.reader import walk
from urdf_usd.converter.urdf.xml.elements import (
    Element,
    TreeBuilder,
    describe,
    name_part,
)
from urdf_usd.converter.urdf.xml.nesting import Matching, match_tags
from urdf_usd.converter.urdf.xml.repairs import XmlRepair
from urdf_usd.converter.urdf.xml.scanning import (
    EndTag,
    StartTag,
    Text,
    Token,
    resolve,
    scan,
)

# Text with more faults is not XML.
_MOST_REPAIRS = 1000


def recover(text: str, file: str) -> Findings[Element]:
    """Read the root element of text that is not well-formed.

    Args:
        text: The document.
        file: Its path, for locations.

    Raises:
        SourceError: The text is ambiguous, has too many faults, or declares entities.
    """
    step = _recover(text, file)
    count = 0
    while True:
        try:
            repair = next(step)
        except StopIteration as stop:
            root: Element = stop.value
            return root
        yield repair
        count += 1
        if count >= _MOST_REPAIRS:
            message = f"there are {count} faults so far: this is no XML"
            raise SourceError((Diagnostic("xml-syntax", message, repair.location),))


def _recover(text: str, file: str) -> Findings[Element]:
    tokens = yield from scan(text, file, _MOST_REPAIRS)
    matching = match_tags(tokens)
    recovery = _TreeRecovery(file, tokens, matching)
    yield from recovery.nest()
    root = yield from recovery.finish()
    if root.tag == ROBOT.tag:
        yield from misplaced_parts(root, recovery.changed)
    return root


class _TreeRecovery:
    """Builds elements from repaired tokens.

    Attributes:
        changed: Locations of elements with an added or dropped tag in or after them.
    """

    def __init__(self, file: str, tokens: Sequence[Token], matching: Matching) -> None:
        self.changed: set[Location] = set()
        self._file = file
        self._tokens = tokens
        self._matching = matching
        self._tree = TreeBuilder(file)
        # Of each open element: its start tag, its type, and whether it has an end.
        self._open: list[tuple[StartTag, ElementType | None, bool]] = []
        self._outside: Location | None = None
        self._begun: frozenset[str] | None = None

    def nest(self) -> Findings[None]:
        """Process all tokens."""
        for index, token in enumerate(self._tokens):
            if isinstance(token, StartTag):
                yield from self._start(token, index not in self._matching.unended)
            elif isinstance(token, EndTag):
                yield from self._end(token, index in self._matching.strays)
            else:
                yield from self._text(token)

    def finish(self) -> Findings[Element]:
        """Return the root; report content outside it."""
        if len(self._open) > 1:
            tag = self._open[-1][0].tag
            end = self._tokens[-1].location
            message = f"the text ends inside <{truncate(tag)}>"
            raise SourceError((Diagnostic("xml-syntax", message, end),))
        if self._open:
            yield from self._end_unended("the end of the text")
        roots = self._tree.roots
        if not roots:
            place = Location(self._file, 1, 1)
            message = "the text holds no element"
            raise SourceError((Diagnostic("xml-syntax", message, place),))
        root = next((one for one in roots if one.tag == ROBOT.tag), roots[0])
        yield from self._left_out(root, [one for one in roots if one is not root])
        yield from self._tree.unbound_prefixes()
        return root

    def _left_out(self, root: Element, others: Sequence[Element]) -> Findings[None]:
        tag = truncate(root.tag)
        if others:
            more = f", with {len(others) - 1} more" if len(others) > 1 else ""
            lost = describe_parts(others)
            more += f": {lost}" if lost else ""
            yield XmlRepair.OUTSIDE_ELEMENT.at(
                others[0].location, element=describe(others[0]), root=tag, more=more
            )
        if self._outside is not None:
            yield XmlRepair.OUTSIDE_TEXT.at(self._outside, root=tag)

    def _text(self, token: Text) -> Findings[None]:
        if self._open:
            self._tree.text((yield from resolve(token)))
        elif self._outside is None and token.raw and token.content.strip():
            self._outside = token.location

    def _start(self, token: StartTag, has_end: bool) -> Findings[None]:
        while self._ends_before(token):
            yield from self._end_unended(f"<{truncate(token.tag)}>")
        if not self._open:
            element_type = ROBOT if token.tag == ROBOT.tag else None
        else:
            _, parent, _ = self._open[-1]
            child = parent.child(token.tag) if parent else None
            element_type = child.type if child else None
        place = token.location
        self._tree.start(token.tag, token.attributes, place.line, place.column)
        if token.empty:
            self._tree.end()
        else:
            self._open.append((token, element_type, has_end))

    def _end(self, token: EndTag, is_stray: bool) -> Findings[None]:
        if is_stray:
            yield from self._stray(token)
            return
        while not self._open[-1][2]:
            yield from self._end_unended(f"</{truncate(token.tag)}>")
        self._close()

    def _stray(self, token: EndTag) -> Findings[None]:
        """Treat an end tag with an unused name as misspelt; drop others."""
        if self._begun is None:
            tags = (one.tag for one in self._tokens if isinstance(one, StartTag))
            self._begun = frozenset(tags)
        words = {"tag": truncate(token.tag)}
        if self._open and not self._open[-1][2] and token.tag not in self._begun:
            words["open_tag"] = truncate(self._open[-1][0].tag)
            yield XmlRepair.END_MISSPELT.at(token.location, **words)
            self._close()
            return
        if self._open:
            self.changed.add(self._open[-1][0].location)
        yield XmlRepair.END_DROPPED.at(token.location, **words)

    def _end_unended(self, before: str) -> Findings[None]:
        innermost, _, _ = self._open[-1]
        self.changed.update(tag.location for tag, _, _ in self._open[-2:])
        self._close()
        yield XmlRepair.END_ADDED.at(innermost.location, tag=truncate(innermost.tag), before=before)

    def _close(self) -> None:
        self._open.pop()
        self._tree.end()

    def _ends_before(self, token: StartTag) -> bool:
        """Return whether the innermost, unclosed element ends before a start tag.

        It does if the tag is allowed in an outer element and all elements inside that
        are unclosed: for example at a link inside a link. Elements that are not URDF
        may contain any element except parts of the robot.
        """
        if not self._open or self._open[-1][2]:
            return False
        is_part = begins_part(token.tag, (name for name, _ in token.attributes))
        for place, (_, element_type, has_end) in enumerate(reversed(self._open)):
            if element_type is not None and element_type.child(token.tag):
                return place > 0
            if has_end or (element_type is None and not is_part):
                return False
        return False


# Parts of a robot, with their required attributes: without these it is a reference,
# such
# as a joint in a transmission.
_PARTS: Mapping[str, tuple[str, ...]] = {
    one.tag: tuple(attribute.name for attribute in one.attributes if attribute.required)
    for one in (
        *(g.LINK, g.JOINT, g.INERTIAL, g.MASS, g.INERTIA),
        *(g.VISUAL, g.COLLISION, g.GEOMETRY),
    )
}
_MOST_NAMED = 20


def begins_part(tag: str, attributes: Iterable[str]) -> bool:
    """Return whether a start tag begins a part of a robot.

    Args:
        tag: Its name.
        attributes: Names of its attributes.
    """
    needed = _PARTS.get(tag)
    return needed is not None and set(needed) <= set(attributes)


def misplaced_parts(root: Element, changed: Collection[Location]) -> Findings[None]:
    """Report parts of a robot that are misplaced after a repair.

    Args:
        root: The root element, after tags were added or dropped.
        changed: Locations of elements with an added or dropped tag in or after them.
    """
    if not changed:
        return
    for element, element_type in walk(root, g.ROBOT):
        if element_type is None or element.location not in changed:
            continue
        for child in element.children:
            if not element_type.child(child.tag) and _is_part(child):
                yield _misplaced(child, element)


def describe_parts(elements: Iterable[Element]) -> str:
    """Describe the parts of robots among omitted elements, with their lines.

    Args:
        elements: Omitted elements.
    """
    parts = [
        part
        for element in elements
        for part in (element.children if element.tag == g.ROBOT.tag else (element,))
        if _is_part(part)
    ]
    named = [f"{name_part(part)} in line {part.location.line}" for part in parts]
    if len(named) > _MOST_NAMED:
        named[_MOST_NAMED:] = [f"{len(named) - _MOST_NAMED} others"]
    return ", ".join(named)


def _is_part(element: Element) -> bool:
    return begins_part(element.tag, (name for name, _ in element.attributes))


def _misplaced(part: Element, parent: Element) -> Diagnostic:
    inside = f"{describe(parent)} of line {parent.location.line}"
    message = f"{name_part(part)} is in {inside} after the repair, which is invalid; left out"
    return Diagnostic("xml-nesting", message, part.location)
