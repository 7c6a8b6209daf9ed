"""Exit codes, messages for failures, and files that a command writes where the user says.

Messages of exceptions that this package defines state a cause and a remedy, and are printed. Any
other exception is reported as a bug of urdf-usd.
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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from importlib import metadata
from itertools import combinations
from pathlib import Path
from types import FrameType

import click

from urdf_usd.cli.terminal import say, say_error, show_diagnostics
from urdf_usd.converter.diagnostics import ConversionError, truncate, write_failure
from urdf_usd.converter.file_content import has_mark, is_same_file
from urdf_usd.reports.records.environment import DISTRIBUTION
from urdf_usd.reports.records.results import write_atomically


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
_REMEDIES = {
    errno.ENOSPC: "free space, or write to another file system",
    errno.EDQUOT: "free space, or write to another file system",
    errno.EFBIG: "raise the limit of file sizes (ulimit -f)",
    errno.ENOMEM: "free memory, or raise the limit of this process",
    errno.EROFS: "write to another folder, or set TMPDIR to one",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.EAGAIN: "raise the limit of processes (ulimit -u)",
}


@contextmanager
def explained_failures(*, debug: bool) -> Iterator[None]:
    """Turn exceptions into messages on stderr and exit codes.

    SIGTERM and SIGHUP, of batch systems and closed terminals, end a command as Ctrl-C
    does: it removes its temporary files.
    """
    code = ExitCode.NOT_DONE
    cause: BaseException
    try:
        with _stop_signals_as_interrupt():
            yield
        return
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except BrokenPipeError as error:
        # As of 'urdf-usd ... | head -1'. At its end, Python writes what is left.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(ExitCode.PIPE_CLOSED) from error
    except KeyboardInterrupt as error:
        say("interrupted")
        cause, code = error, ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001  # reported as a bug
        _explain(error, debug=debug)
        cause = error
    if debug:
        click.echo("".join(traceback.format_exception(cause)), err=True, nl=False)
    raise click.exceptions.Exit(code) from cause


def _explain(error: Exception, *, debug: bool) -> None:
    match error:
        case OSError():
            say_error(_system_error(error))
        case MemoryError():
            say_error("not enough memory; free some, or raise the limit of this process")
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
            if debug:
                say(f"Please report it with the traceback below {versions}.")
            else:
                traced = "the traceback from 'urdf-usd --debug …'"
                say(f"Please report it {versions} with {traced}.")


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
    reason = error.strerror or str(error)
    remedy = _REMEDIES.get(error.errno or 0)
    if error.errno == errno.ENOENT and "temporary directory" in reason:
        remedy = "set TMPDIR to a folder that can be written"
    text = f"{error.filename}: {reason}" if error.filename else reason
    if error.errno in {errno.ENOSPC, errno.EDQUOT} and error.filename:
        text = write_failure(Path(error.filename), reason)
    return f"{text}; {remedy}" if remedy else text


@contextmanager
def _stop_signals_as_interrupt() -> Iterator[None]:
    # Windows has no SIGHUP.
    stops = [one for one in signal.Signals if one.name in {"SIGTERM", "SIGHUP"}]
    if threading.current_thread() is not threading.main_thread():
        stops = []
    former = {number: signal.getsignal(number) for number in stops}

    def interrupt(number: int, _: FrameType | None) -> None:
        # Another signal must not interrupt the removal of temporary files. A function
        # instead of SIG_IGN, which programs that are started would inherit.
        for other in stops:
            if signal.getsignal(other) is interrupt:
                signal.signal(other, lambda *_: None)
        raise KeyboardInterrupt(signal.Signals(number).name)

    # With nohup, SIGHUP is ignored.
    handled = {number: one for number, one in former.items() if one is not signal.SIG_IGN}
    for number in handled:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)


def require_outputs(
    outputs: Iterable[tuple[Path | None, bytes | None]],
    inputs: Iterable[Path | None] = (),
) -> None:
    """Refuse outputs that would replace an input, each other, or another kind of file.

    The latter is most likely an input too, such as a mesh or a layer.

    Args:
        outputs: Each with its kind, None if other code examines it. A path that is None
            is not written.
        inputs: Files that the command reads.

    Raises:
        CommandError: Nothing has to be written.
    """
    named = [(path, kind) for path, kind in outputs if path is not None]
    read = [path for path in inputs if path is not None]
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
