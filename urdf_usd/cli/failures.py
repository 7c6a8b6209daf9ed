"""Exit codes, and messages for failures.

A user error prints a message. Any other exception is reported as a bug of urdf-usd.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from importlib import metadata
from pathlib import Path
from types import FrameType

import click

from urdf_usd.cli.terminal import say, say_error, show_diagnostics
from urdf_usd.conformance.engines.registry import MissingEngineError, UnknownEngineError
from urdf_usd.conformance.execution.worker import ClusterError
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.converter.diagnostics.messages import truncate, write_failure
from urdf_usd.corpus import CorpusError
from urdf_usd.reports.records.environment import DISTRIBUTION


class ExitCode(IntEnum):
    """Exit status of a command."""

    DONE = 0
    DOES_NOT_CONFORM = 1
    NOT_DONE = 2
    INTERRUPTED = 130
    # 128 + SIGPIPE, as a shell reports a program that this signal ends.
    PIPE_CLOSED = 141


EXIT_CODES = (
    "Exit status: 0 done; 1 does not conform; 2 input not readable or command failed "
    "(nothing was changed); 130 interrupted."
)


# Characters of the message of an exception that is shown.
_LONGEST = 1000


class CommandError(Exception):
    """A command failed; the message states the cause and a remedy."""


_OF_THE_USER = (ClusterError, CommandError, CorpusError, MissingEngineError, UnknownEngineError)


@contextmanager
def explained_failures(*, debug: bool) -> Iterator[None]:
    """Turn exceptions into messages on stderr and exit codes.

    SIGTERM and SIGHUP, of batch systems and closed terminals, end a command as Ctrl-C
    does: it removes its temporary files.
    """
    try:
        with _stop_signals_as_interrupt():
            yield
    except BrokenPipeError as error:
        # As of 'urdf-usd ... | head -1'. At its end, Python writes what is left.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(ExitCode.PIPE_CLOSED) from error
    except OSError as error:
        say_error(_system_error(error))
        raise _exit(ExitCode.NOT_DONE, debug=debug) from error
    except KeyboardInterrupt as error:
        say("interrupted")
        raise _exit(ExitCode.INTERRUPTED, debug=debug) from error
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except MemoryError as error:
        say_error("not enough memory; free some, or raise the limit of this process")
        raise _exit(ExitCode.NOT_DONE, debug=debug) from error
    except Exception as error:  # reported as a bug
        _explain(error, debug=debug)
        raise _exit(ExitCode.NOT_DONE, debug=debug) from error


def _explain(error: Exception, *, debug: bool) -> None:
    if isinstance(error, ConversionError):
        show_diagnostics(error.diagnostics)
        if reason := refused_warnings(error):
            say_error(f"not converted: {reason}")
    elif isinstance(error, _OF_THE_USER):
        say_error(str(error))
    else:
        text = truncate(" ".join(str(error).split()), _LONGEST)
        say_error(f"this is a bug in urdf-usd: {type(error).__name__}: {text}")
        versions = (
            f"{DISTRIBUTION} {metadata.version(DISTRIBUTION)}, "
            f"Python {platform.python_version()}, {platform.system()}"
        )
        where = "the traceback below" if debug else "the traceback from 'urdf-usd --debug …'"
        say(
            f"Please report it with {where} ({versions})."
            if debug
            else f"Please report it ({versions}) with {where}."
        )


def refused_warnings(error: ConversionError) -> str:
    """Return why warnings ended a conversion; empty if there are errors."""
    severities = [one.severity.value for one in error.diagnostics]
    if "error" in severities:
        return ""
    count = len(severities)
    plural = "s" if count > 1 else ""
    return f"--strict treats {count} warning{plural} as error{plural}"


def _system_error(error: OSError) -> str:
    """Describe an error of the system in one line, with the remedy."""
    place = f"{error.filename}: " if error.filename else ""
    reason = error.strerror or str(error)
    remedies = {
        errno.ENOSPC: "free space, or write to another file system",
        errno.EDQUOT: "free space, or write to another file system",
        errno.EFBIG: "raise the limit of file sizes (ulimit -f)",
        errno.ENOMEM: "free memory, or raise the limit of this process",
        errno.EROFS: "write to another folder, or set TMPDIR to one",
        errno.EMFILE: "raise the limit of open files (ulimit -n)",
        errno.EAGAIN: "raise the limit of processes (ulimit -u)",
    }
    remedy = remedies.get(error.errno or 0)
    if error.errno in {errno.ENOSPC, errno.EDQUOT} and error.filename:
        return f"{write_failure(Path(error.filename), reason)}; {remedy}"
    if error.errno == errno.ENOENT and "temporary directory" in reason:
        remedy = "set TMPDIR to a folder that can be written"
    return f"{place}{reason}; {remedy}" if remedy else f"{place}{reason}"


@contextmanager
def _stop_signals_as_interrupt() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {number: signal.getsignal(number) for number in _stop_signals()}
    for number, handler in former.items():
        # With nohup, SIGHUP is ignored.
        if handler is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _interrupt(number: int, _: FrameType | None) -> None:
    # Another signal must not interrupt the removal of temporary files. A function
    # instead of SIG_IGN, which programs that are started would inherit.
    for other in _stop_signals():
        if signal.getsignal(other) is _interrupt:
            signal.signal(other, lambda *_: None)
    raise KeyboardInterrupt(signal.Signals(number).name)


def _stop_signals() -> list[signal.Signals]:
    # Windows has no SIGHUP.
    return [one for one in signal.Signals if one.name in {"SIGTERM", "SIGHUP"}]


def _exit(code: ExitCode, *, debug: bool) -> click.exceptions.Exit:
    if debug:
        click.echo(traceback.format_exc(), err=True, nl=False)
    return click.exceptions.Exit(code)
