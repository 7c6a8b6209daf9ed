"""What the fork server loads before it is copied."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pybullet_data
import pytest

from urdf_usd.conformance.execution.workers.limits import library_settings

_THREADS = Path("/proc/self/task")


@pytest.mark.skipif(not _THREADS.is_dir(), reason="needs Linux's /proc")
def test_no_thread_runs_in_what_is_copied() -> None:
    """Threads are not copied, nor are their locks released."""
    loading = (
        "import urdf_usd.conformance.execution.workers.preloading, os\n"
        "print(os.listdir('/proc/self/task'))"
    )
    seen = subprocess.run(
        (sys.executable, "-c", loading),
        env=os.environ | library_settings(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert seen.stdout.count("'") == len("''")


_STEPS = """
import sys
import urdf_usd.conformance.execution.workers.preloading
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.execution import tasks
from urdf_usd.converter.options import ConvertOptions
loaded = set(sys.modules)
urdf, out = sys.argv[1:]
tasks.cache_meshes()
tasks.read_robot(urdf, {}, {})
plan = tasks.plan_comparison(urdf, {}, {})
tasks.lint_robot(urdf, {}, {})
usd = str(tasks.convert_robot(urdf, out, ConvertOptions()).root_layer)
files = {"mujoco": urdf, "pybullet": urdf, "reference": urdf, "openusd": usd}
seen = {name: tasks.observe(name, Request(file, plan)) for name, file in files.items()}
back = tasks.write_back(usd, ())
read = seen.pop("openusd")
options = {"simulators": (), "back": None, "expected_base": None, "promise": None}
tasks.judge_usd(seen, read, **options, estimated=frozenset(), colliders={})
readings = {"urdf": seen["reference"].observation, "usd": read.observation}
tasks.draw_robot(urdf, {}, usd, readings, {}, plan, f"{out}.gz")
packages = {name.partition(".")[0] for name in loaded}
print(sorted({name.partition(".")[0] for name in sys.modules} - packages))
"""


def test_workers_of_a_run_load_no_library(tmp_path: Path) -> None:
    """The libraries that steps need are loaded once, and not in every worker."""
    robot = Path(pybullet_data.getDataPath()) / "r2d2.urdf"
    seen = subprocess.run(
        (sys.executable, "-c", _STEPS, str(robot), str(tmp_path / "usd")),
        capture_output=True,
        text=True,
        check=True,
    )
    assert seen.stdout.splitlines()[-1] == "[]"
