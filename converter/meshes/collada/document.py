"""Parsing of the XML of COLLADA.

Most of a document is long lists of numbers. ElementTree's own parser gives them to its
tree in pieces of a kilobyte; expat joins them first, in less than half of the time.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from urdf_usd.converter.meshes.polygon_mesh import MeshError

# Limit of the number of tags; an element needs more than half a kilobyte.
_MOST_TAGS = 4_000_000


def parse_document(data: bytes) -> Element:
    """Parse a document, and drop the namespaces, which vary between exporters.

    Raises:
        MeshError: The text is not XML, or has too many tags.
    """
    if len(data) > _MOST_TAGS and data.count(b"<") > _MOST_TAGS:
        raise MeshError(f"it has more than {_MOST_TAGS} tags")
    tree = TreeBuilder()
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    parser.StartElementHandler = lambda tag, attributes: tree.start(
        tag.rpartition("}")[2], attributes
    )
    parser.EndElementHandler = lambda tag: tree.end(tag.rpartition("}")[2])
    parser.CharacterDataHandler = tree.data
    # Others are expanded by expat, within bounds.
    parser.ExternalEntityRefHandler = _refuse_external
    parser.SkippedEntityHandler = _refuse_undeclared
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        # The last two are raised for unknown encodings.
        raise MeshError(f"it is not well-formed XML: {error}") from error
    return tree.close()


def _refuse_external(*_: object) -> int:
    # Expat reports an error.
    return 0


def _refuse_undeclared(name: str, _: object) -> None:
    raise ValueError(f"undefined entity {name!r}")
