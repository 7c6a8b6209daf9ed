"""Each known deviation shows in the engine, on its minimal file.

Optional engines that are not installed are skipped.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conformance.witnesses.optional_witnesses import WITNESSES, installed
from urdf_usd.conformance.checks import CHECKS
from urdf_usd.conformance.deviations import DEVIATIONS, UNEXPLAINED, Deviation
from urdf_usd.conformance.record import Verdict
from urdf_usd.conformance.sampling import configurations
from urdf_usd.conformance.verdict import Judgement, judge
from urdf_usd.conformance.witness import Observed, Request, Side
from urdf_usd.conformance.witnesses.mujoco_witness import MujocoWitness
from urdf_usd.conformance.witnesses.pybullet_witness import PybulletWitness
from urdf_usd.conformance.witnesses.spec_witness import SpecWitness, structure
from urdf_usd.conformance.witnesses.usdphysics_witness import UsdphysicsWitness
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.urdf.parse import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from urdf_usd.conformance.witness import Witness

# Readers of the USD know what they are told.
_TOLD = ConvertOptions(profile=Profile.NEWTON)
FOLDER = Path(__file__).parents[1] / "data/deviations"
ENGINES: dict[str, Callable[[], Witness]] = {
    "mujoco": MujocoWitness,
    "pybullet": PybulletWitness,
    **WITNESSES,
}


def _judge(deviation: Deviation, folder: Path) -> Judgement:
    """Judge a good USD beside one engine.

    For a reader of the URDF it is one that says what the specification says; for one of
    the USD, what OpenUSD reads in the converted file.
    """
    witness = installed(ENGINES[deviation.witness]())
    path = FOLDER / f"{deviation.file}.urdf"
    request = Request(str(path), configurations(structure(parse(path).robot)))
    spec = Observed(SpecWitness().observe(request))
    if witness.side is Side.URDF:
        engine = Observed(witness.observe(request))
        return judge({"spec": spec, deviation.witness: engine}, spec)
    root_layer = convert(path, folder / "usd", _TOLD).root_layer
    asked = Request(str(root_layer), request.configurations)
    usd = Observed(UsdphysicsWitness().observe(asked))
    return judge({"spec": spec}, usd, further_usd=[Observed(witness.observe(asked))])


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=lambda each: each.id)
def test_deviation_shows_on_its_file(deviation: Deviation, tmp_path: Path) -> None:
    """It is explained, under a check that the table names, and disputes nothing."""
    judgement = _judge(deviation, tmp_path)
    shown = {d.check for d in judgement.deviations if d.id == deviation.id}

    assert shown
    assert all(check.startswith(deviation.checks) for check in shown)
    assert UNEXPLAINED not in {d.id for d in judgement.deviations}
    assert judgement.verdict is not Verdict.DISPUTED


def test_identifiers_are_unique_and_name_their_reader() -> None:
    """They are cited in records."""
    identifiers = [deviation.id for deviation in DEVIATIONS]

    assert len(set(identifiers)) == len(identifiers)
    assert all(each.id.startswith(f"{each.witness}-") for each in DEVIATIONS)


def test_table_cites_checks_that_exist() -> None:
    """By the beginning of their identifiers."""
    for deviation in DEVIATIONS:
        for beginning in deviation.checks:
            assert any(check.id.startswith(beginning) for check in CHECKS)
