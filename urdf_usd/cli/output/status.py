"""A status line on terminals, shown while engines are loading.

Loading engines takes a second or more. The line needs no third-party library but
click, so that it appears before these are imported.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import click

from urdf_usd.cli.output.console import say, stderr_is_terminal


class StatusLine:
    """The last line of stderr if that is a terminal; otherwise nothing."""

    def __init__(self) -> None:
        self._terminal = stderr_is_terminal()
        self._text = ""

    def show(self, text: str) -> None:
        """Replace the line.

        Args:
            text: In ASCII, so that each character takes one column.
        """
        self.clear()
        if self._terminal:
            # A wrapped line could not be cleared.
            self._text = text[: shutil.get_terminal_size().columns - 1]
            click.echo(self._text, nl=False, err=True)

    def clear(self) -> None:
        """Remove the line."""
        if self._text:
            click.echo(f"\r{' ' * len(self._text)}\r", nl=False, err=True)
        self._text = ""

    def say(self, line: str) -> None:
        """Write a permanent line to stderr above the status line."""
        text = self._text
        self.clear()
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
        status.clear()


@contextmanager
def shown_meshes() -> Iterator[Callable[[str, int, int], None]]:
    """Show the decomposition of meshes, each of which may take minutes, on terminals.

    Call the result before each mesh, with its name, its number from one on, and the
    number of meshes.
    """
    with ExitStack() as stack:
        advance: Callable[[str, int, int], None] | None = None

        def show(mesh: str, number: int, total: int) -> None:
            nonlocal advance
            if not stderr_is_terminal():
                return
            if advance is None:
                # Imports rich, which other conversions do not need.
                from urdf_usd.cli.output.progress import mesh_bar

                advance = stack.enter_context(mesh_bar())
            advance(mesh, number, total)

        yield show
