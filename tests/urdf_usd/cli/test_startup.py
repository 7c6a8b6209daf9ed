"""Libraries that the command imports before it has work for them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

# Each takes a noticeable part of a second to import.
_HEAVY = {"jinja2", "lxml", "mujoco", "numpy", "pxr", "pybullet", "rich", "scipy", "trimesh"}


def _run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-c", program), check=False, capture_output=True, encoding="utf-8"
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


def test_interruption_during_startup_exits_130() -> None:
    program = """
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            raise KeyboardInterrupt

from urdf_usd.cli.program import start
sys.meta_path.insert(0, Interrupting())
start()
"""

    done = _run(program)

    assert (done.returncode, done.stderr) == (130, "interrupted\n")
