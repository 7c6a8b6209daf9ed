"""Where there is no room for a further process, nothing is lost."""

from __future__ import annotations

import errno
import faulthandler
import os
import sys
import threading
import time
from pathlib import Path

import pytest

from urdf_usd.conformance.execution.workers import beside
from urdf_usd.conformance.execution.workers.beside import start_beside
from urdf_usd.conformance.execution.workers.confinement import (
    Completed,
    thread_ids,
    watched,
)
from urdf_usd.conformance.execution.workers.isolation import Isolation
from urdf_usd.conformance.execution.workers.slots import Slots

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only there processes are copied"
)


def _never() -> None:
    raise AssertionError("done all the same")


@pytest.fixture
def slots(tmp_path: Path) -> Slots:
    """Return one slot."""
    return Slots(str(tmp_path), 1)


def _open_files() -> set[str]:
    return {file.name for file in Path("/proc/self/fd").iterdir()}


def _is_free(slots: Slots) -> bool:
    slot = slots.take()
    if slot is not None:
        os.close(slot)
    return slot is not None


def test_a_system_that_has_no_room_is_no_error(
    slots: Slots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No slot and no file stays open."""

    def full() -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(beside, "_is_alone", lambda: True)
    monkeypatch.setattr(os, "fork", full)
    before = _open_files()

    assert start_beside([_never], slots, str(tmp_path), 1.0) is None

    assert _open_files() == before
    assert _is_free(slots)


def test_a_process_with_threads_is_not_copied(slots: Slots, tmp_path: Path) -> None:
    """What they have locked would be locked for ever."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert start_beside([_never], slots, str(tmp_path), 1.0) is None
    finally:
        done.set()
        thread.join()
    assert _is_free(slots)


def test_without_a_slot_nothing_is_started(
    slots: Slots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as there are robots enough, each has its one process."""
    monkeypatch.setattr(beside, "_is_alone", lambda: True)

    with slots.taken():
        assert start_beside([_never], slots, str(tmp_path), 1.0) is None


def _threads_while_watched_and_after() -> tuple[int, int]:
    told = threading.Event()

    def watch() -> None:
        told.wait()
        # A processor is free for it only now.
        time.sleep(0.3)

    def begin(*_: object, **__: object) -> None:
        threading.Thread(target=watch, daemon=True).start()

    setattr(faulthandler, "dump_traceback_later", begin)  # noqa: B010  # a stand-in
    setattr(faulthandler, "cancel_dump_traceback_later", told.set)  # noqa: B010
    with watched(60.0):
        during = len(thread_ids())
    return during, len(thread_ids())


def test_a_process_is_alone_once_nothing_watches_it() -> None:
    """However long the thread that has watched takes to end."""
    with Isolation() as isolation:
        # Of several steps, none is watched but by itself.
        ending = isolation.call(_threads_while_watched_and_after, steps=2)

    assert isinstance(ending, Completed)
    assert ending.value == (2, 1)
