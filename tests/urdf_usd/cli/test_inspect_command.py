"""``urdf-usd inspect``: the tree, totals, the other formats, and orders of joints."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

from tests.urdf_usd.cli.command import DATA, urdf_usd
from urdf_usd.cli.inspect import index_maps

ROBOT = (DATA / "inspected.urdf").read_text("utf-8")


def invoke(*arguments: object) -> Result:
    return urdf_usd("inspect", *arguments)


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    path = tmp_path / "robot.urdf"
    path.write_text(ROBOT, encoding="utf-8")
    return path


def read_json(path: Path) -> dict[str, Any]:
    document = json.loads(invoke(path, "--format", "json").stdout)
    assert isinstance(document, dict)
    return document


def test_bounds_enclose_all_shapes_at_zero(robot: Path) -> None:
    bounds = read_json(robot)["totals"]["bounds"]

    # Half its length along (cos 0.5, sin 0.5), and its radius across.
    x = 0.3 * math.cos(0.5) + 0.05 * math.sin(0.5)
    y = 0.3 * math.sin(0.5) + 0.05 * math.cos(0.5)
    assert bounds["lower"] == pytest.approx([min(-0.2, 0.1 - x), min(-0.15, 0.2 - y), 0])
    assert bounds["upper"] == pytest.approx([0.1 + x, 0.2 + y, 0.3 + 0.5 + 0.05])


def test_deep_links_are_not_indented_further(tmp_path: Path) -> None:
    links = "".join(f'<link name="l{n}"/>' for n in range(300))
    joints = "".join(
        f'<joint name="j{n}" type="fixed"><parent link="l{n}"/><child link="l{n + 1}"/></joint>'
        for n in range(299)
    )
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r">{links}{joints}</robot>')

    lines = invoke(path).stdout.splitlines()

    assert max(map(len, lines)) < 120
    assert any(line.endswith("└─l299") for line in lines)


# Its joints are in neither depth-first nor breadth-first order.
_URDF = Path(__file__).with_name("robots") / "six.urdf"


def _invoke(*arguments: str) -> Result:
    return urdf_usd("inspect", "--joints", *arguments)


def test_joint_that_an_engine_lacks_has_index_minus_one() -> None:
    maps = index_maps({"mujoco": ("a", "b"), "physx": ("b",)})

    assert maps["physx_to_mujoco"].tolist() == [-1, 0]
    assert maps["mujoco_to_physx"].tolist() == [1]


def test_maps_are_written_as_arrays(tmp_path: Path) -> None:
    file = tmp_path / "maps.npz"
    result = _invoke(str(_URDF), "--numpy", str(file))
    with np.load(file) as stored:
        maps = dict(stored)

    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].split()[:2] == ["joint", "reference"]
    assert maps["reference_to_mujoco"].dtype == np.int64
    assert sorted(maps["reference_to_mujoco"]) == [0, 1, 2, 3]
