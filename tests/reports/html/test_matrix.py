"""Tests of the data embedded in the page of a run."""

from __future__ import annotations

import json
import math

import pytest
from msgspec import structs

from tests.reports import samples
from urdf_usd.reports.appearance import GRADES
from urdf_usd.reports.html.matrix import matrix
from urdf_usd.reports.html.rendering import island
from urdf_usd.reports.records.record import Grade, Verdict


def _written(*robots: object) -> dict[str, list[dict[str, object]]]:
    assert robots
    read: dict[str, list[dict[str, object]]] = json.loads(island(matrix(robots)))  # type: ignore[arg-type]  # records of tests
    return read


def test_grades_are_encoded_as_letters() -> None:
    robots = (
        samples.robot(name="A", checks=(samples.joint_types(), samples.position())),
        samples.robot(name="B", checks=(samples.mass(Grade.FAILS),)),
        samples.robot(Verdict.UNREADABLE, name="C", checks=()),
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


def test_checks_are_sorted_by_group() -> None:
    robots = (
        samples.robot(name="A", checks=(samples.mass(), samples.joint_types())),
        samples.robot(name="B", checks=(samples.not_comparable(),)),
    )
    groups = [check["group"] for check in _written(*robots)["checks"]]
    assert groups == ["mass", "mass", "structure"]


def test_values_are_rounded_for_plots() -> None:
    """Infinity is encoded as text, nan as null."""
    worst = [6.2345678e-8, math.inf, math.nan]
    robots = [
        samples.robot(name=f"{i}", checks=(samples.position(worst=value),))
        for i, value in enumerate(worst)
    ]
    read = [robot["worst"] for robot in _written(*robots)["robots"]]
    assert read == [[6.23e-8], ["Infinity"], [None]]


def test_limits_are_a_range_over_robots() -> None:
    near, far = samples.position(), structs.replace(samples.position(), bound=1.5e-6)
    robots = (
        samples.robot(name="A", checks=(near,)),
        samples.robot(name="B", checks=(far,)),
    )
    (check,) = _written(*robots)["checks"]
    assert check["bound"] == [2.1e-7, 1.5e-6]
    assert check["tolerance"] == [1e-5, 1e-5]


@pytest.mark.parametrize(
    "name", ["</script><script>alert(1)</script>", "<!--", "a\u2028b\u202ec", "\ud800"]
)
def test_names_are_escaped_in_embedded_data(name: str) -> None:
    robot = samples.robot(name=name, id="hostile")
    text = island(matrix((robot,)))

    assert not set("<>&\u2028\u202e") & set(text)
    text.encode()
    shown = json.loads(text)["robots"][0]["title"]
    expected = name.replace("\u2028", "\\u2028").replace("\u202e", "\\u202e")
    assert shown == expected.replace("\ud800", "\ufffd")


def test_long_name_is_cut() -> None:
    """The index would be too large."""
    robot = samples.robot(name="wrist_" * 1_700, id="long")
    (read,) = _written(robot)["robots"]
    assert len(str(read["title"])) <= 200
    assert len(str(read["reference"])) <= 200
