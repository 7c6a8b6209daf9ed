"""Stages with invalid values or missing layers, besides ``tests/data/usd/stages/invalid.json``.

``export`` refuses them, naming prim and layer; the engine of ``check`` reports invalid values, and
reads a stage with missing layers with a diagnostic for each.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.engines.usd_observations import DATA, body, observe_stage, stage
from urdf_usd.conformance.export.reading import read_usd
from urdf_usd.converter.diagnostics import StageError
from urdf_usd.converter.robot.model import Inertial, Pose


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


def test_value_that_becomes_nan_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """No URDF has one, even if the computation of a mass is at fault."""
    inertial = Inertial(float("nan"), Pose(), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))

    def computed(links: list[object], *_: object) -> dict[str, Inertial]:
        return dict.fromkeys((link.path for link in links), inertial)  # type: ignore[attr-defined]

    monkeypatch.setattr("urdf_usd.conformance.export.reading.read_inertials", computed)

    with pytest.raises(StageError, match="values of link 'base-link' are not a number"):
        read_usd(DATA / "nested_arm.usda")
