"""Data embedded in the page of a run."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from msgspec import structs

from tests.reports import samples
from urdf_usd.reports.appearance import GRADES
from urdf_usd.reports.html.rendering import island
from urdf_usd.reports.html.site import matrix
from urdf_usd.reports.records.record import Grade, RobotRecord, Verdict


def _written(*robots: RobotRecord) -> dict[str, Any]:
    text = island(matrix(robots))
    # Neither ends the script element nor reorders text, and can be encoded.
    assert not set("<>&\u2028\u202e") & set(text)
    text.encode()
    written: dict[str, Any] = json.loads(text)
    return written


def test_grades_are_encoded_as_letters() -> None:
    """In the order of the checks, with a dot for a missing one."""
    written = _written(
        samples.robot(name="A", checks=(samples.joint_types(), samples.position())),
        samples.robot(name="B", checks=(samples.mass(Grade.FAILS),)),
        samples.robot(Verdict.UNREADABLE, name="C", checks=()),
    )
    letters = {one["name"]: one["letter"] for one in written["grades"]}
    exact, fails = letters["exact"], letters["fails"]

    assert set(letters) == {grade.value for grade in GRADES}
    checks = ["structure.joint_types", "kinematics.position", "mass.link"]
    assert [check["id"] for check in written["checks"]] == checks
    assert [one["grades"] for one in written["robots"]] == [f"{exact}{exact}.", f"..{fails}", "..."]


def test_checks_are_sorted_by_group() -> None:
    written = _written(
        samples.robot(name="A", checks=(samples.mass(), samples.joint_types())),
        samples.robot(name="B", checks=(samples.not_comparable(),)),
    )
    assert [check["group"] for check in written["checks"]] == ["mass", "mass", "structure"]


def test_values_are_rounded_for_plots() -> None:
    """Infinity is encoded as text, nan as null."""
    robots = [
        samples.robot(name=f"{value}", checks=(samples.position(worst=value),))
        for value in (6.2345678e-8, math.inf, math.nan)
    ]
    assert [one["worst"] for one in _written(*robots)["robots"]] == [
        [6.23e-8],
        ["Infinity"],
        [None],
    ]


def test_limits_are_a_range_over_robots() -> None:
    """They depend on each robot's size."""
    near, far = samples.position(), structs.replace(samples.position(), bound=1.5e-6)
    (check,) = _written(*(samples.robot(checks=(one,)) for one in (near, far)))["checks"]

    assert check["bound"] == [2.1e-7, 1.5e-6]
    assert check["tolerance"] == [1e-5, 1e-5]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("</script><script>alert(1)</script>", "</script><script>alert(1)</script>"),
        ("<!--", "<!--"),
        ("a\u2028b\u202ec", "a\\u2028b\\u202ec"),
        ("\ud800", "\ufffd"),
    ],
)
def test_names_decode_to_the_sanitised_text(name: str, shown: str) -> None:
    (robot,) = _written(samples.robot(name=name, id="hostile"))["robots"]

    assert robot["title"] == shown


def test_long_name_is_cut() -> None:
    """The index would be too large."""
    (robot,) = _written(samples.robot(name="wrist_" * 1_700, id="long"))["robots"]

    assert len(robot["title"]) <= 200
    assert len(robot["reference"]) <= 200
