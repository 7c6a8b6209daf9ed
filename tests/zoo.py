"""Robots that many tests share, converted and examined once per run of the tests.

The fixture ``zoo`` makes an asset or a record on the first request, also for the other workers
of pytest-xdist. What it returns is read-only: ``copy`` is for tests that change files.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pybullet_data

from tests.conformance.direct import examine_here
from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.reports.records.record import RobotRecord
from urdf_usd.reports.records.results import read_record, write_record

_TESTS = Path(__file__).parent
_SUITE = next((_TESTS.parent / "corpus" / "suite").glob("*/manifest.json")).parent
_PYBULLET = Path(pybullet_data.getDataPath())
_DEFAULTS = ConvertOptions()

# Each for something that the others lack.
ROBOTS = {
    # Fixed base, every bounded joint, notes of every severity.
    "arm": _TESTS.parent / "examples" / "arm.urdf",
    # Every joint type, couplings, oblique axes, rotated origins, meshes and textures.
    "oblique_arm": _TESTS / "faults" / "robots" / "oblique_arm.urdf",
    "drifter": _TESTS / "faults" / "robots" / "drifter.urdf",
    "joints": _TESTS / "urdf_usd" / "cli" / "robots" / "joints.urdf",
    "cartpole": _PYBULLET / "cartpole.urdf",
    "r2d2": _PYBULLET / "r2d2.urdf",
    # Meshes as STL, COLLADA and OBJ.
    "kuka": _PYBULLET / "kuka_iiwa" / "model.urdf",
    "racecar": _PYBULLET / "racecar" / "racecar.urdf",
    "laikago": _PYBULLET / "laikago" / "laikago_toes_zup_lores.urdf",
    "husky": _PYBULLET / "husky" / "husky.urdf",
    # Floating joint; deep tree.
    "floating": _SUITE / "joints" / "floating.urdf",
    "chain": _SUITE / "frames" / "chain-of-twenty.urdf",
    "texture": _SUITE / "materials" / "texture.urdf",
    "mimic": _SUITE / "mimic" / "two-followers.urdf",
    # A file is missing.
    "incomplete": _SUITE / "meshes" / "missing-visual.urdf",
}


class Zoo:
    """Assets and records in a folder that several processes share."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)

    def asset(self, robot: str, options: ConvertOptions = _DEFAULTS) -> Path:
        """Return the root layer of a robot's asset."""

        def write(folder: Path) -> None:
            layer = convert(ROBOTS[robot], folder / "asset", options).root_layer
            (folder / "name").write_text(layer.name, encoding="utf-8")

        folder = self._made("asset", robot, options, write)
        return folder / "asset" / (folder / "name").read_text("utf-8")

    def copy(self, folder: Path, robot: str, options: ConvertOptions = _DEFAULTS) -> Path:
        """Return the root layer of an asset that a test may change, in a new folder."""
        asset = self.asset(robot, options)
        shutil.copytree(asset.parent, folder)
        return folder / asset.name

    def record(self, robot: str, options: ConvertOptions = _DEFAULTS) -> RobotRecord:
        """Return what a run with the engines of this project records about a robot."""

        def write(folder: Path) -> None:
            record = examine_here(ROBOTS[robot], folder / "run", options)
            write_record(record, folder / "record.json")

        folder = self._made("record", robot, options, write)
        return read_record(folder / "record.json")

    def _made(
        self, kind: str, robot: str, options: ConvertOptions, make: Callable[[Path], None]
    ) -> Path:
        digest = hashlib.sha256(repr(options).encode()).hexdigest()[:12]
        folder = self._folder / f"{kind}-{robot}-{digest}"
        if not folder.exists():
            new = Path(tempfile.mkdtemp(dir=self._folder))
            make(new)
            # Another worker may have been faster.
            with contextlib.suppress(OSError):
                new.rename(folder)
        return folder
