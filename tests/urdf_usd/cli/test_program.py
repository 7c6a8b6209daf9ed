"""The process of the command: complete output, exit status, exit handlers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROBOT = '<robot name="arm"><link name="a"/></robot>'
FAREWELL = "import atexit\natexit.register(print, 'farewell')\n"


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    """Write a robot of one link."""
    file = tmp_path / "arm.urdf"
    file.write_text(ROBOT)
    return file


def ended(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command in a separate process."""
    program = (
        f"{before}\nimport sys\nfrom urdf_usd.cli.program import start\n"
        f"sys.argv = {['urdf-usd', *arguments]!r}\nstart()\n"
    )
    return subprocess.run(
        (sys.executable, "-c", program),
        check=False,
        capture_output=True,
        encoding="utf-8",
    )


def test_conversion_prints_the_root_layer_and_runs_exit_handlers(
    robot: Path, tmp_path: Path
) -> None:
    """Handlers of libraries are called."""
    done = ended("convert", str(robot), str(tmp_path / "usd"), before=FAREWELL)

    assert done.returncode == 0
    assert done.stdout == f"{tmp_path / 'usd' / 'arm.usda'}\nfarewell\n"
    assert "has no mass" in done.stderr
    assert {entry.name for entry in tmp_path.iterdir()} == {"arm.urdf", "usd"}


def test_failure_keeps_its_status_and_message(tmp_path: Path) -> None:
    """Through the entry point."""
    done = ended("convert", str(tmp_path / "none.urdf"), str(tmp_path / "usd"))

    assert done.returncode == 2
    assert "none.urdf" in done.stderr
    assert not done.stdout


def test_long_output_is_complete(tmp_path: Path) -> None:
    """More than the buffer of a pipe."""
    links = "".join(f'<link name="link_{number}"/>' for number in range(9000))
    file = tmp_path / "many.xacro"
    file.write_text(f'<robot name="many">{links}</robot>')

    done = ended("expand", str(file))

    assert done.returncode == 0
    assert done.stdout.rstrip().endswith("</robot>")


def test_garbage_collection_is_unchanged(robot: Path) -> None:
    """Neither disabled nor frozen."""
    tell = (
        "import atexit, gc\nfrozen = gc.get_freeze_count()\n"
        "atexit.register(lambda: print(gc.isenabled(), gc.get_freeze_count() - frozen))\n"
    )

    done = ended("lint", str(robot), before=tell)

    assert done.stdout.endswith("True 0\n")
