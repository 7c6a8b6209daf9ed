"""Output to the terminal: results on stdout; messages and progress on stderr.

Colours are used on terminals only, and not if ``NO_COLOR`` is set.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich import progress as p
from rich.console import Console, RenderableType
from rich.text import Text

from urdf_usd.converter.diagnostics import Diagnostic, group_alike
from urdf_usd.reports.records.record import RobotRecord
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


def long_stdout() -> Console:
    """Return a console on the current stdout that never wraps a line."""
    return _Console(soft_wrap=True)


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


def print_lines(lines: Iterable[Text | str]) -> None:
    console = long_stdout()
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
