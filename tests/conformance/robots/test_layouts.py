"""Every layout of an asset conforms by the same checks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.converter.usd.whole_robot import write_whole_robot
from urdf_usd.conformance.execution.run import CheckOptions, check
from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.converter.options import Layout


@pytest.mark.parametrize("layout", list(Layout))
def test_every_layout_conforms(tmp_path: Path, layout: Layout) -> None:
    urdf = write_whole_robot(tmp_path)
    asset = convert(urdf, tmp_path / "usd", ConvertOptions(layout=layout)).root_layer

    record = check(urdf, asset, CheckOptions(engines=("mujoco",)))

    assert record.verdict.conforms, record.reason
    assert {check.id for check in record.checks if check.worst is not None} >= {
        "kinematics.position",
        "mass.link.inertia",
    }
