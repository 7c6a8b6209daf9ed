"""Second readers of MJCF, against MuJoCo; skipped where they are not installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import structs

from tests.conformance.engines.optional_engines import MJCF_READERS, installed
from urdf_usd.conformance.engines.mjcf import mjcf_joints, observe_mjcf
from urdf_usd.conformance.engines.protocol import Observed, Request, UnsupportedError
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.conformance.verdict.deviations import UNEXPLAINED
from urdf_usd.conformance.verdict.judged import Judgement
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.reports.records.record import Verdict

_HEAD = """<inertial pos="0.01 0.02 0.03" mass="3"
  fullinertia="0.04 0.05 0.06 0.001 -0.002 0.003"/>"""
_NECK = """
  <body name="neck" pos="0.3 0.1 -0.05" quat="0.8 0.2 -0.4 0.4">
    <joint name="nod" axis="1 2 3" pos="0.05 -0.02 0.01" range="-40 70" damping="0.3"/>
    <geom type="capsule" fromto="0 0 0 0.1 0.2 0.3" size="0.04" density="700"/>
    <body name="head" pos="0.1 0.2 0.3">
      <joint name="ball" type="ball" pos="0.02 0.01 -0.03"/>
      <geom type="box" size="0.03 0.02 0.05" pos="0.01 0.02 0.04" mass="0.4"/>
    </body>
    <body name="ear" pos="0 0 1" euler="10 20 30"><geom type="sphere" size="0.1"/></body>
  </body>"""
_RAIL = """<body name="cart"><joint name="rail" type="slide" axis="1 0 1"/>
  <geom type="box" size="0.1 0.1 0.2"/></body>"""
_TURNED = """<body name="cart"><geom type="box" size="0.1 0.1 0.2"/><body name="arm" pos="1 0 0">
  <joint name="j" ref="30" range="-40 70"/><geom type="box" size="0.3 0.1 0.2"/></body></body>"""
_CHAIN = """<body name="cart"><geom type="box" size="0.1 0.1 0.2"/>
  <body name="arm" pos="1 0 0" quat="0.8 0.2 -0.4 0.4"><joint name="j" axis="1 2 3" pos="0 0.1 0"/>
  <joint name="k" axis="0 1 0"/><geom type="box" size="0.3 0.1 0.2"/></body></body>"""
_PERPENDICULAR = """<body name="cart"><geom type="box" size="0.1 0.1 0.2"/><body name="arm">
  <joint name="z" type="slide" axis="0 0 1"/><joint name="x" axis="1 0 0"/>
  <joint name="y" axis="0 1 0"/><geom type="box" size="0.3 0.1 0.2"/></body></body>"""


def _read(name: str, bodies: str, folder: Path) -> tuple[Judgement, Observation]:
    """Judge the reading of MuJoCo against itself, with that of another engine."""
    engine = installed(name)
    path = folder / "robot.xml"
    path.write_text(f"<mujoco model='robot'><worldbody>{bodies}</worldbody></mujoco>")
    request = Request(str(path), configurations(mjcf_joints(str(path))))
    own = Observed(observe_mjcf(str(path), request.configurations, shapes=False))
    found = engine.observe(request)
    outcomes = {"mujoco-mjcf": own, name: Observed(found)}
    return judge(outcomes, own, decides="mujoco-mjcf", described=True), found


@pytest.mark.parametrize("name", MJCF_READERS)
@pytest.mark.parametrize(
    "bodies",
    [
        f"<body name='base' pos='0.1 0.2 0.3' euler='10 20 30'>{_HEAD}{_NECK}</body>",
        f"<body name='base' pos='0.1 0.2 0.3'><freejoint/>{_HEAD}{_NECK}</body>",
        _RAIL,
        _PERPENDICULAR,
    ],
    ids=["fixed", "free", "slide to the world", "perpendicular axes"],
)
def test_reads_the_values_of_mujoco(name: str, bodies: str, tmp_path: Path) -> None:
    judgement, found = _read(name, bodies, tmp_path)

    assert judgement.deviations == ()
    assert judgement.verdict is Verdict.EXACT
    assert found.frames is not None
    assert len(found.frames.links) > 1


@pytest.mark.parametrize(
    ("name", "bodies"),
    [
        ("newton-mjcf", _TURNED),
        ("drake-mjcf", _TURNED),
        ("pinocchio-mjcf", _CHAIN),
    ],
)
def test_positions_count_from_ref_and_axes_are_oblique(
    name: str, bodies: str, tmp_path: Path
) -> None:
    judgement, _ = _read(name, bodies, tmp_path)

    assert judgement.deviations == ()


def test_another_number_of_bodies_is_unsupported(tmp_path: Path) -> None:
    unnamed = "<body><joint/><geom size='0.1'/></body>"
    text = f"<body name='a'><geom size='0.1'/><body><geom size='0.1'/>{unnamed}</body></body>"

    with pytest.raises(UnsupportedError, match="reads 1 of 3 bodies"):
        _read("pinocchio-mjcf", text, tmp_path)


def test_no_other_engine_decides_about_an_mjcf(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(f"<mujoco><worldbody>{_RAIL}</worldbody></mujoco>")
    own = observe_mjcf(str(path), configurations(mjcf_joints(str(path))))
    links = tuple(
        structs.replace(link, mass=link.mass and structs.replace(link.mass, mass=2.5))
        for link in own.links
    )
    other = structs.replace(own, engine="newton-mjcf", links=links)
    outcomes = {"mujoco-mjcf": Observed(own), "newton-mjcf": Observed(other)}

    for usd in (own, structs.replace(other, engine="openusd")):
        judgement = judge(outcomes, Observed(usd), decides="mujoco-mjcf", described=True)
        assert judgement.verdict is (Verdict.EXACT if usd is own else Verdict.FAILS)
        masses = {one.id for one in judgement.deviations if one.check == "mass.link.mass"}
        assert masses == {UNEXPLAINED}
