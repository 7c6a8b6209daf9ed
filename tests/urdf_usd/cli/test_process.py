"""The command as a separate process: imports, streams, signals; failures that are not bugs."""

from __future__ import annotations

import errno
import io
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

from tests.conformance.runs import HANGS, group_exists, processes_with, wait_until
from tests.robots import ROBOT
from tests.urdf_usd.cli.command import contents
from urdf_usd.cli.program import main
from urdf_usd.cli.terminal import explained_failures
from urdf_usd.conformance.execution.worker import ClusterError
from urdf_usd.corpus import resolve_robot

_COMMAND = (sys.executable, "-m", "urdf_usd")
_LINK = '<robot name="r"><link name="a"/></robot>'
_FILES = {
    "arm.urdf": ROBOT,
    "r.urdf": _LINK,
    "r.xacro": _LINK.replace("<robot", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"'),
    "r.usda": '#usda 1.0\n(defaultPrim = "r")\ndef Xform "r" {}\n',
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name, text in _FILES.items():
        Path(name).write_text(text)
    return folder


def _run(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:  # noqa: ANN401
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


# Each takes a noticeable part of a second to import.
_HEAVY = {"jinja2", "mujoco", "pxr", "pybullet", "scipy", "trimesh"}
_LISTING = """
import sys
from urdf_usd.cli.program import main
try:
    main(sys.argv[1:])
finally:
    print(*sys.modules)
"""


@pytest.mark.parametrize(
    "words",
    ["--help", "convert --help", "check none none", "check r.urdf r.usda", "run r.urdf --out out"],
)
def test_command_loads_no_heavy_library_where_workers_do(words: str) -> None:
    result = _run(sys.executable, "-c", _LISTING, *words.split())

    modules = result.stdout.splitlines()[-1].split()
    assert "urdf_usd.cli.program" in modules
    # Pages are written by the process of the command.
    pages = {"jinja2"} if "r.urdf" in words else set()
    assert not (_HEAVY - pages) & set(modules)


# In this process, a function is replaced by one that does not return.
_HANGING = """
import pkgutil, sys, time
from pathlib import Path

def hang(*_, **__):
    Path(sys.argv[1]).touch()
    time.sleep(3600)

holder, _, name = sys.argv[2].rpartition(".")
setattr(pkgutil.resolve_name(holder), name, hang)
from urdf_usd.cli.program import main
main(sys.argv[3:])
"""
_EXPANDING = "xacro.process_doc"


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.usefixtures("hangup")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    ("hangs", "command"),
    [
        ("urdf_usd.converter.conversion._move_into_place", "convert r.urdf out"),
        (_EXPANDING, "convert r.xacro out"),
        ("urdf_usd.conformance.execution.worker:_Worker.begin", "export r.usda new.urdf"),
        (_EXPANDING, "inspect r.xacro"),
        (_EXPANDING, "lint r.xacro"),
        (_EXPANDING, "expand r.xacro"),
    ],
)
def test_interrupted_command_leaves_no_files_and_processes(
    tmp_path: Path, short_path: Path, hangs: str, command: str, number: signal.Signals
) -> None:
    before, begun = contents(Path()), tmp_path / "begun"
    variables = {"MARK_OF_TEST": str(tmp_path), "TMPDIR": str(short_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", _HANGING, str(begun), hangs, *command.split()],
        env=os.environ | variables,
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
    wait_until(lambda: not processes_with(f"MARK_OF_TEST={tmp_path}"))
    assert list(short_path.iterdir()) == []
    assert contents(Path()) == before


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_ctrl_c_ends_a_run_and_its_processes() -> None:
    words = (*_COMMAND, "run", "--out", "report", "--jobs", "2")
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stderr is not None
        process.stderr.readline()
        os.killpg(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=HANGS)
    finally:
        process.kill()

    assert process.returncode == 130
    assert "robots are finished" in stderr
    assert "Traceback" not in stderr
    assert Path("report/index.html").is_file()
    # The last process of the group may need a moment to be reaped.
    wait_until(lambda: not group_exists(process.pid))


@pytest.mark.parametrize("command", [("inspect",), ("corpus", "show")])
def test_closed_pipe_is_not_the_status_of_a_robot(command: tuple[str, ...]) -> None:
    process = subprocess.Popen(
        [*_COMMAND, *command, "arm.urdf"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=HANGS)

    assert (process.returncode, errors) == (141, "")


def test_colours_follow_the_terminal_and_no_color() -> None:
    """FORCE_COLOR stands in for a terminal; NO_COLOR takes precedence."""
    command = (*_COMMAND, "convert", "pybullet:kuka_iiwa/model.urdf", "out")
    piped, coloured, plain = (
        _run(*command, env=os.environ | variables)
        for variables in ({}, {"FORCE_COLOR": "1"}, {"FORCE_COLOR": "1", "NO_COLOR": "1"})
    )

    assert (piped.returncode, piped.stdout) == (0, f"{Path('out/lbr_iiwa.usda')}\n")
    assert re.search(r"\.urdf:\d+:\d+: warning: .* \[link-regularised\]\n", piped.stderr)
    # SGR 33 is yellow.
    assert "\x1b[33mwarning:" in coloured.stderr
    assert click.unstyle(coloured.stderr) == plain.stderr == piped.stderr


# Failures that are not bugs

_NOT_UTF8 = os.fsdecode(b"\xff.urdf")


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
    with pytest.raises(click.exceptions.Exit) as ended, explained_failures(debug=False):
        raise error

    message = capsys.readouterr().err
    assert ended.value.exit_code == 2
    assert expected in message
    assert "bug" not in message
    assert message.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        ("convert", _NOT_UTF8, "out"),
        ("check", _NOT_UTF8, "."),
        ("inspect", _NOT_UTF8),
        ("lint", _NOT_UTF8),
        ("run", "arm.urdf", "--out", os.fsdecode(b"o\xff")),
    ],
)
def test_name_that_is_not_utf8_is_one_line(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    Path(_NOT_UTF8).write_text(_LINK)

    with pytest.raises(SystemExit) as ended:
        main(command)

    problem = "\\xff.urdf: the name of the file or folder is not UTF-8; rename it"
    if command[0] == "run":
        problem = "o\\xff: the name of the folder is not UTF-8; choose another"
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"error: {problem}\n"


@pytest.mark.skipif(sys.platform == "win32", reason="has no limit of file sizes")
def test_full_disk_is_one_line_and_leaves_nothing(folder: Path) -> None:
    boxes = "".join(
        f'<visual><geometry><box size="{size} 1 1"/></geometry></visual>' for size in range(1, 300)
    )
    Path("r.urdf").write_text(f'<robot name="r"><link name="a">{boxes}</link></robot>')

    limited = ("sh", "-c", 'ulimit -f 20; exec "$@"', "sh", *_COMMAND)
    ended = _run(*limited, "convert", "r.urdf", "out")

    assert ended.returncode == 2
    assert ended.stderr.startswith("error: out cannot be written: File too large")
    assert ended.stderr.endswith("[target-unwritable]\n")
    assert ended.stderr.count("\n") == 1
    assert contents(folder).keys() == _FILES.keys()


# A URDF on standard input


def test_pipe_into_convert_finds_files_of_the_working_folder() -> None:
    shutil.copy(Path(__file__).parent / "robots" / "meshes" / "m.obj", ".")
    text = ROBOT.replace('<box size="1 2 3"/>', '<mesh filename="m.obj"/>')

    ended = _run(*_COMMAND, "convert", "-", "out", "--base", "fixed", input=text)

    assert ended.returncode == 0, ended.stderr
    assert "mesh-missing" not in ended.stderr
    assert {file.name for file in Path().iterdir()} == {*_FILES, "m.obj", "out"}


@pytest.mark.parametrize("prefix", ["", "String value is: "])
@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_prefix_of_ros2_param_get_is_left_out(
    monkeypatch: pytest.MonkeyPatch, prefix: str, name: str
) -> None:
    stream = io.BytesIO(f"{prefix}{ROBOT}".encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))

    assert resolve_robot(name).path.read_text(encoding="utf-8") == ROBOT
