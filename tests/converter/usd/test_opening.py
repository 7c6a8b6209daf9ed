"""Files outside the folder of an asset are reported, or refused unopened.

What is reported of the stages in ``opening.txt`` is stored there, see :mod:`tests.stored_cases`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Sdf

from tests.stored_cases import Case, check_outcomes, stored_cases, write_files
from urdf_usd.converter.diagnostics import StageError
from urdf_usd.converter.usd.loading import open_stage

_STORED = Path(__file__).with_name("opening.txt")


def _outside(usd: Path) -> list[str]:
    found = open_stage(usd).diagnostics
    return [each.message for each in found if each.rule == "asset-outside"]


def _outcome(case: Case, folder: Path) -> str:
    here = {name: text.replace("{parent}", str(folder)) for name, text in case.items()}
    here = {name: text.replace("{folder}", f"{folder}/asset") for name, text in here.items()}
    usd = write_files(here, folder)
    (folder / "asset/link.png").symlink_to("../other.png")
    (folder / "asset/folder").symlink_to("..")
    (folder / "asset/inside.png").symlink_to("a.png")
    refused = []
    try:
        open_stage(usd, strict=True)
    except StageError as error:
        refused = [each.message for each in error.diagnostics]
        # Layers are not opened, except the one that the robot may refer to.
        assert Sdf.Layer.Find(str(folder / "other.usda")) is None
    found = _outside(usd)
    assert refused in (found, found[:1])
    return "\n".join(found).replace(str(folder), "HERE")


def test_files_outside_the_folder_are_reported_as_stored(tmp_path: Path) -> None:
    check_outcomes(_STORED, _outcome, tmp_path)


def test_stage_of_checked_files_is_composed_without_checking_them_again(tmp_path: Path) -> None:
    usd = write_files(stored_cases(_STORED)["outside by reference"], tmp_path)
    other = tmp_path / "other.usda"
    other.write_text(other.read_text().replace("{\n}", '{\ndef Scope "s" {}\n}'))

    for checked, rules in ((False, ["asset-outside"]), (True, [])):
        opened = open_stage(usd, checked=checked)

        assert [each.rule for each in opened.diagnostics] == rules
        assert opened.stage.GetPrimAtPath("/r/s")


def test_root_layer_behind_a_symbolic_link_is_accepted(tmp_path: Path) -> None:
    write_files(stored_cases(_STORED)["path ./tex/a.png"], tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "asset")

    assert _outside(tmp_path / "link" / "robot.usda") == []


def test_file_behind_a_symbolic_link_is_where_the_link_leads(tmp_path: Path) -> None:
    usd = write_files(stored_cases(_STORED)["path link.png"], tmp_path)
    (tmp_path / "asset/link.png").symlink_to("a.png")

    assert _outside(usd) == []
    with pytest.raises(StageError):
        open_stage(tmp_path / "none.usda")
