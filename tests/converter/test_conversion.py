"""Replacement of former assets, and failures that leave the target unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from urdf_usd.converter import ConversionError, ConvertOptions, convert

_URDF = """<robot name="{name}">
  <link name="base">
    <inertial><mass value="1.5"/><inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.2"
      iyz="0" izz="0.25"/></inertial>
    <visual><geometry><mesh filename="package://parts/none.stl"/></geometry></visual>
  </link>
</robot>
"""


def _urdf(folder: Path, name: str = "arm") -> Path:
    path = folder / "arm.urdf"
    path.write_text(_URDF.format(name=name))
    return path


def _tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("is_asset", [False, True])
@pytest.mark.parametrize(
    "stranger",
    [
        *("notes.txt", "payload/notes.txt", "payload/other.usda", "b.usda"),
        *("payload/Textures/paint.psd", "payload/Old/a.usd"),
    ],
)
def test_folder_with_other_files_is_refused(tmp_path: Path, stranger: str, is_asset: bool) -> None:
    asset = tmp_path / "asset"
    if is_asset:
        convert(_urdf(tmp_path), asset)
    (asset / stranger).parent.mkdir(parents=True, exist_ok=True)
    (asset / stranger).write_text("mine")
    before = _tree(tmp_path)

    with pytest.raises(ConversionError, match="no conversion wrote"):
        convert(tmp_path / "arm.urdf", asset)

    assert _tree(tmp_path) == before


def test_asset_of_another_tool_is_refused(tmp_path: Path) -> None:
    asset = tmp_path / "asset"
    root = convert(_urdf(tmp_path), asset).root_layer
    root.write_text(root.read_text().replace("urdf-usd convert", "somebody"))

    with pytest.raises(ConversionError, match="no conversion wrote"):
        convert(tmp_path / "arm.urdf", asset)


def test_file_as_target_is_refused(tmp_path: Path) -> None:
    (tmp_path / "asset").write_text("mine")

    with pytest.raises(ConversionError, match="needs a folder"):
        convert(_urdf(tmp_path), tmp_path / "asset")


def test_failed_conversion_leaves_the_former_one(tmp_path: Path) -> None:
    # A mass beyond float32 is found while layers are written.
    asset = tmp_path / "asset"
    urdf = _urdf(tmp_path)
    convert(urdf, asset)
    before = _tree(asset)
    urdf.write_text(urdf.read_text().replace('"1.5"', '"1e39"'))

    with pytest.raises(ConversionError, match="float32"):
        convert(urdf, asset)

    with pytest.raises(ConversionError, match="float32"):
        convert(urdf, tmp_path / "new" / "deep" / "asset")
    assert _tree(asset) == before
    assert {path.name for path in tmp_path.iterdir()} == {"arm.urdf", "asset"}


def test_working_folder_can_be_the_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    urdf = _urdf(tmp_path)
    (tmp_path / "asset").mkdir()
    monkeypatch.chdir(tmp_path / "asset")

    for _ in range(2):
        convert(urdf, ".")

    assert {path.name for path in Path().iterdir()} == {"arm.usda", "payload"}


def test_failed_move_is_rolled_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asset = tmp_path / "asset"
    urdf = _urdf(tmp_path)
    convert(urdf, asset)
    before = _tree(asset)
    rename = Path.rename

    def fail_on_payload(self: Path, target: Path) -> Path:
        if target == asset / "payload" and self.parent.name == "asset":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    urdf.write_text(urdf.read_text().replace('"1.5"', '"2.5"'))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", fail_on_payload)
        with pytest.raises(ConversionError, match="No space left on device"):
            convert(urdf, asset)

    assert _tree(asset) == before


def test_root_option_converts_a_subtree(tmp_path: Path) -> None:
    file = tmp_path / "two.urdf"
    file.write_text(
        '<robot name="r"><link name="a"/><link name="b"/><link name="c"/>'
        '<joint name="bc" type="fixed"><parent link="b"/><child link="c"/></joint>'
        "</robot>"
    )

    result = convert(file, tmp_path / "out", ConvertOptions(root="b"))

    assert [link.name for link in result.robot.links] == ["b", "c"]
    with pytest.raises(ConversionError, match="--root LINK"):
        convert(file, tmp_path / "other")
