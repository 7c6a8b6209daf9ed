"""Robots in files on this machine, named by path or found below a folder; their formats.

Also ROS packages below a folder, by the names that ``package://`` URIs use.
"""

from __future__ import annotations

import atexit
import os
import re
import sys
import tempfile
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from lxml import etree

from urdf_usd.corpus import robots as r

# Of `ros2 param get` without --hide-type.
_PARAMETER = b"String value is: "
_MANIFEST = "package.xml"
# Folders that programs write, by their names in lower case.
_GENERATED = frozenset({"__pycache__", "build", "node_modules"})
# What folders to be skipped contain: virtual environments, what ROS does not build, and
# reports of ``urdf-usd run``, which have expanded xacro files.
_MARKS = ("pyvenv.cfg", "COLCON_IGNORE", "CATKIN_IGNORE", "AMENT_IGNORE", ".urdf-usd-run")
_INCLUDED = re.compile(r"<(?:\w+:)?include\s[^>]*\bfilename\s*=\s*[\"'](?:[^\"']*/)?([^\"'/]*)")


class Format(StrEnum):
    """A format of robot descriptions; a xacro file is URDF."""

    URDF = "urdf"
    MJCF = "mjcf"


def robot_format(path: Path) -> Format:
    """Return MJCF if the root element is ``mujoco``, else URDF, also if there is no such file."""
    try:
        with path.open("rb") as file:
            # Also behind blank lines and comments before the declaration.
            _, root = next(
                etree.iterparse(file, events=("start",), resolve_entities=False, recover=True)
            )
    except (OSError, ValueError, etree.XMLSyntaxError, StopIteration):
        return Format.URDF
    return Format.MJCF if root.tag == "mujoco" else Format.URDF


def describe_file(target: str, start: Path | None = None) -> r.RobotSource:
    """Name the robot in a file, which need not exist; ``-`` is standard input."""
    is_stdin = target in {"-", "/dev/stdin"}
    if is_stdin:
        # For the time of this process, as several read it; below the working folder, so that meshes
        # and packages are found as for a file there.
        folder = tempfile.TemporaryDirectory(prefix=".urdf-usd-", dir=Path.cwd())
        atexit.register(folder.cleanup)
        path = Path(folder.name, "stdin.urdf")
        path.write_bytes(sys.stdin.buffer.read().removeprefix(_PARAMETER).lstrip())
    else:
        path = _path(target, start)
    shown = r.portable_path(path.name if is_stdin else target)
    return r.RobotSource(
        id=r.identifier(r.Scheme.FILE, shown),
        reference=f"{r.Scheme.FILE}:{shown}",
        path=path,
        origin=r.Origin(license=declared_license(path)),
    )


def locate_file(target: str, start: Path | None = None) -> r.RobotSource:
    source = describe_file(target, start)
    if source.path.is_dir():
        raise r.UnknownRobotError(f"{target} is a folder; write dir:{target}")
    if not source.path.is_file():
        raise r.UnknownRobotError(f"{target} does not exist")
    return source


def locate_mjcf(target: str, start: Path | None = None) -> tuple[r.Resolved, ...]:
    path = _path(target, start)
    if path.is_dir():
        return locate_below(target, start, scheme=r.Scheme.MJCF)
    source = locate_file(target, start)
    if robot_format(path) is not Format.MJCF:
        raise r.UnknownRobotError(f"{target} is no MJCF: its root element is not <mujoco>")
    return (source,)


def locate_below(
    target: str, start: Path | None = None, *, scheme: r.Scheme = r.Scheme.FOLDER
) -> tuple[r.Resolved, ...]:
    """Find every ``.urdf``, ``.xacro`` and MJCF below a folder, in path order; or MJCF alone.

    Robots get no packages: their files are looked up as if each had been named alone.
    """
    folder = _path(target, start)
    if not folder.is_dir():
        raise r.UnknownRobotError(f"{target} is no folder")
    paths: dict[str, Path] = {}
    # Folders of included files are usually substitutions: $(find arm)/urdf/arm.xacro.
    included: set[str] = set()
    for root, subfolders, files in os.walk(folder):
        subfolders[:] = [
            name
            for name in subfolders
            if not name.startswith(".")
            and name.lower() not in _GENERATED
            and not any(Path(root, name, mark).exists() for mark in _MARKS)
        ]
        for path in (Path(root, name) for name in files):
            lower = path.name.lower()
            is_urdf = lower.endswith((".urdf", ".xacro")) and scheme is r.Scheme.FOLDER
            # A file that cannot be read is reported when it is read.
            with suppress(OSError):
                is_mjcf = lower.endswith(".xml") and robot_format(path) is Format.MJCF
                # With bodies of its own, not only in files that it includes.
                if is_urdf or (is_mjcf and b"<body" in path.read_bytes()):
                    paths[path.relative_to(folder).as_posix()] = path
                if is_urdf:
                    included |= {*_INCLUDED.findall(path.read_text("utf-8", errors="replace"))}
    if not paths:
        sought = "MJCF robot" if scheme is r.Scheme.MJCF else ".urdf or .xacro file"
        raise r.UnknownRobotError(f"{target}: no {sought} lies in or below it")
    # Absolute paths differ between machines; records must not.
    shown = Path(folder.resolve().name) if Path(target).is_absolute() else Path(target)
    robots: list[r.Resolved] = []
    for name, path in sorted(paths.items()):
        escaped = _escaped(name)
        named = r.identifier(scheme, escaped), f"{r.Scheme.FILE}:{(shown / escaped).as_posix()}"
        if escaped != name:
            robots.append(r.UnavailableSource(*named, _not_utf8(escaped)))
            continue
        origin, part = r.Origin(license=declared_license(path)), path.name in included
        robots.append(r.RobotSource(*named, path, origin=origin, searched=True, included=part))
    return tuple(robots)


def _path(target: str, start: Path | None) -> Path:
    if _escaped(target) != target:
        raise r.UnknownRobotError(_not_utf8(_escaped(target)))
    return start / target if start else Path(target)


def _escaped(path: str) -> str:
    # Python decodes bytes that are not UTF-8 as lone surrogates, which others refuse.
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _not_utf8(escaped: str) -> str:
    return f"{escaped}: the name of the file or folder is not UTF-8; rename it"


def ros_packages(folder: Path) -> tuple[tuple[str, Path], ...]:
    found: list[tuple[str, Path]] = []
    for root, subfolders, files in os.walk(folder):
        subfolders[:] = sorted(name for name in subfolders if name[0] != ".")
        if _MANIFEST in files:
            path = Path(root)
            found.append(((*_declared(path / _MANIFEST, "name"), path.name)[0], path))
    return first_of_each(*found)


def first_of_each(*packages: tuple[str, Path]) -> tuple[tuple[str, Path], ...]:
    folders: dict[str, Path] = {}
    for name, path in packages:
        folders.setdefault(name, path)
    return tuple(folders.items())


def declared_license(file: Path) -> str | None:
    above = file.absolute().parents
    folder = next((folder for folder in above if (folder / _MANIFEST).is_file()), None)
    stated = _declared(folder / _MANIFEST, "license") if folder else ()
    return " AND ".join(dict.fromkeys(stated)) or None


def _declared(manifest: Path, tag: str) -> tuple[str, ...]:
    try:
        root = etree.parse(manifest, etree.XMLParser(resolve_entities=False)).getroot()
    except (OSError, etree.XMLSyntaxError):
        return ()
    texts = (" ".join((element.text or "").split()) for element in root.iterfind(tag))
    return tuple(filter(None, texts))
