"""Expansion of a xacro file to a URDF that can be stored anywhere."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from lxml import etree

from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.files.uris import FileResolver
from urdf_usd.converter.urdf.markup import expanded_markup
from urdf_usd.converter.urdf.xacro.expansion import SUFFIX, Expansion, expand


def standalone_urdf(
    file: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    environment: Collection[str] = (),
) -> bytes:
    """Expand a xacro file to a URDF that does not depend on its folder.

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
    expanded_markup(expansion, file, [])
    return relocatable_urdf(expansion, file, packages)


def relocatable_urdf(expansion: Expansion, file: str, packages: Mapping[str, str]) -> bytes:
    """Return an expansion as a URDF that does not depend on its folder.

    Resolved file references become absolute paths, and a robot without name is named
    after the xacro file.

    Args:
        expansion: Well-formed.
        file: Path of the xacro file.
        packages: Folders of ROS packages, by name.
    """
    root = etree.fromstring(expansion.text)
    resolver = FileResolver(Path(file), packages, os.environ)
    for element in root.iter(g.MESH.tag, g.TEXTURE.tag):
        found = resolver.find(element.get(g.FILENAME.name, ""))
        if found:
            element.set(g.FILENAME.name, str(found.path))
    if root.get(g.NAME.name) is None:
        root.set(g.NAME.name, Path(Path(file).name.removesuffix(SUFFIX)).stem)
    return etree.tostring(root, encoding="utf-8", xml_declaration=True)
