"""The input files of a robot, with hashes, and the packages that they are in."""

from __future__ import annotations

import hashlib
import html
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from lxml.etree import _Element as Element

from urdf_usd.converter.file_content import LARGEST_MESH, InputFile, is_file, read_file
from urdf_usd.converter.meshes.stl import holds_binary_stl
from urdf_usd.converter.robot.model import MeshFile, Robot
from urdf_usd.converter.urdf.uris import package_and_rest

# Of copies, in the folder of a URDF.
_FOLDER = "files"


def input_files(description: Iterable[str], robot: Robot | None) -> tuple[InputFile, ...]:
    """List the readable files of a robot in the order of first use; each is read once."""
    named = (path for _, path in (references(robot) if robot else ()) if path)
    waiting = list(map(Path, (*description, *named)))
    found: dict[Path, InputFile | None] = {}
    while waiting:
        path = waiting.pop(0)
        if path in found:
            continue
        try:
            content = read_file(path, LARGEST_MESH)
        except (OSError, ValueError):
            found[path] = None
            continue
        digest = hashlib.sha256(content).hexdigest()
        found[path] = InputFile(str(path), digest, len(content))
        waiting[:0] = referred_files(content, path)
    return tuple(file for file in found.values() if file)


def named_packages(robot: Robot) -> tuple[tuple[str, str], ...]:
    """Return the packages of a robot's references, each with the first folder of its files.

    Passed to other programs, which look for packages elsewhere.
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


def copy_files(document: Element, folder: Path) -> int:
    """Copy the files that a URDF document names by absolute paths; return their number.

    They are copied to ``files/`` in a folder, with those that they refer to, such as material
    libraries and images. The document then names the copies, by relative paths.
    """
    named = [(one, Path(one.get("filename", ""))) for one in document.iter("mesh", "texture")]
    waiting = [path for _, path in named if path.is_absolute() and path.is_file()]
    files: set[Path] = set()
    while waiting:
        if (path := waiting.pop()) not in files:
            files.add(path)
            waiting += referred_files(path.read_bytes(), path)
    parent = os.path.commonpath([path.parent for path in files]) if files else ""
    for path in files:
        target = folder / _FOLDER / path.relative_to(parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    for element, path in named:
        if path in files:
            element.set("filename", Path(_FOLDER, path.relative_to(parent)).as_posix())
    return len(files)


# References of mesh files to material libraries and images
#
# Files are searched for keywords without parsing the mesh, so that also files that the
# reader ignores are found.

_HEAD_SIZE = 4096
_LIBRARIES = re.compile(rb"mtllib[ \t]+([^\r\n]+)")
_IMAGE_OF_MTL = re.compile(rb"(?mi)^[ \t]*(?:map_\w+|bump|disp|decal|refl|norm)[ \t]+([^\r\n]+)")
_IMAGE_OF_GLTF = re.compile(rb'"uri"\s*:\s*"((?!data:)[^"\\]+)"')
_IMAGE_OF_COLLADA = re.compile(
    rb"<(?:[\w.-]+:)?init_from\b[^>]*>(.*?)</(?:[\w.-]+:)?init_from", re.DOTALL
)
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_TAG = re.compile(rb"<[^>]*>")


def referred_files(data: bytes, path: Path) -> tuple[Path, ...]:
    """Return the existing files that a mesh file or a material library refers to."""
    found: dict[Path, None] = {}
    for reference in _references(data, path.suffix.lower()):
        file = next(filter(is_file, _candidates(reference, path.parent)), None)
        if file is not None:
            found[file] = None
    return tuple(found)


def _references(data: bytes, suffix: str) -> Iterator[str]:
    """Yield references; the format is detected from the first bytes."""
    if holds_binary_stl(data):
        return
    head = data[:_HEAD_SIZE].removeprefix(b"\xef\xbb\xbf").lstrip(b"\xff\xfe\0 \t\r\n")
    if head.startswith(b"<"):
        yield from _images_of_collada(data)
    elif head.startswith((b"{", b"glTF")):
        yield from (_decoded(match[1]) for match in _IMAGE_OF_GLTF.finditer(data))
    elif b"mtllib" in data:
        for match in _LIBRARIES.finditer(data):
            line = 1 + max(data.rfind(end, 0, match.start()) for end in (b"\r", b"\n"))
            # One name with spaces, or several names.
            whole = _decoded(match[1] if not data[line : match.start()].strip(b" \t") else b"")
            yield from dict.fromkeys((whole, *whole.split()))
    if suffix == ".mtl":
        yield from (_decoded(match[1]) for match in _IMAGE_OF_MTL.finditer(data))


def _images_of_collada(data: bytes) -> Iterator[str]:
    # Meshes mostly come after the images.
    data = data[: data.rfind(b"init_from") + len(b"init_from")]
    for match in _IMAGE_OF_COLLADA.finditer(_COMMENT.sub(b"", data)):
        yield html.unescape(_decoded(_TAG.sub(b"", match[1])))


def _decoded(reference: bytes) -> str:
    return reference.decode("utf-8", "replace").strip()


def _candidates(reference: str, folder: Path) -> Iterator[Path]:
    """Yield possible paths; references may contain options or foreign folders."""
    plain = reference.removeprefix("file://").replace("\\", "/")
    last_word = plain.split()[-1] if plain.split() else ""
    for text in filter(None, (plain, unquote(plain), last_word)):
        yield folder / text
        yield folder / text.rpartition("/")[2]
