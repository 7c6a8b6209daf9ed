"""On real robots, PyBullet and MuJoCo agree except for known deviations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pybullet_data
import pytest

from urdf_usd.conformance.engines.mujoco import MujocoEngine
from urdf_usd.conformance.engines.protocol import AbstentionError, Engine, Request
from urdf_usd.conformance.engines.pybullet import PybulletEngine
from urdf_usd.conformance.observation.robot import (
    Configurations,
    LinkObservation,
    Observation,
)
from urdf_usd.conformance.observation.sampling import configurations

_ROOT = Path(pybullet_data.getDataPath())
_FILES = sorted(
    file.relative_to(_ROOT).as_posix()
    for file in _ROOT.rglob("*.urdf")
    if "random_urdfs" not in file.parts
)
# Files that MuJoCo refuses, with the fault of each.
_REFUSED = {
    "bicycle/bike.urdf": "bad format in attribute 'xyz'",
    "biped/biped2d_pybullet.urdf": "bad format in attribute 'lower'",
    "husky/husky.urdf": "bad format in attribute 'xyz'",
    "quadruped/microtaur/microtaur.urdf": "attribute 'rpy' has too much data",
    "quadruped/spirit40newer.urdf": "repeated element: 'axis'",
    "spherical_joint_limit.urdf": "range\\[0\\] should be 0 in ball joint",
    "torus_deform.urdf": "0 root links",
}


def _observe(engine: Engine, file: str, at: Configurations | None = None) -> Observation:
    requested = at or Configurations((), (), ("zero",))
    return engine.observe(Request(str(_ROOT / file), requested))


@pytest.mark.corpus
@pytest.mark.parametrize("file", sorted(_REFUSED))
def test_files_that_mujoco_refuses_have_a_fault(file: str) -> None:
    """PyBullet reads all of these but the one without links."""
    with pytest.raises(AbstentionError, match=_REFUSED[file]):
        _observe(MujocoEngine(), file)
    if file != "torus_deform.urdf":
        _observe(PybulletEngine(), file)


@pytest.mark.corpus
@pytest.mark.parametrize("file", [file for file in _FILES if file not in _REFUSED])
def test_pybullet_and_mujoco_agree(file: str) -> None:
    """Structure exactly; frames and mass to double precision."""
    at = configurations(_observe(MujocoEngine(), file).joints)
    first, second = (_observe(engine, file, at) for engine in (MujocoEngine(), PybulletEngine()))

    assert first.root == second.root
    assert {(j.name, j.parent, j.child) for j in first.joints} == {
        (j.name, j.parent, j.child) for j in second.joints
    }
    _assert_same_frames(first, second)
    masses = {link.name: link for link in second.links}
    for link in first.links:
        if link.name not in second.invented:
            _assert_same_mass(link, masses[link.name])


def _assert_same_frames(first: Observation, second: Observation) -> None:
    ours, theirs = first.frames, second.frames
    assert ours is not None
    assert theirs is not None
    order = [theirs.links.index(link) for link in ours.links]
    np.testing.assert_allclose(ours.positions, theirs.positions[:, order], atol=1e-9)
    np.testing.assert_allclose(ours.rotations, theirs.rotations[:, order], atol=1e-9)


def _assert_same_mass(ours: LinkObservation, theirs: LinkObservation) -> None:
    assert (ours.mass is None) == (theirs.mass is None)
    if ours.mass is None or theirs.mass is None:
        return
    assert ours.mass.mass == pytest.approx(theirs.mass.mass, rel=1e-12)
    assert ours.mass.center == pytest.approx(theirs.mass.center, abs=1e-12)
    # Where MuJoCo refuses an inertia, PyBullet reads zero; neither is compared.
    if ours.mass.inertia is not None and theirs.mass.inertia is not None:
        # PyBullet's diagonalisation stops at 1e-5 of the trace.
        ixx, _, _, iyy, _, izz = ours.mass.inertia
        assert ours.mass.inertia == pytest.approx(
            theirs.mass.inertia, abs=1e-5 * (ixx + iyy + izz), rel=0
        )
