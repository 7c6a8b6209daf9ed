"""Values of wrong types in an observation are found, and the message says where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec import structs

from tests.faults.fault import ROBOTS
from urdf_usd.conformance.engines import registry
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.execution.sources import questions
from urdf_usd.conformance.observation.robot import (
    JointObservation,
    JointType,
    LinkObservation,
    MassProperties,
    Observation,
    Quantity,
    require_types,
)
from urdf_usd.converter import read_urdf

_ARM = Observation(
    engine="e",
    robot="arm",
    root="a",
    states=frozenset({Quantity.LINKS, Quantity.JOINTS}),
    links=(LinkObservation("a"), LinkObservation("b", MassProperties(2, (0.1, 0.2, 0.3), None))),
    joints=(JointObservation("j", JointType.REVOLUTE, "a", "b", lower=-1, upper=2.5),),
)


@pytest.mark.parametrize("name", ["mujoco", "pybullet", "reference"])
def test_observations_of_our_engines_are_accepted(name: str) -> None:
    file = ROBOTS / "miniature.urdf"
    chosen = questions(read_urdf(file).robot)

    require_types(registry.engine(name).observe(Request(str(file), chosen)))


def test_lists_integers_and_numpy_numbers_are_accepted() -> None:
    links: Any = [LinkObservation("a"), LinkObservation("b")]
    single: Any = np.float32(1e-7)

    require_types(structs.replace(_ARM, links=links, precision=single))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"links": 7}, "Expected `array`, got `int` - at `observation.links`"),
        ({"notes": (3,)}, "Expected `str`, got `int` - at `observation.notes[0]`"),
        ({"frames": "x"}, "Expected `object | null`, got `str` - at `observation.frames`"),
        ({"states": None}, "Expected `array`, got `null` - at `observation.states`"),
        ({"up": (1.0, 2.0)}, "Expected `array` of length 3, got 2 - at `observation.up`"),
        ({"precision": True}, "Expected `float`, got `bool` - at `observation.precision`"),
        (
            {"links": (structs.replace(_ARM.links[0], name=3),)},
            "Expected `str`, got `int` - at `observation.links[0].name`",
        ),
        (
            {"joints": (structs.replace(_ARM.joints[0], upper="1"),)},
            "Expected `float | null`, got `str` - at `observation.joints[0].upper`",
        ),
        ({"notes": (object(),)}, "observation has a value of type object"),
    ],
)
def test_value_of_wrong_type_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as error:
        require_types(structs.replace(_ARM, **changes))
    assert str(error.value) == message
