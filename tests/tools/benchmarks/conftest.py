"""What files of benchmarks state about the machine."""

from __future__ import annotations

from typing import Any

import pytest


# The plugin is not installed for the fast tests.
@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_machine_info(config: object, machine_info: dict[str, Any]) -> None:
    """Leave out the name of the machine."""
    del config
    machine_info.pop("node", None)
