"""Workers: whatever a function does, there is an answer, and nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import types
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from multiprocessing.connection import Pipe
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.misbehaviour import (
    CRASHES,
    HANGS,
    LITTER,
    close_files_and_hang,
    crash,
    hang,
    huge,
    litter,
    stop,
    unpicklable,
    unreadable,
)
from tests.conformance.runs import processes_with, wait_until
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.workers import context
from urdf_usd.conformance.execution.workers.pool import RobotWorkers, WorkerPool
from urdf_usd.conformance.execution.workers.serving import (
    OUT_OF_MEMORY,
    Completed,
    serve,
)
from urdf_usd.conformance.execution.workers.worker import Worker
from urdf_usd.converter.scratch import remove_abandoned

_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory limits and /proc are Linux's")


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    """One pool for all tests: each must leave it usable."""
    with WorkerPool(memory=1024) as opened:
        # Only then has the fork server imported everything.
        opened.call(abs, -1)
        yield opened


@pytest.fixture
def worker(pool: WorkerPool) -> Iterator[Worker]:
    """A worker that has served a call."""
    started = pool.start_worker("test")
    assert _value(started.call(abs, -1)) == 1
    yield started
    pool.release(started, "test")


def _value(ending: Completed[Any] | Crashed) -> Any:  # noqa: ANN401  # as the function
    assert isinstance(ending, Completed), ending
    return ending.value


def _reason(ending: Completed[Any] | Crashed) -> str:
    assert isinstance(ending, Crashed), ending
    return ending.reason


def _state() -> tuple[str, str | None, bool]:
    return str(Path.cwd()), os.environ.get("PATH"), Path(tempfile.mkdtemp()).is_dir()


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@_LINUX
@pytest.mark.parametrize("kind", CRASHES)
def test_crash_is_reported_and_next_call_succeeds(pool: WorkerPool, kind: str) -> None:
    """Also an exit with code 0."""
    with RobotWorkers(pool) as workers:
        ending = workers.call(crash, kind)

        assert _reason(ending).startswith(CRASHES[kind][1])
        assert _value(workers.call(divmod, 17, 5)) == (3, 2)


@pytest.mark.parametrize("kind", HANGS)
def test_hang_ends_at_time_limit(worker: Worker, kind: str) -> None:
    """Whatever holds Python's lock or ignores signals."""
    process = _value(worker.call(os.getpid))
    ending = worker.call(hang, kind, timeout=0.5)

    assert _reason(ending) == "no answer after 0.5 s"
    assert isinstance(ending, Crashed)
    assert "in hang\n" in f"{ending.output}\n"
    assert not worker.running
    assert not _runs(process)


def test_output_of_a_hanging_function_is_reported(worker: Worker) -> None:
    """With the place at which it hangs, and no frame or thread of ours."""
    ending = worker.call(hang, "hang", timeout=0.5)

    assert isinstance(ending, Crashed)
    first, timeout, thread, *frames = ending.output.splitlines()
    assert first == "about to hang"
    assert timeout == "Timeout (0:00:00.500000)!"
    assert thread == "Thread 0x... (most recent call first):"
    assert [frame.rpartition(" in ")[2] for frame in frames] == ["_hang", "hang"]


def test_stopped_process_is_killed(worker: Worker) -> None:
    """It cannot end itself at its time limit."""
    process = _value(worker.call(os.getpid))
    assert isinstance(process, int)
    ending = worker.call(stop, timeout=0.5)

    assert _reason(ending) == "no answer after 0.5 s"
    assert not _runs(process)


def test_first_call_that_stops_ends_at_its_time_limit(pool: WorkerPool) -> None:
    """The time for the process to start is not added to it."""
    worker = pool.start_worker("test")
    begin = time.monotonic()
    ending = worker.call(stop, timeout=0.5)
    pool.release(worker, "test")

    assert _reason(ending) == "no answer after 0.5 s"
    assert time.monotonic() - begin < 60


@_LINUX
@pytest.mark.parametrize("kind", LITTER)
def test_next_call_finds_the_process_as_it_was(worker: Worker, kind: str) -> None:
    """Folder, environment, streams and temporary folder."""
    before = _state()
    _value(worker.call(litter, kind))

    assert _value(worker.call(_state)) == before
    ending = worker.call(crash, "abort")
    assert isinstance(ending, Crashed)
    assert ending.output.startswith("printed by native code\n")


@_LINUX
def test_processes_that_a_function_starts_end_with_its_worker() -> None:
    """They are in its process group."""
    with WorkerPool() as pool, RobotWorkers(pool) as workers:
        child = _value(workers.call(litter, "leave-child"))
        assert isinstance(child, int)
        assert _runs(child)

    wait_until(lambda: not _runs(child))


def test_answer_that_cannot_be_pickled_is_a_crash(worker: Worker) -> None:
    """In the child process."""
    reason = _reason(worker.call(unpicklable))

    # Python 3.13 words it otherwise.
    assert "Can't pickle" in reason or "Can't get local object" in reason
    assert _value(worker.call(abs, -2)) == 2


def test_answer_that_cannot_be_read_is_a_crash(worker: Worker) -> None:
    """In this process."""
    reason = _reason(worker.call(unreadable))

    assert reason.startswith("the answer cannot be read: ValueError: ")
    assert _value(worker.call(abs, -2)) == 2


def test_closed_connection_is_a_crash(worker: Worker) -> None:
    """Although the process goes on."""
    process = _value(worker.call(os.getpid))
    assert isinstance(process, int)
    ending = worker.call(close_files_and_hang)

    assert _reason(ending) == "the process closed its connection"
    assert not _runs(process)


def test_huge_answer_comes_back_whole(worker: Worker) -> None:
    """A pipe takes 64 KiB at a time."""
    answer = _value(worker.call(huge))

    assert isinstance(answer, bytes)
    assert len(answer) == 100 * 2**20


def test_exception_is_reported_with_its_text(worker: Worker) -> None:
    """The process stays."""
    process = _value(worker.call(os.getpid))
    ending = worker.call(int, "seven")

    assert _reason(ending) == ("ValueError: invalid literal for int() with base 10: 'seven'")
    assert isinstance(ending, Crashed)
    assert "Traceback" in ending.output
    assert _value(worker.call(os.getpid)) == process


def test_calls_of_one_worker_share_a_process(worker: Worker) -> None:
    """What it has loaded is there for the next one."""
    assert _value(worker.call(os.getpid)) == _value(worker.call(os.getpid))


@_LINUX
def test_worker_has_everything_imported(pool: WorkerPool) -> None:
    """It is forked from a process that has."""
    loaded = _value(pool.call(_modules))

    assert isinstance(loaded, frozenset)
    assert {"mujoco", "pybullet", "pxr.Usd"} <= loaded


def _modules() -> frozenset[str]:
    return frozenset(sys.modules)


def test_environment_is_that_of_the_caller(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each call, not of the fork server."""
    monkeypatch.setenv("ROS_PACKAGE_PATH", "/somewhere")

    assert _value(worker.call(os.getenv, "ROS_PACKAGE_PATH")) == "/somewhere"


@_LINUX
def test_memory_limit_counts_what_is_allocated_later() -> None:
    """Beyond what libraries take; none without a limit."""
    with WorkerPool(memory=1024) as limited, WorkerPool(memory=None) as unlimited:
        assert _value(limited.call(_allocate, 64)) == 64 * 2**20
        assert _reason(limited.call(_allocate, 2048)) == OUT_OF_MEMORY
        assert _value(unlimited.call(_allocate, 2048)) == 2048 * 2**20


def _allocate(mebibytes: int) -> int:
    return len(bytearray(mebibytes * 2**20))


def test_answer_imports_nothing(worker: Worker) -> None:
    """A library that crashes an engine must not be loaded here."""
    reason = _reason(worker.call(_in_unknown_module))

    assert "_workers_only._Value is not known here" in reason
    assert "_workers_only" not in sys.modules


def test_threads_may_read_their_first_arrays_at_the_same_time(tmp_path: Path) -> None:
    """Python finds a deadlock if two threads import different modules of numpy."""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import sys
            from concurrent.futures import ThreadPoolExecutor
            from urdf_usd.conformance.execution.workers.pool import WorkerPool

            ARRAY = "__import__('numpy').eye(3)"
            NUMBER = "__import__('numpy').float64(2)"

            with WorkerPool() as pool, ThreadPoolExecutor(2) as threads:
                # Both workers have numpy when the calls that count begin.
                workers = [pool.start_worker(name) for name in ("array", "number")]
                for worker in workers:
                    worker.call(len, "")
                    worker.call(eval, f"len([{ARRAY}])")
                assert "numpy" not in sys.modules
                waits = [
                    worker.begin(eval, text)
                    for worker, text in zip(workers, (ARRAY, NUMBER))
                ]
                endings = threads.map(lambda wait: wait(), waits)
                print([type(getattr(e, "value", e)).__name__ for e in endings])
            """
        )
    )
    ended = subprocess.run(  # our own words
        [sys.executable, "-P", program],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
        capture_output=True,
        text=True,
    )

    assert ended.stdout == "['ndarray', 'float64']\n", ended.stderr


def _in_unknown_module() -> object:
    value = type("_Value", (), {"__module__": "_workers_only"})
    module = types.ModuleType("_workers_only")
    module._Value = value  # type: ignore[attr-defined]  # its own
    sys.modules["_workers_only"] = module
    return value()


def test_exit_codes_are_not_confused_between_threads(pool: WorkerPool) -> None:
    """Python loses some if several threads start processes at the same time."""
    kinds = ["abort", "hard-exit-1", "kill", "segfault"] * 4
    with ThreadPoolExecutor(4) as threads:
        endings = threads.map(lambda kind: pool.call(crash, kind), kinds)

        assert [_reason(ending) for ending in endings] == [CRASHES[k][1] for k in kinds]


def test_closing_the_pool_cancels_calls(tmp_path: Path) -> None:
    """A thread that waits for an answer goes on."""
    begun = tmp_path / "begun"
    with ThreadPoolExecutor(1) as threads:
        with WorkerPool() as pool:
            waiting = threads.submit(pool.call, _begin_and_hang, str(begun))
            wait_until(begun.exists)
        with pytest.raises(CancelledError):
            waiting.result()
        with pytest.raises(CancelledError):
            pool.call(abs, -1)


def _begin_and_hang(file: str) -> None:
    Path(file).touch()
    time.sleep(6000.0)


@_LINUX
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("kind", ["hang", "hang-ignoring-termination", "leave-child"])
def test_no_process_outlives_the_program(
    tmp_path: Path, short_path: Path, how: signal.Signals, kind: str
) -> None:
    """Nor a temporary file: what remains after a kill, the next program removes."""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            f"""
            import sys, time
            from tests.conformance.misbehaviour import hang, litter
            from urdf_usd.conformance.execution.workers.pool import WorkerPool

            with WorkerPool() as pool:
                worker, other = pool.start_worker("one"), pool.start_worker("other")
                worker.call(abs, -1)
                if {kind!r} == "leave-child":
                    worker.call(litter, {kind!r})
                    print("ready", flush=True)
                    worker.call(time.sleep, 6000.0)
                else:
                    print("ready", flush=True)
                    worker.call(hang, {kind!r}, timeout=6000.0)
            """
        )
    )
    temporary = short_path
    mark = str(tmp_path)
    # The program imports functions of this folder, installed or not.
    root = str(Path(__file__).parents[4])
    with subprocess.Popen(
        [sys.executable, program],
        env=os.environ | {"TMPDIR": str(temporary), "MARK_OF_TEST": mark, "PYTHONPATH": root},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        os.killpg(process.pid, how) if how is signal.SIGINT else process.kill()
        assert process.wait() != 0

    wait_until(lambda: not processes_with(f"MARK_OF_TEST={mark}"))
    if how is signal.SIGKILL:
        remove_abandoned(temporary)
    assert list(temporary.iterdir()) == []


@_LINUX
def test_a_closed_connection_ends_the_process_and_its_children(tmp_path: Path) -> None:
    """A program that is killed between two calls closes it, and nothing else."""
    connection, theirs = Pipe()
    folder = str(tmp_path / "folder")
    process = context.start_process(serve, theirs, folder, None)
    theirs.close()
    connection.send((60.0, dict(os.environ), str(tmp_path)))
    connection.send((litter, ("leave-child",)))
    assert connection.recv_bytes() == b""  # it has started
    child = _value(connection.recv())
    assert _runs(child)

    connection.close()

    wait_until(lambda: not _runs(child))
    process.join()


@_LINUX
def test_interruption_while_libraries_load_prints_nothing(tmp_path: Path) -> None:
    """Ctrl-C reaches the fork server as well, which takes a second to load."""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import time
            from urdf_usd.conformance.execution.workers.pool import WorkerPool

            try:
                with WorkerPool() as pool:
                    print("started", flush=True)
                    pool.call(time.sleep, 6000.0)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
            """
        )
    )
    with subprocess.Popen(
        [sys.executable, program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.communicate()

    assert (output, errors) == (b"interrupted\n", b"")
    assert process.returncode == 0


@pytest.mark.skipif(not context.FORKS, reason="no fork server, no socket")
def test_folder_for_temporary_files_may_be_too_long_for_sockets(
    tmp_path: Path,
) -> None:
    """Sockets are made elsewhere then."""
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    program = (
        "import operator\n"
        "from urdf_usd.conformance.execution.workers.pool import WorkerPool\n"
        "with WorkerPool(None) as pool:\n"
        "    print(pool.call(operator.add, 1, 2).value)\n"
    )

    ended = subprocess.run(  # our own words
        [sys.executable, "-P", "-c", program],
        env=os.environ
        | {
            "TMPDIR": str(folder),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        check=False,
        capture_output=True,
        text=True,
    )

    assert ended.stdout == "3\n", ended.stderr
    assert list(folder.iterdir()) == []
