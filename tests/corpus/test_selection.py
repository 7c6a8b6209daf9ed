"""Selection of robots of a corpus."""

from __future__ import annotations

import pytest

from urdf_usd.corpus.robots import CorpusError, Origin, UnavailableSource
from urdf_usd.corpus.selection import Selection, is_forbidden


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
    with pytest.raises(CorpusError, match=reason):
        selection.apply(ALL, lambda _: None)


def test_selection_is_described_in_words() -> None:
    selection = Selection(tags=("arm", "biped"), licenses=("MIT",))

    assert selection.words == ("tag arm or biped", "license MIT")


@pytest.mark.parametrize(
    ("text", "forbidden", "expected"),
    [
        ("GPL-3.0-or-later", "copyleft", True),
        ("GPLv3", "copyleft", True),
        ("LGPL-2.1", "copyleft", True),
        ("GNU General Public License", "copyleft", True),
        ("CC-BY-SA-4.0", "copyleft", True),
        ("CC-BY-4.0", "copyleft", False),
        ("BSD-3-Clause", "copyleft", False),
        ("MIT OR GPL-3.0-only", "copyleft", False),
        ("MIT AND (GPL-3.0-only)", "copyleft", True),
        ("GPL-3.0-or-later", "gpl-3.0", True),
        ("GPL-3.0+", "GPL-3.0", True),
        ("GPL-2.0-only", "GPL-3.0", False),
        ("GPL-2.0-only", "GPL", True),
        ("LGPL-2.0-only", "GPL", False),
        ("CC-BY-NC-4.0", "CC-BY-NC", True),
    ],
)
def test_forbidden_licence(text: str, forbidden: str, expected: bool) -> None:
    assert is_forbidden(text, (forbidden,)) is expected


def test_robot_under_forbidden_licence_is_refused_only_if_selected() -> None:
    lines: list[str] = []
    forbidding = Selection(forbidden=("Apache-2.0",))

    with pytest.raises(CorpusError, match=r"rd:arm \(Apache-2.0\)"):
        forbidding.apply(ALL, lines.append)
    assert Selection(licenses=("MIT",), forbidden=("Apache-2.0",)).apply(ALL, lines.append) == (
        DOG,
    )
    Selection(forbidden=("GPL-3.0",)).apply(ALL, lines.append)
    assert lines[-1] == "--forbid-license: the licence of 2 of 4 is unknown"
