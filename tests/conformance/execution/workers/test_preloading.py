"""What the fork server loads before it is copied."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_THREADS = Path("/proc/self/task")
_LIMIT = "PXR_WORK_THREAD_LIMIT"


@pytest.mark.skipif(not _THREADS.is_dir(), reason="needs Linux's /proc")
def test_no_thread_runs_in_what_is_copied() -> None:
    """Threads are not copied, nor are their locks released."""
    loading = (
        "import urdf_usd.conformance.execution.workers.preloading, os\n"
        "print(os.listdir('/proc/self/task'))"
    )
    without = {name: value for name, value in os.environ.items() if name != _LIMIT}
    seen = subprocess.run(
        (sys.executable, "-c", loading),
        env=without,
        capture_output=True,
        text=True,
        check=True,
    )
    assert seen.stdout.count("'") == len("''")
