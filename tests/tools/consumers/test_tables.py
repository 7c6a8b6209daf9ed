"""Tables of agreement and messages, from rows as `agreement` writes them."""

from __future__ import annotations

import pytest

from tests.tools.consumers.tables import agreement, normalised

_ROW = {
    "status": "observed",
    "dofs": True,
    "base": "fixed",
    "fixed": [True],
    "mass": 2e-6,
    "inertia": 2e-4,
    "gravity": 3e-7,
}


def test_quantities_beyond_their_tolerance_disagree() -> None:
    assert agreement(_ROW) == {
        "dofs": True,
        "base": True,
        "mass": True,
        "inertia": False,
        "gravity": True,
    }


def test_base_of_a_robot_without_articulation_is_not_compared() -> None:
    assert "base" not in agreement({**_ROW, "fixed": []})


def test_refused_asset_agrees_in_nothing() -> None:
    assert not agreement({"status": "refused", "error": "crashed"})


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "warning: Inertia tensor for body '/r/Geometry/a' has (0.5, 1e-06, -2)",
            "warning: Inertia tensor for body 'PATH' has (N…)",
        ),
        (
            "output: [Error] [] PhysX error: joint /r/j, FILE /a/b.cpp, LINE 233",
            "error: PhysX error: joint PATH",
        ),
        ("warning: GPU broadphase requires a CUDA context manager", None),
    ],
)
def test_messages_are_counted_without_paths_and_numbers(message: str, expected: str | None) -> None:
    assert normalised(message) == expected
