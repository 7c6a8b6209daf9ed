"""Expansion of a xacro file to a URDF that can be stored anywhere."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from lxml import etree
from msgspec import Struct

from urdf_usd.converter.diagnostics.findings import drain
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.files.uris import FileResolver
from urdf_usd.converter.urdf.markup import expanded_markup
from urdf_usd.converter.urdf.xacro.expansion import SUFFIX, expand


class Standalone(Struct, frozen=True):
    """The URDF of a xacro file.

    Attributes:
        text: URDF.
        included: The files that it included on the way.
    """

    text: bytes
    included: tuple[str, ...]


def standalone_urdf(
    file: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    environment: Collection[str] = (),
) -> Standalone:
    """Expand a xacro file to a URDF that does not depend on its folder.

    Resolved file references become absolute paths, and a robot without name is named
    after the xacro file.

    Args:
        file: Its path.
        packages: Folders of ROS packages, by name.
        arguments: Values of xacro's arguments, by name.
        environment: Names of environment variables that it may read, besides those of
            ROS.

    Raises:
        SourceError: It cannot be expanded.
    """
    expansion = expand(file, packages, arguments, environment=environment)
    # Reports XML errors with locations in the xacro file.
    drain(expanded_markup(expansion, file))
    root = etree.fromstring(expansion.text)
    resolver = FileResolver(Path(file), packages, os.environ)
    for element in root.iter(g.MESH.tag, g.TEXTURE.tag):
        found = resolver.find(element.get(g.FILENAME.name, ""))
        if found:
            element.set(g.FILENAME.name, str(found.path))
    if root.get(g.NAME.name) is None:
        root.set(g.NAME.name, Path(Path(file).name.removesuffix(SUFFIX)).stem)
    text = etree.tostring(root, encoding="utf-8", xml_declaration=True)
    return Standalone(text, expansion.files)
