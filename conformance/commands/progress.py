"""How far a run is: a bar on a terminal, one line per robot elsewhere."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from conformance.commands.console import stderr
from reports.appearance import VERDICTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from conformance.record import RobotRecord


@contextmanager
def shown_progress(total: int) -> Iterator[Callable[[RobotRecord], None]]:
    """Show progress on stderr while the block runs; call the result once per robot."""
    console = stderr()
    if console.is_terminal:
        with _bar(console) as progress:
            task = progress.add_task("", total=total)
            yield lambda record: progress.update(task, advance=1, description=record.id)
    else:
        count = 0

        def say(record: RobotRecord) -> None:
            nonlocal count
            count += 1
            width = len(str(total))
            look = VERDICTS[record.verdict]
            console.print(
                Text(f"[{count:{width}}/{total}] {look.sign} {record.verdict}: ")
                + Text(record.id)
            )

        yield say


def _bar(console: Console) -> Progress:
    return Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.description}", style="dim"),
        console=console,
        transient=True,
    )
