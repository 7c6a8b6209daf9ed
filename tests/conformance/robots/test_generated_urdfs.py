"""Robots that hypothesis generates as URDF text conform, or are refused with a rule.

Those that did not are reduced, and in ``tests/data/robots``, of which the records are stored.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.conformance.direct import examine_here
from tests.conformance.urdf_texts import urdf_texts
from urdf_usd.reports.records.record import Verdict

_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)


def _require_conforming(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        urdf = Path(folder, "robot.urdf")
        urdf.write_text(text, encoding="utf-8")
        record = examine_here(urdf, Path(folder, "out"))
    if record.verdict is Verdict.UNREADABLE:
        assert any(found.severity == "error" for found in record.diagnostics)
        return
    assert record.verdict.conforms, record.reason


@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=_SLOW,
)
@given(urdf_texts(most_links=5))
def test_generated_robots_conform(text: str) -> None:
    _require_conforming(text)


@pytest.mark.corpus
@settings(max_examples=2000, deadline=None, print_blob=True, suppress_health_check=_SLOW)
@given(urdf_texts())
def test_large_sample_of_generated_robots_conforms(text: str) -> None:
    _require_conforming(text)
