"""Output to the terminal: results on stdout, everything else on stderr.

Colours are used on terminals only, and not if ``NO_COLOR`` is set. Single lines are
written without rich, whose import takes a tenth of a small robot's conversion.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from urdf_usd.reports.text import plain

if TYPE_CHECKING:
    from rich.console import Console

    from urdf_usd.converter.diagnostics import Diagnostic


_PIPE = 120
# Keyed by the value of a severity.
SEVERITY_STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}
_WEIGHTS = frozenset({"bold", "dim"})


def stderr() -> Console:
    """Return a console on the current stderr."""
    return _console(stderr=True, soft_wrap=True)


def stdout() -> Console:
    """Return a console on the current stdout; in a pipe, wide enough for tables."""
    console = _console()
    return console if console.is_terminal else _console(width=_PIPE)


def long_stdout() -> Console:
    """Return a console on the current stdout that never wraps a line."""
    return _console(soft_wrap=True)


def _console(*, stderr: bool = False, soft_wrap: bool = False, width: int | None = None) -> Console:
    from rich.console import Console

    class PipedConsole(Console):
        def on_broken_pipe(self) -> None:
            # Rich would exit with status 1, which means that a robot does not conform.
            raise BrokenPipeError

    return PipedConsole(stderr=stderr, highlight=False, soft_wrap=soft_wrap, width=width)


def say(line: str) -> None:
    """Write one line to stderr."""
    click.echo(plain(line), err=True)


def say_error(message: str) -> None:
    """Write ``error: message`` to stderr."""
    _say_styled(("error:", SEVERITY_STYLES["error"]), (f" {message}", ""))


def show_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Write diagnostics to stderr, ``file:line:column: severity: message [rule]``.

    Errors include their remedy. Of each rule, 100 are written, and the last one with
    the number of all others.
    """
    from urdf_usd.converter.diagnostics.messages import group_alike

    for alike in group_alike(tuple(diagnostics)):
        diagnostic = alike.one
        place = f"{diagnostic.location}: " if diagnostic.location else ""
        _say_styled(
            (plain(place), "bold"),
            (f"{diagnostic.severity}:", SEVERITY_STYLES[diagnostic.severity]),
            (f" {plain(alike.described(diagnostic.advice))} ", ""),
            (f"[{diagnostic.rule}]", "dim"),
        )


def _say_styled(*parts: tuple[str, str]) -> None:
    """Write a line of (text, style); a style is a colour, ``bold`` and ``dim``."""
    colored = _has_colors()
    line = "".join(_styled(*part) if colored else part[0] for part in parts)
    click.echo(line, err=True, color=colored)


def _styled(text: str, style: str) -> str:
    words = frozenset(style.split())
    if not words:
        return text
    color = next(iter(words - _WEIGHTS), None)
    return click.style(text, fg=color, bold="bold" in words or None, dim="dim" in words or None)


def _has_colors() -> bool:
    """Whether to write colours to stderr, by the same rules as rich."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stderr_is_terminal()


def stderr_is_terminal() -> bool:
    """Whether stderr is a terminal that supports cursor control."""
    return sys.stderr.isatty() and os.environ.get("TERM") not in {"dumb", "unknown"}
