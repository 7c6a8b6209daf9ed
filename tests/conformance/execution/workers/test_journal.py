"""A step that dies costs its own answer; what was done before it is not done again."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.runs import wait_until
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.workers.confinement import Completed, watched
from urdf_usd.conformance.execution.workers.isolation import Isolation
from urdf_usd.conformance.execution.workers.journal import outlive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from urdf_usd.conformance.execution.workers.journal import Steps


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
    """Hang in a process whose time is over as soon as it does."""
    with watched(0.01):
        time.sleep(600.0)


def _hang_alone(steps: Steps) -> list[object]:
    return _values(steps.call(time.sleep, 600.0))


def _devour() -> None:
    eaten = []
    while True:
        eaten.append(bytearray(16 * 2**20))


def _raise() -> None:
    raise ZeroDivisionError("on purpose")


_KILLERS: dict[str, tuple[Callable[[], None], str]] = {
    "abort": (_abort, "the process died: SIGABRT"),
    "hang": (_hang, "no answer after 60 s"),
    "devour": (_devour, "the memory limit was reached"),
    "raise": (_raise, "ZeroDivisionError: on purpose"),
}


def _work(steps: Steps, file: str, killers: tuple[str, ...]) -> list[object]:
    """Have a killer between every two harmless steps."""
    answers: list[Completed[Any] | Crashed] = []
    for name in killers:
        answers.append(steps.call(_note, file, f"before {name}"))
        answers.append(steps.call(_KILLERS[name][0]))
        answers.append(Completed(steps.crashed))
    answers.append(steps.call(_note, file, "end"))
    return _values(*answers)


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

    ending = outlive(isolation, _work, str(file), (killer,), timeout=60.0)

    assert isinstance(ending, Completed)
    before, crash, crashed, end = ending.value
    assert (before, end) == (f"before {killer}", "end")
    assert isinstance(crash, Crashed)
    assert crash.reason == _KILLERS[killer][1]
    assert crashed is True
    assert file.read_text() == f"before {killer}\nend\n"


def test_a_step_has_the_time_that_the_work_is_given(isolation: Isolation) -> None:
    """Nothing else is done, so nothing else can be too slow."""
    # Libraries are loaded from here on, which the limit of the pool does not allow for.
    isolation.call(abs, -1)

    ending = outlive(isolation, _hang_alone, timeout=1.0)

    assert isinstance(ending, Completed)
    (crash,) = ending.value
    assert isinstance(crash, Crashed)
    assert crash.reason == "no answer after 1 s"


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


# Steps beside the process of the work.


@pytest.fixture(scope="module")
def roomy() -> Iterator[Isolation]:
    """Room for one process beside the one of the work."""
    with Isolation(memory=1024, processes=2) as pool:
        yield pool


def _meet(mine: str, other: str) -> str:
    """Leave a file, and wait for the one of somebody else."""
    Path(mine).touch()
    while not Path(other).exists():
        time.sleep(0.01)
    return mine


def _meet_beside(steps: Steps, one: str, other: str) -> list[object]:
    beside, here = steps.plan(_meet, one, other), steps.plan(_meet, other, one)
    steps.begin(beside)
    return _values(here.ending(), beside.ending())


def _values(*endings: Completed[Any] | Crashed) -> list[Any]:
    return [each.value if isinstance(each, Completed) else each for each in endings]


@_LINUX
def test_steps_are_done_side_by_side(roomy: Isolation, tmp_path: Path) -> None:
    """Each of two waits until the other has begun."""
    one, other = str(tmp_path / "one"), str(tmp_path / "other")

    ending = outlive(roomy, _meet_beside, one, other, timeout=60.0)

    assert isinstance(ending, Completed)
    assert ending.value == [other, one]


_LEFT: list[str] = []


def _leave(word: str) -> int:
    _LEFT.append(word)
    return os.getpid()


def _find() -> tuple[list[str], int]:
    return list(_LEFT), os.getpid()


def _leave_beside(steps: Steps) -> tuple[list[str], list[str], int]:
    steps.call(_leave, "before")
    leave, find = steps.plan(_leave, "beside"), steps.plan(_find)
    steps.begin(leave, find)
    first, second, third = _values(leave.ending(), find.ending(), steps.call(_find))
    return second[0], third[0], len({first, second[1], third[1]})


@_LINUX
def test_steps_that_are_begun_together_share_what_they_leave(
    roomy: Isolation, isolation: Isolation
) -> None:
    """They have what was there before, and leave nothing elsewhere."""
    beside = outlive(roomy, _leave_beside)
    no_room = outlive(isolation, _leave_beside)

    assert isinstance(beside, Completed)
    assert beside.value == (["before", "beside"], ["before"], 2)
    assert isinstance(no_room, Completed)
    assert no_room.value == (["before", "beside"], ["before", "beside"], 1)


def _work_beside(steps: Steps, file: str, killer: str) -> list[object]:
    """Have a killer between two harmless steps, all of them beside."""
    begun = (
        steps.plan(_note, file, "before"),
        steps.plan(_KILLERS[killer][0]),
        steps.plan(_note, file, "behind"),
    )
    steps.begin(*begun)
    return _values(*(step.ending() for step in begun))


@pytest.mark.parametrize(
    "killer", ["abort", "hang", pytest.param("devour", marks=_LINUX), "raise"]
)
@pytest.mark.parametrize("room", [True, False])
def test_a_death_beside_is_the_ending_of_its_step_alone(
    roomy: Isolation,
    isolation: Isolation,
    tmp_path: Path,
    killer: str,
    room: bool,  # noqa: FBT001  # a parameter
) -> None:
    """It is the same that it would be in the process of the work."""
    file = tmp_path / "trace"
    where = roomy if room else isolation

    ending = outlive(where, _work_beside, str(file), killer, timeout=60.0)

    assert isinstance(ending, Completed)
    before, crash, behind = ending.value
    assert (before, behind) == ("before", "behind")
    assert isinstance(crash, Crashed)
    assert crash.reason == _KILLERS[killer][1]
    if killer == "abort":
        assert crash.output.startswith("an engine's last words\n")
    assert file.read_text() == "before\nbehind\n"


def _wait_for(file: str) -> int:
    """Say who begins, and go on once there is a file."""
    with Path(f"{file}.begun").open("a", encoding="utf-8") as trace:
        trace.write(f"{os.getpid()}\n")
    while not Path(file).exists():
        time.sleep(0.01)
    return os.getpid()


def _has_begun(file: str) -> bool:
    """Whether somebody has said so, to the end of the line."""
    begun = Path(f"{file}.begun")
    return begun.exists() and begun.read_text(encoding="utf-8").endswith("\n")


def _lives(process: int) -> bool:
    """Whether a process runs; nobody may have asked yet what became of one."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def _die_once_begun(file: str) -> None:
    while not _has_begun(file):
        time.sleep(0.01)
    os.abort()


def _die_while_others_work(steps: Steps, file: str) -> list[object]:
    beside = steps.plan(_wait_for, file)
    steps.begin(beside)
    death = steps.call(_die_once_begun, file)
    Path(file).touch()
    return _values(death, beside.ending())


@_LINUX
def test_a_death_takes_along_what_is_done_beside_it_and_blames_nobody_else(
    roomy: Isolation, tmp_path: Path
) -> None:
    """What had not ended is done again."""
    file = tmp_path / "go"

    ending = outlive(roomy, _die_while_others_work, str(file))

    assert isinstance(ending, Completed)
    death, beside = ending.value
    assert isinstance(death, Crashed)
    assert death.reason == "the process died: SIGABRT"
    first, second = map(int, Path(f"{file}.begun").read_text().split())
    assert beside == second
    # It is killed by the system, once it has a processor to end on.
    wait_until(lambda: not _lives(first))


def _leave_behind(steps: Steps, file: str) -> None:
    steps.begin(steps.plan(_wait_for, file))
    while not _has_begun(file):
        time.sleep(0.01)


@_LINUX
def test_what_nobody_waits_for_ends_with_the_work(
    roomy: Isolation, tmp_path: Path
) -> None:
    """Nothing is left running."""
    file = tmp_path / "never"

    ending = outlive(roomy, _leave_behind, str(file))

    assert isinstance(ending, Completed)
    left = int(Path(f"{file}.begun").read_text())
    assert not _lives(left)
