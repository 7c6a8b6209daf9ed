"""Processes of simulators that load one asset after the other."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

_PROGRAMS = {
    "PhysX": "tests.tools.consumers.physx_program",
    "Newton": "tests.tools.consumers.newton_program",
}


@dataclass
class Simulator:
    """A simulator in a process of its own, which is restarted if it crashes.

    Attributes:
        name: ``PhysX`` or ``Newton``.
        program: Module to run; by default, that of the simulator in this folder.
        python: Interpreter that runs it.
        timeout: Time for one request [s], after which the process is killed.
    """

    name: str
    program: str | None = None
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
        self._stop()

    def observe(self, request: dict[str, Any]) -> dict[str, Any]:
        """Load an asset; request and answer are described in ``physx_program.py``."""
        if self._process is None:
            program = ("-m", self.program or _PROGRAMS[self.name])
            self._process = subprocess.Popen(
                [self.python, *program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
            )
        process = self._process
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], self.timeout)
            if not ready:
                process.kill()
            line = process.stdout.readline() if ready else ""
        except BrokenPipeError:
            line = ""
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        code = self._stop()
        return {"error": f"crashed with exit status {code}", "messages": []}

    def _stop(self) -> int | None:
        if self._process is None:
            return None
        assert self._process.stdin
        assert self._process.stdout
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        code = self._process.wait()
        self._process.stdout.close()
        self._process = None
        return code
