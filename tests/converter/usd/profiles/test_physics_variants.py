"""One asset with a variant of the physics for each simulator."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Usd

from tests.converter.usd.authored import applied
from tests.converter.usd.composed import composed
from tests.converter.usd.whole_robot import write_whole_robot
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.options import BodyNesting, Layout

_VARIANTS = {"newton": Profile.GENERIC, "physx": Profile.PHYSX}


def _convert(
    folder: Path,
    profile: Profile = Profile.GENERIC,
    *,
    layout: Layout = Layout.LAYERED,
    variants: bool = True,
) -> Usd.Stage:
    options = ConvertOptions(
        profile=profile,
        layout=layout,
        physics_variants=variants,
        bodies=BodyNesting.FLAT,
    )
    asset = convert(write_whole_robot(folder), folder / "usd", options).root_layer
    return Usd.Stage.Open(str(asset))


def _select(stage: Usd.Stage, name: str, variant: str) -> None:
    stage.GetDefaultPrim().GetVariantSet(name).SetVariantSelection(variant)


def _schemas(stage: Usd.Stage) -> dict[str, list[str]]:
    """Return the applied schemas of all prims, whether or not they are registered."""
    return {str(prim.GetPath()): sorted(applied(prim)) for prim in stage.Traverse()}


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("variant", _VARIANTS)
def test_variant_composes_to_the_asset_of_its_simulator(
    tmp_path: Path, layout: Layout, variant: str
) -> None:
    """Prims in the same order, with the same schemas and values."""
    for name in ("one", "several"):
        (tmp_path / name).mkdir()
    several = _convert(tmp_path / "several", layout=layout)
    one = _convert(tmp_path / "one", _VARIANTS[variant], layout=layout, variants=False)

    _select(several, "Physics", variant)

    assert composed(several) == composed(one)
    assert list(composed(several)) == list(composed(one))
    assert _schemas(several) == _schemas(one)
