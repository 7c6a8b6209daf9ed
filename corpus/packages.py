"""ROS packages in a folder: what ``package://`` may name there."""

from __future__ import annotations

import os
from pathlib import Path

_MANIFEST = "package.xml"


def ros_packages(folder: Path) -> tuple[tuple[str, Path], ...]:
    """List the packages at and below a folder, by the name their manifest declares.

    A manifest that cannot be read counts under its folder's name. Of two packages with
    one name, the first in path order is kept, as in a ROS workspace.
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
    """Return the licence that the package around a file declares, in its words."""
    above = file.absolute().parents
    folder = next((folder for folder in above if (folder / _MANIFEST).is_file()), None)
    stated = _declared(folder / _MANIFEST, "license") if folder else ()
    return " AND ".join(dict.fromkeys(stated)) or None


def _declared_name(manifest: Path) -> str | None:
    return next(iter(_declared(manifest, "name")), None)


def _declared(manifest: Path, tag: str) -> tuple[str, ...]:
    """Return the texts of a manifest's elements of one kind."""
    from lxml import etree  # noqa: PLC0415  most robots have no manifest around them

    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        texts = [found.text for found in etree.parse(manifest, parser).iterfind(tag)]
    except (OSError, etree.XMLSyntaxError):
        return ()
    return tuple(" ".join(text.split()) for text in texts if text and text.strip())
