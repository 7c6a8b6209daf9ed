"""Exit codes, and messages for failures.

A user error prints a message. Any other exception is reported as a bug of urdf-usd.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import click

from urdf_usd.conformance.cli.output.console import say, say_error, show_diagnostics
from urdf_usd.conformance.records.environment import DISTRIBUTION


class ExitCode(IntEnum):
    """Exit status of a command."""

    DONE = 0
    DOES_NOT_CONFORM = 1
    NOT_DONE = 2
    INTERRUPTED = 130


EXIT_CODES = (
    "Exit status: 0 done; 1 does not conform; 2 input not readable or command failed "
    "(nothing was changed); 130 interrupted."
)


class CommandError(Exception):
    """A command failed; the message states the cause and a remedy."""


@contextmanager
def explained_failures(*, debug: bool) -> Iterator[None]:
    """Turn exceptions into messages on stderr and exit codes."""
    try:
        yield
    except BrokenPipeError:
        # Click handles a closed pipe: it exits without a message.
        raise
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        say_error(f"{place}{error.strerror or error}")
        raise _exit(ExitCode.NOT_DONE, debug=debug) from error
    except KeyboardInterrupt as error:
        say("interrupted")
        raise _exit(ExitCode.INTERRUPTED, debug=debug) from error
    except (click.ClickException, click.exceptions.Exit, click.Abort):
        raise
    except Exception as error:  # reported as a bug
        _explain(error, debug=debug)
        raise _exit(ExitCode.NOT_DONE, debug=debug) from error


def _explain(error: Exception, *, debug: bool) -> None:
    # Imported here because --help does not need these.
    from urdf_usd.conformance.engines.registry import (
        MissingEngineError,
        UnknownEngineError,
    )
    from urdf_usd.converter.diagnostics import ConversionError
    from urdf_usd.corpus import CorpusError

    match error:
        case ConversionError():
            show_diagnostics(error.diagnostics)
        case (
            CommandError() | CorpusError() | MissingEngineError() | UnknownEngineError()
        ):
            say_error(str(error))
        case _:
            say_error(f"this is a bug in urdf-usd: {type(error).__name__}: {error}")
            say(_report_hint(debug=debug))


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Defer Ctrl-C until the end of the block: some libraries swallow it on import."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def _exit(code: ExitCode, *, debug: bool) -> click.exceptions.Exit:
    if debug:
        import traceback

        click.echo(traceback.format_exc(), err=True, nl=False)
    return click.exceptions.Exit(code)


def _report_hint(*, debug: bool) -> str:
    import platform
    from importlib import metadata

    versions = (
        f"{DISTRIBUTION} {metadata.version(DISTRIBUTION)}, "
        f"Python {platform.python_version()}, {platform.system()}"
    )
    if debug:
        return f"Please report it with the traceback below ({versions})."
    return (
        f"Please report it ({versions}) with the traceback from 'urdf-usd --debug …'."
    )
