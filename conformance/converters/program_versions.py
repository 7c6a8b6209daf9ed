"""Which version a program on this machine is."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

# A program that takes longer to say its version does not know the question.
_PATIENCE = 30.0
_LONGEST = 80


def version_of_program(program: Path) -> str | None:
    """Say what a program is, and which version; None if nothing says so.

    The Python distribution that installed it is believed first, then what it answers to
    ``--version``.
    """
    return _installed_by(program) or _installed_by(program.resolve()) or _said(program)


def _installed_by(program: Path) -> str | None:
    """Look for the distribution in the environment whose scripts lie beside it."""
    prefix = program.parent.parent
    sites = (*prefix.glob("lib/python*/site-packages"), prefix / "Lib/site-packages")
    for distribution in metadata.distributions(path=[str(site) for site in sites]):
        for entry in distribution.entry_points:
            if (entry.group, entry.name) == ("console_scripts", program.stem):
                return f"{distribution.name} {distribution.version}"
    return None


def _said(program: Path) -> str | None:
    # What an interpreter is called says nothing about what it will run.
    if program.resolve() == Path(sys.executable).resolve():
        return None
    try:
        ending = subprocess.run(  # noqa: S603  # the user's own command
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
            timeout=_PATIENCE,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    lines = ending.stdout.decode(errors="replace").split("\n")
    return next((line.strip()[:_LONGEST] for line in lines if line.strip()), None)
