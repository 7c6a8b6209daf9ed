"""XML elements with locations, and a builder of their tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct, field

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.diagnostics.messages import truncate
from urdf_usd.converter.urdf.xml.repairs import XmlRepair

# Maximum nesting, because the tree is processed recursively.
DEEPEST = 200
# Maximum number of elements and attributes: fifty thousand links with joints.
MOST_PARTS = 500_000
LONGEST_VALUE = 1 << 20
_DECLARED = "xmlns"
_PREDEFINED = {"xml", _DECLARED}


class Element(Struct, frozen=True):
    """An XML element.

    Attributes:
        tag: As written, prefix included.
        namespace: Namespace of the prefix, or the default namespace.
        attributes: Name and value, as written.
        children: Elements inside, in document order.
        location: Position of its ``<``.
        text: Character data directly inside; pieces between children are stripped and
            on separate lines.
    """

    tag: str
    namespace: str | None
    attributes: tuple[tuple[str, str], ...]
    children: tuple[Element, ...]
    location: Location
    text: str = ""

    def get(self, name: str) -> str | None:
        """Return the value of an attribute, or None if it is absent."""
        # Elements have few attributes.
        for key, value in self.attributes:
            if key == name:
                return value
        return None

    def same_text(self, other: Element) -> bool:
        """Return whether both are equal except for their locations."""
        pairs = [(self, other)]
        while pairs:
            one, two = pairs.pop()
            if (one.tag, one.text) != (two.tag, two.text):
                return False
            if sorted(one.attributes) != sorted(two.attributes):
                return False
            if len(one.children) != len(two.children):
                return False
            pairs.extend(zip(one.children, two.children, strict=True))
        return True


class _Open(Struct):
    """An element whose end tag has not been read yet."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    location: Location
    namespaces: Mapping[str, str]
    children: list[Element] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)

    def add_text(self, content: str) -> None:
        """Add character data; leading white space is dropped."""
        if self.text or content.strip():
            self.text.append(content)

    def add(self, child: Element) -> None:
        """Add a finished element."""
        self.children.append(child)
        self.end_piece()

    def end_piece(self) -> None:
        """End a piece of text at a tag."""
        if self.text:
            self.pieces.append("".join(self.text).strip())
            self.text = []

    def close(self) -> Element:
        """Return the finished element."""
        prefix, _, _ = self.tag.rpartition(":")
        self.end_piece()
        return Element(
            tag=self.tag,
            namespace=self.namespaces.get(prefix) or None,
            attributes=self.attributes,
            children=tuple(self.children),
            location=self.location,
            text="\n".join(self.pieces),
        )


class TreeBuilder:
    """Builds a tree from tags and text in document order.

    Args:
        file: Path of the document, for locations.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._open: list[_Open] = []
        self._roots: list[Element] = []
        self._unbound: dict[str, Location] = {}
        self._parts = 0

    @property
    def roots(self) -> tuple[Element, ...]:
        """Complete elements at the top level."""
        return tuple(self._roots)

    def start(
        self, tag: str, attributes: Iterable[tuple[str, str]], line: int, column: int
    ) -> None:
        """Open an element.

        Raises:
            SourceError: The nesting is too deep, there are too many elements or
                attributes, or a value is too long.
        """
        location = Location(self._file, line, column)
        if len(self._open) >= DEEPEST:
            message = f"elements are nested more than {DEEPEST} deep"
            raise SourceError((Diagnostic("xml-syntax", message, location),))
        written = tuple(attributes)
        self._parts += 1 + len(written)
        if self._parts > MOST_PARTS:
            message = f"there are more than {MOST_PARTS} elements and attributes"
            raise SourceError((Diagnostic("file-size", message, location),))
        namespaces = self._open[-1].namespaces if self._open else {}
        about_namespaces = ":" in tag
        for name, value in written:
            if len(value) > LONGEST_VALUE:
                message = f"a value is longer than {LONGEST_VALUE} characters"
                raise SourceError((Diagnostic("file-size", message, location),))
            about_namespaces |= ":" in name or name == _DECLARED
        if about_namespaces:
            names = [name for name, _ in written]
            namespaces = {**namespaces, **_declarations(written)}
            self._find_unbound((tag, *names), namespaces, location)
        self._open.append(_Open(tag, written, location, namespaces))

    def _find_unbound(
        self, names: Iterable[str], namespaces: Mapping[str, str], location: Location
    ) -> None:
        for name in names:
            prefix, colon, _ = name.rpartition(":")
            if colon and prefix not in namespaces and prefix not in _PREDEFINED:
                self._unbound.setdefault(prefix, location)

    def text(self, content: str) -> None:
        """Add character data to the innermost element."""
        if self._open:
            self._open[-1].add_text(content)

    def end(self) -> None:
        """Close the innermost element."""
        element = self._open.pop().close()
        if self._open:
            self._open[-1].add(element)
        else:
            self._roots.append(element)

    def unbound_prefixes(self) -> Iterator[Diagnostic]:
        """Report undeclared namespace prefixes, each once."""
        for prefix, location in self._unbound.items():
            yield XmlRepair.PREFIX.at(location, prefix=truncate(repr(prefix)))


def _declarations(attributes: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the namespaces that attributes declare, by prefix."""
    return {
        name.removeprefix(_DECLARED).removeprefix(":"): value
        for name, value in attributes
        if name.partition(":")[0] == _DECLARED
    }


def describe(element: Element) -> str:
    """Return the tag of an element for a message, with its name if it has one."""
    name = element.get("name")
    if not name:
        return f"<{element.tag}>"
    return f"<{element.tag} name={truncate(repr(name))}>"


def name_part(part: Element) -> str:
    """Return a description of an omitted element: its name, or its mass."""
    name = part.get("name")
    if name is not None:
        return f"{part.tag} {truncate(repr(name))}"
    stated = [one.get("value") for one in (part, *part.children) if one.tag == "mass"]
    mass = f" of {truncate(stated[0])} kg" if stated and stated[0] else ""
    return f"<{part.tag}>{mass}"
