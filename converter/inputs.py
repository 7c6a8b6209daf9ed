"""The input files of a robot, with hashes, and the packages that they are in."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from urdf_usd.converter.file_content import LARGEST_MESH, InputFile, read_file
from urdf_usd.converter.meshes.references import referred_files
from urdf_usd.converter.robot.model import MeshFile, Robot
from urdf_usd.converter.urdf.uris import package_and_rest


def input_files(description: Iterable[str], robot: Robot) -> tuple[InputFile, ...]:
    """List all files of a robot; each is read once.

    Args:
        description: The URDF; or the xacro file and the files that it includes.
        robot: The robot, for its meshes and textures and the files that these refer to.

    Returns:
        In the order of first use. Unreadable files are skipped; reading the robot
        reports them.
    """
    named = (path for _, path in references(robot) if path)
    waiting = [_plain(path) for path in (*description, *named)]
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


def _plain(path: str) -> Path:
    """Return a path without a doubled leading slash, left over from a URI."""
    doubled = os.sep == "/" and path.startswith("//")
    return Path("/" + path.lstrip("/")) if doubled else Path(path)


def _content(path: Path) -> bytes | None:
    try:
        return read_file(path, LARGEST_MESH)
    except (OSError, ValueError):
        return None


def named_packages(robot: Robot) -> tuple[tuple[str, str], ...]:
    """Return the packages of a robot's references, with the folders of its files.

    Passed to other programs, which look for packages elsewhere.

    Returns:
        In the order of first use; of several folders of a package the first.
    """
    found: dict[str, str] = {}
    for uri, path in references(robot):
        name, inner = package_and_rest(uri)
        parts = PurePosixPath(inner).parts
        place = Path(path or "")
        if name and parts and place.parts[-len(parts) :] == parts:
            found.setdefault(name, str(place.parents[len(parts) - 1]))
    return tuple(found.items())


def references(robot: Robot) -> Iterator[tuple[str, str | None]]:
    """Yield the references of a robot to meshes and textures, and the path of each file.

    The path is None if the file was not found.
    """
    for link in robot.links:
        for shape in link.shapes:
            if isinstance(shape.geometry, MeshFile):
                yield shape.geometry.uri, shape.geometry.path
        for visual in link.visuals:
            if visual.material and visual.material.texture_uri:
                yield visual.material.texture_uri, visual.material.texture_path
