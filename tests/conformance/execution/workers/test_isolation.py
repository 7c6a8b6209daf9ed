"""Whatever a child process does, its parent gets an answer and loses nothing."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.conformance.engines import oblique_arm
from tests.conformance.runs import group_exists, wait_until
from urdf_usd.conformance.engines.protocol import (
    Abstained,
    Available,
    Crashed,
    Observed,
    Request,
    Side,
)
from urdf_usd.conformance.engines.registry import UnknownEngineError
from urdf_usd.conformance.execution.workers.confinement import Completed, watched
from urdf_usd.conformance.execution.workers.isolation import Isolation
from urdf_usd.conformance.observation.robot import Configurations, Observation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from urdf_usd.conformance.engines.protocol import Availability

_DEVIATIONS = Path(__file__).parents[3] / "data/deviations"
_NOWHERE = Configurations((), (), ("zero",))


class _Miniature:
    """An engine that does the wrong thing that the path names."""

    name = "miniature"
    side = Side.URDF

    def availability(self) -> Availability:
        """Always."""
        return Available("1")

    def observe(self, request: Request) -> Observation:
        """Raise, or print the last words of native code and die."""
        if request.path == "raise":
            raise ZeroDivisionError("a miniature raised")
        os.write(2, b"last words of native code\n")
        os.abort()


@pytest.fixture(scope="module")
def isolation() -> Iterator[Isolation]:
    """One pool for all tests: each must leave it usable."""
    with Isolation(workers=2) as pool:
        yield pool


def _say_and_sleep() -> None:
    """Say something before the time is over, however slow the machine is."""
    os.write(1, b"about to hang\n")
    with watched(0.01):
        time.sleep(600.0)


def _hang_natively() -> None:
    # Called with the lock held: libc knows nothing of it.
    sleep = ctypes.PyDLL(None).sleep
    with watched(0.01):
        sleep(600)


def _devour() -> None:
    eaten = []
    while True:
        eaten.append(bytearray(16 * 2**20))


def _devour_natively() -> None:
    """Do what C++ does when an allocation fails that nobody expects to."""
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    while library.malloc(ctypes.c_size_t(16 * 2**20)):
        pass
    os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n")
    os.abort()


def _take(size: int) -> int:
    return len(bytearray(size))


def _reserve(size: int) -> None:
    mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()


def _loaded_and_threads() -> tuple[frozenset[str], int]:
    return frozenset(sys.modules), len([*Path("/proc/self/task").iterdir()])


def _report_temporary_folder() -> str:
    import tempfile  # noqa: PLC0415  the child's, not ours

    folder = tempfile.mkdtemp()
    Path(folder, "left behind").touch()
    return folder


def test_result_comes_back(isolation: Isolation) -> None:
    """Values pass through unchanged."""
    completed = isolation.call(divmod, 17, 5)

    assert isinstance(completed, Completed)
    assert completed.value == (3, 2)


def test_exception_is_a_crash_with_its_text(isolation: Isolation) -> None:
    """The place where it was raised is in the output."""
    crash = isolation.call(int, "seven")

    assert isinstance(crash, Crashed)
    assert crash.reason == "ValueError: invalid literal for int() with base 10: 'seven'"
    assert "Traceback" in crash.output
    assert str(Path.cwd()) not in crash.output


def test_exit_code_of_a_dead_process_is_named(isolation: Isolation) -> None:
    """No signal, but no result either."""
    crash = isolation.call(os._exit, 3)

    assert crash == Crashed("the process ended with exit code 3")


def test_hang_is_a_crash_after_the_time_limit(isolation: Isolation) -> None:
    """What was printed until then is kept, and where it was."""
    crash = isolation.call(_say_and_sleep, timeout=60.0)

    assert isinstance(crash, Crashed)
    assert crash.reason == "no answer after 60 s"
    assert crash.output.startswith("about to hang\n")
    assert crash.output.endswith("in _say_and_sleep")


def test_a_task_has_the_time_that_it_is_given(isolation: Isolation) -> None:
    """It does nothing else, so nothing can be too slow."""
    crash = isolation.call(time.sleep, 600.0, timeout=0.2)

    assert isinstance(crash, Crashed)
    assert crash.reason == "no answer after 0.2 s"


def test_native_code_that_hangs_is_ended_too() -> None:
    """It holds the interpreter's lock, so no Python could end it."""
    with Isolation() as pool:
        crash = pool.call(_hang_natively, timeout=60.0)

    assert isinstance(crash, Crashed)
    assert crash.reason == "no answer after 60 s"
    assert crash.output.endswith("in _hang_natively")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to limits")
@pytest.mark.parametrize(
    ("devour", "reason"),
    [
        ("_devour", "the memory limit was reached"),
        ("_devour_natively", "the process died: SIGABRT; the memory limit was reached"),
    ],
)
def test_hunger_is_a_crash_at_the_memory_limit(devour: str, reason: str) -> None:
    """In Python an exception, in C++ a death; the next task has the same limit."""
    with Isolation(memory=1024) as pool:
        crash = pool.call(globals()[devour], timeout=60.0)
        after = pool.call(_take, 100 * 2**20)

    assert isinstance(crash, Crashed)
    assert crash.reason == reason
    assert isinstance(after, Completed)


def test_memory_is_not_limited_unless_wanted() -> None:
    """More than the default is there for the taking."""
    with Isolation(memory=None) as pool:
        taken = pool.call(_reserve, 5 * 2**30)

    assert isinstance(taken, Completed)


@pytest.mark.skipif(sys.platform != "linux", reason="others start from nothing")
def test_each_task_has_a_process_of_its_own(isolation: Isolation) -> None:
    """Nothing that one leaves behind meets another."""
    pids = [isolation.call(os.getpid) for _ in range(3)]

    assert len({pid.value for pid in pids if isinstance(pid, Completed)}) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="others start from nothing")
def test_a_process_starts_with_everything_loaded(isolation: Isolation) -> None:
    """And without the threads that would not survive being copied."""
    started = isolation.call(_loaded_and_threads)

    assert isinstance(started, Completed)
    loaded, threads = started.value
    assert {"pxr.UsdPhysics", "mujoco", "pybullet", "scipy.stats"} <= loaded
    # Its own, and the one that watches over the time.
    assert threads == 2


def test_a_child_sees_the_environment_as_it_is_now(
    isolation: Isolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not as it was when the first child was started."""
    monkeypatch.setenv("ROS_PACKAGE_PATH", "/somewhere/new")

    seen = isolation.call(os.getenv, "ROS_PACKAGE_PATH")

    assert isinstance(seen, Completed)
    assert seen.value == "/somewhere/new"


def test_last_words_of_a_dead_engine_are_kept(isolation: Isolation) -> None:
    """Also what it wrote past Python's streams."""
    crash = isolation.ask(_Miniature, Request("abort", _NOWHERE))

    assert isinstance(crash, Crashed)
    assert crash.reason == "the process died: SIGABRT"
    assert "last words of native code" in crash.output


def test_exception_of_an_engine_is_a_crash(isolation: Isolation) -> None:
    """It is a fault of the reader, not a statement about the file."""
    crash = isolation.ask(_Miniature, Request("raise", _NOWHERE))

    assert isinstance(crash, Crashed)
    assert crash.reason == "ZeroDivisionError: a miniature raised"


def test_segmentation_fault_of_an_engine_costs_one_answer(isolation: Isolation) -> None:
    """PyBullet dies of two root links; the next robot is read as if nothing was."""
    crash = isolation.ask(
        "pybullet", Request(str(_DEVIATIONS / "two-roots.urdf"), _NOWHERE)
    )
    after = isolation.ask(
        "pybullet", Request(str(_DEVIATIONS / "axis-length.urdf"), _NOWHERE)
    )

    assert isinstance(crash, Crashed)
    assert crash.reason == "the process died: SIGSEGV"
    assert "multiple root links found: base arm" in crash.output
    assert isinstance(after, Observed)


def test_observation_comes_back_whole(isolation: Isolation, tmp_path: Path) -> None:
    """Arrays included."""
    outcome = isolation.ask(
        "mujoco",
        oblique_arm.request(
            tmp_path,
            oblique_arm.URDF,
            shoulder=oblique_arm.SHOULDER,
            elbow=oblique_arm.ELBOW,
        ),
    )
    assert isinstance(outcome, Observed)
    frames = outcome.observation.frames
    assert frames is not None
    positions, _ = oblique_arm.expected_frames()

    np.testing.assert_allclose(
        frames.positions[:, frames.links.index("tip")], positions[:, -1], atol=1e-13
    )


def test_abstention_is_no_crash(isolation: Isolation, tmp_path: Path) -> None:
    """The reason is one line."""
    path = tmp_path / "robot.urdf"
    path.write_text("<sdf/>")

    assert isolation.ask("mujoco", Request(str(path), _NOWHERE)) == Abstained(
        "the root element is sdf, not robot"
    )


def test_unknown_engine_is_an_error_of_the_caller(isolation: Isolation) -> None:
    """No process is started for it."""
    with pytest.raises(UnknownEngineError):
        isolation.ask("mujocco", Request("robot.urdf", _NOWHERE))


def test_temporary_files_of_a_task_do_not_outlive_it(isolation: Isolation) -> None:
    """Even those that a dying process could not remove."""
    completed = isolation.call(_report_temporary_folder)

    assert isinstance(completed, Completed)
    assert not Path(completed.value).exists()


def test_threads_share_the_pool(isolation: Isolation) -> None:
    """Every thread gets the answer to its own question, deaths in between or not."""
    questions = [(os._exit, 5) if n % 5 == 0 else (abs, -n) for n in range(20)]

    with ThreadPoolExecutor(max_workers=8) as threads:
        endings = list(
            threads.map(lambda question: isolation.call(*question), questions)
        )

    expected = [None if n % 5 == 0 else n for n in range(20)]
    assert [
        ending.value if isinstance(ending, Completed) else None for ending in endings
    ] == expected


def test_leaving_cancels_what_still_runs() -> None:
    """A thread that waits for an answer is not left waiting."""
    with ThreadPoolExecutor(max_workers=1) as threads:
        with Isolation() as pool:
            waiting = threads.submit(pool.call, time.sleep, 600.0)
            while not pool._running:
                time.sleep(0.01)
        with pytest.raises(CancelledError):
            waiting.result()
        with pytest.raises(CancelledError):
            pool.call(abs, -1)


@pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")
def test_interruption_leaves_no_process_behind(tmp_path: Path) -> None:
    """Ctrl-C reaches the whole process group; all of it must be gone afterwards."""
    script = tmp_path / "interrupted.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys, time
            from urdf_usd.conformance.execution.workers.isolation import Isolation

            if __name__ == "__main__":
                with Isolation(workers=2) as isolation:
                    isolation.call(abs, -1)
                    print("ready", flush=True)
                    isolation.call(time.sleep, 600.0)
            """
        )
    )
    process = subprocess.Popen(  # noqa: S603  our own interpreter and script
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait() != 0

    # A process that has ended stays in its group until init collects it.
    wait_until(lambda: not group_exists(process.pid))


@pytest.mark.skipif(sys.platform != "linux", reason="fork servers are for Linux alone")
def test_interruption_while_libraries_load_says_nothing_of_its_own(
    tmp_path: Path,
) -> None:
    """The fork server takes a second to load; Ctrl-C reaches its group as well."""
    script = tmp_path / "hasty.py"
    script.write_text(
        textwrap.dedent(
            """
            import time
            from urdf_usd.conformance.execution.workers.isolation import Isolation

            if __name__ == "__main__":
                try:
                    with Isolation(workers=2) as isolation:
                        print("started", flush=True)
                        isolation.call(time.sleep, 600.0)
                except KeyboardInterrupt:
                    print("interrupted", flush=True)
            """
        )
    )
    with subprocess.Popen(  # noqa: S603  our own interpreter and script
        [sys.executable, script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        os.killpg(process.pid, signal.SIGINT)
        said, complaints = process.communicate()

    assert (said, complaints) == (b"interrupted\n", b"")
    assert process.returncode == 0
