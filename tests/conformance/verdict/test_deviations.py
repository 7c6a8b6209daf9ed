"""Each known deviation shows in the engine on its minimal file; those on real robots are known.

Optional engines that are not installed are skipped.
"""

from __future__ import annotations

from pathlib import Path

import pybullet_data
import pytest

from tests.conformance.engines.engine_requests import DEVIATIONS as FOLDER
from tests.conformance.engines.engine_requests import installed
from urdf_usd.conformance.checks.catalogue import CHECKS
from urdf_usd.conformance.descriptions import read_robot, sampling_plan
from urdf_usd.conformance.engines.mjcf import mjcf_joints, observe_mjcf
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Observed, Request, Side, UnsupportedError
from urdf_usd.conformance.engines.reference import ReferenceEngine
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.conformance.verdict.deviations import DEVIATIONS, UNEXPLAINED, Deviation
from urdf_usd.conformance.verdict.judged import Judgement
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter import convert
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.reports.records.record import Grade, Verdict

_ROOT = Path(pybullet_data.getDataPath())
_FILES = sorted(
    file.relative_to(_ROOT).as_posix()
    for file in _ROOT.rglob("*.urdf")
    if "random_urdfs" not in file.parts
)
_ENGINES = ("drake", "mujoco", "newton", "newton-usd", "physx", "pinocchio", "pybullet")


def _judge(name: str, path: str, folder: Path) -> Judgement:
    """Judge a correct USD with one engine.

    A URDF engine is compared with the reference; a USD engine with OpenUSD's
    observation of the converted file.
    """
    engine = installed(name)
    try:
        reading = read_robot(path, {}, {}, (), folder / "expanded.urdf")
    except SourceError as error:
        raise UnsupportedError("no robot") from error
    path = str(reading.path)
    assert reading.parsed
    request = Request(path, sampling_plan(reading.parsed.robot))
    reference = Observed(ReferenceEngine().observe(request))
    usd = reference
    if engine.side is Side.USD:
        request = Request(str(convert(path, folder / "usd").root_layer), request.configurations)
        usd = Observed(OpenusdEngine().observe(request))
    observed = Observed(engine.observe(request))
    if engine.side is Side.USD:
        return judge({"reference": reference}, usd, simulators=[observed])
    return judge({"reference": reference, name: observed}, usd)


def _judge_mjcf(name: str, path: str) -> Judgement:
    """Judge an MJCF against itself, with a second reader."""
    engine = installed(name)
    request = Request(path, configurations(mjcf_joints(path)))
    own = Observed(observe_mjcf(path, request.configurations, shapes=False))
    observed = {"mujoco-mjcf": own, name: Observed(engine.observe(request))}
    return judge(observed, own, decides="mujoco-mjcf", described=True)


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=lambda each: each.id)
def test_deviation_is_detected_on_its_file(deviation: Deviation, tmp_path: Path) -> None:
    name, is_mjcf = deviation.engine, deviation.engine.endswith("-mjcf")
    file = str(FOLDER / f"{deviation.file}.{'xml' if is_mjcf else 'urdf'}")
    judgement = _judge_mjcf(name, file) if is_mjcf else _judge(name, file, tmp_path)
    shown = {d.check for d in judgement.deviations if d.id == deviation.id}

    assert shown
    assert all(check.startswith(deviation.checks) for check in shown)
    assert UNEXPLAINED not in {d.id for d in judgement.deviations}
    assert judgement.verdict is not Verdict.DISPUTED


def test_deviations_have_identifiers_of_their_engine_and_cite_checks_that_exist() -> None:
    assert len({deviation.id for deviation in DEVIATIONS}) == len(DEVIATIONS)
    for each in DEVIATIONS:
        assert each.id.startswith(f"{each.engine}-")
        assert all(any(one.id.startswith(start) for one in CHECKS) for start in each.checks)


@pytest.mark.corpus
@pytest.mark.parametrize("file", _FILES)
@pytest.mark.parametrize("name", _ENGINES)
def test_every_deviation_on_a_real_robot_is_known(name: str, file: str, tmp_path: Path) -> None:
    try:
        judgement = _judge(name, str(_ROOT / file), tmp_path)
    except UnsupportedError as refusal:
        pytest.skip(str(refusal))

    assert [(d.check, d.subjects) for d in judgement.deviations if d.id == UNEXPLAINED] == []
    assert [
        finding.message
        for check in judgement.checks
        for finding in check.findings
        if finding.grade is Grade.FAILS and finding.message.startswith(f"{name}: ")
    ] == []
