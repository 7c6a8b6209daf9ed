"""Failures that are not bugs: one line with cause and remedy, and exit status 2."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from urdf_usd.cli.failures import explained_failures
from urdf_usd.cli.main import main
from urdf_usd.conformance.execution.errors import ClusterError
from urdf_usd.conformance.execution.usd_reading import compose

_ROBOT = '<robot name="r"><link name="a"/></robot>'
_NOT_UTF8 = os.fsdecode(b"\xff.urdf")
_PROGRAM = "from urdf_usd.cli.program import start; start()"


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
        (OSError(errno.ENOSPC, "No space left on device"), "free space"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "free memory"),
        (OSError(errno.EROFS, "Read-only file system", "out"), "set TMPDIR"),
        (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
        (
            FileNotFoundError(errno.ENOENT, "No usable temporary directory found"),
            "set TMPDIR",
        ),
    ],
)
def test_system_error_is_not_reported_as_a_bug(
    error: BaseException, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    message = _explanation(error, capsys)

    assert expected in message
    assert "bug" not in message
    assert message.count("\n") == 1


def test_message_of_a_bug_is_limited(capsys: pytest.CaptureFixture[str]) -> None:
    """Some exceptions contain an error per block of a file."""
    message = _explanation(RuntimeError("one of many\n" * 100_000), capsys)

    assert "this is a bug in urdf-usd: RuntimeError: one of many" in message
    assert len(message) < 2000


@pytest.mark.parametrize("command", ["convert", "check", "inspect", "lint"])
def test_name_that_is_not_utf8_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(_NOT_UTF8).write_text(_ROBOT)
    further = {"convert": ["out"], "check": ["."]}.get(command, [])

    with pytest.raises(SystemExit) as ended:
        main([command, _NOT_UTF8, *further])

    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "error: \\xff.urdf: the name of the file or folder is not UTF-8; rename it\n"
    )


def test_run_refuses_a_folder_whose_name_is_not_utf8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.urdf").write_text(_ROBOT)

    with pytest.raises(SystemExit) as ended:
        main(["run", "a.urdf", "--out", os.fsdecode(b"o\xff")])

    assert ended.value.code == 2
    assert "o\\xff: the name of the folder is not UTF-8" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="has no limit of file sizes")
def test_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    """OpenUSD reports an error per block; a limit of file sizes acts as a full disk."""
    boxes = "".join(
        f'<visual><geometry><box size="{size} 1 1"/></geometry></visual>' for size in range(1, 300)
    )
    (tmp_path / "a.urdf").write_text(f'<robot name="r"><link name="a">{boxes}</link></robot>')

    ended = subprocess.run(  # noqa: S602  # the shell sets the limit
        f'ulimit -f 20; exec "{sys.executable}" -P -c "{_PROGRAM}" convert a.urdf out',
        shell=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
        capture_output=True,
        text=True,
    )

    assert ended.returncode == 2
    assert ended.stderr.startswith("error: out cannot be written: File too large; ")
    assert ended.stderr.endswith("[target-unwritable]\n")
    assert ended.stderr.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["a.urdf"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes of a POSIX shell")
def test_closed_pipe_prints_nothing(tmp_path: Path) -> None:
    links = "".join(f'<link name="l{index}"/>' for index in range(3000))
    (tmp_path / "a.urdf").write_text(f'<robot name="r">{links}</robot>')
    reader, writer = os.pipe()
    os.close(reader)

    ended = subprocess.run(  # this command
        [sys.executable, "-P", "-c", _PROGRAM, "lint", "a.urdf"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
        stdout=writer,
        stderr=subprocess.PIPE,
    )
    os.close(writer)

    assert ended.stderr == b""


def test_usd_whose_path_is_not_utf8_is_refused() -> None:
    path = os.fsdecode(b"\xff.usda")

    (refused,) = compose(path).refused

    assert refused.rule == "stage-unreadable"
    assert refused.message == ("\\xff.usda cannot be opened: its path is not UTF-8; rename it")
