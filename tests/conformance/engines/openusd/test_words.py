"""Words of a URDF that a USD keeps under ``urdf:``, compared with the URDF."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Usd

from tests.conformance.miniatures import compared
from urdf_usd.conformance.checks.check import Compared
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.engines.reference import ReferenceEngine, structure
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.converter import convert
from urdf_usd.converter.urdf.parse import parse

_INERTIAL = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
    'iyz="0"/></inertial>'
)
_URDF = f"""
<robot name="robot">
  <link name="a">{_INERTIAL}</link>
  <link name="b" colour="blue">{_INERTIAL}
    <visual><geometry><box size="1 1 1"/></geometry><gloss>3</gloss></visual>
  </link>
  <link name="c"/>
  <joint name="j" type="revolute">
    <parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="2" effort="3" velocity="4"/>
    <safety_controller k_velocity="10" k_position="20" soft_lower_limit="-0.9"
                       soft_upper_limit="1.9"/>
    <calibration rising="0.1"/>
  </joint>
  <joint name="weld" type="fixed" note="glued">
    <parent link="b"/><child link="c"/>
    <safety_controller k_velocity="30"/>
  </joint>
  <transmission name="t"><type>simple</type></transmission>
</robot>
"""


# By the end of the name of an attribute: a value, and the message of the difference.
_CHANGES: dict[str, tuple[object, str]] = {
    "k_velocity": (11.0, "joint j: safety_controller:k_velocity is 11.0, not 10.0"),
    "k_position": (21.0, "joint j: safety_controller:k_position is 21.0, not 20.0"),
    "soft_lower_limit": (-1.0, "joint j: safety_controller:soft_lower_limit is -1.0, not -0.9"),
    "soft_upper_limit": (2.0, "joint j: safety_controller:soft_upper_limit is 2.0, not 1.9"),
    "calibration:rising": (0.2, "joint j: calibration:rising is 0.2, not 0.1"),
    "urdf:colour": ("red", "link b: colour is red, not blue"),
    "joint:note": ("screwed", "joint weld: note is screwed, not glued"),
    "urdf:text": ("other", ""),
}


@pytest.mark.parametrize("ending", ["", *_CHANGES, "lost"])
def test_words_of_a_usd_are_compared_with_those_of_the_urdf(ending: str, tmp_path: Path) -> None:
    urdf = tmp_path / "robot.urdf"
    urdf.write_text(_URDF)
    sampled = configurations(structure(parse(str(urdf)).robot))
    stage = Usd.Stage.Open(str(convert(str(urdf), tmp_path / "usd").root_layer))
    value, expected = _CHANGES.get(ending, (None, ""))
    for prim in list(stage.Traverse()):
        for attribute in prim.GetAuthoredAttributes():
            if ending == "lost" and attribute.GetName().startswith("urdf:"):
                attribute.Block()
            elif ending in _CHANGES and attribute.GetName().endswith(ending):
                attribute.Set(value)
    changed = str(tmp_path / "usd" / "changed.usda")
    stage.Export(changed)
    comparison = compared(
        "structure.words",
        ReferenceEngine().observe(Request(str(urdf), sampled)),
        OpenusdEngine().observe(Request(changed, sampled)),
    )
    assert isinstance(comparison, Compared)
    messages = [one.message for one in comparison.differences if one.amount]

    # A USD that keeps no words is not compared.
    assert bool(comparison.differences) is (ending != "lost")
    if ending == "urdf:text":
        assert {one.partition(":")[0] for one in messages} == {"robot", "link b"}
    else:
        assert messages == [expected] * bool(expected)
