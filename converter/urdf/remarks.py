"""Notes on what a file holds beyond what its version of the language has."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.diagnostics.phrases import times
from urdf_usd.converter.urdf.grammar import ROBOT
from urdf_usd.converter.urdf.reader import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from urdf_usd.converter.diagnostics import Location
    from urdf_usd.converter.diagnostics.findings import Findings
    from urdf_usd.converter.urdf.grammar import ElementType
    from urdf_usd.converter.urdf.xml.elements import Element

_NAMESPACE = "xmlns"


def remarks(root: Element, version: tuple[int, int]) -> Findings[None]:
    """Say what is outside the language, newer than the file, or text without a place.

    Each is said once, where it is first found, with a count.

    Args:
        root: The robot's element.
        version: URDF version of the file.
    """
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], Location] = {}
    for element, element_type in walk(root, ROBOT):
        for location, rule, message in _remarks(element, element_type, version):
            counts[rule, message] += 1
            first.setdefault((rule, message), location)
    for (rule, message), count in counts.items():
        text = f"{message} ({times(count)})"
        yield Diagnostic(rule, text, first[rule, message])


def _remarks(
    element: Element, element_type: ElementType | None, version: tuple[int, int]
) -> Iterator[tuple[Location, str, str]]:
    place = element.location
    if element_type is None:
        message = f"<{element.tag}> is not URDF; kept as custom data"
        yield place, "element-unknown", message
        return
    known = [attribute.name for attribute in element_type.attributes]
    for name, _ in element.attributes:
        # What xacro leaves in nearly every file is kept without a word.
        if name not in known and name.partition(":")[0] != _NAMESPACE:
            message = f"{name} of <{element.tag}> is not URDF; kept as custom data"
            yield place, "element-unknown", message
    if element.text:
        yield place, "text-ignored", f"there is text in <{element.tag}>; ignored"
    for inner in element.children:
        child = element_type.child(inner.tag)
        if child and version < child.since:
            since = ".".join(map(str, child.since))
            message = f"<{inner.tag}> belongs to URDF {since}; read all the same"
            yield inner.location, "element-version", message
