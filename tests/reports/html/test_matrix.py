"""Tests of what the page of a run knows of its robots."""

from __future__ import annotations

import json
import math

import pytest
from msgspec import structs

from tests.reports import records
from urdf_usd.conformance.records.record import Grade, Verdict
from urdf_usd.reports.appearance import GRADES
from urdf_usd.reports.html.matrix import matrix
from urdf_usd.reports.html.rendering import island


def _written(*robots: object) -> dict[str, list[dict[str, object]]]:
    assert robots
    read: dict[str, list[dict[str, object]]] = json.loads(island(matrix(robots)))  # type: ignore[arg-type]  # records of tests
    return read


def test_a_grade_is_one_letter_that_the_page_knows() -> None:
    """In the order of the checks, with a dot where a robot has none."""
    robots = (
        records.robot(name="A", checks=(records.joint_types(), records.position())),
        records.robot(name="B", checks=(records.mass(Grade.FAILS),)),
        records.robot(Verdict.UNREADABLE, name="C", checks=()),
    )
    read = _written(*robots)
    letters = {str(one["name"]): str(one["letter"]) for one in read["grades"]}

    assert set(letters) == {grade.value for grade in GRADES}
    assert [check["id"] for check in read["checks"]] == [
        "structure.joint_types",
        "kinematics.position",
        "mass.link",
    ]
    exact, fails = letters["exact"], letters["fails"]
    grades = [robot["grades"] for robot in read["robots"]]
    assert grades == [f"{exact}{exact}.", f"..{fails}", "..."]


def test_checks_of_a_group_stand_side_by_side() -> None:
    """Whichever robot names them first."""
    robots = (
        records.robot(name="A", checks=(records.mass(), records.joint_types())),
        records.robot(name="B", checks=(records.silent(),)),
    )
    groups = [check["group"] for check in _written(*robots)["checks"]]
    assert groups == ["mass", "mass", "structure"]


def test_figures_have_the_digits_that_a_plot_shows() -> None:
    """Infinity is the word of JavaScript; what is no number is nothing."""
    worst = [6.2345678e-8, math.inf, math.nan]
    robots = [
        records.robot(name=f"{i}", checks=(records.position(worst=value),))
        for i, value in enumerate(worst)
    ]
    read = [robot["worst"] for robot in _written(*robots)["robots"]]
    assert read == [[6.23e-8], ["Infinity"], [None]]


def test_limits_of_all_robots_are_a_range() -> None:
    """They follow from each robot's size."""
    near, far = records.position(), structs.replace(records.position(), bound=1.5e-6)
    robots = (
        records.robot(name="A", checks=(near,)),
        records.robot(name="B", checks=(far,)),
    )
    (check,) = _written(*robots)["checks"]
    assert check["bound"] == [2.1e-7, 1.5e-6]
    assert check["tolerance"] == [1e-5, 1e-5]


@pytest.mark.parametrize(
    "name", ["</script><script>alert(1)</script>", "<!--", "a\u2028b\u202ec", "\ud800"]
)
def test_hostile_names_end_no_script_and_turn_no_text(name: str) -> None:
    """They are data, and read back as the text that is shown elsewhere."""
    robot = records.robot(name=name, id="hostile")
    text = island(matrix((robot,)))

    assert not set("<>&\u2028\u202e") & set(text)
    text.encode()
    shown = json.loads(text)["robots"][0]["title"]
    expected = name.replace("\u2028", "\\u2028").replace("\u202e", "\\u202e")
    assert shown == expected.replace("\ud800", "\ufffd")


def test_a_name_of_ten_thousand_characters_is_cut() -> None:
    """1,200 of them would not be a page."""
    robot = records.robot(name="wrist_" * 1_700, id="long")
    (read,) = _written(robot)["robots"]
    assert len(str(read["title"])) <= 200
    assert len(str(read["reference"])) <= 200
