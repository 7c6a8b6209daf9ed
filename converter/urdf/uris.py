"""Where the files are that a URDF refers to.

Nothing is searched for by name alone: every candidate follows from the reference, the
place of the URDF and the packages, and counts only if it is a file.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Only "file" may lack its slashes: "part:2.stl" is a file name.
_SCHEME = re.compile(
    r"(?is)(?P<scheme>[a-z][a-z0-9+.-]+(?=://)|file):(?://)?(?P<rest>.*)"
)
_PACKAGE_NAME = re.compile(rb"<name>\s*([^<\s]+)\s*</name>")


def resolve(
    uri: str,
    *,
    urdf: Path,
    packages: Mapping[str, str],
    environment: Mapping[str, str] = os.environ,
) -> Path | None:
    """Find the file that a URDF refers to.

    ``package://NAME/REST`` and ``model://NAME/REST`` are looked up in ``packages``,
    which are final for the names they hold; then in ``ROS_PACKAGE_PATH`` and
    ``AMENT_PREFIX_PATH``; then among the folders above the URDF: one that is called
    NAME, or that holds NAME, or whose ``package.xml`` says NAME, and last any that is
    not another package. Plain paths are relative to the URDF's folder, else to one
    above it.

    Args:
        uri: The reference as written.
        urdf: Path of the URDF.
        packages: Folders of packages, by name.
        environment: Where the ROS variables are.

    Returns:
        An absolute path, or None if there is no such file.
    """
    for spelling in dict.fromkeys((uri, unquote(uri), uri.replace("\\", "/"))):
        for candidate in _candidates(spelling.strip(), urdf, packages, environment):
            if _is_file(candidate):
                return _tidy(candidate)
    return None


def _candidates(
    uri: str, urdf: Path, packages: Mapping[str, str], environment: Mapping[str, str]
) -> Iterator[Path]:
    match = _SCHEME.fullmatch(uri)
    scheme = match["scheme"].lower() if match else ""
    rest = match["rest"] if match else uri
    folder = Path(os.path.abspath(urdf)).parent  # noqa: PTH100  keeps symbolic links
    if scheme in {"package", "model"}:
        name, _, inner = rest.partition("/")
        inner = inner.lstrip("/")
        if name in packages:
            yield Path(packages[name], inner)
        elif name and inner:
            yield from _in_environment(name, inner, environment)
            yield from _around(name, inner, folder)
    elif scheme == "file":
        yield from _local(rest, folder)
    elif not scheme:
        yield folder / rest
        if rest and not Path(rest).is_absolute():
            yield from (parent / rest for parent in folder.parents)


def _in_environment(
    name: str, inner: str, environment: Mapping[str, str]
) -> Iterator[Path]:
    for entry in filter(
        None, environment.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
    ):
        yield Path(entry, name, inner)
        if Path(entry).name == name:
            yield Path(entry, inner)
    for prefix in filter(
        None, environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    ):
        yield Path(prefix, "share", name, inner)


def _around(name: str, inner: str, folder: Path) -> Iterator[Path]:
    ancestors = (folder, *folder.parents)
    declared = [_package_name(ancestor) for ancestor in ancestors]
    for ancestor, package in zip(ancestors, declared, strict=True):
        if name in {ancestor.name, package}:
            yield ancestor / inner
        yield ancestor / name / inner
    # A checkout is often not called what its package is called; but a folder that says
    # it is another package is believed.
    for ancestor, package in zip(ancestors, declared, strict=True):
        if package is None:
            yield ancestor / inner


def _local(rest: str, folder: Path) -> Iterator[Path]:
    """Paths that a ``file:`` URI can mean, with the URI's slashes still in front."""
    rest = rest.removeprefix("localhost") if rest.startswith("localhost/") else rest
    yield folder / rest
    if re.match(r"/[A-Za-z]:", rest):
        yield Path(rest[1:])


def _package_name(folder: Path) -> str | None:
    manifest = folder / "package.xml"
    try:
        match = _PACKAGE_NAME.search(manifest.read_bytes())
    except OSError:
        return None
    return match[1].decode("utf-8", "replace") if match else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        # a name longer than the file system allows
        return False


def _tidy(path: Path) -> Path:
    """Make a path absolute and drop ``..`` unless a symbolic link gives it meaning."""
    plain = Path(os.path.abspath(path))  # noqa: PTH100  resolve() would follow links
    return plain if _is_file(plain) and plain.samefile(path) else path.absolute()
