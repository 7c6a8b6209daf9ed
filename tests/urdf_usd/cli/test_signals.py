"""Commands that are interrupted by a signal leave no files and processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.runs import processes_with, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

XACRO = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="a"/></robot>"""
# In this process, a function is replaced by one that does not return.
_PROGRAM = """
import importlib, sys, time
from pathlib import Path

def hang(*_, **__):
    Path(sys.argv[1]).touch()
    time.sleep(3600)

module, names = sys.argv[2].split(":")
*holders, name = names.split(".")
holder = importlib.import_module(module)
for one in holders:
    holder = getattr(holder, one)
setattr(holder, name, hang)
from urdf_usd.cli.main import main
main(sys.argv[3:])
"""
_WAITING = "urdf_usd.conformance.execution.worker:_Worker.begin"
_EXPANDING = "xacro:process_doc"
_WRITING = "urdf_usd.converter.conversion:_move_into_place"


@pytest.mark.usefixtures("hangup")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    ("hangs", "command"),
    [
        (_WRITING, ("convert", "r.urdf", "out")),
        (_EXPANDING, ("convert", "r.xacro", "out")),
        (_WAITING, ("export", "r.usda", "new.urdf")),
        (_EXPANDING, ("inspect", "r.xacro")),
        (_EXPANDING, ("lint", "r.xacro")),
        (_EXPANDING, ("expand", "r.xacro")),
    ],
)
def test_interrupted_command_leaves_no_files_and_processes(
    tmp_path: Path,
    short_path: Path,
    hangs: str,
    command: tuple[str, ...],
    number: signal.Signals,
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "r.urdf").write_text('<robot name="r"><link name="a"/></robot>')
    (work / "r.xacro").write_text(XACRO)
    (work / "r.usda").write_text('#usda 1.0\n(defaultPrim = "r")\ndef Xform "r" {}\n')
    before = sorted(work.rglob("*"))
    begun = tmp_path / "begun"
    mark = f"MARK_OF_TEST={tmp_path}"
    process = subprocess.Popen(  # this command
        [sys.executable, "-c", _PROGRAM, str(begun), hangs, *command],
        env=os.environ | {"MARK_OF_TEST": str(tmp_path), "TMPDIR": str(short_path)},
        cwd=work,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(begun.exists)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=300)
    finally:
        process.kill()

    assert process.returncode == 130, stderr
    assert "interrupted" in stderr
    assert "Traceback" not in stderr
    wait_until(lambda: not processes_with(mark))
    assert list(short_path.iterdir()) == []
    assert sorted(work.rglob("*")) == before
