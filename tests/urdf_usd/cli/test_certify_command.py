"""Certificates of assets."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pxr import Sdf

from tests.robots import ROBOT
from urdf_usd import ConvertOptions, check, convert
from urdf_usd.cli.main import main
from urdf_usd.converter.options import Layout


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with arm.urdf and its certified asset out/arm.usda."""
    folder = tmp_path_factory.mktemp("certified")
    (folder / "arm.urdf").write_text(ROBOT, encoding="utf-8")
    convert(folder / "arm.urdf", folder / "out")
    result = _call("certify", folder / "arm.urdf", folder / "out" / "arm.usda")
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def folder(certified: Path, tmp_path: Path) -> Path:
    return shutil.copytree(certified, tmp_path / "copy")


def _call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(one) for one in arguments])


def _verify(folder: Path) -> Result:
    return _call("check", "--certificate", folder / "arm.urdf", folder / "out" / "arm.usda")


def test_copy_of_a_certified_asset_is_valid_and_conforms(folder: Path) -> None:
    result = _verify(folder)

    assert result.exit_code == 0, result.output
    assert "certificate valid: exact" in result.stdout
    assert "exact" in (folder / "out" / "conformance.svg").read_text(encoding="utf-8")
    assert check(folder / "arm.urdf", folder / "out" / "arm.usda").verdict.value == "exact"


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("arm.urdf", "arm.urdf of the robot was changed or removed"),
        ("out/payload/Physics.usda", "payload/Physics.usda of the asset was changed"),
        ("out/arm.usda", "arm.usda of the asset was changed"),
    ],
)
def test_changed_file_invalidates_the_certificate(folder: Path, file: str, message: str) -> None:
    text = (folder / file).read_text(encoding="utf-8")
    assert text.count("arm") > 0
    changed = text.replace('name="j"', 'name="k"').replace("upAxis", "endTimeCode = 3\n    upAxis")
    (folder / file).write_text(changed, encoding="utf-8")

    result = _verify(folder)

    assert result.exit_code == 1
    assert message in result.stdout
    assert len(result.stdout.strip().splitlines()) == (3 if file == "arm.urdf" else 2)


@pytest.mark.parametrize("data", [{}, {"urdfUsdCertificate": {"schema": "1", "values": "many"}}])
def test_asset_without_a_readable_certificate_is_reported(folder: Path, data: object) -> None:
    layer = Sdf.Layer.FindOrOpen(str(folder / "out" / "arm.usda"))
    layer.customLayerData = data
    layer.Save()

    result = _verify(folder)

    assert result.exit_code == 2
    assert "has no certificate; urdf-usd certify writes one" in result.stderr


def test_asset_that_does_not_conform_is_not_changed(folder: Path) -> None:
    (folder / "arm.urdf").write_text(ROBOT.replace('mass value="2"', 'mass value="3"'))
    before = (folder / "out" / "arm.usda").read_bytes()

    result = _call("certify", folder / "arm.urdf", folder / "out" / "arm.usda")

    assert result.exit_code == 1
    assert "not certified" in result.stderr
    assert (folder / "out" / "arm.usda").read_bytes() == before


@pytest.mark.parametrize("layout", [Layout.SINGLE, Layout.USDZ])
def test_binary_layer_keeps_its_format_and_packages_are_refused(
    tmp_path: Path, layout: Layout
) -> None:
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(ROBOT, encoding="utf-8")
    usd = convert(urdf, tmp_path / "out", ConvertOptions(layout=layout)).root_layer

    result = _call("certify", urdf, usd)

    if layout is Layout.USDZ:
        assert result.exit_code == 2
        assert "is a package" in result.stderr
    else:
        assert result.exit_code == 0, result.output
        assert usd.read_bytes().startswith(b"PXR-USDC")
        assert _call("check", "--certificate", urdf, usd).exit_code == 0


def test_certificate_holds_for_the_settings_it_was_made_with(tmp_path: Path) -> None:
    urdf, settings, usd = (
        tmp_path / "arm.urdf",
        tmp_path / "arm.toml",
        tmp_path / "out" / "arm.usda",
    )
    urdf.write_text(ROBOT, encoding="utf-8")
    settings.write_text("self_collision = false\n", encoding="utf-8")
    assert _call("convert", urdf, usd.parent, "--with", settings).exit_code == 0
    assert _call("certify", urdf, usd, "--with", settings).exit_code == 0
    verify = ("check", "--certificate", urdf, usd)

    assert _call(*verify, "--with", settings).exit_code == 0
    assert "arm.toml of the robot was changed or removed" in _call(*verify).stdout
    settings.write_text("self_collision = true\n", encoding="utf-8")
    changed = _call(*verify, "--with", settings)
    assert (changed.exit_code, "arm.toml of the robot is new" in changed.stdout) == (1, True)
