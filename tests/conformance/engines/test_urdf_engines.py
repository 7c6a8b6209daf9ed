"""Engines of the registry, and what they read in a URDF apart from what ``urdfs.json`` has."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conformance.engines.engine_requests import ARM, AT_REST, deviation, installed, request
from urdf_usd.conformance.engines import protocol
from urdf_usd.conformance.observation.robot import Observation, Quantity


def test_engines_are_registered_and_present_unless_their_library_is_missing() -> None:
    found, present = protocol.engines(), protocol.present()
    here = {e.name for e in found if isinstance(e.availability(), protocol.Available)}

    assert [engine.name for engine in found] == list(protocol.names())
    assert {"mujoco", "pybullet", "reference", "openusd"} <= here == {*present}


def test_unknown_name_lists_the_valid_ones() -> None:
    with pytest.raises(protocol.UnknownEngineError, match="mujocco") as error:
        protocol.engine("mujocco")

    assert "mujoco, " in str(error.value)
    assert "pybullet, reference" in str(error.value)


@pytest.mark.parametrize(
    ("module", "distribution", "expected"),
    [
        (
            "surely_no_module",
            "no-engine",
            protocol.Unavailable("no-engine is not installed", "pip install 'newton>=1.8'"),
        ),
        # As for one built from source; any module serves as the example.
        ("json", "no-distribution", protocol.Available("no-distribution of unknown version")),
        ("numpy", "numpy", protocol.Available(f"numpy {np.__version__}")),
    ],
)
def test_optional_engine_gives_its_version_or_the_install_command(
    module: str, distribution: str, expected: object
) -> None:
    assert protocol.optional_engine(module, distribution, "newton") == expected


def _read(engine: str, folder: Path, urdf: str) -> Observation:
    return installed(engine).observe(request(folder, urdf))


@pytest.mark.parametrize(
    ("engine", "file", "text"),
    [
        ("mujoco", "robot.urdf", deviation("zero-range")),
        (
            *("mujoco-mjcf", "robot.xml"),
            "<mujoco><worldbody><body><body><joint/><geom size='0.1'/></body></body></worldbody>"
            "</mujoco>",
        ),
    ],
)
def test_warnings_of_mujoco_write_no_log_file(
    engine: str, file: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).write_text(text)
    reading = installed(engine).observe(protocol.Request(str(tmp_path / file), AT_REST))

    assert any("MuJoCo warns" in note for note in reading.notes)
    assert [path.name for path in tmp_path.iterdir()] == [file]


def test_reason_that_pybullet_prints_is_stated(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its exception has none. Nothing is printed."""
    with pytest.raises(protocol.UnsupportedError, match="sideways") as refusal:
        _read("pybullet", tmp_path, ARM.replace('type="revolute"', 'type="sideways"'))
    sys.stdout.flush()

    assert "\n" not in str(refusal.value)
    assert "BulletUrdfImporter" not in str(refusal.value)
    assert capfd.readouterr() == ("", "")


def test_pybullet_keeps_nothing_of_former_robots(tmp_path: Path) -> None:
    """All are loaded into one world, also those that it refuses partway; it caches files."""
    first = _read("pybullet", tmp_path, ARM)
    heavier = _read("pybullet", tmp_path, ARM.replace('value="7.5"', 'value="9.5"'))
    _read("pybullet", tmp_path, deviation("planar-joint"))
    with pytest.raises(protocol.UnsupportedError):
        _read("pybullet", tmp_path, ARM.replace('type="revolute"', 'type="sideways"'))
    again = _read("pybullet", tmp_path, ARM)

    assert heavier.links[0].mass is not None
    assert heavier.links[0].mass.mass == 9.5
    assert (again.links, again.joints) == (first.links, first.joints)
    assert first.frames is not None
    assert again.frames is not None
    np.testing.assert_array_equal(again.frames.positions, first.frames.positions)
    np.testing.assert_array_equal(again.frames.rotations, first.frames.rotations)


def test_long_robot_is_read_without_frames(tmp_path: Path) -> None:
    """PyBullet reports the poses of at most 128 links."""
    inertial = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    urdf = f'<robot name="r"><link name="l0">{inertial}</link>'
    for i in range(139):
        urdf += f'<joint name="j{i}" type="fixed"><parent link="l{i}"/><child link="l{i + 1}"/>'
        urdf += f'</joint><link name="l{i + 1}">{inertial}</link>'
    observation = _read("pybullet", tmp_path, f"{urdf}</robot>")

    assert len(observation.links) == 140
    assert observation.frames is None
    assert Quantity.FRAMES not in observation.states
    assert any("no poses" in note for note in observation.notes)


def test_missing_file_is_refused() -> None:
    with pytest.raises(protocol.UnsupportedError, match="No such file"):
        installed("pybullet").observe(protocol.Request("none.urdf", AT_REST))
