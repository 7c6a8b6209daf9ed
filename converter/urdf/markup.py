"""A file to its elements, whether it is written in URDF or in xacro."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urdf_usd.converter.urdf.xacro.expansion import expand, is_xacro, relocated
from urdf_usd.converter.urdf.xml.source import load, parse_markup

if TYPE_CHECKING:
    from collections.abc import Mapping

    from urdf_usd.converter.diagnostics.findings import Findings
    from urdf_usd.converter.urdf.xacro.expansion import Expansion
    from urdf_usd.converter.urdf.xml.elements import Element


def read_markup(
    file: str, packages: Mapping[str, str], arguments: Mapping[str, str]
) -> Findings[Element]:
    """Read the root element of a file; xacro is expanded first.

    The places of expanded elements are those in the xacro files.

    Args:
        file: Its path; what ends in ``.xacro`` is xacro.
        packages: Folders of ROS packages, by name.
        arguments: Values of xacro's arguments, by name.

    Raises:
        SourceError: It cannot be read, expanded or understood as XML.
    """
    data = load(file)
    if not is_xacro(file):
        return (yield from parse_markup(data, file))
    return (yield from expanded_markup(expand(file, packages, arguments), file))


def expanded_markup(expansion: Expansion, file: str) -> Findings[Element]:
    """Read the root element of the expansion of a xacro file.

    Args:
        expansion: What became of the file; its elements are where they are written.
        file: Its path.

    Raises:
        SourceError: The expansion cannot be understood as XML.
    """
    yield from expansion.diagnostics
    # Should a place in the expanded text be told after all, it is told as such.
    root = yield from parse_markup(expansion.text.encode(), f"expansion of {file}")
    return relocated(root, iter(expansion.origins))
