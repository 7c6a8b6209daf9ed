"""Values of wrong types in an observation are found, and the message says where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from urdf_usd.conformance.engines import registry
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.execution.examine import questions
from urdf_usd.conformance.observation.robot import (
    JointObservation,
    JointType,
    LinkObservation,
    MassProperties,
    Observation,
    Quantity,
)
from urdf_usd.conformance.observation.value_types import require_types
from urdf_usd.converter import read_urdf

_ARM = Observation(
    engine="e",
    robot="arm",
    root="a",
    states=frozenset({Quantity.LINKS, Quantity.JOINTS}),
    links=(
        LinkObservation("a"),
        LinkObservation("b", MassProperties(2, (0.1, 0.2, 0.3), None)),
    ),
    joints=(JointObservation("j", JointType.REVOLUTE, "a", "b", lower=-1, upper=2.5),),
)


def test_observations_of_our_engines_are_accepted(tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf"
    inertial = (
        '<inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1.2" izz="1.1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    shapes = (
        '<visual><geometry><box size="1 2 3"/></geometry></visual>'
        '<collision><geometry><sphere radius="0.5"/></geometry></collision>'
    )
    file.write_text(
        f'<robot name="arm"><link name="a">{inertial}{shapes}</link>'
        f'<link name="b">{inertial}</link><joint name="j" type="revolute">'
        '<parent link="a"/><child link="b"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" effort="2" velocity="3"/></joint></robot>'
    )
    chosen = questions(read_urdf(file).robot)
    for name in ("mujoco", "pybullet", "reference"):
        observation = registry.engine(name).observe(Request(str(file), chosen))
        assert observation.frames is not None
        require_types(observation)


def test_lists_integers_and_numpy_numbers_are_accepted() -> None:
    links: Any = [LinkObservation("a"), LinkObservation("b")]
    single: Any = np.float32(1e-7)

    require_types(structs.replace(_ARM, links=links, precision=single))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"links": 7}, "observation.links is int instead of tuple"),
        ({"notes": (3,)}, r"observation.notes\[0\] is int instead of str"),
        ({"frames": "x"}, "observation.frames is str instead of Frames"),
        ({"states": None}, "observation.states is NoneType instead of frozenset"),
        ({"up": (1.0, 2.0)}, "observation.up has 2 items instead of 3"),
        ({"precision": True}, "observation.precision is bool instead of float"),
        (
            {"links": (structs.replace(_ARM.links[0], name=3),)},
            r"observation.links\[0\].name is int instead of str",
        ),
        (
            {"joints": (structs.replace(_ARM.joints[0], upper="1"),)},
            r"observation.joints\[0\].upper is str instead of float",
        ),
    ],
)
def test_value_of_wrong_type_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=f"^{message}$"):
        require_types(structs.replace(_ARM, **changes))
