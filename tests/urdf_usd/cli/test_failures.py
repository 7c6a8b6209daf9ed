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
from urdf_usd.conformance.execution.usd_reading import compose
from urdf_usd.conformance.execution.worker import ClusterError

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
        (OSError(errno.ENOSPC, "No space left on device"), "free space"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "free memory"),
        (OSError(errno.EROFS, "Read-only file system", "out"), "set TMPDIR"),
        (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
        (FileNotFoundError(errno.ENOENT, "No usable temporary directory found"), "set TMPDIR"),
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
    """OpenUSD reports an error per block; a limit of file sizes acts as a full disk."""
    boxes = "".join(
        f'<visual><geometry><box size="{size} 1 1"/></geometry></visual>' for size in range(1, 300)
    )
    Path("a.urdf").write_text(f'<robot name="r"><link name="a">{boxes}</link></robot>')

    ended = _process("ulimit -f 20; exec {} convert a.urdf out")

    assert ended.returncode == 2
    assert ended.stderr.startswith("error: out cannot be written: File too large; ")
    assert ended.stderr.endswith("[target-unwritable]\n")
    assert ended.stderr.count("\n") == 1
    assert [file.name for file in Path().iterdir()] == ["a.urdf"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes of a POSIX shell")
def test_closed_pipe_prints_nothing() -> None:
    links = "".join(f'<link name="l{index}"/>' for index in range(3000))
    Path("a.urdf").write_text(f'<robot name="r">{links}</robot>')
    reader, writer = os.pipe()
    os.close(reader)

    ended = _process("exec {} lint a.urdf", stdout=writer)

    os.close(writer)
    assert ended.stderr == ""


def test_usd_whose_path_is_not_utf8_is_refused() -> None:
    (refused,) = compose(os.fsdecode(b"\xff.usda")).refused

    assert refused.rule == "stage-unreadable"
    assert refused.message == "\\xff.usda cannot be opened: its path is not UTF-8; rename it"
