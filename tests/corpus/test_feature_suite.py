"""References to the feature suite."""

from __future__ import annotations

import pytest

from urdf_usd.corpus import (
    ReferenceSyntaxError,
    RobotSource,
    UnknownRobotError,
    installed,
    parse_reference,
    resolve_corpora,
    resolve_robot,
)

LATEST = installed.suite_versions()[-1]


@pytest.mark.parametrize("text", ["suite", "suite:", f"suite:{LATEST}"])
def test_whole_suite_is_a_corpus(text: str) -> None:
    robots = resolve_corpora([text])

    assert parse_reference(text).whole
    assert len(robots) == len(installed.case_names())
    assert all(isinstance(robot, RobotSource) and robot.case for robot in robots)


@pytest.mark.parametrize("text", ["suite:joints", f"suite:{LATEST}/joints"])
def test_chapter_is_a_corpus(text: str) -> None:
    folder = installed.SUITE / LATEST / "joints"
    robots = resolve_corpora([text])

    assert parse_reference(text).whole
    paths = {robot.path for robot in robots if isinstance(robot, RobotSource)}
    assert paths == set(folder.glob("*.urdf"))


@pytest.mark.parametrize("prefix", ["", f"{LATEST}/"])
def test_case_is_a_robot(prefix: str) -> None:
    robot = resolve_robot(f"suite:{prefix}joints/axis-oblique")

    assert robot.reference == f"suite:{LATEST}/joints/axis-oblique"
    assert robot.id == f"suite--{LATEST}--joints--axis-oblique"
    assert robot.path.name == "axis-oblique.urdf"
    assert dict(robot.packages) == {"suite": installed.SUITE / LATEST}
    assert robot.case is not None
    assert (robot.case.chapter, robot.case.name) == ("joints", "axis-oblique")
    assert installed.case_names()[robot.case.number - 1] == "joints/axis-oblique"


def test_chapters_are_in_the_order_of_the_manifest() -> None:
    chapters = [one["name"] for one in installed.suite_manifest(LATEST)["chapters"]]
    named = list(dict.fromkeys(name.split("/")[0] for name in installed.case_names()))

    assert named == chapters


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("suite:joints/axis-obliqe", "close to it: joints/axis-oblique"),
        ("suite:joint", "close to it: joints"),
        ("suite:1999.01", f"no version '1999.01'; there are {LATEST}"),
    ],
)
def test_unknown_case_is_reported_with_the_nearest(text: str, message: str) -> None:
    with pytest.raises(UnknownRobotError, match=message):
        resolve_corpora([text])


def test_chapter_is_no_single_robot() -> None:
    with pytest.raises(ReferenceSyntaxError, match="whole corpus"):
        resolve_robot("suite:joints")
