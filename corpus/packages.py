"""ROS packages below a folder, by the names that ``package://`` URIs use."""

from __future__ import annotations

import os
from pathlib import Path
from xml.parsers import expat

_MANIFEST = "package.xml"


def ros_packages(folder: Path) -> tuple[tuple[str, Path], ...]:
    """List the packages at and below a folder, by the name in their manifest.

    If a manifest cannot be read, the folder's name is used. Of two packages with the
    same name, the first in path order is kept, as in a ROS workspace.
    """
    found: dict[str, Path] = {}
    for root, subfolders, files in os.walk(folder):
        subfolders[:] = sorted(name for name in subfolders if name[0] != ".")
        if _MANIFEST in files:
            path = Path(root)
            found.setdefault(_declared_name(path / _MANIFEST) or path.name, path)
    return tuple(found.items())


def first_of_each(*packages: tuple[str, Path]) -> tuple[tuple[str, Path], ...]:
    """Keep the first folder of every name."""
    folders: dict[str, Path] = {}
    for name, path in packages:
        folders.setdefault(name, path)
    return tuple(folders.items())


def declared_license(file: Path) -> str | None:
    """Return the licence that the package around a file declares."""
    above = file.absolute().parents
    folder = next((folder for folder in above if (folder / _MANIFEST).is_file()), None)
    stated = _declared(folder / _MANIFEST, "license") if folder else ()
    return " AND ".join(dict.fromkeys(stated)) or None


def _declared_name(manifest: Path) -> str | None:
    return next(iter(_declared(manifest, "name")), None)


def _declared(manifest: Path, tag: str) -> tuple[str, ...]:
    """Return the texts of the elements of a manifest with a given tag."""
    texts: list[str] = []
    around: list[str] = []

    def start(name: str, _: object) -> None:
        around.append(name)
        if around[1:] == [tag]:
            texts.append("")

    def add(text: str) -> None:
        if around[1:] == [tag]:
            texts[-1] += text

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: around.pop()
    parser.CharacterDataHandler = add
    parser.EntityDeclHandler = _refuse_entity
    try:
        parser.Parse(manifest.read_bytes(), True)
    except (OSError, LookupError, ValueError, expat.ExpatError):
        return ()
    return tuple(" ".join(text.split()) for text in texts if text.strip())


def _refuse_entity(name: str, *_: object) -> None:
    raise ValueError(f"entity {name!r} is declared")
