"""Words of a URDF that a USD keeps under ``urdf:``, compared with the URDF."""

from __future__ import annotations

from collections.abc import Callable
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


def _wrong(folder: Path, edit: Callable[[Usd.Stage], object]) -> list[str] | None:
    """Return messages of differences; None if nothing is compared."""
    urdf = folder / "robot.urdf"
    urdf.write_text(_URDF)
    sampled = configurations(structure(parse(str(urdf)).robot))
    usd = str(convert(str(urdf), folder / "usd").root_layer)
    stage = Usd.Stage.Open(usd)
    edit(stage)
    changed = str(folder / "usd" / "changed.usda")
    stage.Export(changed)
    comparison = compared(
        "structure.words",
        ReferenceEngine().observe(Request(str(urdf), sampled)),
        OpenusdEngine().observe(Request(changed, sampled)),
    )
    assert isinstance(comparison, Compared)
    found = comparison.differences
    return [one.message for one in found if one.amount] if found else None


def _set(ending: str, value: object) -> Callable[[Usd.Stage], None]:
    """Set every attribute whose name ends so."""

    def edit(stage: Usd.Stage) -> None:
        found = [
            attribute
            for prim in stage.Traverse()
            for attribute in prim.GetAuthoredAttributes()
            if attribute.GetName().endswith(ending)
        ]
        assert found
        for attribute in found:
            attribute.Set(value)

    return edit


def _remove_all(stage: Usd.Stage) -> None:
    for prim in list(stage.Traverse()):
        for attribute in prim.GetAuthoredAttributes():
            if attribute.GetName().startswith("urdf:"):
                attribute.Block()


@pytest.mark.parametrize(
    ("ending", "value", "part"),
    [
        ("k_velocity", 11.0, "joint j: safety_controller:k_velocity is 11.0, not 10.0"),
        ("k_position", 21.0, "joint j: safety_controller:k_position"),
        ("soft_lower_limit", -1.0, "joint j: safety_controller:soft_lower_limit"),
        ("soft_upper_limit", 2.0, "joint j: safety_controller:soft_upper_limit"),
        ("calibration:rising", 0.2, "joint j: calibration:rising is 0.2, not 0.1"),
        ("urdf:colour", "red", "link b: colour is red, not blue"),
        ("joint:note", "screwed", "joint weld: note is screwed, not glued"),
    ],
)
def test_changed_word_is_a_difference(
    ending: str, value: object, part: str, tmp_path: Path
) -> None:
    (message,) = _wrong(tmp_path, _set(ending, value)) or [""]

    assert message.startswith(part)


def test_changed_text_of_a_transmission_and_of_a_visual_is_a_difference(tmp_path: Path) -> None:
    messages = _wrong(tmp_path, _set("urdf:text", "other"))

    assert messages is not None
    assert {one.partition(":")[0] for one in messages} == {"robot", "link b"}


def test_words_as_written_are_the_same(tmp_path: Path) -> None:
    assert _wrong(tmp_path, lambda _: None) == []


def test_usd_that_keeps_no_words_is_not_compared(tmp_path: Path) -> None:
    assert _wrong(tmp_path, _remove_all) is None
