"""`urdf-usd inspect --joints`: order of joints per engine, and index maps."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import pybullet
import pytest
from click.testing import Result

from tests.urdf_usd.cli.command import urdf_usd
from urdf_usd.cli.inspect import index_maps

_INERTIAL = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
)
# Two chains; the joints of the file are in neither depth-first nor breadth-first order.
_JOINTS = (
    ("left_knee", "left_thigh", "left_shin"),
    ("right_hip", "base", "right_thigh"),
    ("left_hip", "base", "left_thigh"),
    ("right_knee", "right_thigh", "right_shin"),
)


@pytest.fixture(scope="module")
def urdf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    links = ("base", "camera", *(child for _, _, child in _JOINTS))
    text = "".join(f'<link name="{name}">{_INERTIAL}</link>' for name in links)
    text += '<joint name="mount" type="fixed"><parent link="base"/><child link="camera"/></joint>'
    for name, parent, child in _JOINTS:
        text += (
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/>'
            f'<child link="{child}"/><axis xyz="0 1 0"/>'
            '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        )
    file = tmp_path_factory.mktemp("joints") / "legs.urdf"
    file.write_text(f'<robot name="legs">{text}</robot>')
    return file


def _invoke(*arguments: str) -> Result:
    return urdf_usd("inspect", "--joints", *arguments)


@pytest.fixture(scope="module")
def orders(urdf: Path) -> dict[str, list[str]]:
    result = _invoke(str(urdf), "--format", "json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)["joints"]
    assert isinstance(found, dict)
    return found


def test_reference_has_the_order_of_the_file(orders: dict[str, list[str]]) -> None:
    assert orders["reference"] == [name for name, _, _ in _JOINTS]


def test_mujoco_has_the_order_of_qpos(orders: dict[str, list[str]], urdf: Path) -> None:
    model = mujoco.MjModel.from_xml_path(str(urdf))
    names = sorted(
        (int(model.jnt_qposadr[joint]), model.joint(joint).name) for joint in range(model.njnt)
    )

    assert orders["mujoco"] == [name for _, name in names]


def test_pybullet_has_the_order_of_joint_indices(orders: dict[str, list[str]], urdf: Path) -> None:
    program = (
        "import pybullet as p, sys; c = p.connect(p.DIRECT); "
        "b = p.loadURDF(sys.argv[1]); "
        "rows = [p.getJointInfo(b, i) for i in range(p.getNumJoints(b))]; "
        f"print(*[r[1].decode() for r in rows if r[2] != {pybullet.JOINT_FIXED}])"
    )
    done = subprocess.run(  # the program above
        [sys.executable, "-c", program, str(urdf)],
        capture_output=True,
        check=True,
        text=True,
    )

    assert orders["pybullet"] == done.stdout.splitlines()[-1].split()


def test_maps_reorder_positions(orders: dict[str, list[str]]) -> None:
    for name, places in index_maps(orders).items():
        source, target = name.split("_to_")

        assert [orders[source][place] for place in places] == orders[target]


def test_joint_that_an_engine_lacks_has_index_minus_one() -> None:
    maps = index_maps({"mujoco": ("a", "b"), "physx": ("b",)})

    assert maps["physx_to_mujoco"].tolist() == [-1, 0]
    assert maps["mujoco_to_physx"].tolist() == [1]


def test_maps_are_written_as_arrays(urdf: Path, tmp_path: Path) -> None:
    """The table on stdout marks no joint that all engines number alike."""
    file = tmp_path / "maps.npz"
    result = _invoke(str(urdf), "--numpy", str(file))
    with np.load(file) as stored:
        maps = dict(stored)

    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].split()[:2] == ["joint", "reference"]
    assert maps["reference_to_mujoco"].dtype == np.int64
    assert sorted(maps["reference_to_mujoco"]) == [0, 1, 2, 3]


def test_robot_without_moving_joints_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "box.urdf"
    file.write_text(f'<robot name="box"><link name="box">{_INERTIAL}</link></robot>')
    result = _invoke(str(file))

    assert result.exit_code == 0
    assert "box: no joint moves" in result.stderr
    assert not result.stdout
