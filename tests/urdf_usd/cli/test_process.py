"""The process of the command: imports, output, signals, and failures that are not bugs."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.conformance.runs import processes_with, wait_until
from urdf_usd.cli.failures import explained_failures
from urdf_usd.cli.main import main
from urdf_usd.conformance.execution.worker import ClusterError

# Each takes a noticeable part of a second to import.
_HEAVY = {"jinja2", "mujoco", "pxr", "pybullet", "scipy", "trimesh"}


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-c", program, *arguments),
        check=False,
        capture_output=True,
        encoding="utf-8",
    )


@pytest.mark.parametrize(
    "words",
    ["--help", "convert --help", "check none none", "check r.urdf r.usda", "run r.urdf --out out"],
)
def test_command_loads_no_heavy_library_where_workers_do(words: str, tmp_path: Path) -> None:
    (tmp_path / "r.urdf").write_text('<robot name="r"><link name="a"/></robot>')
    (tmp_path / "r.usda").write_text('#usda 1.0\n(defaultPrim = "r")\ndef Xform "r" {}\n')
    program = f"""
import os, sys
from urdf_usd.cli.main import main
os.chdir({str(tmp_path)!r})
try:
    main({words.split()!r})
finally:
    print(*sys.modules)
"""

    modules = _run(program).stdout.splitlines()[-1].split()

    assert "urdf_usd.cli.main" in modules
    # Pages are written by the process of the command.
    pages = {"jinja2"} if "r.urdf" in words else set()
    assert not (_HEAVY - pages) & set(modules)


XACRO = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="a"/></robot>"""
# In this process, a function is replaced by one that does not return.
_HANGING = """
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


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
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
    tmp_path: Path, short_path: Path, hangs: str, command: tuple[str, ...], number: signal.Signals
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
        [sys.executable, "-c", _HANGING, str(begun), hangs, *command],
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


_NOT_UTF8 = os.fsdecode(b"\xff.urdf")
_PROGRAM = "from urdf_usd.cli.program import start; start()"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _explanation(error: BaseException, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(click.exceptions.Exit) as ended, explained_failures(debug=False):
        raise error
    assert ended.value.exit_code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ClusterError("there is no scheduler at tcp://a:1"), "there is no scheduler"),
        (MemoryError(), "not enough memory"),
        (OSError(errno.ENOSPC, "No space left on device"), "error: No space left on device"),
        (OSError(errno.EROFS, "Read-only file system", "out"), "error: out: Read-only file system"),
    ],
)
def test_system_error_is_not_reported_as_a_bug(
    error: BaseException, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    message = _explanation(error, capsys)

    assert expected in message
    assert "bug" not in message
    assert message.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "name", "problem"),
    [
        (("convert", _NOT_UTF8, "out"), "\\xff.urdf", "the file or folder is not UTF-8; rename it"),
        (("check", _NOT_UTF8, "."), "\\xff.urdf", "the file or folder is not UTF-8; rename it"),
        (("inspect", _NOT_UTF8), "\\xff.urdf", "the file or folder is not UTF-8; rename it"),
        (("lint", _NOT_UTF8), "\\xff.urdf", "the file or folder is not UTF-8; rename it"),
        (
            ("run", "a.urdf", "--out", os.fsdecode(b"o\xff")),
            "o\\xff",
            "the folder is not UTF-8; choose another",
        ),
    ],
)
def test_name_that_is_not_utf8_is_one_line(
    command: tuple[str, ...], name: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in (_NOT_UTF8, "a.urdf"):
        Path(file).write_text('<robot name="r"><link name="a"/></robot>')

    with pytest.raises(SystemExit) as ended:
        main(command)

    assert ended.value.code == 2
    assert capsys.readouterr().err == f"error: {name}: the name of {problem}\n"


def _process(command: str, *, stdout: int = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S602  # the shell sets a limit
        command.format(f'"{sys.executable}" -P -c "{_PROGRAM}"'),
        shell=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="has no limit of file sizes")
def test_full_disk_is_one_line_and_leaves_nothing() -> None:
    boxes = "".join(
        f'<visual><geometry><box size="{size} 1 1"/></geometry></visual>' for size in range(1, 300)
    )
    Path("a.urdf").write_text(f'<robot name="r"><link name="a">{boxes}</link></robot>')

    ended = _process("ulimit -f 20; exec {} convert a.urdf out")

    assert ended.returncode == 2
    assert ended.stderr.startswith("error: out cannot be written: File too large")
    assert ended.stderr.endswith("[target-unwritable]\n")
    assert ended.stderr.count("\n") == 1
    assert [file.name for file in Path().iterdir()] == ["a.urdf"]
