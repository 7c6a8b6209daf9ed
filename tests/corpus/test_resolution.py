"""Resolution of references to robots, lists of them, and selection."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from urdf_usd import corpus as c

ROBOT = '<robot name="r"><link name="a"/></robot>'


def _silent(line: str) -> None:
    raise AssertionError(f"nothing is downloaded here: {line}")


def _write(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(ROBOT)
    return path


def test_default_corpus_has_the_95_urdfs_of_pybullet_data() -> None:
    robots = c.resolve_corpora(["pybullet"], _silent)

    assert len(robots) == 95
    assert all(isinstance(r, c.RobotSource) and r.path.is_file() for r in robots)
    assert len({robot.id.casefold() for robot in robots}) == 95
    assert [robot.id for robot in robots] == sorted(robot.id for robot in robots)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("pybullet:r2d.urdf", "close to it: r2d2.urdf"),
        ("pybullet:../../x.urdf", "has no URDF"),
        ("pybullet:/etc/hostname", "has no URDF"),
        ("pybullet:kuka_iiwa", "has no URDF"),
    ],
)
def test_missing_robot_of_the_wheel_is_unavailable(text: str, reason: str) -> None:
    with pytest.raises(c.UnavailableError, match=reason):
        c.resolve_robot(text, _silent)


def test_file_is_a_robot_whether_it_exists_or_not(tmp_path: Path) -> None:
    missing = c.resolve_robot(str(tmp_path / "arm.urdf"), _silent)
    relative = c.resolve_robot("bots/arm.urdf.xacro", _silent)

    assert (missing.path, missing.reference) == (tmp_path / "arm.urdf", "file:arm.urdf")
    assert (relative.id, relative.reference) == ("file--bots--arm", "file:bots/arm.urdf.xacro")


def test_unavailable_robot_is_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path / "arm.urdf")

    def refuse(download: c.Download, *_: object) -> NoReturn:
        raise c.UnavailableError(f"{download.module} cannot be downloaded")

    monkeypatch.setattr(c.installed, "fetch", refuse)

    arm, upkie = c.resolve_corpora(["rd:upkie_description", str(tmp_path / "arm.urdf")], _silent)

    assert isinstance(arm, c.RobotSource)
    assert isinstance(upkie, c.UnavailableSource)
    assert upkie.reason == "upkie_description cannot be downloaded"
    # Data of the package about it are known.
    assert upkie.origin.license == "Apache-2.0"


@pytest.mark.parametrize("text", ["no/such.urdf", "dir:no/such", "pybullet:no/such.urdf"])
def test_all_names_are_looked_up_before_the_first_download(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(c.installed, "fetch", _silent)

    with pytest.raises(c.UnknownRobotError):
        c.resolve_corpora(["rd:upkie_description", text], _silent)
    with pytest.raises(c.ReferenceSyntaxError):
        c.resolve_corpora(["rd:upkie_description", "pybulet"], _silent)


def test_folder_has_all_robots_below_it(tmp_path: Path) -> None:
    _write(tmp_path / "b" / "arm.urdf.xacro")
    _write(tmp_path / "a" / "deep" / "leg.URDF")
    (tmp_path / "b" / "package.xml").write_text("<package><name>b</name></package>")

    robots = c.resolve_corpora([f"dir:{tmp_path}", str(tmp_path / "a/deep/leg.URDF")], _silent)

    # The robot that is named twice is listed once.
    assert [(robot.id, robot.reference) for robot in robots] == [
        ("dir--a--deep--leg", f"file:{tmp_path.name}/a/deep/leg.URDF"),
        ("dir--b--arm", f"file:{tmp_path.name}/b/arm.urdf.xacro"),
    ]
    assert all(
        isinstance(robot, c.RobotSource) and robot.searched and robot.packages == ()
        for robot in robots
    )


# Lists


def _list(folder: Path, text: str) -> str:
    file = folder / "robots.toml"
    file.write_text(text, errors="surrogateescape")
    return f"list:{file}"


def test_list_accepts_every_reference(tmp_path: Path) -> None:
    _write(tmp_path / "bots" / "arm.urdf")
    (tmp_path / "deps").mkdir()
    text = """
[[robots]]
reference = "bots/arm.urdf"
base = "fixed"
notes = "the first"
[robots.packages]
deps = "deps"

[[robots]]
reference = "dir:bots"

[[robots]]
reference = "pybullet:r2d2.urdf"
license = "MIT"
"""

    arm, again, r2d2 = c.resolve_corpora([_list(tmp_path, text)], _silent)

    assert isinstance(again, c.RobotSource)
    # A fixed base makes it a different robot from that of the folder.
    assert (arm.id, arm.reference) == ("dir--arm", "file:bots/arm.urdf")
    assert (again.id, again.base, again.notes) == ("file--bots--arm", "fixed", "the first")
    assert again.packages == (("deps", tmp_path / "deps"),)
    assert r2d2.origin.license == "MIT"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[robots]]\nreference = ' '\n", ":1: Expected `str` matching"),
        ('[[robots]]\nreference = "pybulet"\n', ":1: cannot resolve 'pybulet'"),
        ('[[robots]]\nreference = "list:a.toml"\n', ":1: a list cannot name"),
        (
            '[[robots]]\nreference = "erd"\narguments = { a = 1 }\n',
            ":1: erd is no single xacro file",
        ),
        (
            '[[robots]]\nreference = "a.urdf"\n[robots.packages]\na = "nowhere"\n',
            ":1: the folder of a package does not exist",
        ),
        (
            '\n\n[[robots]]\nreference = "pybullet:r2d.urdf"\n',
            ":3: pybullet_data has no URDF 'r2d.urdf'; close to it: r2d2",
        ),
        ("[[robot]]\n", ": it may have [[robots]] tables alone"),
        ("robots = [{ nam = 'x' }]\n", ":1: Object contains unknown field `nam`"),
        ("[[robots]]\nreference = x\n", ": Invalid value (at line 2, column 13)"),
        ("# \udcff", ": 'utf-8' codec can't decode"),
        ("", ": it has no [[robots]]"),
    ],
)
def test_faults_of_a_list_are_reported_with_their_lines(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(c.CorpusError) as refusal:
        c.resolve_corpora([_list(tmp_path, text)], _silent)

    assert f"robots.toml{message}" in str(refusal.value)


def test_robot_with_other_arguments_is_another_robot(tmp_path: Path) -> None:
    ids = []
    table = '[[robots]]\nreference = "arm.xacro"\narguments = { hand = true }\n'
    for folder in (tmp_path / "a", tmp_path / "b"):
        _write(folder / "arm.xacro")
        text = table + table.replace("true", "false")
        ids.append([robot.id for robot in c.resolve_corpora([_list(folder, text)], _silent)])

    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 2
