"""What commands say on the terminal: stdout for results, stderr for everything else.

Colours appear on a terminal alone, and never where ``NO_COLOR`` is set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from converter.rules import Severity
from reports.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from converter.diagnostics import Diagnostic

_PIPE = 120
SEVERITY_STYLES = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "yellow",
    Severity.NOTE: "cyan",
}


def stderr() -> Console:
    """Return a console on the present stderr."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def stdout() -> Console:
    """Return a console on the present stdout; in a pipe, wide enough for tables."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PIPE)


def long_stdout() -> Console:
    """Return a console on the present stdout that never breaks a line."""
    return Console(highlight=False, soft_wrap=True)


def say(line: str) -> None:
    """Write one line to stderr."""
    stderr().print(Text(plain(line)))


def say_error(message: str) -> None:
    """Write ``error: message`` to stderr."""
    stderr().print(
        Text.assemble(("error:", SEVERITY_STYLES[Severity.ERROR]), f" {message}")
    )


def show_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Write diagnostics to stderr, ``file:line:column: severity: message [rule]``."""
    console = stderr()
    for diagnostic in diagnostics:
        place = f"{diagnostic.location}: " if diagnostic.location else ""
        console.print(
            Text.assemble(
                (plain(place), "bold"),
                (f"{diagnostic.severity}:", SEVERITY_STYLES[diagnostic.severity]),
                f" {plain(diagnostic.message)} ",
                (f"[{diagnostic.rule}]", "dim"),
            )
        )
