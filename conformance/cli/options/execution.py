"""Options that say where robots are worked on, and what may be spent on one."""

from __future__ import annotations

import functools
import signal
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from urdf_usd.conformance.execution.workers.limits import (
    DEFAULT_MEMORY,
    DEFAULT_TIMEOUT,
    Limits,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Execution:
    """How the robots of a run are worked on.

    Attributes:
        jobs: Robots that are worked on at the same time; one per CPU if None.
        limits: What one may take.
        resume: Whether to keep results that would be the same.
        retry: Whether to redo those in which something broke.
        scheduler: Address of the Dask cluster that does the work, if one does.
        shared: Whether its workers see the same files.
        timed: Whether to write down how long each robot takes.
    """

    jobs: int | None
    limits: Limits
    resume: bool
    retry: bool
    scheduler: str | None
    shared: bool
    timed: bool


def execution_options(command: _Command) -> Callable[..., Any]:
    """Add the options, and hand them to the command as ``execution``."""

    @functools.wraps(command)
    def gathered(  # noqa: PLR0913  # one parameter per option
        *,
        jobs: int | None,
        timeout: float,
        memory: int,
        resume: bool,
        retry: bool,
        scheduler: str | None,
        shared: bool,
        timings: bool,
        **others: object,
    ) -> object:
        if retry and not resume:
            raise click.UsageError("--retry needs --resume")
        if shared and not scheduler:
            raise click.UsageError("--shared needs --scheduler ADDRESS")
        execution = Execution(
            jobs=jobs,
            limits=Limits(timeout, memory or None),
            resume=resume,
            retry=retry,
            scheduler=scheduler,
            shared=shared,
            timed=timings,
        )
        return command(execution=execution, **others)

    decorated: Callable[..., Any] = gathered
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=DEFAULT_TIMEOUT,
    show_default=True,
    metavar="SECONDS",
    help="Longest time for one step on one robot: reading it, converting it, or "
    "asking one engine.",
)
memory_option = click.option(
    "--memory",
    type=click.IntRange(min=0),
    default=DEFAULT_MEMORY,
    show_default=True,
    metavar="MIB",
    help="Most memory for a process that works on a robot, 0 for any amount. Linux "
    "only.",
)
_OPTIONS = (
    click.option(
        "--jobs",
        type=click.IntRange(min=1),
        help="Robots that are worked on at the same time, and processes that do it.  "
        "[default: one per CPU]",
    ),
    timeout_option,
    memory_option,
    click.option(
        "--resume",
        is_flag=True,
        help="Keep the results in OUT that would be the same again.",
    ),
    click.option(
        "--retry",
        is_flag=True,
        help="With --resume, redo robots in which something crashed or took too long.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Have the workers of a Dask scheduler do the work, such as "
        "tcp://host:8786. Needs the extra cluster.",
    ),
    click.option(
        "--shared",
        is_flag=True,
        help="With --scheduler: workers see the robots and OUT under the same paths; "
        "no files are sent.",
    ),
    click.option(
        "--timings",
        is_flag=True,
        help="Write how long each robot takes to timings/<id>.json, the one thing in "
        "OUT that differs every time.",
    ),
)


@contextmanager
def stopped_as_interrupted() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP, of batch systems and closed terminals, like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # Windows has no SIGHUP.
    numbers = [each for each in signal.Signals if each.name in {"SIGTERM", "SIGHUP"}]
    former = {number: signal.getsignal(number) for number in numbers}
    for number, handler in former.items():
        # As `nohup` sets it.
        if handler is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _interrupt(number: int, _: FrameType | None) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)
