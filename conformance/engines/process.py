"""Processes of simulators, which answer lines of JSON, and capture of the output of native code."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

_STANDARD_STREAMS = (1, 2)
_C_LIBRARY = ctypes.CDLL(None if os.name == "posix" else "ucrtbase")
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  not for temporary files of ours


@dataclass
class Simulator:
    """A simulator in a process of its own, which is restarted if it crashes."""

    name: str  # ``PhysX`` or ``Newton``
    program: str  # module to run
    python: str = sys.executable
    timeout: float | None = None  # for one request [s], after which the process is killed
    _process: subprocess.Popen[str] | None = field(default=None, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def observe(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request; with ``error`` if there is none.

        If the process ends, the answer has ``status``, its exit status, as well.
        """
        if self._process is None:
            self._process = subprocess.Popen(
                [self.python, "-m", self.program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
            )
        line = ""
        requests, answers = self._process.stdin, self._process.stdout
        if requests and answers:
            with suppress(BrokenPipeError):
                requests.write(json.dumps(request) + "\n")
                requests.flush()
                ready, _, _ = select.select([answers], [], [], self.timeout)
                if ready:
                    line = answers.readline()
                else:
                    self._process.kill()
        # Carbonite, on which PhysX is built, does not remove them.
        for name in ("carb", "sem.carb"):
            left = _SHARED_MEMORY / f"{name}-RStringInternals-{self._process.pid}"
            left.unlink(missing_ok=True)
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        code = self.stop()
        return {"error": f"crashed with exit status {code}", "status": code, "messages": []}

    def stop(self) -> int | None:
        if self._process is None:
            return None
        process, self._process = self._process, None
        with suppress(BrokenPipeError):
            # Closes its pipes, and waits for its end.
            process.communicate()
        return process.wait()


def answer_requests(
    answer: Callable[[dict[str, Any]], dict[str, Any]], configure: Callable[[], None]
) -> None:
    """Answer requests until the input ends.

    An exception is an answer with its text, ``error``. All answers have ``seconds`` and
    ``messages``, the lines that were printed.
    """
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with captured():
        configure()
    for line in sys.stdin:
        start = time.perf_counter()
        with captured() as printed:
            try:
                found = answer(json.loads(line))
            except Exception as error:  # noqa: BLE001  its text is the answer
                found = {"error": f"{type(error).__name__}: {error}"}
            found["messages"] = printed().splitlines()
        found["seconds"] = time.perf_counter() - start
        answers.write(json.dumps(found) + "\n")
        answers.flush()


@contextlib.contextmanager
def captured() -> Iterator[Callable[[], str]]:
    """Send file descriptors 1 and 2 to a file; yield a function that returns what it has so far."""
    # It has a name in the folder for temporary files: after a segmentation fault it remains, so
    # that the parent process can read the end of the output.
    with tempfile.NamedTemporaryFile(prefix="printed-", suffix=".txt") as sink:
        _flush()
        saved = [os.dup(stream) for stream in _STANDARD_STREAMS]
        try:
            for stream in _STANDARD_STREAMS:
                os.dup2(sink.fileno(), stream)

            def printed() -> str:
                _flush()
                sink.seek(0)
                return sink.read().decode(errors="replace")

            yield printed
        finally:
            _flush()
            for stream, copy in zip(_STANDARD_STREAMS, saved, strict=True):
                os.dup2(copy, stream)
                os.close(copy)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        # A stream may be absent (pythonw) or closed.
        if stream is not None and not stream.closed:
            stream.flush()
    _C_LIBRARY.fflush(None)
