"""Rules about materials and file references."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from urdf_usd.converter.diagnostics.messages import times, truncate
from urdf_usd.converter.lint.finding import Breach, Breaches
from urdf_usd.converter.lint.subject import UrdfDocument
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.reader import Node

# /home/me/a.stl, file:///home/me/a.stl, C:\\a.stl, file:///C:/a.stl, \\\\server\\a.stl
_ABSOLUTE = re.compile(
    r"(?:file:(?:///|/(?!/)|//localhost/|/*[a-z]:[\\/])|/|[a-z]:[\\/]|\\\\).*",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)


def unused_material(document: UrdfDocument) -> Breaches:
    """Materials of the robot that no visual uses."""
    for material in unused_materials(document):
        name = material[g.OPTIONAL_NAME]
        yield Breach(f"material {name!r} is used by no visual", material.location)


def unused_materials(document: UrdfDocument) -> Iterator[Node]:
    """Yield the materials of the robot that no visual uses."""
    used = {
        material[g.OPTIONAL_NAME]
        for link in document.links
        for material in link.descendants(g.MATERIAL)
    }
    for material in document.robot.all(g.MATERIAL):
        if material[g.OPTIONAL_NAME] not in used:
            yield material


def invisible_color(document: UrdfDocument) -> Breaches:
    """Colours with alpha zero."""
    for color in document.robot.descendants(g.COLOR):
        rgba = color[g.RGBA]
        if rgba and rgba[3] == 0.0:
            numbers = " ".join(f"{component:g}" for component in rgba)
            yield Breach(f"rgba {numbers} is fully transparent", color.location)


def absolute_path(document: UrdfDocument) -> Breaches:
    """Absolute paths, each once.

    In xacro, ``$(find NAME)`` expands to an absolute path; existing files are ignored.
    """
    for uri, nodes in _files(document).items():
        path = uri.strip()
        exists = document.expanded and Path(f"/{path.removeprefix('file:').lstrip('/')}").exists()
        if _ABSOLUTE.fullmatch(path) and not exists:
            yield _about_path(uri, nodes, "is absolute")


def backslash(document: UrdfDocument) -> Breaches:
    """Paths with backslashes, each once."""
    for uri, nodes in _files(document).items():
        if "\\" in uri:
            yield _about_path(uri, nodes, "has backslashes")


def _files(document: UrdfDocument) -> dict[str, list[Node]]:
    files: dict[str, list[Node]] = {}
    for node in file_nodes(document):
        files.setdefault(node[g.FILENAME], []).append(node)
    return files


def file_nodes(document: UrdfDocument) -> Iterator[Node]:
    """Yield the elements with file references."""
    for element_type in (g.MESH, g.TEXTURE):
        for node in document.robot.descendants(element_type):
            if node[g.FILENAME]:
                yield node


def _about_path(uri: str, nodes: list[Node], what: str) -> Breach:
    often = f" (used {times(len(nodes))})" if nodes[1:] else ""
    return Breach(f"path {truncate(repr(uri))} {what}{often}", nodes[0].location)
