"""Deviations of engines on the robots of pybullet_data have a known cause."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pybullet_data
import pytest

from tests.conformance.engines.optional_engines import ENGINES, installed
from urdf_usd.conformance.engines.mujoco import MujocoEngine
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import (
    AbstentionError,
    Engine,
    Observed,
    Request,
    Side,
)
from urdf_usd.conformance.engines.pybullet import PybulletEngine
from urdf_usd.conformance.engines.reference import ReferenceEngine
from urdf_usd.conformance.execution.examine import questions, read_robot
from urdf_usd.conformance.verdict.deviations import UNEXPLAINED
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.reports.records.record import Grade

# With the schemas of a simulator, so that it reports limits.
_OPTIONS = ConvertOptions(profile=Profile.GENERIC)
_ROOT = Path(pybullet_data.getDataPath())
_FILES = sorted(
    file.relative_to(_ROOT).as_posix()
    for file in _ROOT.rglob("*.urdf")
    if "random_urdfs" not in file.parts
)
_MAKERS: dict[str, Callable[[], Engine]] = {
    "mujoco": MujocoEngine,
    "pybullet": PybulletEngine,
    **ENGINES,
}


@pytest.mark.corpus
@pytest.mark.parametrize("file", _FILES)
@pytest.mark.parametrize("name", sorted(_MAKERS))
def test_every_deviation_has_a_known_cause(name: str, file: str, tmp_path: Path) -> None:
    engine = installed(_MAKERS[name]())
    path = str(_ROOT / file)
    reading = read_robot(path, {}, {})
    if isinstance(reading, SourceError):
        pytest.skip("no robot")
    configurations = questions(reading.parsed.robot)
    if reading.expanded is not None:
        path = str(tmp_path / "expanded.urdf")
        Path(path).write_bytes(reading.expanded)
    request = Request(path, configurations)
    spec = Observed(ReferenceEngine().observe(request))
    usd, simulators = spec, []
    if engine.side is Side.USD:
        root_layer = convert(path, tmp_path / "usd", _OPTIONS).root_layer
        request = Request(str(root_layer), request.configurations)
        usd = Observed(OpenusdEngine().observe(request))
    try:
        stated = Observed(engine.observe(request))
    except AbstentionError as abstention:
        pytest.skip(str(abstention))
    urdf = {"reference": spec}
    if engine.side is Side.URDF:
        urdf[name] = stated
    else:
        simulators.append(stated)
    judgement = judge(urdf, usd, simulators=simulators)

    assert [
        (deviation.check, deviation.subjects)
        for deviation in judgement.deviations
        if deviation.id == UNEXPLAINED
    ] == []
    assert [
        finding.message
        for check in judgement.checks
        for finding in check.findings
        if finding.grade is Grade.FAILS and finding.message.startswith(f"{name}: ")
    ] == []
