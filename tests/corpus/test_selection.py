"""Selection of robots of a corpus."""

from __future__ import annotations

import pytest

from urdf_usd.corpus.robots import Origin, UnavailableSource
from urdf_usd.corpus.selection import NothingSelectedError, Selection


def _robot(name: str, **origin: object) -> UnavailableSource:
    return UnavailableSource(name, f"rd:{name}", "", Origin(**origin))  # type: ignore[arg-type]  # as they are named there


DOG = _robot("dog", tags=("quadruped",), maker="UNITREE Robotics", license="MIT")
ARM = _robot("arm", tags=("arm",), maker="Franka Robotics", license="Apache-2.0")
TWO = _robot("two", tags=("arm", "dual_arm"), maker="ABB")
FILE = UnavailableSource("file", "file:a.urdf", "")
ALL = (DOG, ARM, TWO, FILE)


@pytest.mark.parametrize(
    ("selection", "chosen"),
    [
        (Selection(), ALL),
        (Selection(tags=("ARM",)), (ARM, TWO)),
        (Selection(tags=("quadruped", "dual_arm")), (DOG, TWO)),
        (Selection(makers=("unitree",)), (DOG,)),
        (Selection(makers=("robotics",), tags=("arm",)), (ARM,)),
        (Selection(licenses=("mit", "apache-2.0")), (DOG, ARM)),
    ],
)
def test_values_of_one_option_are_alternatives(
    selection: Selection, chosen: tuple[UnavailableSource, ...]
) -> None:
    assert selection.apply(ALL, lambda _: None) == chosen


def test_robots_without_catalogue_data_are_excluded_and_counted() -> None:
    lines: list[str] = []

    Selection(licenses=("MIT",)).apply(ALL, lines.append)

    assert lines == [
        "file: 1 robot is left out, whose license is unknown",
        "rd: 1 robot is left out, whose license is unknown",
    ]


@pytest.mark.parametrize(
    ("selection", "reason"),
    [
        (
            Selection(tags=("quadrupd",)),
            "no robot has the tag 'quadrupd'; did you mean",
        ),
        (Selection(tags=("x",)), "there are arm, dual_arm, quadruped"),
        (Selection(makers=("x",)), "there are ABB, Franka Robotics, UNITREE"),
        (Selection(tags=("dual_arm",), licenses=("MIT",)), "no robot matches all"),
    ],
)
def test_unknown_value_is_refused(selection: Selection, reason: str) -> None:
    with pytest.raises(NothingSelectedError, match=reason):
        selection.apply(ALL, lambda _: None)


def test_selection_is_described_in_words() -> None:
    selection = Selection(tags=("arm", "biped"), licenses=("MIT",))

    assert selection.words == ("tag arm or biped", "license MIT")
