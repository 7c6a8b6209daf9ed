"""The line that says what a command is doing."""

from __future__ import annotations

import io

import pytest

from urdf_usd.conformance.cli.output.status import StatusLine, shown_status


class Terminal(io.StringIO):
    """Text that was written to a terminal."""

    def isatty(self) -> bool:
        """Say that it is one."""
        return True

    def lines(self) -> list[str]:
        """Return what one sees: a carriage return lets a line be written over."""
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


def test_the_line_is_there_at_once_and_gone_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is left before the next line."""
    terminal = as_terminal(monkeypatch)
    with shown_status("Loading engines ...") as status:
        assert terminal.lines() == ["Loading engines ..."]

        status.show("Comparing ...")

        assert terminal.lines() == ["Comparing ..."]
    assert terminal.lines() == [""]


def test_the_line_is_gone_after_a_failure_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Messages begin at the left."""
    terminal = as_terminal(monkeypatch)
    with pytest.raises(KeyboardInterrupt), shown_status("Loading engines ..."):
        raise KeyboardInterrupt

    assert terminal.lines() == [""]


def test_other_lines_stay_above(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Such as those that announce downloads."""
    terminal = as_terminal(monkeypatch)
    with shown_status("Looking for robots ...") as status:
        status.say("downloading panda")

        assert terminal.lines() == ["downloading panda", "Looking for robots ..."]


def test_a_line_is_never_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wrapped one could not be written over."""
    terminal = as_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", "10")

    StatusLine().show("Loading engines ...")

    assert terminal.lines() == ["Loading e"]


def test_a_pipe_sees_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Nor does a terminal that knows lines alone."""
    with shown_status("Loading engines ...") as status:
        status.say("downloading panda")

    assert capfd.readouterr() == ("", "downloading panda\n")


def test_a_dumb_terminal_sees_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would show every version of the line."""
    terminal = as_terminal(monkeypatch, "dumb")
    with shown_status("Loading engines ..."):
        pass

    assert terminal.getvalue() == ""
