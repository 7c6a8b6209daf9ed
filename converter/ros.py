"""Whether ROS loads a URDF: the answer of urdfdom, its own parser.

The distribution ``cmeel-urdfdom`` has urdfdom's program ``check_urdf``. It has no bindings for
Python; limits and inertia that urdfdom reads are those of the engine ``pinocchio``, which uses it.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path

from msgspec import Struct

_DISTRIBUTION = "cmeel-urdfdom"
_PREFIX = "cmeel.prefix"
_TIMEOUT = 10.0
_ERROR = "Error:"


class RosReading(Struct, frozen=True):
    """What urdfdom says of a file."""

    version: str
    loads: bool
    errors: tuple[str, ...]  # each once; of a file that it loads, it leaves out what they name


def read_in_ros(file: str, text: str | None = None) -> RosReading | None:
    """Let urdfdom read a file, or its expansion; None if it is not there or gives no answer."""
    version = urdfdom_version()
    if version is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        if text is not None:
            expanded = Path(folder, "expanded.urdf")
            expanded.write_text(text, encoding="utf-8")
            file = str(expanded)
        ended = run_urdfdom("check_urdf", file)
    if ended is None:
        return None
    status, output = ended
    errors = urdfdom_errors(output)
    if status and not errors:
        # It could not be started, or crashed.
        return None
    return RosReading(version, not status, errors)


def urdfdom_version() -> str | None:
    try:
        return metadata.version(_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None


def run_urdfdom(program: str, file: str, *arguments: str) -> tuple[int, str] | None:
    """Return exit status and output of one of urdfdom's programs; None if it does not end."""
    prefix = Path(str(metadata.distribution(_DISTRIBUTION).locate_file(_PREFIX)))
    # Its libraries are found by no other means.
    paths = {name: str(prefix / "lib") for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")}
    try:
        ended = subprocess.run(
            [str(prefix / "bin" / program), os.path.abspath(file), *arguments],  # noqa: PTH100
            env={**os.environ, **paths},
            capture_output=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.returncode, (ended.stdout + ended.stderr).decode(errors="replace")


def urdfdom_errors(output: str) -> tuple[str, ...]:
    """Return the messages of a program of urdfdom, each once."""
    lines = (line.strip() for line in output.splitlines())
    errors = (line.removeprefix(_ERROR).strip() for line in lines if line.startswith(_ERROR))
    return tuple(dict.fromkeys(errors))
