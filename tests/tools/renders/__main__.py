"""Render robots from URDF and USD, side by side.

``python -m tests.tools.renders OUT [SOURCE…]`` converts and renders each source, writes a
picture into the folder, and prints the differences.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lxml import etree
from PIL import Image

from tests.tools.renders.pictures import (
    Picture,
    camera_for,
    picture_by_bullet,
    picture_of_surfaces,
)
from tests.tools.renders.stage_surfaces import stage_surfaces
from tests.tools.renders.urdf_surfaces import urdf_surfaces
from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.converter.urdf.parse import standalone_urdf
from urdf_usd.corpus import resolve_robot

Array = np.ndarray

SIZE = 300
_COLORS = 96
SOURCES = (
    "pybullet:r2d2.urdf",
    "pybullet:kuka_iiwa/model.urdf",
    "pybullet:laikago/laikago.urdf",
    "pybullet:duck_vhacd.urdf",
    "pybullet:racecar/racecar.urdf",
    "erd:a1",
    "erd:anymal_c_simple_description/anymal",
)


@dataclass(frozen=True)
class Difference:
    """Difference of two pictures.

    Attributes:
        overlap: Intersection over union of the covered pixels.
        color: Mean difference of components (0 to 255) where both have a surface.
    """

    overlap: float
    color: float


def difference(first: Picture, second: Picture) -> Difference:
    """Compare two pictures."""
    both = first.covered & second.covered
    either = first.covered | second.covered
    apart = np.abs(first.pixels.astype(int) - second.pixels.astype(int))
    return Difference(both.sum() / either.sum(), float(apart[both].mean()))


def draw(source: str, folder: Path) -> tuple[Image.Image, Difference, Difference]:
    """Render one robot three times.

    Returns:
        The picture, and the differences to the USD of the URDF rendered by PyBullet and
        as read by trimesh.
    """
    found = resolve_robot(source)
    packages = {name: str(path) for name, path in found.packages}
    options = ConvertOptions(packages=tuple(packages.items()))
    usd = convert(found.path, folder / "asset", options).root_layer
    urdf = folder / "visible.urdf"
    urdf.write_bytes(_visible(str(found.path), packages))
    surfaces = list(stage_surfaces(str(usd)))
    camera = camera_for(surfaces, SIZE)
    bullet = picture_by_bullet(str(urdf), camera)
    other = picture_of_surfaces(list(urdf_surfaces(str(urdf))), camera)
    usds = picture_of_surfaces(surfaces, camera)
    row = np.concatenate([one.pixels for one in (bullet, other, usds)], axis=1)
    image = Image.fromarray(row.astype(np.uint8)).quantize(_COLORS)
    return image, difference(bullet, usds), difference(other, usds)


def _visible(file: str, packages: dict[str, str]) -> bytes:
    """Reduce a URDF to its visuals, in short lines.

    PyBullet draws colliders of links without visuals, and cuts long lines.
    """
    root = etree.fromstring(standalone_urdf(file, packages, {}))
    for link in root.iter("link"):
        for collision in link.findall("collision"):
            link.remove(collision)
    etree.indent(root)
    return etree.tostring(root)


def main() -> None:
    options = argparse.ArgumentParser(prog="tests.tools.renders", description=__doc__)
    options.add_argument("out", type=Path)
    options.add_argument("sources", nargs="*", default=SOURCES)
    chosen = options.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    for source in chosen.sources:
        with tempfile.TemporaryDirectory() as scratch:
            image, bullet, other = draw(source, Path(scratch))
        name = Path(source.partition(":")[2] or source).with_suffix("").as_posix()
        image.save(chosen.out / f"{name.replace('/', '_')}.png", optimize=True)
        sys.stdout.write(
            f"\n{source}: PyBullet {bullet.overlap:.3f} {bullet.color:.2f}, "
            f"trimesh {other.overlap:.3f} {other.color:.2f}\n"
        )


if __name__ == "__main__":
    main()
