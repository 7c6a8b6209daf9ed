"""How property tests search: the same examples everywhere, or new ones on request."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

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
