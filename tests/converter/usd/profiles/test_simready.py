"""What SimReady Foundation requires of robots, besides what all assets have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from pxr import Gf, Usd, UsdGeom

from tests.converter.usd.whole_robot import write_whole_robot
from urdf_usd.converter import ConvertOptions, Profile, convert

_GIVEN = (
    ("author", "A. Maker"),
    ("asset_license", "Apache-2.0"),
    ("usd_date_generated", "2026-11-23"),
    ("category", "robot arm"),
)
_SIMREADY = ConvertOptions(profile=Profile.SIMREADY, metadata=_GIVEN)


@pytest.fixture
def asset(tmp_path: Path) -> Path:
    return convert(write_whole_robot(tmp_path), tmp_path / "usd", _SIMREADY).root_layer


def test_missing_metadata_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a date there is no date: equal inputs give equal assets."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    options = ConvertOptions(profile=Profile.SIMREADY, metadata=(("author", "me"),))
    found = convert(write_whole_robot(tmp_path), tmp_path / "usd", options).diagnostics

    (message,) = [d.message for d in found if d.rule == "metadata-missing"]
    assert message == (
        "SimReady requires metadata that is not known; add "
        "--metadata asset_license=... --metadata usd_date_generated=..."
    )


_TWO_SIDES = """\
v 0 0 0
v 2 0 0
v 0 2 0
v 0 0 0.1
vn 0 0 {normal}
vn 1 0 0
f 1//1 2//1 3//1
f 1//2 3//2 4//2
"""


@pytest.mark.parametrize("normal", [1, -1])
def test_normals_against_the_faces_are_replaced(tmp_path: Path, normal: int) -> None:
    """VG.029: the large face decides."""
    (tmp_path / "sides.obj").write_text(_TWO_SIDES.format(normal=normal))
    (tmp_path / "sides.urdf").write_text(
        '<robot name="sides"><link name="a"><visual><geometry>'
        '<mesh filename="sides.obj"/></geometry></visual></link></robot>'
    )
    conversion = convert(tmp_path / "sides.urdf", tmp_path / "usd", _SIMREADY)

    stage = Usd.Stage.Open(str(conversion.root_layer))
    (mesh,) = [prim for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    normals = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("normals").ComputeFlattened()
    assert set(normals) == {Gf.Vec3f(0, 0, 1), Gf.Vec3f(1, 0, 0)}
    reported = [d for d in conversion.diagnostics if d.rule == "normals-opposite"]
    assert len(reported) == (normal < 0)


def test_thumbnail_shows_the_robot(asset: Path) -> None:
    """SR.002: a PNG of 256 x 256 pixels with its own header and colours."""
    pixels = _pixels(asset.parent / ".thumbs/256x256/whole_robot.usda.png")
    covered = (pixels != 255).any(axis=2)
    ys, xs = np.nonzero(covered)
    assert max(np.ptp(xs), np.ptp(ys)) == pytest.approx(0.9 * 256, abs=3)
    # The cylinder has no material, the part is red and textured, the panel blue.
    red, blue = (pixels[..., i] - pixels[..., 2 - i] for i in (0, 2))
    assert (red[covered] > 60).any()
    assert (blue[covered] > 60).any()


def _pixels(file: Path) -> NDArray[np.int64]:
    with Image.open(file) as image:
        assert (image.format, image.size, image.mode) == ("PNG", (256, 256), "RGB")
        return np.asarray(image, np.int64)
