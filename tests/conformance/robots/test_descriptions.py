"""Assets of simulation settings files, checked as a run does."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.converter.simulation.robots import write_description, write_urdf
from urdf_usd.conformance.execution.run import check
from urdf_usd.conformance.options import CheckOptions
from urdf_usd.converter.conversion import convert
from urdf_usd.converter.options import (
    ConvertOptions,
    VariantChoice,
)
from urdf_usd.converter.simulation.settings import load_settings, with_settings
from urdf_usd.reports.records.record import Verdict

_TEXT = """\
base = "fixed"
self_collision = false
[[joints]]
match = "*"
stiffness = 400
damping = 40
armature = 0.1
limit_stiffness = 3e4
limit_damping = 200
[[joints]]
match = "h[!a]nge"
natural_frequency = 2.5
[pose.joints]
hinge = -0.5
slide = 0.2
"""


@pytest.mark.parametrize("variant", ["newton", "physx", "mujoco"])
def test_variants_have_the_requested_settings(tmp_path: Path, variant: str) -> None:
    """Each in the schemas of its simulator; limits of PhysX are hard.

    MuJoCo has no setting that stops all collisions of a robot with itself.
    """
    text = _TEXT.replace("false", "true") if variant == "mujoco" else _TEXT
    description = load_settings(write_description(tmp_path, text))
    options = with_settings(ConvertOptions(physics_variants=True), description)
    urdf = write_urdf(tmp_path)
    asset = convert(urdf, tmp_path / "asset", options).root_layer
    chosen = (VariantChoice.parse(f"Physics={variant}"),)

    record = check(urdf, asset, CheckOptions(simulation=description, variants=chosen))

    assert record.verdict is Verdict.EXACT, record.reason
    compared = {one.id: one.compared for one in record.checks}
    assert compared["simulation.armature"] == 3
    assert compared["simulation.limits"] == (6 if variant == "newton" else 0)


_CART = """\
<robot name="cart">
  <link name="base"><inertial><mass value="3"/></inertial>
    <collision><geometry><box size="0.4 0.3 0.2"/></geometry></collision></link>
  <link name="wheel">
    <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="wheel"/>
    <origin xyz="0.3 0.02 -0.1" rpy="0.2 0 0.1"/><axis xyz="0 1 0"/></joint>
</robot>
"""


def test_mass_of_shapes_is_that_of_the_description(tmp_path: Path) -> None:
    urdf = tmp_path / "cart.urdf"
    urdf.write_text(_CART, encoding="utf-8")
    description = load_settings(write_description(tmp_path, "[inertia]\ndensity = 700\n"))
    options = with_settings(ConvertOptions(), description)
    asset = convert(urdf, tmp_path / "asset", options)

    described = check(urdf, asset.root_layer, CheckOptions(simulation=description))
    alone = check(urdf, asset.root_layer)

    assert described.verdict is Verdict.CLOSE, described.reason
    sphere = 700 * 4 / 3 * math.pi * 0.1**3
    assert described.total_mass == pytest.approx(3 + sphere, rel=1e-6)
    assert alone.verdict is Verdict.FAILS
