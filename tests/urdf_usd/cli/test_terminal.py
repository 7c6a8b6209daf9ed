"""What terminals and pipes get: progress of a run, the status line."""

from __future__ import annotations

import io
import itertools

import pytest
from msgspec import structs

from tests.reports import samples
from urdf_usd.cli.terminal import print_view, shown_progress, shown_status
from urdf_usd.reports.records.record import Verdict
from urdf_usd.reports.terminal import terminal_summary


def test_pipe_gets_a_line_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Two seconds per reading.
    ticks = itertools.count(0, 2)
    monkeypatch.setattr("time.monotonic", lambda: float(next(ticks)))
    good = samples.robot(Verdict.EXACT)
    bad = structs.replace(good, id="bad", verdict=Verdict.FAILS)
    with shown_progress(20) as show:
        for number in range(1, 21):
            show(bad if number == 3 else good)

    lines = capsys.readouterr().err.splitlines()
    assert [int(line[1:3]) for line in lines] == [1, 3, 8, 13, 18, 20]
    assert lines[1] == "[ 3/20] ✗ fails: bad"


def test_tables_have_no_trailing_blanks_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    print_view(terminal_summary(samples.figures(samples.corpus())))

    lines = capsys.readouterr().out.splitlines()
    assert lines[-1]
    assert not [line for line in lines if line != line.rstrip()]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def lines(self) -> list[str]:
        """Return the visible lines: after a carriage return, a line is overwritten."""
        lines = []
        for line in self.getvalue().split("\n"):
            cells = ""
            for part in line.split("\r"):
                cells = part + cells[len(part) :]
            lines.append(cells.rstrip())
        return lines


def as_terminal(monkeypatch: pytest.MonkeyPatch, kind: str = "xterm") -> Terminal:
    """Make stderr a terminal; in the test, as pytest replaces the streams after fixtures."""
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setenv("COLUMNS", "40")
    return stream


def test_status_line_is_replaced_and_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = as_terminal(monkeypatch)
    with pytest.raises(KeyboardInterrupt), shown_status("Looking for robots ...") as status:
        assert terminal.lines() == ["Looking for robots ..."]
        status.say("downloading panda")
        assert terminal.lines() == ["downloading panda", "Looking for robots ..."]
        status.show("Comparing ...")
        assert terminal.lines() == ["downloading panda", "Comparing ..."]
        raise KeyboardInterrupt

    assert terminal.lines() == ["downloading panda", ""]
    # It is cut to the width of the terminal.
    monkeypatch.setenv("COLUMNS", "10")
    with shown_status("Loading engines ..."):
        assert terminal.lines()[-1] == "Loading e"


def test_pipes_and_dumb_terminals_get_no_status_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with shown_status("Loading engines ...") as status:
        status.say("downloading panda")
    assert capfd.readouterr() == ("", "downloading panda\n")

    terminal = as_terminal(monkeypatch, "dumb")
    with shown_status("Loading engines ..."):
        pass
    assert terminal.getvalue() == ""


def test_terminal_shows_how_many_robots_are_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = as_terminal(monkeypatch)
    with shown_progress(12) as show:
        show(samples.robot(Verdict.FAILS, id="arm"))
        (line,) = terminal.lines()
        assert " 1/12" in line
        assert "arm" in line
    assert "arm" not in terminal.lines()[-1]
