"""Metadata and extent of the default prim, and its variants."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pxr import Tf, Usd, UsdGeom

from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.converter.options import Layout, Profile
from urdf_usd.converter.usd.writer.asset import is_written_here

_BOX = '<origin xyz="1 2 3"/><geometry><box size="0.2 0.4 0.6"/></geometry>'
_FAR = '<origin xyz="9 9 9"/><geometry><sphere radius="1"/></geometry>'
_EXTENT = [[0.9, 1.8, 2.7], [1.1, 2.2, 3.3]]


def _written(folder: Path, shapes: str = "", options: ConvertOptions = ConvertOptions()) -> Path:  # noqa: B008  a value
    urdf = folder / "r.urdf"
    urdf.write_text(f'<robot name="r"><link name="a">{shapes}</link></robot>')
    return convert(urdf, folder / "usd", options).root_layer


@pytest.mark.parametrize("profile", [Profile.GENERIC, Profile.ROS, Profile.ISAAC, Profile.SIMREADY])
@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        (f"<visual>{_BOX}</visual><collision>{_FAR}</collision>", _EXTENT),
        (f"<collision>{_BOX}</collision>", _EXTENT),
        ("", None),
    ],
    ids=["visual and collider", "collider", "no shape"],
)
def test_extents_hint_is_that_of_visuals_or_else_of_colliders(
    tmp_path: Path, shapes: str, expected: list[list[float]] | None, profile: Profile
) -> None:
    """Half the edges of a box around its position; without shapes there is none."""
    file = _written(tmp_path, shapes, ConvertOptions(profile=profile))
    stage = Usd.Stage.Open(str(file))

    hint = UsdGeom.ModelAPI(stage.GetDefaultPrim()).GetExtentsHint()

    if expected is None:
        assert hint is None
    else:
        np.testing.assert_allclose(hint, expected, rtol=1e-6)


@pytest.mark.parametrize("layout", list(Layout))
def test_robot_without_shapes_has_no_openusd_warnings(tmp_path: Path, layout: Layout) -> None:
    with Tf.DiagnosticTrap() as trap:
        stage = Usd.Stage.Open(str(_written(tmp_path, "", ConvertOptions(layout=layout))))
        stage.GetDefaultPrim().GetVariantSet("Physics").SetVariantSelection("none")
        assert not trap.HasWarnings()

    prims = ["/r", "/r/Geometry", "/r/Geometry/a"]
    assert [str(prim.GetPath()) for prim in stage.Traverse()][:3] == prims


@pytest.mark.parametrize("text", ["", "#usda 1.0\n", "no layer", "#usda 1.0\n(("])
@pytest.mark.parametrize("suffix", [".usda", ".usdc", ".usdz"])
def test_files_of_other_tools_are_not_recognised_as_own(
    tmp_path: Path, text: str, suffix: str
) -> None:
    file = tmp_path / f"robot{suffix}"
    file.write_text(text)

    assert not is_written_here(file)


@pytest.mark.parametrize(
    ("manifest", "version"),
    [
        ("<package><name>p</name><version>2.10.3</version></package>", "2.10.3"),
        ("<package><name>p</name><version>latest</version></package>", "0.0.0"),
        ("<package><name>p</name></package>", "0.0.0"),
        (None, "0.0.0"),
    ],
)
def test_version_is_that_of_the_ros_package(
    tmp_path: Path, manifest: str | None, version: str
) -> None:
    """REP 149 defines three numbers; the version in URDF is that of the format."""
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "package/urdf"
    folder.mkdir(parents=True)
    if manifest is not None:
        (folder.parent / "package.xml").write_text(manifest)
    urdf = folder / "r.urdf"
    urdf.write_text('<robot name="r" version="1.0"><link name="a"/></robot>')

    stage = Usd.Stage.Open(str(convert(urdf, tmp_path / "usd").root_layer))

    assert Usd.ModelAPI(stage.GetDefaultPrim()).GetAssetVersion() == version
