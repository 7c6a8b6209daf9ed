"""A step that dies costs its own answer; what was done before it is not done again."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance.confinement import Completed
from conformance.isolation import Isolation
from conformance.journal import outlive
from conformance.witness import Crashed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conformance.journal import Steps


@pytest.fixture(scope="module")
def isolation() -> Iterator[Isolation]:
    """One for all tests, with little memory."""
    with Isolation(memory=1024) as pool:
        yield pool


def _note(file: str, line: str) -> str:
    """Leave a trace that outlives the process."""
    with Path(file).open("a", encoding="utf-8") as trace:
        trace.write(f"{line}\n")
    return line


def _abort() -> None:
    os.write(2, b"an engine's last words\n")
    os.abort()


def _hang() -> None:
    time.sleep(600.0)


def _devour() -> None:
    eaten = []
    while True:
        eaten.append(bytearray(16 * 2**20))


def _raise() -> None:
    raise ZeroDivisionError("on purpose")


_KILLERS: dict[str, tuple[Callable[[], None], str]] = {
    "abort": (_abort, "the process died: SIGABRT"),
    "hang": (_hang, "no answer after 1 s"),
    "devour": (_devour, "the memory limit was reached"),
    "raise": (_raise, "ZeroDivisionError: on purpose"),
}


def _work(steps: Steps, file: str, killers: tuple[str, ...]) -> list[object]:
    """Have a killer between every two harmless steps."""
    answers: list[object] = []
    for name in killers:
        answers.append(steps.call(_note, file, f"before {name}"))
        answers.append(steps.call(_KILLERS[name][0]))
        answers.append(steps.crashed)
    answers.append(steps.call(_note, file, "end"))
    return [
        answer.value if isinstance(answer, Completed) else answer for answer in answers
    ]


_LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux keeps to limits"
)


@pytest.mark.parametrize(
    "killer", ["abort", "hang", pytest.param("devour", marks=_LINUX), "raise"]
)
def test_a_death_is_the_ending_of_its_step_alone(
    isolation: Isolation, tmp_path: Path, killer: str
) -> None:
    """What comes before is done once, what comes after is done at all."""
    file = tmp_path / "trace"

    timeout = 1.0 if killer == "hang" else 60.0

    ending = outlive(isolation, _work, str(file), (killer,), timeout=timeout)

    assert isinstance(ending, Completed)
    before, crash, crashed, end = ending.value
    assert (before, end) == (f"before {killer}", "end")
    assert isinstance(crash, Crashed)
    assert crash.reason == _KILLERS[killer][1]
    assert crashed is True
    assert file.read_text() == f"before {killer}\nend\n"


def test_any_number_of_deaths_is_outlived(isolation: Isolation, tmp_path: Path) -> None:
    """Each with its own last words."""
    file = tmp_path / "trace"

    ending = outlive(isolation, _work, str(file), ("abort", "raise", "abort"))

    assert isinstance(ending, Completed)
    first, second, third = ending.value[1::3][:3]
    assert isinstance(first, Crashed)
    assert isinstance(second, Crashed)
    assert isinstance(third, Crashed)
    for death in (first, third):
        assert death.output.startswith("an engine's last words\n")
        assert "_abort" in death.output
    assert "last words" not in second.output
    assert file.read_text().count("\n") == 4


def test_harmless_work_has_not_crashed(isolation: Isolation, tmp_path: Path) -> None:
    """That is what a result is kept by."""
    ending = outlive(isolation, _count_crashes, str(tmp_path / "trace"))

    assert isinstance(ending, Completed)
    assert ending.value is False


def _count_crashes(steps: Steps, file: str) -> bool:
    steps.call(_note, file, "one")
    return steps.crashed


def _die_between(steps: Steps, file: str, code: int) -> None:
    steps.call(_note, file, "step")
    os._exit(code)


def _raise_between(steps: Steps, file: str) -> None:
    steps.call(_note, file, "step")
    raise ZeroDivisionError("between steps")


def test_a_death_between_steps_ends_the_work(
    isolation: Isolation, tmp_path: Path
) -> None:
    """It would die there every time; it is not tried for ever."""
    file = tmp_path / "trace"

    death = outlive(isolation, _die_between, str(file), 5)
    error = outlive(isolation, _raise_between, str(file))

    assert death == Crashed("the process ended with exit code 5")
    assert isinstance(error, Crashed)
    assert error.reason == "ZeroDivisionError: between steps"
    # Each work did its step once.
    assert file.read_text() == "step\nstep\n"
