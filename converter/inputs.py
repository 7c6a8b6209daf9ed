"""The files that a robot is made of, each with a hash of its content."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from urdf_usd.converter.file_content import read_file
from urdf_usd.converter.meshes.read import LARGEST_FILE
from urdf_usd.converter.meshes.references import referred_files
from urdf_usd.converter.robot.model import MeshFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from urdf_usd.converter.robot.model import Robot


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file that was read.

    Attributes:
        path: As it was found.
        sha256: Hash of its bytes.
        size: Number of bytes.
    """

    path: str
    sha256: str
    size: int


def input_files(description: Iterable[str], robot: Robot) -> tuple[InputFile, ...]:
    """Account for every file of a robot; each is read once.

    Args:
        description: The URDF; or the xacro file, and those that it includes.
        robot: What it says. Its meshes and textures count, and what meshes refer to.

    Returns:
        In the order of first use. What cannot be read is left out: whoever needs it
        says so.
    """
    waiting = [*map(_plain, description), *_named_files(robot)]
    found: dict[Path, InputFile | None] = {}
    while waiting:
        path = waiting.pop(0)
        if path in found:
            continue
        content = _content(path)
        if content is None:
            found[path] = None
            continue
        digest = hashlib.sha256(content).hexdigest()
        found[path] = InputFile(str(path), digest, len(content))
        waiting[:0] = referred_files(content, path)
    return tuple(file for file in found.values() if file)


def _named_files(robot: Robot) -> Iterator[Path]:
    for link in robot.links:
        for shape in link.shapes:
            if isinstance(shape.geometry, MeshFile) and shape.geometry.path:
                yield _plain(shape.geometry.path)
        for visual in link.visuals:
            if visual.material and visual.material.texture_path:
                yield _plain(visual.material.texture_path)


def _plain(path: str) -> Path:
    """Path without the second slash that a URI of too many leaves at its beginning."""
    doubled = os.sep == "/" and path.startswith("//")
    return Path("/" + path.lstrip("/")) if doubled else Path(path)


def _content(path: Path) -> bytes | None:
    try:
        return read_file(path, LARGEST_FILE)
    except (OSError, ValueError):
        return None
