"""The robot that a command is given, found before anything large is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urdf_usd.conformance.cli.output.console import say

if TYPE_CHECKING:
    from pathlib import Path

    from urdf_usd.corpus import RobotSource


def existing_robot(text: str, *, mirror: Path | None = None) -> RobotSource:
    """Resolve a reference to one robot, whose file exists.

    Args:
        text: The reference.
        mirror: Folder with the repositories of robot_descriptions.

    Raises:
        CorpusError: The text is no reference, or no robot is to be had from it.
        SourceError: The file does not exist.
    """
    from urdf_usd.corpus import resolve_robot

    robot = resolve_robot(text, say, mirror=mirror)
    try:
        robot.path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        # ValueError: a null character, which no file name contains
        from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError

        file = str(robot.path)
        missing = Diagnostic(
            "file-missing", f"{file} does not exist", Location(file, 1, 1)
        )
        raise SourceError((missing,)) from None
    except OSError:
        # Whoever reads the file says what is wrong with it.
        pass
    return robot
