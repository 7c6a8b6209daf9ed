"""Each known deviation shows in the engine, on its minimal file.

Optional engines that are not installed are skipped.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance.checks import CHECKS
from conformance.deviations import DEVIATIONS, UNEXPLAINED, Deviation
from conformance.record import Verdict
from conformance.sampling import configurations
from conformance.verdict import Judgement, judge
from conformance.witness import Observed, Request
from conformance.witnesses.mujoco_witness import MujocoWitness
from conformance.witnesses.pybullet_witness import PybulletWitness
from conformance.witnesses.spec_witness import SpecWitness, structure
from converter.urdf.parse import parse
from tests.conformance.witnesses.optional_witnesses import URDF_WITNESSES, installed

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.witness import Witness

FOLDER = Path(__file__).parents[1] / "data/deviations"
ENGINES: dict[str, Callable[[], Witness]] = {
    "mujoco": MujocoWitness,
    "pybullet": PybulletWitness,
    **URDF_WITNESSES,
}


def _judge(deviation: Deviation) -> Judgement:
    """Judge a USD that says what the specification says, beside one engine."""
    witness = installed(ENGINES[deviation.witness]())
    path = str(FOLDER / f"{deviation.file}.urdf")
    request = Request(path, configurations(structure(parse(path).robot)))
    spec = Observed(SpecWitness().observe(request))
    engine = Observed(witness.observe(request))
    return judge({"spec": spec, deviation.witness: engine}, spec)


@pytest.mark.parametrize("deviation", DEVIATIONS, ids=lambda each: each.id)
def test_deviation_shows_on_its_file(deviation: Deviation) -> None:
    """It is explained, under a check that the table names, and disputes nothing."""
    judgement = _judge(deviation)
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
