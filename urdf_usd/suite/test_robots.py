"""Every robot conforms, in each group of checks."""

from __future__ import annotations

import pytest

from urdf_usd.pytest_plugin.fixture import Examiner
from urdf_usd.suite.cases import Case, parameters


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test per robot and group of checks."""
    if "conformance_case" in metafunc.fixturenames:
        metafunc.parametrize("conformance_case", parameters(metafunc.config))


def test_conforms(conformance_case: Case, conformance_examiner: Examiner) -> None:
    """The USD conforms to the URDF."""
    __tracebackhide__ = True
    conformance_case.hold(conformance_examiner.remembered(conformance_case.source))
