"""XML as a tree, by expat alone."""

from __future__ import annotations

from collections.abc import Iterator
from xml.parsers import expat

from msgspec import Struct, field


class Node(Struct):
    """An XML element.

    Attributes:
        tag: As written.
        attributes: By name.
        children: Elements inside.
        text: Character data directly inside.
    """

    tag: str
    attributes: dict[str, str]
    children: list[Node] = field(default_factory=list)
    text: str = ""

    def all(self, *tags: str) -> Iterator[Node]:
        """Yield the elements inside with one of some tags."""
        return (child for child in self.children if child.tag in tags)

    def get(self, name: str) -> str:
        """Return an attribute; empty if it is absent."""
        return self.attributes.get(name, "")


def read_tree(data: bytes) -> Node:
    """Return the root element of well-formed XML.

    Raises:
        ExpatError: It is not well-formed.
    """
    top = Node("", {})
    opened = [top]

    def start(tag: str, attributes: dict[str, str]) -> None:
        node = Node(tag, attributes)
        opened[-1].children.append(node)
        opened.append(node)

    def add_text(text: str) -> None:
        opened[-1].text += text

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: opened.pop()
    parser.CharacterDataHandler = add_text
    parser.Parse(data, True)  # the last part
    return top.children[0]
