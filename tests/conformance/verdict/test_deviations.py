"""Each known deviation shows in the engine, on its minimal file.

Optional engines that are not installed are skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.engines.optional_engines import ENGINES, installed
from urdf_usd.conformance.checks.catalogue import CHECKS
from urdf_usd.conformance.engines.mujoco import MujocoEngine
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Engine, Observed, Request, Side
from urdf_usd.conformance.engines.pybullet import PybulletEngine
from urdf_usd.conformance.engines.reference import ReferenceEngine, structure
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.conformance.verdict.deviations import DEVIATIONS, UNEXPLAINED, Deviation
from urdf_usd.conformance.verdict.judged import Judgement
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.reports.records.record import Verdict

# With the schemas of a simulator, so that it reports limits.
_OPTIONS = ConvertOptions(profile=Profile.GENERIC)
FOLDER = Path(__file__).parents[2] / "data/deviations"
_MAKERS: dict[str, Callable[[], Engine]] = {
    "mujoco": MujocoEngine,
    "pybullet": PybulletEngine,
    **ENGINES,
}


def _judge(deviation: Deviation, folder: Path) -> Judgement:
    """Judge a correct USD with one engine.

    A URDF engine is compared with the reference; a USD engine with OpenUSD's
    observation of the converted file.
    """
    engine = installed(_MAKERS[deviation.engine]())
    path = FOLDER / f"{deviation.file}.urdf"
    request = Request(str(path), configurations(structure(parse(path).robot)))
    spec = Observed(ReferenceEngine().observe(request))
    if engine.side is Side.URDF:
        stated = Observed(engine.observe(request))
        return judge({"reference": spec, deviation.engine: stated}, spec)
    root_layer = convert(path, folder / "usd", _OPTIONS).root_layer
    usd_request = Request(str(root_layer), request.configurations)
    usd = Observed(OpenusdEngine().observe(usd_request))
    return judge({"reference": spec}, usd, simulators=[Observed(engine.observe(usd_request))])


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=lambda each: each.id)
def test_deviation_is_detected_on_its_file(deviation: Deviation, tmp_path: Path) -> None:
    judgement = _judge(deviation, tmp_path)
    shown = {d.check for d in judgement.deviations if d.id == deviation.id}

    assert shown
    assert all(check.startswith(deviation.checks) for check in shown)
    assert UNEXPLAINED not in {d.id for d in judgement.deviations}
    assert judgement.verdict is not Verdict.DISPUTED


def test_identifiers_are_unique_and_name_their_reader() -> None:
    identifiers = [deviation.id for deviation in DEVIATIONS]

    assert len(set(identifiers)) == len(identifiers)
    assert all(each.id.startswith(f"{each.engine}-") for each in DEVIATIONS)


def test_table_cites_checks_that_exist() -> None:
    for deviation in DEVIATIONS:
        for beginning in deviation.checks:
            assert any(check.id.startswith(beginning) for check in CHECKS)
