"""The work on one robot: steps in one process, requests to the workers of engines.

A function that works in steps runs in a worker. Before each step it tells its parent
what to make of the robot if the process ends in that step. Functions that are likely to
end their process, such as engines, are called in further workers, one for each
purpose, which the parent starts when they are needed first, and stops when the function
has returned: they are children of the same process, which sees how they end.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Generic, TypeVar, TypeVarTuple, cast

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.workers.limits import DEFAULT_TIMEOUT, MEBIBYTE
from urdf_usd.conformance.execution.workers.serving import (
    COMPLETED,
    CRASHED,
    Completed,
    Link,
    attempt,
)
from urdf_usd.conformance.execution.workers.worker import (
    Pending,
    Worker,
    WorkerPool,
    pack_call,
)

_Result = TypeVar("_Result")
_Arguments = TypeVarTuple("_Arguments")

# Kinds of messages of a function that works in steps; see `serving` for the others.
_STEP = b"s"
_REQUEST = b"r"
_WAIT = b"w"
_STOP = b"e"
# Of a request [bytes]. The largest arrays of an observation, those of the joint-space
# inertia, have this size at about 5,000 degrees of freedom.
_LARGEST_ANSWER = 1024 * MEBIBYTE


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The process ended in a step.

    Attributes:
        crash: How.
        fallback: What the function gave to :meth:`Steps.fall_back` before; None if
            nothing.
    """

    crash: Crashed
    fallback: object


class Request(Generic[_Result]):
    """A call in the worker of some purpose; made by :meth:`Steps.request`."""

    def __init__(
        self,
        steps: Steps,
        purpose: str | None,
        function: Callable[..., _Result],
        arguments: tuple[object, ...],
    ) -> None:
        self._steps = steps
        self._purpose = purpose
        self._function = function
        self._arguments = arguments
        self._begun = False
        self._ending: Completed[_Result] | Crashed | None = None

    def begin(self) -> None:
        """Begin it now, unless it has begun or runs in this process."""
        link = self._steps.link
        if self._begun or link is None or self._purpose is None:
            return
        self._begun = True
        call = pack_call(self._function, self._arguments)
        header = self._purpose, self._steps.timeout
        link.send(_REQUEST, pickle.dumps((*header, call)))

    def result(self) -> Completed[_Result] | Crashed:
        """Return how it ended; wait for it if need be."""
        if self._ending is None:
            self._ending = self._wait()
            self._steps.crashed |= isinstance(self._ending, Crashed)
        return self._ending

    def _wait(self) -> Completed[_Result] | Crashed:
        link = self._steps.link
        if self._purpose is None or link is None:
            return self._steps.call(self._function, *self._arguments)
        self.begin()
        # The worker has its own limit of time.
        link.unlimit_time()
        link.send(_WAIT, self._purpose.encode())
        answer = link.receive()
        link.limit_time(self._steps.timeout)
        ending = attempt(pickle.loads, memoryview(answer)[1:])
        if isinstance(ending, Crashed):
            return Crashed(f"the answer cannot be read: {ending.reason}", ending.output)
        return cast("Completed[_Result] | Crashed", ending.value)


class Steps:
    """Runs the steps of some work, and requests to other workers.

    Args:
        link: To the parent process; without one, requests run in this process.
        timeout: Time limit of a step or request [s].
        parallel: Whether requests begin when they are made, instead of when their
            results are needed.

    Attributes:
        crashed: Whether a step or request has crashed.
        link: As given; likewise ``timeout`` and ``parallel``.
    """

    def __init__(
        self,
        link: Link | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        *,
        parallel: bool = False,
    ) -> None:
        self.link = link
        self.timeout = timeout
        self.parallel = parallel
        self.crashed = False
        self._fallback = b""

    def fall_back(self, fallback: object) -> None:
        """Set what :func:`run_steps` returns if this process ends in a further step."""
        self._fallback = pickle.dumps(fallback)

    def call(
        self, function: Callable[..., _Result], *arguments: object
    ) -> Completed[_Result] | Crashed:
        """Run a step: call a function in this process; what it raises is a crash."""
        if self.link is not None:
            self.link.send(_STEP, self._fallback)
            self.link.capture_output()
            self.link.limit_time(self.timeout)
        ending = attempt(function, *arguments)
        self.crashed |= isinstance(ending, Crashed)
        return ending

    def request(
        self,
        purpose: str | None,
        function: Callable[..., _Result],
        *arguments: object,
    ) -> Request[_Result]:
        """Call a function in the worker of some purpose, or in this process if None.

        A worker serves one request at a time: the result of one has to be waited for
        before the next one begins.
        """
        request = Request(self, purpose, function, arguments)
        if self.parallel:
            request.begin()
        return request

    def stop(self, purpose: str) -> None:
        """Stop the worker of some purpose, with everything that it started."""
        if self.link is not None:
            self.link.send(_STOP, purpose.encode())


def run_steps(
    pool: WorkerPool,
    work: Callable[[Steps, *_Arguments], _Result],
    *arguments: *_Arguments,
    timeout: float = DEFAULT_TIMEOUT,
    parallel: bool = False,
) -> Completed[_Result] | Crashed | Interrupted:
    """Call a function that works in steps, in a worker.

    Args:
        pool: Where workers are started.
        work: Can be imported by a child process.
        arguments: Its arguments after the first; they and the result can be pickled.
        timeout: Time limit of a step or request [s].
        parallel: Whether requests run at the same time as steps.

    Returns:
        What it returns, or what it raised outside of steps; or how its process ended.

    Raises:
        CancelledError: The pool was closed meanwhile.
    """
    with ExitStack() as opened:
        worker = opened.enter_context(pool.worker("robot"))
        call = pack_call(_work, (timeout, parallel, work, arguments))
        pending: Pending[_Result] = worker.send(call, timeout, in_steps=True)
        workers: dict[str, Worker] = {}
        requests: dict[str, Pending[object]] = {}
        fallback = b""
        while True:
            message = pending.next_message()
            kind, content = message[:1], message[1:]
            if kind == _STEP:
                fallback = content
            elif kind == _REQUEST:
                purpose, limit, inner = pickle.loads(content)  # noqa: S301  # as below
                if purpose not in workers:
                    workers[purpose] = opened.enter_context(pool.worker(purpose))
                requests[purpose] = workers[purpose].send(
                    inner, limit, largest=_largest_answer(pool)
                )
            elif kind == _WAIT:
                # Passed on as it is: it is read by the process that asked for it.
                worker.reply(requests.pop(content.decode()).answer())
            elif kind == _STOP:
                workers[content.decode()].stop()
            elif kind == COMPLETED or worker.running:
                return cast("Completed[_Result] | Crashed", pending.decode(message))
            else:
                assert kind == CRASHED  # noqa: S101  # there are no others
                crash = pending.decode(message)
                assert isinstance(crash, Crashed)  # noqa: S101  # made by this process
                # Our own function wrote it.
                known = pickle.loads(fallback) if fallback else None  # noqa: S301
                return Interrupted(crash, known)


def _largest_answer(pool: WorkerPool) -> int:
    """Return the size of an answer that the process of a robot can hold and read."""
    if pool.memory is None:
        return _LARGEST_ANSWER
    return min(pool.memory * MEBIBYTE // 8, _LARGEST_ANSWER)


def _work(
    link: Link,
    timeout: float,
    parallel: bool,  # noqa: FBT001  # a call from another process
    work: Callable[..., _Result],
    arguments: tuple[object, ...],
) -> _Result:
    return work(Steps(link, timeout, parallel=parallel), *arguments)
