"""Files outside the folder of an asset are reported, or refused unopened."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Sdf

from urdf_usd.converter.diagnostics import StageError
from urdf_usd.converter.usd.loading import open_stage

_HEAD = '#usda 1.0\n(\n    defaultPrim = "r"\n{head})\n'
_PRIM = 'def Xform "r"{arcs}\n{{\n{inside}}}\n'
_CLIPS = """ (clips = { dictionary default = {
    asset[] assetPaths = [@{asset}@]
    string primPath = "/r"
} })"""
_VARIANT = """def Xform "r" (prepend variantSets = "v") {
    variantSet "v" = {
        "unused" (payload = @{asset}@) {
        }
    }
}
"""


def _layer(head: str = "", arcs: str = "", inside: str = "") -> str:
    return _HEAD.format(head=head) + _PRIM.format(arcs=arcs, inside=inside)


# How a layer refers to a file, and where the message says that it does.
_WAYS = {
    "sublayer": (_layer("    subLayers = [@{asset}@]\n"), ""),
    "reference": (_layer(arcs=" (references = @{asset}@)"), " at </r>"),
    "payload": (_layer(arcs=" (payload = @{asset}@)"), " at </r>"),
    "unselected variant": (_HEAD.format(head="") + _VARIANT, " at </r{v=unused}>"),
    "texture": (_layer(inside="    asset inputs:file = @{asset}@\n"), " at </r.inputs:file>"),
    "MDL module": (
        _layer(inside="    uniform asset info:mdl:sourceAsset = @{asset}@\n"),
        " at </r.info:mdl:sourceAsset>",
    ),
    "time sample": (_layer(inside="    asset t.timeSamples = { 0: @{asset}@ }\n"), " at </r.t>"),
    "value clip": (_layer(arcs=_CLIPS), " at </r>"),
}


@pytest.fixture
def asset(tmp_path: Path) -> Path:
    """Folder of an asset, beside a layer and a texture that are no part of it."""
    folder = tmp_path / "asset"
    folder.mkdir()
    (tmp_path / "other.usda").write_text(_layer())
    (tmp_path / "other.png").write_text("")
    return folder


def _outside(usd: Path) -> list[str]:
    found = open_stage(usd).diagnostics
    return [each.message for each in found if each.rule == "asset-outside"]


@pytest.mark.parametrize("way", _WAYS)
def test_file_outside_the_folder_is_reported_or_refused_unopened(
    asset: Path, tmp_path: Path, way: str
) -> None:
    """With the layer, the place in it and the file; a refused layer is not open in OpenUSD."""
    text, place = _WAYS[way]
    usd = asset / "robot.usda"
    usd.write_text(text.replace("{asset}", "../other.usda"))

    with pytest.raises(StageError) as caught:
        open_stage(usd, strict=True)

    assert [one.rule for one in caught.value.diagnostics] == ["asset-outside-refused"]
    assert Sdf.Layer.Find(str(tmp_path / "other.usda")) is None
    assert _outside(usd) == [
        f"{usd} refers{place} to @../other.usda@, that is {tmp_path}/other.usda, "
        "outside the folder of the asset"
    ]


def test_stage_of_checked_files_is_composed_without_checking_them_again(
    asset: Path, tmp_path: Path
) -> None:
    (tmp_path / "other.usda").write_text(_layer(inside='def Scope "s" {}\n'))
    usd = asset / "robot.usda"
    usd.write_text(_layer(arcs=" (references = @../other.usda@)"))

    for checked, rules in ((False, ["asset-outside"]), (True, [])):
        opened = open_stage(usd, checked=checked)

        assert [each.rule for each in opened.diagnostics] == rules
        assert opened.stage.GetPrimAtPath("/r/s")


@pytest.mark.parametrize(
    ("path", "how"),
    [
        ("{parent}/other.png", "an absolute path"),
        ("./tex/../../other.png", "that is {parent}/other.png"),
        ("../missing.png", "that is {parent}/missing.png"),
        ("link.png", "by a symbolic link {parent}/other.png"),
        ("./folder/other.png", "by a symbolic link {parent}/other.png"),
        ("https://example.com/a.png", "a URI"),
        ("omniverse://host/a.png", "a URI"),
        ("file:///etc/hostname", "a URI"),
        ("C:/a.png", "a path with a drive"),
        ("..\\\\other.png", "that is {parent}/other.png"),
        ("../tex.<UDIM>.png", "that is {parent}/tex.<UDIM>.png"),
        ("../model.usdz[tex/a.png]", "that is {parent}/model.usdz"),
    ],
)
def test_every_kind_of_path_that_leaves_the_folder_is_reported(
    asset: Path, path: str, how: str
) -> None:
    parent = str(asset.parent)
    (asset / "link.png").symlink_to("../other.png")
    (asset / "folder").symlink_to("..")
    usd = asset / "robot.usda"
    path, how = path.replace("{parent}", parent), how.replace("{parent}", parent)
    usd.write_text(_layer(inside=f"    asset inputs:file = @{path}@\n"))

    (message,) = _outside(usd)

    assert f"@, {how}, outside" in message


@pytest.mark.parametrize(
    "path",
    [
        "./tex/a.png",
        "tex/../a.png",
        "{folder}/a.png",
        "a.png",
        "inside.png",
        "OmniPBR.mdl",
        "missing.png",
        "tex.<UDIM>.png",
        "model.usdz[../a.png]",
        "",
    ],
)
def test_files_in_the_folder_are_not_reported(asset: Path, path: str) -> None:
    """Nor are names that are looked up in a library, such as MDL modules."""
    (asset / "a.png").write_text("")
    (asset / "inside.png").symlink_to("a.png")
    usd = asset / "robot.usda"
    path = path.replace("{folder}", str(asset))
    usd.write_text(_layer(inside=f"    asset inputs:file = @{path}@\n"))

    assert _outside(usd) == []


def test_root_layer_behind_a_symbolic_link_is_accepted(asset: Path, tmp_path: Path) -> None:
    (asset / "a.png").write_text("")
    (asset / "robot.usda").write_text(_layer(inside="    asset t = @./a.png@\n"))
    (tmp_path / "link").symlink_to(asset)

    assert _outside(tmp_path / "link" / "robot.usda") == []


def test_identifiers_in_asset_info_are_not_reported(asset: Path) -> None:
    info = " (\n    assetInfo = {\n        asset identifier = @../me.usda@\n    }\n)"
    (asset / "robot.usda").write_text(_layer(arcs=info))

    assert _outside(asset / "robot.usda") == []


def test_layer_outside_is_reported_once_and_its_neighbours_are_not(
    asset: Path, tmp_path: Path
) -> None:
    """What that layer reads elsewhere is a line of its own."""
    (tmp_path / "library").mkdir()
    library = tmp_path / "library" / "part.usda"
    textures = "    asset a = @./a.png@\n    asset b = @/etc/hostname@\n"
    library.write_text(_layer(inside=textures))
    usd = asset / "robot.usda"
    usd.write_text(_layer(arcs=" (references = @../library/part.usda@)"))

    first, second = _outside(usd)

    assert first.startswith(f"{usd} refers at </r> to @../library/part.usda@, that is")
    assert second.startswith(f"{library} refers at </r.b> to @/etc/hostname@, an abs")


def test_many_files_of_one_folder_are_one_line(asset: Path, tmp_path: Path) -> None:
    usd = asset / "robot.usda"
    several = "".join(f"    asset a{n} = @../{n}.png@\n" for n in range(5))
    usd.write_text(_layer(inside=several))

    (message,) = _outside(usd)

    assert message.endswith(f"outside the folder of the asset; so are 4 more in {tmp_path}")


def test_expression_with_variables_is_evaluated(asset: Path) -> None:
    usd = asset / "robot.usda"
    head = (
        '    expressionVariables = {\n        string X = ".."\n    }\n'
        '    subLayers = [@`"${X}/other.usda"`@]\n'
    )
    usd.write_text(_layer(head=head))

    (message,) = _outside(usd)

    assert "to @../other.usda@" in message
