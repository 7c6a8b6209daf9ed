"""Mimic couplings: which attributes are effective for simulators, and which are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conformance.engines.usd_observations import (
    DATA,
)


def test_mimic_is_read_whenever_schemas_are_registered() -> None:
    """Including after a stage was opened without Newton's schemas."""
    script = f"""
from pxr import Usd, UsdPhysics
UsdPhysics.RevoluteJoint.Define(Usd.Stage.CreateInMemory(), "/joint")
from tests.conformance.engines.usd_observations import DATA, observe_stage, joint_named
found = observe_stage(DATA / "{DATA.joinpath("nested_arm.usda")}")
print(joint_named(found, "wrist_turn").mimic)
"""
    printed = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[4],
    ).stdout

    assert "leader='elbow', multiplier=-2.0" in printed
