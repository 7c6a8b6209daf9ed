"""The status line on terminals."""

from __future__ import annotations

import io

import pytest

from urdf_usd.cli.output.status import (
    StatusLine,
    shown_meshes,
    shown_status,
)


class Terminal(io.StringIO):
    """Text that was written to a terminal."""

    def isatty(self) -> bool:
        """Return that it is a terminal."""
        return True

    def lines(self) -> list[str]:
        """Return the visible lines: after a carriage return, a line is overwritten."""
        return [self._visible(line) for line in self.getvalue().split("\n")]

    @staticmethod
    def _visible(line: str) -> str:
        cells = ""
        for part in line.split("\r"):
            cells = part + cells[len(part) :]
        return cells.rstrip()


def as_terminal(monkeypatch: pytest.MonkeyPatch, kind: str = "xterm") -> Terminal:
    """Make stderr a terminal of 40 columns.

    In the test itself, since pytest replaces the streams once fixtures are made.
    """
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setenv("COLUMNS", "40")
    return stream


def test_status_line_is_cleared_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing of it is left before the next line."""
    terminal = as_terminal(monkeypatch)
    with shown_status("Loading engines ...") as status:
        assert terminal.lines() == ["Loading engines ..."]

        status.show("Comparing ...")

        assert terminal.lines() == ["Comparing ..."]
    assert terminal.lines() == [""]


def test_status_line_is_cleared_after_a_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Messages start in the first column."""
    terminal = as_terminal(monkeypatch)
    with pytest.raises(KeyboardInterrupt), shown_status("Loading engines ..."):
        raise KeyboardInterrupt

    assert terminal.lines() == [""]


def test_other_lines_are_written_above_the_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Such as announcements of downloads."""
    terminal = as_terminal(monkeypatch)
    with shown_status("Looking for robots ...") as status:
        status.say("downloading panda")

        assert terminal.lines() == ["downloading panda", "Looking for robots ..."]


def test_status_line_is_cut_to_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wrapped line could not be cleared."""
    terminal = as_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "10")

    StatusLine().show("Loading engines ...")

    assert terminal.lines() == ["Loading e"]


def test_pipe_gets_no_status_line(capfd: pytest.CaptureFixture[str]) -> None:
    """It is for terminals only."""
    with shown_status("Loading engines ...") as status:
        status.say("downloading panda")

    assert capfd.readouterr() == ("", "downloading panda\n")


def test_dumb_terminal_gets_no_status_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It could not clear the line."""
    terminal = as_terminal(monkeypatch, "dumb")
    with shown_status("Loading engines ..."):
        pass

    assert terminal.getvalue() == ""


def test_bar_shows_the_mesh_that_is_decomposed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its number, and the bar is removed at the end."""
    terminal = as_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "120")

    with shown_meshes() as progress:
        progress("base.stl", 1, 3)
        progress("arm.stl", 2, 3)

    shown = terminal.getvalue()
    assert "0/3" in shown
    assert "base.stl" in shown
    assert shown.index("1/3") < shown.index("arm.stl")
    assert "3/3" not in shown


def test_meshes_are_not_shown_without_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Logs have diagnostics alone."""
    with shown_meshes() as progress:
        progress("base.stl", 1, 3)

    assert capsys.readouterr() == ("", "")
