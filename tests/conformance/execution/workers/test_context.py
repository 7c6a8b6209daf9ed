"""Processes that workers are made by."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_COMMAND = "from urdf_usd.cli.main import main\n\nmain(['doctor'])\n"
_PLANTED = "from pathlib import Path\n\nPath('imported').touch()\n"


@pytest.mark.parametrize("module", ["numpy", "signal"])
def test_modules_of_the_working_directory_are_not_imported(tmp_path: Path, module: str) -> None:
    """A robot's folder may contain an unrelated ``numpy.py``."""
    script = tmp_path / "bin" / "command.py"
    folder = tmp_path / "robot"
    script.parent.mkdir()
    folder.mkdir()
    script.write_text(_COMMAND, encoding="utf-8")
    (folder / f"{module}.py").write_text(_PLANTED, encoding="utf-8")

    subprocess.run([sys.executable, str(script)], cwd=folder, capture_output=True, check=True)

    assert not (folder / "imported").exists()
