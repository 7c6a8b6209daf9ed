"""Values of wrong types in an observation are found, and the message says where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec import structs

from urdf_usd.conformance.observation.robot import (
    JointObservation,
    JointType,
    LinkObservation,
    MassProperties,
    Observation,
    Quantity,
    require_types,
)

_ARM = Observation(
    engine="e",
    robot="arm",
    root="a",
    states=frozenset({Quantity.LINKS, Quantity.JOINTS}),
    links=(LinkObservation("a"), LinkObservation("b", MassProperties(2, (0.1, 0.2, 0.3), None))),
    joints=(JointObservation("j", JointType.REVOLUTE, "a", "b", lower=-1, upper=2.5),),
)


def test_lists_integers_and_numpy_numbers_are_accepted() -> None:
    links: Any = [LinkObservation("a"), LinkObservation("b")]
    single: Any = np.float32(1e-7)

    require_types(structs.replace(_ARM, links=links, precision=single))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"links": 7}, "Expected `array`, got `int` - at `observation.links`"),
        ({"notes": (3,)}, "Expected `str`, got `int` - at `observation.notes[0]`"),
        ({"up": (1.0, 2.0)}, "Expected `array` of length 3, got 2 - at `observation.up`"),
        ({"precision": True}, "Expected `float`, got `bool` - at `observation.precision`"),
        (
            {"links": (structs.replace(_ARM.links[0], name=3),)},
            "Expected `str`, got `int` - at `observation.links[0].name`",
        ),
        ({"notes": (object(),)}, "observation has a value of type object"),
    ],
)
def test_value_of_wrong_type_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as error:
        require_types(structs.replace(_ARM, **changes))
    assert str(error.value) == message
