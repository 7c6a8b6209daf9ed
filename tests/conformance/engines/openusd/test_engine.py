"""The engine apart from what hand-written stages show, see ``test_stages``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.engines.usd_observations import observe_stage
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.openusd.reading import SchemaFamily, refusal
from urdf_usd.conformance.engines.protocol import (
    Available,
    InvalidFileError,
    Side,
    UnsupportedError,
)
from urdf_usd.conformance.engines.statements import matrices, rigid_part, transforms


def test_name_and_version_are_reported() -> None:
    engine = OpenusdEngine()
    available = engine.availability()

    assert (engine.name, engine.side) == ("openusd", Side.USD)
    assert isinstance(available, Available)
    assert available.version.startswith("usd-core 2")


@pytest.mark.parametrize(
    ("text", "reason"), [("not a layer", "OpenUSD: "), (None, "Failed to open layer")]
)
def test_file_that_is_no_stage_is_refused_in_one_line_and_nothing_is_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str | None, reason: str
) -> None:
    path = tmp_path / "robot.usda"
    if text is not None:
        path.write_text(text)

    with pytest.raises(UnsupportedError, match=reason) as refusal:
        observe_stage(path)

    assert "\n" not in str(refusal.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("families", "meant"),
    [
        ({SchemaFamily.NEWTON, SchemaFamily.PHYSX}, True),
        ({SchemaFamily.DRIVES}, True),
        (set(), True),
        ({SchemaFamily.DRIVES, SchemaFamily.PHYSX}, False),
    ],
)
def test_refusal_counts_unless_the_asset_has_schemas_of_other_simulators_alone(
    families: set[SchemaFamily], *, meant: bool
) -> None:
    error = refusal("Newton: no", families, {SchemaFamily.NEWTON})

    assert isinstance(error, InvalidFileError) is meant


def test_mimic_is_read_whenever_schemas_are_registered() -> None:
    script = """
from pxr import Usd, UsdPhysics
UsdPhysics.RevoluteJoint.Define(Usd.Stage.CreateInMemory(), "/joint")
from tests.conformance.engines.usd_observations import DATA, observe_stage, joint_named
print(joint_named(observe_stage(DATA / "nested_arm.usda"), "wrist_turn").mimic)
"""
    root = Path(__file__).parents[4]
    command = [sys.executable, "-c", script]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout

    assert "leader='elbow', multiplier=-2.0" in printed


_NUMBERS = st.floats(-10, 10)


@given(
    st.lists(_NUMBERS, min_size=4, max_size=4).filter(lambda quat: np.linalg.norm(quat) > 1e-3),
    st.lists(_NUMBERS, min_size=3, max_size=3),
    st.sampled_from([1.0, -1.0]),
)
def test_rigid_part_excludes_scale(quat: list[float], position: list[float], sign: float) -> None:
    rigid = transforms(matrices(quat), position)
    scaled = rigid @ np.diag((sign * 0.5, sign * 2.0, sign * 3.0, 1.0))

    np.testing.assert_allclose(rigid_part(scaled), rigid, atol=1e-12)
