"""Options that say which robots of a corpus are meant, and where they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from urdf_usd.corpus.resolution import MIRROR_VARIABLE

_Command = TypeVar("_Command", bound=Callable[..., Any])


def mirror_option(command: _Command) -> _Command:
    """Add ``--mirror``."""
    return click.option(
        "--mirror",
        type=click.Path(path_type=Path, file_okay=False, exists=True),
        help="Folder with the repositories of robot_descriptions, named like its "
        f"clones; nothing is downloaded then.  [default: {MIRROR_VARIABLE} of the "
        "environment, which holds for all commands]",
    )(command)


def selection_options(command: _Command) -> _Command:
    """Add ``--tag``, ``--maker`` and ``--license``."""
    for name, plural, text in (
        ("--license", "licenses", "Robots under this license, by SPDX identifier"),
        ("--maker", "makers", "Robots whose maker's name holds this"),
        ("--tag", "tags", "Robots with this tag, such as arm or quadruped"),
    ):
        command = click.option(
            name,
            plural,
            multiple=True,
            metavar="TEXT",
            help=f"{text}, alone. Repeatable: one of them is enough.",
        )(command)
    return command
