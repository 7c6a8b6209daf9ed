"""Tests of the summary in the terminal."""

from __future__ import annotations

import io

import pytest
from msgspec import structs
from rich.console import Console

from tests.reports import samples
from urdf_usd.reports.records.record import (
    Difference,
    Grade,
    RobotRecord,
    Verdict,
)
from urdf_usd.reports.terminal import terminal_summary


def _shown(robots: tuple[RobotRecord, ...], *, terminal: bool = False, width: int = 100) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=terminal,
        color_system="standard" if terminal else None,
    )
    console.print(terminal_summary(samples.summary(robots), robots))
    return stream.getvalue()


def test_run_summary_has_at_most_forty_lines() -> None:
    """Verdicts, failures, largest differences and engines."""
    robots = samples.corpus() + tuple(
        samples.robot(Verdict.FAILS, name=f"Wrong {i}") for i in range(40)
    )
    text = _shown(robots)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    values = sum(check.compared for robot in robots for check in robot.checks)
    assert lines[0] == (
        "2 of 46 robots conform, 1 more is unreadable, 1 more is not available; "
        f"{values:,} values compared"
    )
    assert "and 40 more" in text
    assert "✗ 3.1 mm of 10 µm link position, pybullet:Shifted.urdf, link wrist" in lines
    assert "openusd 45 of 46 1 crashed: signal 11" in lines
    assert "reference, mujoco read all 46" in lines
    assert len(lines) <= 40
    assert not [line for line in text.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize(
    ("absent", "expected"),
    [
        ((), None),
        (("pybullet",), "Not compared with pybullet: not installed or not selected"),
        (
            ("mujoco", "pybullet"),
            "Not compared with mujoco and pybullet: not",
        ),
    ],
)
def test_last_lines_name_engines_that_took_no_part(
    absent: tuple[str, ...], expected: str | None
) -> None:
    """An engine that is not installed is in no record."""
    robots = tuple(
        structs.replace(robot, engines=tuple(e for e in robot.engines if e.name not in absent))
        for robot in samples.corpus()
    )
    last = _shown(robots).splitlines()[-1].strip()

    assert last.startswith(expected or "openusd")


def test_single_robot_shows_its_findings() -> None:
    """The output of `check`."""
    robot = next(r for r in samples.corpus() if r.name == "Shifted")
    lines = [" ".join(line.split()) for line in _shown((robot,)).splitlines()]
    assert lines[0] == "✗ fails Shifted 289 values compared"
    (finding,) = [line for line in lines if line.startswith("✗ link wrist")]
    assert "link position: The wrist is 3.1 mm away" in finding
    assert len(lines) <= 30


def test_single_robot_fits_into_a_narrow_terminal() -> None:
    """With many findings; fault and remedy come first."""
    finding = Difference(
        subject="joint elbow", message="joint elbow: " + "off " * 40, assigned=Grade.FAILS
    )
    checks = tuple(
        structs.replace(samples.position(Grade.FAILS, 1.0, "elbow", (finding,) * 9), group=f"g{n}")
        for n in range(8)
    )
    robot = samples.robot(Verdict.FAILS, checks=checks)
    lines = _shown((robot,), width=60).splitlines()
    assert len(lines) <= 30
    words = " ".join(" ".join(lines).split())
    assert words.index("Fault:") < words.index("Remedy:")


def test_colours_are_used_on_terminals_only() -> None:
    """A pipe gets plain text."""
    assert "\x1b[" not in _shown(samples.corpus())
    assert "\x1b[31m" in _shown(samples.corpus(), terminal=True)


def test_control_characters_in_names_are_replaced() -> None:
    """Neither escape sequences nor markup nor bidirectional marks take effect."""
    name = "[red]x\x1b[2J\u202e" + "n" * 10_000
    robots = (
        samples.robot(Verdict.FAILS, name=name, id="a", reason=name),
        samples.robot(name="Zeta"),
    )
    for shown in (_shown(robots), _shown(robots[:1])):
        assert "[red]x␛[2J\\u202e" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert len(shown.splitlines()) < 30


def test_empty_run_has_a_summary() -> None:
    """A selection may match no robot."""
    assert _shown(()).strip() == "0 of 0 robots conform; 0 values compared"


def test_incomplete_and_close_robots_are_listed_with_their_reason() -> None:
    """After those that do not conform."""
    robots = (
        samples.robot(Verdict.CLOSE, name="Near", id="near", reason="a rounded mass"),
        samples.robot(Verdict.INCOMPLETE, name="Part", id="part", reason="arm.stl is not found"),
        samples.robot(Verdict.FAILS, name="Wrong", id="wrong", reason="a lost link"),
        samples.robot(name="Same", id="same"),
    )
    lines = [" ".join(line.split()) for line in _shown(robots).splitlines()]
    found = [line for line in lines if line.startswith(("✗", "◐", "≈", "Robots", "Inc"))]

    assert "Robots that do not conform" in lines
    assert found.index("Robots that do not conform") < found.index("Incomplete robots")
    assert any(line.endswith("incomplete: arm.stl is not found") for line in found)
    assert any(line.endswith("close: a rounded mass") for line in lines)
    assert not any("Same" in line for line in found)


def test_files_in_deep_folders_are_told_apart() -> None:
    """Their names are often equal, and their folders differ late."""
    folder = f"file:downloads/{'assets/' * 8}"
    robots = tuple(
        samples.robot(Verdict.CLOSE, id=place, reference=f"{folder}{place}/urdf/robot.urdf")
        for place in ("left_hand", "right_hand")
    )
    text = _shown(robots)

    assert "file:…/left_hand/urdf/robot.urdf  " in text
    assert "file:…/right_hand/urdf/robot.urdf  " in text


def test_references_that_fit_are_whole() -> None:
    """They can be passed to a command."""
    references = ("file:robots/arm.urdf", "file:robots/hand.urdf")
    robots = tuple(samples.robot(Verdict.CLOSE, id=one, reference=one) for one in references)
    text = _shown(robots)

    assert all(f"{reference}  " in text for reference in references)
