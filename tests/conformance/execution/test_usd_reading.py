"""USDs of unknown origin that cannot be read end at the limits of a process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from urdf_usd.cli.main import main
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.converting import compose
from urdf_usd.conformance.execution.run import check
from urdf_usd.conformance.execution.worker import OUT_OF_MEMORY, call_on_usd, is_limit
from urdf_usd.conformance.export.files import prepare_export
from urdf_usd.conformance.options import CheckOptions, Limits
from urdf_usd.converter.diagnostics import StageError

_HEAD = '#usda 1.0\n(\n    defaultPrim = "r"\n    metersPerUnit = 1\n    upAxis = "Z"\n'
_FOLD = 30


def robot(head: str = "", arcs: str = "", inside: str = "") -> str:
    """Return a stage of one body."""
    body = f'    def Xform "a" (apiSchemas = ["PhysicsRigidBodyAPI"])\n    {{\n{inside}\n    }}\n'
    return f'{_HEAD}{head})\ndef Xform "r"{arcs}\n{{\n{body}}}\n'


def _write_doubling_layers(folder: Path) -> None:
    """Write layers that refer twice to the next; composed, 2^30 prims."""
    for level in range(_FOLD):
        name = "robot" if level == 0 else str(level)
        twice = "".join(
            f'def Xform "{one}" (references = @{level + 1}.usda@)\n{{\n}}\n' for one in "ab"
        )
        (folder / f"{name}.usda").write_text(f'{_HEAD})\ndef Xform "r"\n{{\n{twice}}}\n')
    (folder / f"{_FOLD}.usda").write_text(robot())


def _write_pipe(folder: Path) -> None:
    """Write a layer that refers to a pipe; no process writes to it."""
    os.mkfifo(folder / "odd.usda")
    (folder / "robot.usda").write_text(robot("    subLayers = [@odd.usda@]\n"))


def test_endless_export_is_stopped_and_writes_nothing(tmp_path: Path) -> None:
    _write_doubling_layers(tmp_path)
    usd = tmp_path / "robot.usda"

    with pytest.raises(StageError) as caught:
        call_on_usd(prepare_export, usd, tmp_path / "robot.urdf", limits=Limits(time=2.0))

    (late,) = caught.value.diagnostics
    assert late.rule == "stage-limits"
    assert late.message == f"{usd} cannot be composed and read: no answer after 2 s"
    assert not (tmp_path / "robot.urdf").exists()


def test_check_calls_no_engine_for_a_usd_that_cannot_be_composed(tmp_path: Path) -> None:
    _write_doubling_layers(tmp_path)
    urdf = tmp_path / "robot.urdf"
    urdf.write_text('<robot name="r"><link name="a"/></robot>')

    # Reading the URDF has the same limit, which must suffice on a busy machine.
    record = check(urdf, tmp_path / "robot.usda", CheckOptions(limits=Limits(time=4.0)))

    assert not record.checks
    assert not record.engines
    assert "robot.usda cannot be composed" in record.reason


@pytest.mark.parametrize(
    "asset", ["gone.usda", "http://example.com/x.usda", "/etc/passwd", "robot.usda"]
)
def test_missing_and_cyclic_layers_are_left_to_composition(tmp_path: Path, asset: str) -> None:
    usd = tmp_path / "robot.usda"
    usd.write_text(robot(arcs=f" (references = @{asset}@)"))

    assert compose(str(usd)).refused == ()


@pytest.mark.parametrize("command", ["export", "check"])
def test_commands_refuse_an_endless_usd_and_change_nothing(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _write_pipe(tmp_path)
    before = b'<robot name="r"><link name="a"/></robot>'
    (tmp_path / "robot.urdf").write_bytes(before)
    words = ["robot.usda", "robot.urdf"]
    if command == "check":
        words.reverse()
    force = ["--force"] if command == "export" else []

    result = CliRunner().invoke(main, [command, *words, "--timeout", "2", *force])

    shown = " ".join(result.output.split())
    assert result.exit_code == 2, shown
    assert "robot.usda cannot be composed and read: no answer after 2 s" in shown
    assert (tmp_path / "robot.urdf").read_bytes() == before


def test_exceptions_are_not_reported_as_limits() -> None:
    for reason in ("no answer after 5 s", OUT_OF_MEMORY, "the process died: SIGSEGV"):
        assert is_limit(Crashed(reason))
    assert not is_limit(Crashed("KeyError: '/World/box0'"))
