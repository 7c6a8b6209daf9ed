"""What SimReady Foundation requires of robots, besides what all assets have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pxr import Gf, Usd, UsdGeom

from urdf_usd.converter import Conversion, ConvertOptions, Profile, convert

_WHOLE = Path(__file__).parents[3] / "data/assets/whole.urdf"


def _convert(urdf: Path, folder: Path) -> Conversion:
    options = ConvertOptions(profile=Profile.SIMREADY, metadata=(("author", "me"),))
    return convert(urdf, folder / "usd", options)


def test_missing_metadata_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a date there is no date: equal inputs give equal assets."""
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    found = _convert(_WHOLE, tmp_path).diagnostics

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
    urdf = tmp_path / "sides.urdf"
    visual = '<visual><geometry><mesh filename="sides.obj"/></geometry></visual>'
    urdf.write_text(f'<robot name="sides"><link name="a">{visual}</link></robot>')

    conversion = _convert(urdf, tmp_path)

    stage = Usd.Stage.Open(str(conversion.root_layer))
    (mesh,) = [prim for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh)]
    normals = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("normals").ComputeFlattened()
    assert set(normals) == {Gf.Vec3f(0, 0, 1), Gf.Vec3f(1, 0, 0)}
    reported = [d for d in conversion.diagnostics if d.rule == "normals-opposite"]
    assert len(reported) == (normal < 0)


def test_thumbnail_shows_the_robot(tmp_path: Path) -> None:
    """SR.002: a PNG of 256 x 256 pixels with its own header and colours."""
    asset = _convert(_WHOLE, tmp_path).root_layer.parent

    with Image.open(asset / ".thumbs/256x256/whole_robot.usda.png") as image:
        assert (image.format, image.size, image.mode) == ("PNG", (256, 256), "RGB")
        pixels = np.asarray(image, np.int64)
    covered = (pixels != 255).any(axis=2)
    assert max(map(np.ptp, np.nonzero(covered))) == pytest.approx(0.9 * 256, abs=3)
    # The cylinder has no material, the part is red and textured, the panel blue.
    for channel in (0, 2):
        assert ((pixels[..., channel] - pixels[..., 2 - channel])[covered] > 60).any()
