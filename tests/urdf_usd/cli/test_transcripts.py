"""Output, messages and exit status of the commands, as stored in ``transcripts/``.

Each file is a session in a copy of the folder ``robots``. Lines of stderr begin with ``! ``.
``python -m tests.urdf_usd.cli.test_transcripts`` writes the files anew; read what changed.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner

from urdf_usd.cli.program import main

_FOLDER = Path(__file__).parent
_PROMPT = "$ urdf-usd "
_FILES = sorted((_FOLDER / "transcripts").glob("*.txt"))
_VERSION = metadata.version("urdf-usd-conformance")


def _transcript(lines: list[str]) -> str:
    return "".join(_run(line) for line in lines)


def _run(line: str) -> str:
    result = CliRunner().invoke(main, shlex.split(line), prog_name="urdf-usd")
    errors = "".join(f"! {error}\n" for error in result.stderr.splitlines())
    text = f"{_PROMPT}{line}\n{result.stdout}{errors}[{result.exit_code}]\n"
    return text.replace(str(Path.cwd()), "/robots").replace(_VERSION, "VERSION")


def _command_lines(file: Path) -> list[str]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix(_PROMPT) for line in lines if line.startswith(_PROMPT)]


@pytest.mark.parametrize("file", _FILES, ids=lambda file: file.stem)
def test_commands_print_what_is_stored(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(_FOLDER / "robots", tmp_path / "robots")
    monkeypatch.chdir(tmp_path / "robots")
    monkeypatch.setenv("COLUMNS", "100")

    assert _transcript(_command_lines(file)) == file.read_text(encoding="utf-8")


def _write() -> None:
    os.environ["COLUMNS"] = "100"
    for file in _FILES:
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(_FOLDER / "robots", Path(folder, "robots"))
            os.chdir(Path(folder, "robots"))
            file.write_text(_transcript(_command_lines(file)), encoding="utf-8")
            os.chdir(_FOLDER)


if __name__ == "__main__":
    _write()
