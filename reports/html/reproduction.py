"""The command that makes a report again."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urdf_usd.conformance.records.record import RunSummary

# Options of a summary that the command takes under the same name.
_OPTIONS = ("bodies", "base", "massless")
_FLAGS = ("merge-fixed",)
# Of these the summary holds all values, quoted as in a shell.
_REPEATED = ("arg",)


def run_command(summary: RunSummary, *sources: str) -> str:
    """Return the command that runs over sources as a run did."""
    options = (
        word
        for name in _OPTIONS
        if name in summary.options
        for word in (f"--{name}", summary.options[name])
    )
    repeated = (
        word
        for name in _REPEATED
        for value in shlex.split(summary.options.get(name, ""))
        for word in (f"--{name}", value)
    )
    flags = (f"--{name}" for name in _FLAGS if summary.options.get(name) == "yes")
    return shlex.join(
        ("urdf-usd", "run", *sources, *options, *repeated, *flags, "--out", "report")
    )
