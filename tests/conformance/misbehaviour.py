"""Ways in which engines and converters may harm their process."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable

_HANGS = 6000.0
_BAD_ALLOC = b"terminate called after throwing an instance of 'std::bad_alloc'\n"


class _Panic(BaseException):
    """An exception as PyO3 raises for a Rust panic: no subclass of Exception."""


def _raise(error: BaseException) -> None:
    raise error


def _abort(text: bytes = b"printed by native code\n") -> None:
    os.write(2, text)
    os.abort()


def _allocate() -> None:
    kept = []
    while True:
        kept.append(bytearray(16 * 2**20))


def _allocate_natively() -> None:
    """Behave like C++ after an uncaught failure of an allocation."""
    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    while library.malloc(ctypes.c_size_t(16 * 2**20)):
        pass
    _abort(_BAD_ALLOC)


def _print_beyond_file_limit() -> None:
    while True:
        os.write(2, bytes(16 * 2**20))


def _exit_in_thread() -> None:
    threading.Thread(target=os._exit, args=(7,)).start()
    time.sleep(_HANGS)


# Each ends its call: with the beginning of the reported reason.
CRASHES: dict[str, tuple[Callable[[], object], str]] = {
    "exit-3": (lambda: sys.exit(3), "SystemExit: 3"),
    "hard-exit-0": (lambda: os._exit(0), "the process ended with exit code 0"),
    "abort": (_abort, "the process died: SIGABRT"),
    "segfault": (lambda: ctypes.string_at(0), "the process died: SIGSEGV"),
    "panic": (lambda: _raise(_Panic("a panic")), "tests.conformance.misbehaviour._Panic: a panic"),
    "close-all-files": (lambda: os.closerange(0, 1000), "the process ended with exit code 1"),
    "exit-in-thread": (_exit_in_thread, "the process ended with exit code 7"),
    "print-beyond-limit": (_print_beyond_file_limit, "OSError: [Errno 27] File too"),
    "memory-error": (lambda: _raise(MemoryError()), "the memory limit was reached"),
    "allocate": (_allocate, "the memory limit was reached"),
    "allocate-natively": (
        _allocate_natively,
        "the process died: SIGABRT; the memory limit was reached",
    ),
}


def _hang() -> None:
    os.write(1, b"about to hang\n")
    time.sleep(_HANGS)


def _ignore_termination_and_hang() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(_HANGS)


# Ways to hang.
HANGS: dict[str, Callable[[], object]] = {
    "hang": _hang,
    # A PyDLL holds Python's lock during the call.
    "hang-with-lock": lambda: ctypes.PyDLL(None).sleep(6000),
    "hang-ignoring-termination": _ignore_termination_and_hang,
}


def _close_streams() -> None:
    os.closerange(1, 3)
    sys.stdout.close()


def _ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
    faulthandler.disable()


def _change_environment() -> None:
    os.environ.clear()
    os.environ["PATH"] = "nowhere"


def _leave_child() -> int:
    """Leave a background process that holds all files open."""
    child = os.fork()
    if child == 0:
        time.sleep(_HANGS)
    return child


# Each changes the process, and returns.
LITTER: dict[str, Callable[[], object]] = {
    "flood": lambda: [os.write(1, bytes(100_000)) for _ in range(200)],
    "close-streams": _close_streams,
    "change-folder": lambda: os.chdir("/"),
    "ignore-signals": _ignore_signals,
    "change-environment": _change_environment,
    "remove-folder": lambda: shutil.rmtree(tempfile.gettempdir()),
    "leave-thread": lambda: threading.Thread(target=time.sleep, args=(_HANGS,)).start(),
    "leave-child": _leave_child,
}


def crash(kind: str) -> object:
    return CRASHES[kind][0]()


def hang(kind: str) -> object:
    return HANGS[kind]()


def litter(kind: str) -> object:
    return LITTER[kind]()


def let_time_run_out() -> None:
    """End the process as at its time limit, independent of the speed of the machine."""
    faulthandler.dump_traceback_later(0.01, exit=True, file=2)


def unpicklable() -> object:
    return lambda: None


def close_files_and_hang() -> None:
    """Close the connection to the parent, and continue."""
    os.closerange(3, 1000)
    time.sleep(_HANGS)


def fault_at_time_limit() -> None:
    """Die as Python may while faulthandler prints the traceback of a thread that runs."""
    os.write(2, b"Timeout (0:00:00.500000)!\nThread 0x0000700000000000 (most recent call first):\n")
    signal.raise_signal(signal.SIGSEGV)


def stop() -> None:
    """Stop the process, so that its own watchdog cannot run."""
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(_HANGS)
