"""Output of commands: results on stdout, messages and progress on stderr, files, exit codes.

Colours are used on terminals only, and not if ``NO_COLOR`` is set.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from importlib import metadata
from itertools import combinations
from pathlib import Path
from types import FrameType
from typing import Any

import click
from rich import progress as p
from rich.console import Console, RenderableType
from rich.text import Text

from urdf_usd.converter.diagnostics import ConversionError, Diagnostic, group_alike, truncate
from urdf_usd.converter.file_content import has_mark, is_same_file
from urdf_usd.installation import DISTRIBUTION
from urdf_usd.reports.records.record import RobotRecord
from urdf_usd.reports.records.results import write_atomically
from urdf_usd.reports.text import VERDICTS, plain

# By the value of a severity.
SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}
_PIPE_WIDTH = 120
# Seconds between lines of progress without a terminal.
_PERIOD = 10.0


class _Console(Console):
    def __init__(self, **options: Any) -> None:  # noqa: ANN401  # those of rich
        # Rich would still write bold text with NO_COLOR.
        options["color_system"] = None if os.environ.get("NO_COLOR") else "auto"
        super().__init__(highlight=False, **options)

    def on_broken_pipe(self) -> None:
        # Rich would exit with status 1, which means that a robot does not conform.
        raise BrokenPipeError


def stderr() -> Console:
    return _Console(stderr=True, soft_wrap=True)


def stdout() -> Console:
    """Return a console on the current stdout; in a pipe, wide enough for tables."""
    console = _Console()
    return console if console.is_terminal else _Console(width=_PIPE_WIDTH)


def print_view(content: RenderableType) -> None:
    """Write tables to stdout; in a pipe without trailing blanks."""
    console = stdout()
    if console.is_terminal:
        console.print(content)
        return
    with console.capture() as captured:
        console.print(content)
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def print_lines(lines: Iterable[RenderableType]) -> None:
    """Write lines and tables to stdout, never wrapped."""
    console = _Console(soft_wrap=True)
    for line in lines:
        console.print(line, markup=False)


def mark(good: bool) -> tuple[str, str]:
    """Return the sign of what is as it should be, or not, and its colour."""
    return ("\u2713", "green") if good else ("\u2717", "red")


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def say(line: str) -> None:
    click.echo(plain(line), err=True)


def say_error(message: str) -> None:
    stderr().print(Text.assemble(("error:", SEVERITY_STYLES["error"]), f" {message}"))


def issue_line(location: str, severity: str, message: str, rule: str) -> Text:
    """Return ``file:line:column: severity: message [rule]`` in colours."""
    return Text.assemble(
        (plain(f"{location}: ") if location else "", "bold"),
        (f"{severity}:", SEVERITY_STYLES[severity]),
        f" {plain(message)} ",
        (f"[{rule}]", "dim"),
    )


def show_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    console = stderr()
    for alike in group_alike(tuple(diagnostics)):
        one, message = alike.one, alike.described(alike.one.advice)
        console.print(issue_line(str(one.location or ""), one.severity, message, one.rule))


class StatusLine:
    """The last line of stderr if that is a terminal; otherwise nothing."""

    def __init__(self) -> None:
        self._text = ""
        self.is_shown = sys.stderr.isatty() and os.environ.get("TERM") not in {"dumb", "unknown"}

    def show(self, text: str) -> None:
        """Replace the line; text is ASCII, so that each character takes one column."""
        if self._text:
            click.echo(f"\r{' ' * len(self._text)}\r", nl=False, err=True)
        # A wrapped line could not be cleared.
        self._text = text[: shutil.get_terminal_size().columns - 1] if self.is_shown else ""
        if self._text:
            click.echo(self._text, nl=False, err=True)

    def say(self, line: str) -> None:
        text = self._text
        self.show("")
        say(line)
        self.show(text)


@contextmanager
def shown_status(text: str) -> Iterator[StatusLine]:
    """Show a status line until the end of the block."""
    status = StatusLine()
    status.show(text)
    try:
        yield status
    finally:
        status.show("")


@contextmanager
def shown_progress(total: int, *, named: bool = False) -> Iterator[Callable[[RobotRecord], None]]:
    """Show progress of a run on stderr; call the result once per robot.

    A bar on terminals; otherwise a line every ten seconds, and one for each robot that
    does not conform.
    """
    console, finished, due = stderr(), 0, 0.0
    bar = p.Progress(
        p.BarColumn(),
        p.MofNCompleteColumn(),
        p.TimeElapsedColumn(),
        p.TimeRemainingColumn(),
        p.TextColumn("{task.description}", style="dim"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task("", total=total)

    def show(record: RobotRecord) -> None:
        nonlocal finished, due
        finished += 1
        name = f"{record.candidate}/{record.id}" if named else record.id
        bar.update(task, advance=1, description=name, refresh=True)
        now = time.monotonic()
        is_due = now >= due or not record.verdict.conforms or finished >= total
        if is_due and not console.is_terminal:
            due = now + _PERIOD
            count = f"[{finished:{len(str(total))}}/{total}]"
            result = "part of a robot" if record.part else record.verdict
            console.print(Text(f"{count} {VERDICTS[record.verdict].sign} {result}: {name}"))

    with bar:
        yield show


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
        match error:
            case KeyboardInterrupt():
                say("interrupted")
                code = ExitCode.INTERRUPTED
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
        if debug:
            click.echo(traceback.format_exc(), err=True, nl=False)
        raise click.exceptions.Exit(code) from error


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
