"""What engines read in a URDF, where they depart from it, and what they state of that.

Rows name a file in tests/data/deviations.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conformance.engines import deviation_files, oblique_arm
from tests.conformance.engines.oblique_arm import URDF, configurations, request
from tests.conformance.engines.optional_engines import installed
from urdf_usd.conformance.engines import protocol
from urdf_usd.conformance.engines.mujoco import MujocoEngine
from urdf_usd.conformance.engines.pybullet import PybulletEngine
from urdf_usd.conformance.observation import robot as obs

_REQUIRED = ("mujoco", "pybullet")
_EXACT = ("reference", *_REQUIRED)
_NAMES = [*_EXACT, "drake", "newton", "pinocchio"]
_SOUND = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'


def _engine(name: str) -> protocol.Engine:
    return installed(name)


def _read(engine: str, folder: Path, urdf: str, **positions: object) -> obs.Observation:
    return _engine(engine).observe(request(folder, urdf, **positions))


def _observe(engine: str, name: str, folder: Path, **positions: object) -> obs.Observation:
    return _read(engine, folder, deviation_files.text(name), **positions)


@pytest.fixture(params=_NAMES)
def arm(request: pytest.FixtureRequest, tmp_path: Path) -> obs.Observation:
    """The oblique arm, as each engine reads it."""
    return oblique_arm.observe_arm(_engine(request.param), tmp_path)


def _rounding(observation: obs.Observation) -> float:
    """Return the rounding of twenty operations on numbers of the order of one."""
    return 20 * max(observation.precision, obs.DOUBLE_PRECISION)


def test_names_root_and_frames_are_those_of_the_file(arm: obs.Observation) -> None:
    """Engines lump, reorder and rename links."""
    oblique_arm.assert_structure(arm)
    oblique_arm.assert_frames(arm, atol=1e-13 if arm.engine in _EXACT else _rounding(arm))
    if arm.engine == "reference":
        assert arm.states == frozenset(obs.Quantity)
    else:
        assert any("Shapes" in note for note in arm.notes)


def test_mass_is_in_the_link_frame(arm: obs.Observation) -> None:
    """With products of inertia; that of the root is neither fused nor lost."""
    masses = {link.name: link.mass for link in arm.links if link.name not in arm.defaulted}
    mass, base, slack = masses["arm"], masses["base"], _rounding(arm)

    assert mass is not None
    assert mass.mass == pytest.approx(2.25, rel=slack)
    assert mass.center == pytest.approx((-0.05, 0.15, 0.25), abs=slack)
    atol = 1e-14 if arm.engine in _EXACT else slack
    assert mass.inertia == pytest.approx(oblique_arm.ARM_INERTIA, abs=atol)
    assert sum(each.mass for each in masses.values() if each) == pytest.approx(10.5)
    assert base is not None
    assert arm.engine == "pinocchio" or base.mass == pytest.approx(7.5)


def test_limits_and_dynamics_are_those_of_the_file(arm: obs.Observation) -> None:
    """Quantities that the engine does not have are left out."""
    shoulder, elbow = (oblique_arm.joint_named(arm, name) for name in ("shoulder", "elbow"))

    assert (shoulder.lower, shoulder.upper) == (-1.25, 0.75)
    assert (elbow.lower, elbow.upper) == (-0.2, 0.4)
    velocities = (3.5, 0.8) if obs.Quantity.VELOCITY in arm.states else (None, None)
    assert (shoulder.velocity, elbow.velocity) == velocities
    assert (obs.Quantity.VELOCITY in arm.states) == (arm.engine != "mujoco")
    if obs.Quantity.EFFORT in arm.states:
        assert (shoulder.effort, elbow.effort) == (12, 55)
    assert shoulder.damping == 0.7
    couples = arm.engine in {"reference", "mujoco", "newton"}
    assert (obs.Quantity.MIMIC in arm.states) is couples
    assert elbow.mimic == (obs.MimicObservation("shoulder", -0.2, 0.05) if couples else None)
    if arm.engine in _EXACT:
        assert shoulder.friction == 0.3
        assert shoulder.axis == pytest.approx(np.array([1, -2, 3]) / np.sqrt(14))
        assert elbow.axis == pytest.approx((-0.48, 0.6, 0.64))


_MASS = '<mass value="2"/>'


def test_warnings_of_mujoco_write_no_log_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    _observe("mujoco", "zero-range", tmp_path)

    assert [file.name for file in tmp_path.iterdir()] == ["robot.urdf"]


def test_reason_that_pybullet_prints_is_stated(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Its exception has none. Nothing is printed."""
    with pytest.raises(protocol.UnsupportedError, match="sideways") as refusal:
        _read("pybullet", tmp_path, URDF.replace('type="revolute"', 'type="sideways"'))
    sys.stdout.flush()

    assert "\n" not in str(refusal.value)
    assert "BulletUrdfImporter" not in str(refusal.value)
    assert capfd.readouterr() == ("", "")


def test_pybullet_keeps_nothing_of_former_robots(tmp_path: Path) -> None:
    """All are loaded into one world, also those that it refuses partway; it caches files."""
    first = _read("pybullet", tmp_path, URDF)
    heavier = _read("pybullet", tmp_path, URDF.replace('value="7.5"', 'value="9.5"'))
    _observe("pybullet", "planar-joint", tmp_path)
    with pytest.raises(protocol.UnsupportedError):
        _read("pybullet", tmp_path, URDF.replace('type="revolute"', 'type="sideways"'))
    again = _read("pybullet", tmp_path, URDF)

    assert heavier.links[0].mass is not None
    assert heavier.links[0].mass.mass == 9.5
    assert (again.links, again.joints) == (first.links, first.joints)
    assert first.frames is not None
    assert again.frames is not None
    np.testing.assert_array_equal(again.frames.positions, first.frames.positions)
    np.testing.assert_array_equal(again.frames.rotations, first.frames.rotations)


def test_long_robot_is_read_without_frames(tmp_path: Path) -> None:
    """PyBullet reports the poses of at most 128 links."""
    links = [f'<link name="l{i}"><inertial>{_MASS}{_SOUND}</inertial></link>' for i in range(140)]
    joints = [
        f'<joint name="j{i}" type="fixed"><parent link="l{i}"/><child link="l{i + 1}"/></joint>'
        for i in range(139)
    ]
    urdf = f'<robot name="r">{"".join(links + joints)}</robot>'
    observation = _read("pybullet", tmp_path, urdf)

    assert len(observation.links) == 140
    assert observation.frames is None
    assert obs.Quantity.FRAMES not in observation.states
    assert any("no poses" in note for note in observation.notes)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'<robot name="r"><link name="a"></robot>', "not well-formed XML"),
        (b"", "not XML"),
        (b"robot:\n  link: a\n", "not"),
        (b"<sdf/>", "root element is sdf"),
        (None, "No such file"),
    ],
)
def test_text_that_is_not_urdf_is_refused(
    content: bytes | None, reason: str, tmp_path: Path
) -> None:
    """The engine is not called."""
    path = tmp_path / "robot.urdf"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(protocol.UnsupportedError, match=reason):
        PybulletEngine().observe(protocol.Request(str(path), configurations()))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('<?xml version="1.0"?>', '<?xml version="0.0"?>'),
        ('<?xml version="1.0"?>', '<?xml version="1"?>'),
        ('<?xml version="1.0"?>', '\n\n<?xml version="1.0"?>'),
        ('<link name="tip"/>', '<xacro:property name="a"/><link name="tip"/>'),
        ('<link name="tip"/>', '<!-- a -- b --><link name="tip"/>'),
        ("</robot>\n", "</robot>\n\0"),
    ],
)
def test_harmless_xml_errors_are_repaired(before: str, after: str, tmp_path: Path) -> None:
    """No element is ambiguous, and other engines accept the file; a note is added."""
    urdf = URDF.replace(before, after)
    assert urdf != URDF
    observation = MujocoEngine().observe(request(tmp_path, urdf))

    assert len(observation.links) == 4
    assert any("The copy leaves out" in note for note in observation.notes)
    assert observation.links[0].mass is not None
    assert observation.links[0].mass.mass == 7.5


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
