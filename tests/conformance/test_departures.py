"""Whatever an engine makes of the robots of pybullet_data, there is a cause for it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pybullet_data
import pytest

from tests.conformance.witnesses.optional_witnesses import WITNESSES, installed
from urdf_usd.conformance.deviations import UNEXPLAINED
from urdf_usd.conformance.sampling import configurations
from urdf_usd.conformance.verdict import judge
from urdf_usd.conformance.witness import AbstentionError, Observed, Request, Side
from urdf_usd.conformance.witnesses.mujoco_witness import MujocoWitness
from urdf_usd.conformance.witnesses.pybullet_witness import PybulletWitness
from urdf_usd.conformance.witnesses.spec_witness import SpecWitness, structure
from urdf_usd.conformance.witnesses.usdphysics_witness import UsdphysicsWitness
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.urdf.parse import parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from urdf_usd.conformance.witness import Witness

# Readers of the USD know what they are told.
_TOLD = ConvertOptions(profile=Profile.NEWTON)
_ROOT = Path(pybullet_data.getDataPath())
_FILES = sorted(
    file.relative_to(_ROOT).as_posix()
    for file in _ROOT.rglob("*.urdf")
    if "random_urdfs" not in file.parts
)
_ENGINES: dict[str, Callable[[], Witness]] = {
    "mujoco": MujocoWitness,
    "pybullet": PybulletWitness,
    **WITNESSES,
}


@pytest.mark.corpus
@pytest.mark.parametrize("file", _FILES)
@pytest.mark.parametrize("engine", sorted(_ENGINES))
def test_every_departure_is_explained(engine: str, file: str, tmp_path: Path) -> None:
    """One that is not is news: of the engine, of our reader, or of the converter."""
    witness = installed(_ENGINES[engine]())
    path = str(_ROOT / file)
    try:
        asked = Request(path, configurations(structure(parse(path).robot)))
    except SourceError:
        pytest.skip("no robot")
    spec = Observed(SpecWitness().observe(asked))
    usd, further = spec, []
    if witness.side is Side.USD:
        root_layer = convert(path, tmp_path / "usd", _TOLD).root_layer
        asked = Request(str(root_layer), asked.configurations)
        usd = Observed(UsdphysicsWitness().observe(asked))
    try:
        stated = Observed(witness.observe(asked))
    except AbstentionError as abstention:
        pytest.skip(str(abstention))
    urdf = {"spec": spec}
    if witness.side is Side.URDF:
        urdf[engine] = stated
    else:
        further.append(stated)
    judgement = judge(urdf, usd, further_usd=further)

    assert [
        (deviation.check, deviation.subjects)
        for deviation in judgement.deviations
        if deviation.id == UNEXPLAINED
    ] == []
