"""Settings of all tests."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from multiprocessing import util
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Projects with tests of their own, in which our plugin for pytest is tried.
pytest_plugins = ("pytester",)

# A gate must not depend on luck or on the load of the machine.
settings.register_profile(
    "gate",
    derandomize=True,
    deadline=None,
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow],
)
# For those who look for bugs: HYPOTHESIS_PROFILE=search nox -s tests.
settings.register_profile(
    "search", settings.get_profile("gate"), derandomize=False, max_examples=300
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))

# Child processes are reached through sockets in a folder that is made on the first
# request. A test with its own temporary folder must not be the first to do so: the
# folder would go with it, and with it all further processes.
util.get_temp_dir()

# A shell starts background jobs with Ctrl-C ignored, which children inherit: tests of
# interruptions would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def hangup() -> Iterator[None]:
    """Let commands end on SIGHUP, also if the tests run under nohup."""
    former = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, former)


@pytest.fixture
def short_path() -> Iterator[Path]:
    """Return a temporary folder with a short name: paths of Unix sockets have 107 characters."""
    with tempfile.TemporaryDirectory(prefix="u-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
