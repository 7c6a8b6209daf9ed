"""Detection of the version of a program."""

from __future__ import annotations

import re
import subprocess
from importlib import metadata
from pathlib import Path

# A program without the option --version may run for long.
_PATIENCE = 30.0
_LONGEST = 80
# Programs whose argument is the converter.
_INTERPRETER = re.compile(r"(python|node|uv|env|sh|bash|dash|zsh)[0-9.]*(\.exe)?")


def version_of_program(program: Path) -> str | None:
    """Return name and version of a program; None if unknown.

    It is taken from the Python distribution that installed the program, else from its
    output for ``--version``.
    """
    return _installed_by(program) or _installed_by(program.resolve()) or _printed_version(program)


def _installed_by(program: Path) -> str | None:
    """Find the distribution with this script in the program's environment."""
    prefix = program.parent.parent
    sites = (*prefix.glob("lib/python*/site-packages"), prefix / "Lib/site-packages")
    for distribution in metadata.distributions(path=[str(site) for site in sites]):
        for entry in distribution.entry_points:
            if (entry.group, entry.name) == ("console_scripts", program.stem):
                return f"{distribution.name} {distribution.version}"
    return None


def _printed_version(program: Path) -> str | None:
    # The version of the interpreter is not that of the converter it runs.
    if _INTERPRETER.fullmatch(program.name):
        return None
    try:
        ending = subprocess.run(  # the user's own command
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
