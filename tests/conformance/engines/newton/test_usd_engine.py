"""What Newton makes of converted robots, next to OpenUSD's own reading of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs
from pxr import Usd, UsdPhysics

from tests.conformance.engines import oblique_arm
from tests.conformance.engines.oblique_arm import request
from tests.conformance.engines.optional_engines import installed
from urdf_usd.conformance.engines.protocol import Engine, Request, UnsupportedError
from urdf_usd.conformance.observation.robot import SINGLE_PRECISION, Quantity
from urdf_usd.converter import ConvertOptions, Profile, convert

_GENERIC = ConvertOptions(profile=Profile.GENERIC)
# A hundred operations on stored numbers of the size of one.
_ROUNDING = 100 * SINGLE_PRECISION


@pytest.fixture
def engine() -> Engine:
    return installed("newton-usd")


def _converted(folder: Path, urdf: str, **positions: object) -> Request:
    requested = request(folder, urdf, **positions)
    layer = convert(requested.path, folder / "usd", _GENERIC).root_layer
    return structs.replace(requested, path=str(layer))


def _arm(folder: Path, urdf: str = oblique_arm.URDF) -> Request:
    return _converted(folder, urdf, shoulder=oblique_arm.SHOULDER, elbow=oblique_arm.ELBOW)


def test_joints_outside_articulations_are_a_reason_to_refuse(
    engine: Engine, tmp_path: Path
) -> None:
    """Newton simulates joints of articulations only."""
    requested = _arm(tmp_path)
    stage = Usd.Stage.Open(requested.path)
    for prim in stage.Traverse():
        prim.RemoveAPI(UsdPhysics.ArticulationRootAPI)
    stage.Save()

    with pytest.raises(UnsupportedError, match=r"Newton: .*articulation"):
        engine.observe(requested)


def test_it_states_nothing_that_is_only_a_name(engine: Engine, tmp_path: Path) -> None:
    """Names of frames come from prims, not from Newton."""
    states = engine.observe(_arm(tmp_path)).states

    assert not states & {Quantity.LINKS, Quantity.JOINTS, Quantity.BASE}
