"""The command in the process of a test."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from urdf_usd.cli.program import main

# Robots, layers and converters of tests.
DATA = Path(__file__).with_name("data")


def urdf_usd(*arguments: object, **variables: str) -> Result:
    """Run the command with variables of the environment."""
    words = [str(argument) for argument in arguments]
    return CliRunner().invoke(main, words, prog_name="urdf-usd", env=variables)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the content of each file; of a link, its target."""
    return {
        path.relative_to(folder).as_posix(): bytes(path.readlink())
        if path.is_symlink()
        else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
