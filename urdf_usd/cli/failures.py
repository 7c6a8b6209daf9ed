"""Exit codes, messages for failures, and files that a command writes where the user says."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from importlib import metadata
from itertools import combinations
from pathlib import Path
from types import FrameType

import click

from urdf_usd.cli.terminal import say, say_error, show_diagnostics
from urdf_usd.converter.diagnostics import ConversionError, truncate
from urdf_usd.converter.file_content import has_mark, is_same_file
from urdf_usd.installation import DISTRIBUTION
from urdf_usd.reports.records.results import write_atomically


class ExitCode(IntEnum):
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


class CommandError(Exception):
    """A command failed; the message states the cause and a remedy."""


# What files of a kind have in their first 4 KiB, in lower case.
PAGE = b"<!doctype html"
RECORD = b'"schema_version"'
ARRAYS = b".npy"
URDF = b"<robot"
_PACKAGE = "urdf_usd."
# Characters of the message of an exception that is shown.
_LONGEST = 1000


@contextmanager
def explained_failures(*, debug: bool) -> Iterator[None]:
    """Turn exceptions into messages on stderr and exit codes.

    SIGTERM and SIGHUP end a command as Ctrl-C does: it removes its temporary files.
    """
    try:
        with _stop_signals_as_interrupt():
            yield
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except BrokenPipeError as error:
        # As of 'urdf-usd ... | head -1'. At its end, Python writes what is left.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(ExitCode.PIPE_CLOSED) from error
    except (KeyboardInterrupt, Exception) as error:
        code = ExitCode.NOT_DONE
        if isinstance(error, KeyboardInterrupt):
            say("interrupted")
            code = ExitCode.INTERRUPTED
        else:
            _explain(error, debug=debug)
        if debug:
            click.echo(traceback.format_exc(), err=True, nl=False)
        raise click.exceptions.Exit(code) from error


def _explain(error: Exception, *, debug: bool) -> None:
    match error:
        case OSError():
            reason = error.strerror or str(error)
            say_error(f"{error.filename}: {reason}" if error.filename else reason)
        case MemoryError():
            say_error("not enough memory")
        case ConversionError():
            show_diagnostics(error.diagnostics)
            if reason := refused_warnings(error):
                say_error(f"not converted: {reason}")
        case _ if type(error).__module__.startswith(_PACKAGE):
            say_error(str(error))
        case _:
            text = truncate(" ".join(str(error).split()), _LONGEST)
            say_error(f"this is a bug in urdf-usd: {type(error).__name__}: {text}")
            system = f"Python {platform.python_version()}, {platform.system()}"
            versions = f"({DISTRIBUTION} {metadata.version(DISTRIBUTION)}, {system})"
            traced = "the traceback" if debug else "the traceback from 'urdf-usd --debug …'"
            say(f"Please report it {versions} with {traced}.")


def refused_warnings(error: ConversionError) -> str:
    """Return why warnings ended a conversion; empty if there are errors."""
    severities = [one.severity.value for one in error.diagnostics]
    if "error" in severities:
        return ""
    plural = "s" if len(severities) > 1 else ""
    return f"--strict treats {len(severities)} warning{plural} as error{plural}"


@contextmanager
def _stop_signals_as_interrupt() -> Iterator[None]:
    # Windows has no SIGHUP; with nohup it is ignored. Handlers belong to the main thread.
    is_main = threading.current_thread() is threading.main_thread()
    handled = [
        one
        for one in signal.Signals
        if one.name in {"SIGTERM", "SIGHUP"} and is_main and signal.getsignal(one) != signal.SIG_IGN
    ]

    def interrupt(number: int, _: FrameType | None) -> None:
        # Another signal must not interrupt the removal of temporary files. A function
        # instead of SIG_IGN, which programs that are started would inherit.
        for one in handled:
            signal.signal(one, lambda *_: None)
        raise KeyboardInterrupt(signal.Signals(number).name)

    former = [(one, signal.signal(one, interrupt)) for one in handled]
    try:
        yield
    finally:
        for one, handler in former:
            signal.signal(one, handler)


def require_outputs(
    outputs: Iterable[tuple[Path | None, bytes | None]], inputs: Iterable[Path | None] = ()
) -> None:
    """Refuse outputs that would replace an input, each other, or another kind of file.

    The kind of an output is None if other code examines it; a path that is None is not written.
    """
    named = [(path, kind) for path, kind in outputs if path is not None]
    read = [*filter(None, inputs)]
    for path, kind in named:
        if any(is_same_file(path, one) for one in read):
            raise CommandError(f"{path} is an input, and is not overwritten")
        if kind and path.is_file() and path.stat().st_size and not has_mark(path, kind):
            raise CommandError(f"{path} exists and has content of another kind; name another file")
    for (one, _), (other, _) in combinations(named, 2):
        if is_same_file(one, other):
            raise CommandError(f"{one} and {other} are one file; name two")


def write_output(path: Path, content: bytes) -> None:
    """Write a file atomically; of a symbolic link, its target; or a pipe or a device."""
    if path.exists() and not path.is_file():
        path.write_bytes(content)
    else:
        write_atomically(Path(os.path.realpath(path)), content)
