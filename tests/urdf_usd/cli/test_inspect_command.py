"""``urdf-usd inspect``: the tree, totals, and the other formats."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from urdf_usd.cli.main import main
from urdf_usd.cli.robot_views import tree_lines
from urdf_usd.converter.inspection import inspect
from urdf_usd.converter.urdf.parse import parse

ROBOT = """\
<robot name="arm">
  <link name="base">
    <inertial><mass value="2.5"/>
      <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial>
    <visual>
      <origin xyz="0 0 0.05"/>
      <geometry><box size="0.4 0.3 0.1"/></geometry>
      <material name="steel"><color rgba="0.2 0.4 0.6 0.5"/></material>
    </visual>
  </link>
  <link name="upper">
    <inertial><mass value="1.5"/>
      <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial>
    <collision>
      <origin xyz="0 0 0.5" rpy="0 1.5707963267948966 0"/>
      <geometry><cylinder radius="0.05" length="0.6"/></geometry>
    </collision>
  </link>
  <link name="left finger"/>
  <link name="right"><visual>
    <geometry><mesh filename="package://p/r.stl" scale="0.001 0.001 0.001"/></geometry>
  </visual></link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/>
    <origin xyz="0.1 0.2 0.3" rpy="0 0 0.5"/>
    <axis xyz="0 0 -1"/>
    <limit lower="-1.25" upper="2.5" effort="87" velocity="3"/>
    <dynamics damping="0.7" friction="0"/>
  </joint>
  <joint name="l" type="prismatic">
    <parent link="upper"/><child link="left finger"/>
    <axis xyz="0 0.6 0.8"/>
    <limit lower="0" upper="0.04" effort="20" velocity="inf"/>
  </joint>
  <joint name="r" type="continuous">
    <parent link="upper"/><child link="right"/>
    <mimic joint="l" multiplier="-2" offset="0.1"/>
  </joint>
</robot>
"""
TREE = """\
robot arm
base  2.5 kg
│ visual box 0.4 x 0.3 x 0.1 m, at (0, 0, 0.05), ■ #336699 opacity 0.5 steel
└─upper  1.5 kg
  │ shoulder: revolute about -Z, -1.25 to 2.5 rad, 87 N m, 3 rad/s, damping 0.7, \
at (0.1, 0.2, 0.3), rpy (0, 0, 0.5)
  │ collision cylinder r 0.05 m, l 0.6 m, at (0, 0, 0.5), rpy (0, 1.5708, 0)
  ├─left finger
  │   l: prismatic along (0, 0.6, 0.8), 0 to 0.04 m, 20 N, inf m/s
  └─right
      r: continuous about X, follows l x -2 + 0.1
      visual mesh r.stl x 0.001 (not found)

links               4
joints              3 (1 revolute, 1 prismatic, 1 continuous)
degrees of freedom  3, 2 of them independent
mass                4 kg
shapes              2 visual, 1 collision
meshes              1 files, 0 triangles
"""


def invoke(*arguments: object) -> Result:
    """Run ``urdf-usd inspect``."""
    return CliRunner().invoke(main, ["inspect", *map(str, arguments)])


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    """Write a robot."""
    path = tmp_path / "robot.urdf"
    path.write_text(ROBOT, encoding="utf-8")
    return path


def read_json(path: Path) -> dict[str, Any]:
    """Return what ``--format json`` writes."""
    document = json.loads(invoke(path, "--format", "json").stdout)
    assert isinstance(document, dict)
    return document


def test_tree_shows_the_parts_of_a_robot(robot: Path) -> None:
    """One per line, without colours in a pipe."""
    result = invoke(robot)

    assert result.exit_code == 0
    assert result.stdout.startswith(TREE)
    assert "\x1b" not in result.stdout


def test_bounds_enclose_all_shapes_at_zero(robot: Path) -> None:
    """Computed by hand: the cylinder is along the rotated X axis of the upper link."""
    bounds = read_json(robot)["totals"]["bounds"]

    # Half its length along (cos 0.5, sin 0.5), and its radius across.
    x = 0.3 * math.cos(0.5) + 0.05 * math.sin(0.5)
    y = 0.3 * math.sin(0.5) + 0.05 * math.cos(0.5)
    assert bounds["lower"] == pytest.approx([min(-0.2, 0.1 - x), min(-0.15, 0.2 - y), 0])
    assert bounds["upper"] == pytest.approx([0.1 + x, 0.2 + y, 0.3 + 0.5 + 0.05])


def test_json_has_the_values_of_the_urdf(robot: Path) -> None:
    """In SI units; absent and unlimited values are null."""
    document = read_json(robot)

    assert (document["robot"], document["root"]) == ("arm", "base")
    assert [link["name"] for link in document["links"]] == [
        "base",
        "upper",
        "left finger",
        "right",
    ]
    shoulder, left, right = document["joints"]
    assert shoulder["axis"] == [0, 0, -1]
    assert (shoulder["lower"], shoulder["upper"]) == (-1.25, 2.5)
    assert shoulder["origin"]["quat_wxyz"] == pytest.approx([math.cos(0.25), 0, 0, math.sin(0.25)])
    assert (left["effort"], left["velocity"]) == (20, None)
    assert right["mimic"] == {"joint": "l", "multiplier": -2, "offset": 0.1}
    box = document["links"][0]["visuals"][0]
    assert (box["type"], box["size"]) == ("box", [0.4, 0.3, 0.1])
    assert box["material"]["rgba"] == [0.2, 0.4, 0.6, 0.5]
    mesh = document["links"][3]["visuals"][0]
    assert (mesh["found"], mesh["triangles"]) == (False, None)
    assert document["totals"]["joints"] == {
        "revolute": 1,
        "prismatic": 1,
        "continuous": 1,
    }


def test_dot_has_links_as_nodes_and_joints_as_edges(robot: Path) -> None:
    """With generated identifiers, since names are free text."""
    lines = invoke(robot, "--format", "dot").stdout.splitlines()

    assert lines[0] == 'digraph "arm" {'
    assert lines[-1] == "}"
    assert '  link2 [label="left finger"];' in lines
    assert '  link0 -> link1 [label="shoulder\\nrevolute about -Z, -1.25 to 2.5 rad"];' in lines


def test_mermaid_has_links_and_joints(robot: Path) -> None:
    """As a flowchart."""
    lines = invoke(robot, "--format", "mermaid").stdout.splitlines()

    assert lines[0] == "flowchart TD"
    assert '  link1["upper<br/>1.5 kg"]' in lines
    assert '  link1 -->|"r<br/>continuous about X"| link3' in lines


NASTY = 'a"b\\c]|<i>#`;\n--> x'


@pytest.mark.parametrize(
    ("output_format", "quoted"),
    [
        ("dot", re.compile(r'\[label="((?:[^"\\]|\\.)*)"\];')),
        ("mermaid", re.compile(r'link\d+\["([^"]*)"\]')),
    ],
)
def test_names_are_escaped_in_graphs(
    output_format: str, quoted: re.Pattern[str], tmp_path: Path
) -> None:
    """Whatever characters they have."""
    escaped = NASTY.replace('"', "&quot;").replace("<", "&lt;").replace("\n", "&#10;")
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r"><link name="{escaped}"/></robot>')

    lines = invoke(path, "--format", output_format).stdout.splitlines()

    (line,) = [line.strip() for line in lines if "a" in line and "b" in line and "c" in line]
    match = quoted.search(line)
    assert match is not None
    assert line.endswith(match[0])
    if output_format == "mermaid":
        decoded = re.sub(r"#(\d+);", lambda code: chr(int(code[1])), match[1])
        assert not set(match[1]) & set("<>`|")
    else:
        decoded = re.sub(r"\\(.)", r"\1", match[1])
    assert decoded == NASTY.replace("\n", " ")


def test_control_characters_are_replaced(tmp_path: Path) -> None:
    """XML forbids most of them, but not bidirectional marks."""
    path = tmp_path / "robot.urdf"
    path.write_text('<robot name="r"><link name="a&#x202e;b&#x9b;c"/></robot>')

    output = invoke(path).stdout

    assert "\u202e" not in output
    assert "\x9b" not in output


def test_lines_are_wrapped_to_the_terminal(robot: Path) -> None:
    """Inside the tree, with its guides."""
    inspection = inspect(parse(robot).robot)
    console = Console(width=50)

    lines = [line.plain for line in tree_lines(inspection, console, 50)]
    tree = lines[: lines.index("")]

    assert max(map(len, tree)) <= 50
    assert all(line[0] in "│└ " for line in tree[2:])
    joined = " ".join(line.strip("│├└─ ") for line in tree)
    assert "damping 0.7, at (0.1, 0.2, 0.3), rpy (0, 0, 0.5)" in joined


def test_deep_links_show_their_depth(tmp_path: Path) -> None:
    """Beyond a depth, indentation stops."""
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


def test_robot_without_shapes_has_no_bounds(tmp_path: Path) -> None:
    """In text and JSON."""
    path = tmp_path / "robot.urdf"
    path.write_text('<robot name="r"><link name="a"/></robot>')

    output = invoke(path).stdout

    assert "bounds (zero pose)  no shapes" in output
    assert read_json(path)["totals"]["bounds"] is None


def test_unreadable_robot_ends_with_2_and_all_diagnostics(tmp_path: Path) -> None:
    """On stderr, as for every command."""
    path = tmp_path / "robot.urdf"
    path.write_text('<robot name="r"><link name="a"/><link name="b"/></robot>')

    result = invoke(path)

    assert (result.exit_code, result.stdout) == (2, "")
    assert "[tree-roots]" in result.stderr


def test_joints_of_every_type_are_counted(tmp_path: Path) -> None:
    """With their degrees of freedom: 0 + 1 + 1 + 1 + 3 + 6 + 3."""
    kinds = [
        "fixed",
        "revolute",
        "continuous",
        "prismatic",
        "planar",
        "floating",
        "spherical",
    ]
    joints = "".join(
        f'<link name="{kind}"/><joint name="{kind}" type="{kind}">'
        f'<parent link="a"/><child link="{kind}"/><axis xyz="0 0.6 0.8"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        for kind in kinds
    )
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r"><link name="a"/>{joints}</robot>')

    totals = read_json(path)["totals"]

    assert totals["degrees_of_freedom"] == 15
    assert totals["joints"] == dict.fromkeys(kinds, 1)
