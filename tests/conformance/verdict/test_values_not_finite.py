"""A value of the USD that is not a number fails, whatever the URDF states."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from msgspec import Struct, structs

from tests.conformance.miniatures import restating_shapes, urdf_reading, usd_reading
from urdf_usd.conformance.engines.protocol import Observed
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.observation.shapes import Role, Shading, ShapeObservation
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.reports.records.record import Grade

# Values that no check compares.
NOT_COMPARED = (
    # Precision of the engine's arithmetic, and velocities that engines are given.
    r"\.precision",
    r"\.dynamics\.velocities",
    # They match renamed joints; frames are compared.
    r"\.joints\[\d+\]\.(axis|anchor)",
    # Only the last state is compared.
    r"\.rollout\.states\[[0-3]\]",
    r"\.rollout\.states\[\d+\]\.time",
    # Words of the report; surfaces are compared.
    r"\.shapes\[\d+\]\.(size|position)",
    # They bound differences, or choose what is compared.
    r"\.shapes\[\d+\]\.(surface\.edges|hull_volume)",
    r"\.shapes\[\d+\]\.appearances\[\d+\]\.(area|mapping\.unsigned)",
    # The mesh has no normals of its own.
    r"\.shapes\[\d+\]\.shading",
)


def _without_a_number(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Replace each number by NaN in turn; one number of an array."""
    match value:
        case float():
            yield path, math.nan
        case Struct():
            for field in value.__struct_fields__:
                inner = _without_a_number(getattr(value, field), f"{path}.{field}")
                for place, changed in inner:
                    yield place, structs.replace(value, **{field: changed})
        case tuple():
            for index, element in enumerate(value):
                for place, changed in _without_a_number(element, f"{path}[{index}]"):
                    yield place, (*value[:index], changed, *value[index + 1 :])
        case np.ndarray() if value.dtype.kind == "f" and value.size:
            array = value.copy()
            array.flat[array.size // 2] = math.nan
            yield path, array


@cache
def _readings() -> dict[str, Observation]:
    """Return the first and the last reading of each kind of value, by path."""
    compared = {
        path: reading
        for path, reading in _without_a_number(usd_reading())
        if isinstance(reading, Observation)
        and not any(re.match(pattern, path) for pattern in NOT_COMPARED)
    }
    kind_of = {path: re.sub(r"\[\d+\]", "", path) for path in compared}
    first = {kind_of[path]: path for path in reversed(compared)}
    last = {kind_of[path]: path for path in compared}
    chosen = {*first.values(), *last.values()}
    return {path: reading for path, reading in compared.items() if path in chosen}


def _fails(expected: Observation, actual: Observation) -> bool:
    judgement = judge({"reference": Observed(expected)}, Observed(actual))
    return any(check.grade is Grade.FAILS for check in judgement.checks)


@pytest.mark.parametrize("path", sorted(_readings()))
def test_number_of_the_usd_that_is_nan_fails(path: str) -> None:
    assert _fails(urdf_reading(), _readings()[path])


def _with_normals(reading: Observation, shading: Shading) -> Observation:
    def edit(own: list[ShapeObservation]) -> list[ShapeObservation]:
        return [structs.replace(own[0], shading=shading)]

    return restating_shapes(reading, "arm", Role.VISUAL, edit)


# The mean is compared with that of the file alone.
@pytest.mark.parametrize(
    ("field", "stated"), [("facing", True), ("facing", False), ("against", False), ("mean", True)]
)
def test_normals_of_the_usd_that_are_nan_fail(field: str, stated: bool) -> None:
    good = Shading(stated=True, facing=1.0, against=0.0, mean=(0.0, 0.0, 0.0))
    nan = (0.0, math.nan, 0.0) if field == "mean" else math.nan
    expected = _with_normals(urdf_reading(), structs.replace(good, stated=stated))

    assert not _fails(expected, _with_normals(usd_reading(), good))
    lost = structs.replace(good, **{field: nan})
    assert _fails(expected, _with_normals(usd_reading(), lost))
