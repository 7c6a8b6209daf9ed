"""Which packages a robot names, and in which folders they turned out to be.

Other programs look for packages in other places than we do; told where they are, they
read the same files.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from urdf_usd.converter.robot.model import MeshFile
from urdf_usd.converter.urdf.files.uris import package_and_rest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from urdf_usd.converter.robot.model import Robot


def named_packages(robot: Robot) -> tuple[tuple[str, str], ...]:
    """Return names and folders of the packages in which files were found.

    Returns:
        In the order of first use. Of a package whose files are in several folders, the
        first counts.
    """
    found: dict[str, str] = {}
    for uri, path in _references(robot):
        name, inner = package_and_rest(uri)
        parts = PurePosixPath(inner).parts
        place = Path(path)
        if name and parts and place.parts[-len(parts) :] == parts:
            found.setdefault(name, str(place.parents[len(parts) - 1]))
    return tuple(found.items())


def _references(robot: Robot) -> Iterator[tuple[str, str]]:
    for link in robot.links:
        for shape in link.shapes:
            geometry = shape.geometry
            if isinstance(geometry, MeshFile) and geometry.path:
                yield geometry.uri, geometry.path
        for visual in link.visuals:
            material = visual.material
            if material and material.texture_uri and material.texture_path:
                yield material.texture_uri, material.texture_path
