"""Progress of a run: rate, time left, and lines without a terminal."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from msgspec import structs

from tests.reports import samples
from urdf_usd.cli.output.progress import Pace, duration, shown_progress
from urdf_usd.reports.records.record import Verdict


def _paced(total: int, times: list[float]) -> str:
    pace = Pace(total, 100.0)
    for time in times:
        pace.finish(100.0 + time)
    return str(pace)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([], ""),
        # Four in two seconds; six remain.
        ([0.5, 1.0, 1.5, 2.0], "2.0/s, 3 s left"),
        # One in eight seconds; nine remain.
        ([8.0], "8.0 s each, 72 s left"),
        ([600.0], "600.0 s each, 90 min left"),
        ([float(n) for n in range(1, 11)], "1.0 s each"),
    ],
)
def test_pace_shows_rate_and_time_left(times: list[float], expected: str) -> None:
    """Of ten robots."""
    assert _paced(10, times) == expected


def test_pace_is_that_of_the_latest_robots() -> None:
    """Reused results do not distort it."""
    kept = [0.001 * n for n in range(1000)]
    made = [1.0 + 2.0 * n for n in range(1, 400)]

    assert _paced(1499, kept + made) == "2.0 s each, 3 min left"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.4, "0 s"), (119, "119 s"), (121, "2 min"), (7199, "120 min"), (9000, "2.5 h")],
)
def test_durations_are_rounded_to_a_suitable_unit(seconds: float, expected: str) -> None:
    """Seconds, minutes or hours."""
    assert duration(seconds) == expected


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A clock that advances by two seconds per reading."""
    ticks = itertools.count(0, 2)
    monkeypatch.setattr("time.monotonic", lambda: float(next(ticks)))
    return iter(())


@pytest.mark.usefixtures("clock")
def test_pipe_gets_a_line_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    """Also for the first, the last, and every robot that does not conform."""
    good = samples.robot(Verdict.EXACT)
    bad = structs.replace(good, id="bad", verdict=Verdict.FAILS)
    with shown_progress(20) as show:
        for number in range(1, 21):
            show(bad if number == 3 else good)

    lines = capsys.readouterr().err.splitlines()
    numbers = [int(line[1:3]) for line in lines]
    assert numbers == [1, 3, 8, 13, 18, 20]
    assert lines[1] == "[ 3/20] ✗ fails: bad (2.0 s each, 34 s left)"
    assert lines[-1].endswith("(2.0 s each)")
