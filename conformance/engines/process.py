"""Processes of simulators, which answer lines of JSON."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from urdf_usd.conformance.engines.native_output import captured

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  not for temporary files of ours


@dataclass
class Simulator:
    """A simulator in a process of its own, which is restarted if it crashes.

    Attributes:
        name: ``PhysX`` or ``Newton``.
        program: Module to run.
        python: Interpreter that runs it.
        timeout: Time for one request [s], after which the process is killed.
    """

    name: str
    program: str
    python: str = sys.executable
    timeout: float | None = None
    _process: subprocess.Popen[str] | None = field(default=None, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        """End the process; return its exit status."""
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

    Args:
        answer: Returns the answer to a request.
        configure: Is called before the first request.
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
