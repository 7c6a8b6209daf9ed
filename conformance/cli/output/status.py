"""One line that says what a command is doing, on a terminal alone.

Engines take a second or more to load. What is shown needs no library, so that it is
there before they are.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from urdf_usd.conformance.cli.output.console import say, stderr_is_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator


class StatusLine:
    """The last line on a terminal's stderr; in a pipe, nothing."""

    def __init__(self) -> None:
        self._terminal = stderr_is_terminal()
        self._text = ""

    def show(self, text: str) -> None:
        """Replace the line.

        Args:
            text: In ASCII, of which each character takes one column.
        """
        self.clear()
        if self._terminal:
            # A line that is wrapped could not be taken back.
            self._text = text[: shutil.get_terminal_size().columns - 1]
            click.echo(self._text, nl=False, err=True)

    def clear(self) -> None:
        """Remove the line."""
        if self._text:
            click.echo(f"\r{' ' * len(self._text)}\r", nl=False, err=True)
        self._text = ""

    def say(self, line: str) -> None:
        """Write a line to stderr that stays, above this one."""
        text = self._text
        self.clear()
        say(line)
        self.show(text)


@contextmanager
def shown_status(text: str) -> Iterator[StatusLine]:
    """Show what is being done until the block is left."""
    status = StatusLine()
    status.show(text)
    try:
        yield status
    finally:
        status.clear()
