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
    """What urdfdom says of a file.

    Attributes:
        version: Of urdfdom.
        loads: Whether it loads the file.
        errors: Its messages, each once; of a file that it loads, it leaves out what these name.
    """

    version: str
    loads: bool
    errors: tuple[str, ...]


def read_in_ros(file: str, text: str | None = None) -> RosReading | None:
    """Let urdfdom read a file.

    Args:
        file: The URDF.
        text: Its text, if that is not in the file: the expansion of a xacro file.

    Returns:
        None if urdfdom is not installed, or gives no answer.
    """
    try:
        distribution = metadata.distribution(_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None
    prefix = Path(str(distribution.locate_file(_PREFIX)))
    with tempfile.TemporaryDirectory() as folder:
        if text is not None:
            expanded = Path(folder, "expanded.urdf")
            expanded.write_text(text, encoding="utf-8")
            file = str(expanded)
        # Its libraries are found by no other means.
        paths = {name: str(prefix / "lib") for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")}
        try:
            ended = subprocess.run(
                [str(prefix / "bin" / "check_urdf"), os.path.abspath(file)],  # noqa: PTH100
                env={**os.environ, **paths},
                capture_output=True,
                timeout=_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    output = (ended.stdout + ended.stderr).decode(errors="replace")
    lines = (line.strip() for line in output.splitlines())
    errors = [line.removeprefix(_ERROR).strip() for line in lines if line.startswith(_ERROR)]
    if ended.returncode and not errors:
        # It could not be started, or crashed.
        return None
    return RosReading(distribution.version, not ended.returncode, tuple(dict.fromkeys(errors)))
