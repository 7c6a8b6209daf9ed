"""The process of the command: complete output, exit status, what it imports first."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

# Each takes a noticeable part of a second to import.
_HEAVY = {"jinja2", "mujoco", "pxr", "pybullet", "scipy", "trimesh"}


def _run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-c", program, *arguments),
        check=False,
        capture_output=True,
        encoding="utf-8",
    )


@pytest.mark.parametrize(
    "arguments", [["--help"], ["convert", "--help"], ["check", "none", "none"]]
)
def test_help_and_refused_arguments_load_no_heavy_library(arguments: list[str]) -> None:
    program = f"""
import json, sys
from urdf_usd.cli.main import main
try:
    main({arguments!r})
except SystemExit:
    print(json.dumps(list(sys.modules)))
"""

    modules = json.loads(_run(program).stdout.splitlines()[-1])

    assert not _HEAVY & set(modules)


def test_output_is_complete_and_exit_handlers_run(tmp_path: Path) -> None:
    links = "".join(f'<link name="link_{number}"/>' for number in range(9000))
    file = tmp_path / "many.xacro"
    file.write_text(f'<robot name="many">{links}</robot>')

    done = _run(
        "import atexit; atexit.register(print, 'handled')\n"
        "from urdf_usd.cli.program import start; start()",
        *("expand", str(file)),
    )

    assert done.returncode == 0
    assert done.stdout.endswith("</robot>\nhandled\n")
