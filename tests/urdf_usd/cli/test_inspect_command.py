"""``urdf-usd inspect``: the tree, totals, and the other formats."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from rich.console import Console

from tests.urdf_usd.cli.command import DATA, urdf_usd
from urdf_usd.cli.robot_views import tree_lines
from urdf_usd.converter.inspection import inspect
from urdf_usd.converter.urdf.parse import parse

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
    """Computed by hand: the cylinder is along the rotated X axis of the upper link."""
    bounds = read_json(robot)["totals"]["bounds"]

    # Half its length along (cos 0.5, sin 0.5), and its radius across.
    x = 0.3 * math.cos(0.5) + 0.05 * math.sin(0.5)
    y = 0.3 * math.sin(0.5) + 0.05 * math.cos(0.5)
    assert bounds["lower"] == pytest.approx([min(-0.2, 0.1 - x), min(-0.15, 0.2 - y), 0])
    assert bounds["upper"] == pytest.approx([0.1 + x, 0.2 + y, 0.3 + 0.5 + 0.05])


def test_lines_are_wrapped_to_the_terminal(robot: Path) -> None:
    inspection = inspect(parse(robot).robot)
    console = Console(width=50)

    lines = [line.plain for line in tree_lines(inspection, console, 50)]
    tree = lines[: lines.index("")]

    assert max(map(len, tree)) <= 50
    assert all(line[0] in "│└ " for line in tree[2:])
    joined = " ".join(line.strip("│├└─ ") for line in tree)
    assert "damping 0.7, at (0.1, 0.2, 0.3), rpy (0, 0, 0.5)" in joined


def test_deep_links_show_their_depth(tmp_path: Path) -> None:
    links = "".join(f'<link name="l{n}"/>' for n in range(300))
    joints = "".join(
        f'<joint name="j{n}" type="fixed"><parent link="l{n}"/><child link="l{n + 1}"/></joint>'
        for n in range(299)
    )
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r">{links}{joints}</robot>')

    lines = invoke(path).stdout.splitlines()

    assert max(map(len, lines)) < 120
    assert any(line.endswith("l299  (depth 299)") for line in lines)
