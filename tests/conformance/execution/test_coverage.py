"""Coverage: what became of every attribute and element of a URDF."""

from __future__ import annotations

from pathlib import Path

from urdf_usd.conformance.execution.coverage import LOSSES, converted_and_kept, losses
from urdf_usd.converter import read_urdf
from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.diagnostics.rules import RULES
from urdf_usd.reports.records.record import CoverageStatus

_URDF = """<robot name="arm">
  <link name="base"><visual><geometry><box size="1 2 3"/></geometry></visual></link>
  <link name="hand" stamp="7">
    <inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0"
      izz="1"/></inertial>
    <collision><geometry><sphere radius="0.1"/></geometry></collision>
    <collision><geometry><sphere radius="0.2"/></geometry></collision>
  </link>
  <joint name="elbow" type="continuous"><parent link="base"/><child link="hand"/>
    <axis xyz="0.6 0 0.8"/></joint>
  <transmission name="t"/>
  <gazebo reference="hand"><mu1>0.5</mu1></gazebo>
  <gazebo reference="hand"><mu2>0.6</mu2></gazebo>
</robot>
"""


def test_every_kind_of_element_is_counted(tmp_path: Path) -> None:
    """Elements that are converted, and elements kept as custom data."""
    file = tmp_path / "arm.urdf"
    file.write_text(_URDF, encoding="utf-8")
    found = {one.part: (one.count, one.fate) for one in converted_and_kept(read_urdf(file).robot)}
    assert found == {
        "link": (2, CoverageStatus.CONVERTED),
        "joint": (1, CoverageStatus.CONVERTED),
        "inertial": (1, CoverageStatus.CONVERTED),
        "visual": (1, CoverageStatus.CONVERTED),
        "collision": (2, CoverageStatus.CONVERTED),
        "<transmission>": (1, CoverageStatus.KEPT),
        "<gazebo>": (2, CoverageStatus.KEPT),
        "@stamp": (1, CoverageStatus.KEPT),
    }


def test_omitted_elements_have_a_reason() -> None:
    """That of the rule; other diagnostics are no losses."""
    message = [Diagnostic("mesh-missing", "gone")] * 3 + [Diagnostic("color-range", "high")]
    (entry,) = losses(message)
    assert (entry.part, entry.count, entry.fate) == (
        "mesh-missing",
        3,
        CoverageStatus.LEFT_OUT,
    )
    assert entry.where == RULES["mesh-missing"].summary


def test_losses_are_rules() -> None:
    """Rule ids are never reused; new ones may be added."""
    assert set(RULES) >= LOSSES
