"""Converters that are commands, and folders of existing USDs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from urdf_usd.conformance.converters.candidates import ReadyUsds
from urdf_usd.conformance.execution.converting import (
    UncomparedError,
    find_ready,
    root_layer_in,
    run_command,
)
from urdf_usd.reports.records.record import Verdict

NAMES = ("dir--arm", "arm")


def _run(script: str, folder: Path, timeout: float = 60.0) -> tuple[Path, str | None]:
    line = (sys.executable, "-c", script, str(folder / "arm.urdf"), str(folder / "out"))
    return folder / "out", run_command(line, folder / "out", timeout)


def _touch(folder: Path, *names: str) -> None:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#usda 1.0\n")


def test_program_gets_the_urdf_and_an_empty_folder(tmp_path: Path) -> None:
    _touch(tmp_path / "out", "former.usda")
    (tmp_path / "arm.urdf").write_text("<robot/>")
    script = (
        "import pathlib, sys\n"
        "urdf, out = map(pathlib.Path, sys.argv[1:])\n"
        "print(urdf.read_text(), list(out.iterdir()))\n"
        "(out / 'arm.usd').touch()\n"
    )

    out, printed = _run(script, tmp_path)
    assert printed == "<robot/> []"
    assert root_layer_in(out, NAMES) == out / "arm.usd"


@pytest.mark.parametrize(
    ("script", "verdict", "reason"),
    [
        (
            "import sys; print(7); sys.exit('no mesh')",
            Verdict.NOT_COMPARABLE,
            "exit code 1: no mesh",
        ),
        ("import os; os.abort()", Verdict.CRASHED, "it was killed by SIGABRT"),
        ("import time; time.sleep(600)", Verdict.CRASHED, "not finished after 2 s"),
    ],
)
def test_program_that_writes_no_usd_has_a_reason(
    tmp_path: Path, script: str, verdict: Verdict, reason: str
) -> None:
    """A crash is distinguished from a refusal; its output is recorded."""
    with pytest.raises(UncomparedError) as error:
        _run(script, tmp_path, timeout=2.0 if "sleep" in script else 60.0)

    assert (error.value.verdict, error.value.reason.partition(": ")[2]) == (verdict, reason)
    printed = {"7", "no mesh"} if "exit" in reason else {""}
    assert set((error.value.output or "").split("\n")) == printed


@pytest.mark.parametrize(
    ("files", "root"),
    [
        (("anything.usdc",), "anything.usdc"),
        (("arm.usda", "configuration/arm_base.usd"), "arm.usda"),
        (("inner/robot.usd", "inner/deeper/x.usd"), "inner/robot.usd"),
        (("arm.usda", "arm_physics.usda"), "arm.usda"),
        (("ARM.usd", "meshes.usd"), "ARM.usd"),
        (("dir__arm.usd", "arm.usd"), "dir__arm.usd"),
        (("arm.usdz", "arm.usda", "arm.usdc"), "arm.usda"),
        (("two/two.usd", "two/materials.usd"), "two/two.usd"),
        (("left.usd", "right.usd"), None),
    ],
)
def test_root_layer_is_found_by_depth_and_name(
    tmp_path: Path, files: tuple[str, ...], root: str | None
) -> None:
    """The only layer at the least depth, or the one named like the robot or folder."""
    _touch(tmp_path, *files)

    if root is None:
        with pytest.raises(UncomparedError, match=r"several .*: left\.usd, right\.usd$"):
            root_layer_in(tmp_path, NAMES)
    else:
        assert root_layer_in(tmp_path, NAMES) == tmp_path / root


@pytest.mark.parametrize(
    ("files", "found", "owned"),
    [
        (("arm.usd", "leg.usd"), "arm.usd", 1),
        (("dir--arm.usda", "arm.usd"), "dir--arm.usda", 1),
        (("arm/arm.usd", "arm/parts/a.usd", "leg/leg.usd"), "arm/arm.usd", 2),
        (("dir--arm/scene.usd",), "dir--arm/scene.usd", 1),
        (("leg.usd",), None, 0),
    ],
)
def test_existing_usds_are_found_by_id_or_stem(
    tmp_path: Path, files: tuple[str, ...], found: str | None, owned: int
) -> None:
    _touch(tmp_path, *files)
    usds = ReadyUsds("isaac", tmp_path)

    if found is None:
        with pytest.raises(UncomparedError, match="has no USD named 'dir--arm' or 'arm'"):
            find_ready(usds, NAMES)
    else:
        layer, files_of = find_ready(usds, NAMES)
        assert (layer, len(files_of)) == (tmp_path / found, owned)
