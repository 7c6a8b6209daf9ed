"""The order of COLLADA's nodes, which may show nodes that come later.

pycollada goes through all nodes again for each that it finds too late: fifty thousand
in a row take it minutes. It finds those of one library alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from xml.etree.ElementTree import Element


def define_first(root: Element) -> None:
    """Put nodes behind those that they show, in place, and all libraries into one.

    Args:
        root: Root of a document, without namespaces.
    """
    libraries = root.findall("library_nodes")
    if libraries:
        nodes = [node for library in libraries for node in library.iterfind("node")]
        libraries[0][:] = _definitions_first(nodes)
        for library in libraries[1:]:
            root.remove(library)
    for scene in root.iterfind("library_visual_scenes/visual_scene"):
        scene[:] = _definitions_first(scene.findall("node"))


def _definitions_first(nodes: Iterable[Element]) -> list[Element]:
    """Order nodes; those that show each other in a ring keep some order."""
    siblings = list(nodes)
    defined = {node.get("id"): node for node in reversed(siblings)}
    met: set[Element] = set()
    ordered: list[Element] = []
    # A node is left when all that it shows has been left.
    pending = [(node, False) for node in reversed(siblings)]
    while pending:
        node, leaves = pending.pop()
        if leaves:
            ordered.append(node)
        elif node not in met:
            met.add(node)
            pending.append((node, True))
            shown = (one.get("url", "")[1:] for one in node.iter("instance_node"))
            pending += [(defined[name], False) for name in shown if name in defined]
    return ordered
