"""Stages with invalid values or missing layers, besides ``tests/data/usd/stages/invalid.json``.

``export`` refuses them, naming prim and layer; the engine of ``check`` reports invalid values, and
reads a stage with missing layers with a diagnostic for each.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.engines.usd_observations import body, observe_stage, stage
from urdf_usd.conformance.export.reading import read_usd
from urdf_usd.converter.diagnostics import StageError


def test_corrupt_layer_is_an_error_of_export_and_named_by_the_engine(tmp_path: Path) -> None:
    (tmp_path / "corrupt.usda").write_text("#usda 1.0\ndef {{{")
    file = stage(tmp_path, body("a") + 'def Xform "b" (references = @./corrupt.usda@) {\n}\n')

    with pytest.raises(StageError) as refused:
        read_usd(file)
    observed = observe_stage(file)

    assert {found.rule for found in refused.value.diagnostics} == {"stage-incomplete"}
    assert observed.missing
    for message in (str(refused.value), *observed.missing):
        assert file.name in message
    # An address in memory would differ in each process.
    assert "0x" not in f"{refused.value}{observed.missing}{observed.notes}"
