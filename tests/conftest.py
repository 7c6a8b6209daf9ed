"""Settings of all tests."""

from __future__ import annotations

import os
import signal
from multiprocessing import util

from hypothesis import HealthCheck, settings

# Projects with tests of their own, in which our plugin for pytest is tried.
pytest_plugins = ("pytester",)

# A gate must not depend on luck or on the load of the machine.
settings.register_profile(
    "gate",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# For those who look for bugs: HYPOTHESIS_PROFILE=search nox -s tests.
settings.register_profile("search", settings.get_profile("gate"), derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))

# Child processes are reached through sockets in a folder that is made when it is first
# asked for. A test with a temporary folder of its own must not be the one who asks: the
# folder would go with it, and with it all further processes.
util.get_temp_dir()

# A shell starts background jobs with Ctrl-C ignored, which children inherit: tests of
# interruptions would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
