"""Conversion of hostile input gives a valid asset, or diagnostics and no file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pxr import Sdf, Usd, UsdUtils

from urdf_usd.conformance.export.assets import export
from urdf_usd.converter import ConversionError, convert
from urdf_usd.converter.urdf.parse import parse

INERTIAL = (
    '<inertial><origin xyz="0.1 -0.2 0.3" rpy="0.1 0.2 0.3"/><mass value="2"/>'
    '<inertia ixx="0.3" ixy="0.01" ixz="-0.02" iyy="0.4" iyz="0.03" izz="0.5"/>'
    "</inertial>"
)
ARM = f"""<robot name="arm">
<link name="base">{INERTIAL}</link>
<link name="tip">{INERTIAL}<collision><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>
<geometry><box size="1 2 3"/></geometry></collision><collision><geometry>
<cylinder radius="0.5" length="0.7"/></geometry></collision><visual><geometry>
<sphere radius="0.4"/></geometry><material name="m"><color rgba="0.1 0.2 0.3 0.4"/>
</material></visual></link>
<joint name="elbow" type="revolute"><origin xyz="0.5 0.6 0.7" rpy="0.4 0.5 0.6"/>
<parent link="base"/><child link="tip"/><axis xyz="0.1 0.2 -0.9"/>
<limit lower="-1.5" upper="2.5" effort="8" velocity="9"/>
<dynamics damping="0.15" friction="0.25"/></joint></robot>"""
# The attributes with numbers, one of each text.
NUMBERS = tuple(dict.fromkeys(re.findall(r'(?:mass )?\w+="-?[\d.][-\d. ]*"', ARM)))


def _convert_text(folder: Path, text: str) -> Usd.Stage | None:
    """Convert a text; None if it is refused, which must leave nothing behind."""
    source = folder / "robot.urdf"
    source.write_text(text, encoding="utf-8")
    before = sorted(folder.rglob("*"))
    try:
        conversion = convert(source, folder / "out")
    except ConversionError:
        assert sorted(folder.rglob("*")) == before
        return None
    return Usd.Stage.Open(str(conversion.root_layer))


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e308", "-1e308", "1e-320"])
@pytest.mark.parametrize("attribute", NUMBERS)
def test_extreme_numbers_give_no_nan_in_the_asset(
    tmp_path: Path, attribute: str, number: str
) -> None:
    name, _, value = attribute.partition("=")
    count = len(value.split())
    text = ARM.replace(attribute, f'{name}="{" ".join([number] * count)}"', 1)
    assert text != ARM

    stage = _convert_text(tmp_path, text)

    # A text of the URDF that is kept is in quotation marks.
    assert not stage or not re.search(r"(?<!\")\bnan\b", stage.Flatten().ExportToString())


@pytest.mark.parametrize(
    "name",
    [
        *("a&#10;b", "a&#9;b&#13;", "\u0085\u2028\u200b", "\u202egpj.exe", "\U0001f916"),
        *("@../../x.usda@", "</Robot>", "/World/../x", "a.b:c", "{x=1}", "\\&quot;'"),
        *("..", "/", "-", "n" * 5000, "%s%n{0}"),
    ],
)
def test_any_name_gives_a_valid_prim_and_a_display_name(tmp_path: Path, name: str) -> None:
    text = ARM
    for former in ("arm", "base", "tip", "elbow", "m"):
        text = text.replace(f'"{former}"', f'"{name}{former}"')

    stage = _convert_text(tmp_path, text)
    robot = parse(tmp_path / "robot.urdf").robot

    assert stage
    prims = list(stage.Traverse())
    assert all(Sdf.Path.IsValidIdentifier(prim.GetName()) for prim in prims)
    shown = {prim.GetDisplayName() for prim in prims}
    assert {robot.name, *(link.name for link in robot.links)} <= shown
    assert {joint.name for joint in robot.joints} <= shown
    suffixes = {path.suffix for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert suffixes == {".usda", ".usdc"}


def test_files_outside_the_package_are_reported(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    triangle = "v 0 0 0\nv 1 0 0\nv 0 2 0\nf 1 2 3\n"
    (tmp_path / "secret/shape.obj").write_text(triangle)
    (tmp_path / "secret/key.png").write_text("-----BEGIN PRIVATE KEY-----")
    robot = tmp_path / "repository/robot"
    (robot / "urdf").mkdir(parents=True)
    (robot / "package.xml").write_text("<package><name>robot</name></package>")
    (robot / "urdf/link.obj").symlink_to(tmp_path / "secret/shape.obj")
    references = (
        "../../../secret/shape.obj",
        str(tmp_path / "secret/shape.obj"),
        "package://robot/../../secret/shape.obj",
        "link.obj",
    )
    visuals = "".join(
        f'<visual><geometry><mesh filename="{reference}"/></geometry><material name="">'
        f'<texture filename="{tmp_path}/secret/key.png"/></material></visual>'
        for reference in references
    )
    source = robot / "urdf/robot.urdf"
    source.write_text(f'<robot name="r"><link name="a">{visuals}</link></robot>')

    conversion = convert(source, tmp_path / "out")

    messages = [d.message for d in conversion.diagnostics if d.rule == "file-outside"]
    for reference in (*references, f"{tmp_path}/secret/key.png"):
        assert sum(repr(reference) in message for message in messages) == 1
    contents = [p.read_bytes() for p in (tmp_path / "out").rglob("*") if p.is_file()]
    assert not any(b"PRIVATE KEY" in content for content in contents)
    layers, assets, unresolved = UsdUtils.ComputeAllDependencies(str(conversion.root_layer))
    assert not unresolved
    out = (tmp_path / "out").resolve()
    for path in (*(layer.realPath for layer in layers), *assets):
        assert Path(path).resolve().is_relative_to(out)


@pytest.mark.parametrize("name", ["n" * 300, "a\0b"])
def test_invalid_target_paths_are_refused(tmp_path: Path, name: str) -> None:
    source = tmp_path / "arm.urdf"
    source.write_text(ARM)
    asset = convert(source, tmp_path / "asset").root_layer

    with pytest.raises(ConversionError, match="target-unwritable"):
        convert(source, tmp_path / name)
    with pytest.raises(ConversionError, match="target-unwritable"):
        export(asset, tmp_path / name)
