"""Robots of wheels: example-robot-data, made here, and the feature suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from urdf_usd import corpus as c

ROBOTS = (
    "panda_description/urdf/panda.urdf",
    "anymal_b_description/robots/anymal.urdf",
    "anymal_c_description/urdf/anymal.urdf",
)
SHARE = "cmeel.prefix/share/example-robot-data"


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a small example-robot-data with the layout of cmeel."""
    info = tmp_path / "example_robot_data-6.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: example-robot-data\nVersion: 6.0.0\n")
    files = [f"{SHARE}/package.xml", *(f"{SHARE}/robots/{name}" for name in ROBOTS)]
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in files))
    for name in files:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("<robot/>")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / SHARE


def test_example_is_found_by_the_stem_of_its_file(wheel: Path) -> None:
    robot = c.resolve_robot("erd:panda")

    assert robot.path == wheel / "robots" / ROBOTS[0]
    assert dict(robot.packages)["example-robot-data"] == wheel
    assert dict(robot.packages)["panda_description"] == wheel / "robots" / "panda_description"
    assert c.resolve_robot("erd:anymal_c_description/anymal").path == wheel / "robots" / ROBOTS[2]
    with pytest.raises(c.UnavailableError, match="erd:anymal_b_description/anymal or erd:anymal_c"):
        c.resolve_robot("erd:anymal")
    with pytest.raises(c.UnavailableError, match="close to it: panda"):
        c.resolve_robot("erd:pand")
    assert [robot.id for robot in c.resolve_corpora(["erd"])] == [
        "erd--anymal_b_description--anymal",
        "erd--anymal_c_description--anymal",
        "erd--panda",
    ]


def test_missing_wheel_is_reported_with_the_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("urdf_usd.corpus.installed.DISTRIBUTION", "no-such-thing")

    (found,) = c.resolve_corpora(["erd"])

    assert isinstance(found, c.UnavailableSource)
    assert (found.id, found.reference) == ("erd", "erd")
    assert "pip install 'example-robot-data>=" in found.reason


LATEST = c.installed.suite_versions()[-1]


@pytest.mark.parametrize("text", ["suite", "suite:", f"suite:{LATEST}"])
def test_whole_suite_is_a_corpus(text: str) -> None:
    robots = c.resolve_corpora([text])

    assert c.parse_reference(text).whole
    assert len(robots) == len(c.installed.case_names())
    assert all(isinstance(robot, c.RobotSource) and robot.case for robot in robots)


@pytest.mark.parametrize("text", ["suite:joints", f"suite:{LATEST}/joints"])
def test_chapter_is_a_corpus(text: str) -> None:
    robots = c.resolve_corpora([text])

    paths = {robot.path for robot in robots if isinstance(robot, c.RobotSource)}
    assert paths == set((c.installed.SUITE / LATEST / "joints").glob("*.urdf"))
    with pytest.raises(c.ReferenceSyntaxError, match="whole corpus"):
        c.resolve_robot(text)


@pytest.mark.parametrize("prefix", ["", f"{LATEST}/"])
def test_case_is_a_robot(prefix: str) -> None:
    robot = c.resolve_robot(f"suite:{prefix}joints/axis-oblique")

    assert robot.reference == f"suite:{LATEST}/joints/axis-oblique"
    assert robot.id == f"suite--{LATEST}--joints--axis-oblique"
    assert robot.path.name == "axis-oblique.urdf"
    assert dict(robot.packages) == {"suite": c.installed.SUITE / LATEST}
    assert robot.case is not None
    assert (robot.case.chapter, robot.case.name) == ("joints", "axis-oblique")
    assert c.installed.case_names()[robot.case.number - 1] == "joints/axis-oblique"
