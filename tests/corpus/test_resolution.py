"""Resolution of references to robots."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pybullet_data
import pytest

from urdf_usd.corpus import (
    CorpusError,
    Download,
    ReferenceSyntaxError,
    RobotSource,
    UnavailableError,
    UnavailableSource,
    UnknownRobotError,
    descriptions,
    resolve_corpora,
    resolve_robot,
)

ROBOT = '<robot name="r"><link name="a"/></robot>'


def _silent(line: str) -> None:
    raise AssertionError(f"nothing is downloaded here: {line}")


def _write(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(ROBOT)
    return path


def test_default_corpus_has_the_95_urdfs_of_pybullet_data() -> None:
    robots = resolve_corpora(["pybullet"], _silent)

    assert len(robots) == 95
    assert all(isinstance(r, RobotSource) and r.path.is_file() for r in robots)
    assert len({robot.id.casefold() for robot in robots}) == 95
    assert [robot.id for robot in robots] == sorted(robot.id for robot in robots)


def test_robot_of_the_wheel_is_resolved_to_its_file() -> None:
    robot = resolve_robot("pybullet:kuka_iiwa/model.urdf", _silent)

    assert robot.id == "pybullet--kuka_iiwa--model"
    assert robot.reference == "pybullet:kuka_iiwa/model.urdf"
    assert robot.path == Path(pybullet_data.getDataPath()) / "kuka_iiwa/model.urdf"


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
    with pytest.raises(UnavailableError, match=reason):
        resolve_robot(text, _silent)


def test_generated_object_is_found_by_name() -> None:
    robot = resolve_robot("pybullet:random_urdfs/000/000.urdf", _silent)

    assert robot.path.is_file()


def test_existence_of_a_path_is_checked_by_the_reader(tmp_path: Path) -> None:
    missing = tmp_path / "missing.urdf"

    assert resolve_robot(str(missing), _silent).path == missing


def test_references_in_records_are_relative(tmp_path: Path) -> None:
    path = _write(tmp_path / "arm.urdf")

    robot = resolve_robot(str(path), _silent)

    assert (robot.id, robot.reference) == ("file--arm", "file:arm.urdf")


def test_xacro_is_a_robot() -> None:
    robot = resolve_robot("bots/arm.urdf.xacro", _silent)

    assert robot.path == Path("bots/arm.urdf.xacro")
    assert (robot.id, robot.reference) == (
        "file--bots--arm",
        "file:bots/arm.urdf.xacro",
    )


def test_unavailable_robot_is_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path / "arm.urdf")

    def refuse(download: Download, *_: object) -> NoReturn:
        raise UnavailableError(f"{download.module} cannot be downloaded")

    monkeypatch.setattr(descriptions, "fetch", refuse)

    found = resolve_corpora(["rd:upkie_description", str(tmp_path / "arm.urdf")], _silent)

    assert [type(robot) for robot in found] == [RobotSource, UnavailableSource]
    assert found[1] == UnavailableSource(
        "rd--upkie_description",
        "rd:upkie_description",
        "upkie_description cannot be downloaded",
        # Data of the package about it are known.
        origin=found[1].origin,
    )
    assert found[1].origin.license == "Apache-2.0"


@pytest.mark.parametrize("text", ["no/such.urdf", "dir:no/such", "pybullet:no/such.urdf"])
def test_unknown_names_are_refused_before_any_work(text: str) -> None:
    with pytest.raises(UnknownRobotError):
        resolve_corpora(["pybullet:r2d2.urdf", text], _silent)


def test_folder_has_all_robots_below_it(tmp_path: Path) -> None:
    """In path order, without hidden folders; packages are found as for one file."""
    _write(tmp_path / "b" / "arm.urdf")
    _write(tmp_path / "a" / "deep" / "leg.URDF")
    _write(tmp_path / ".hidden" / "x.urdf")
    (tmp_path / "b" / "package.xml").write_text("<package><name>b</name></package>")

    robots = resolve_corpora([f"dir:{tmp_path}"], _silent)

    assert [robot.id for robot in robots] == ["dir--a--deep--leg", "dir--b--arm"]
    assert [robot.reference for robot in robots] == [
        f"file:{tmp_path.name}/a/deep/leg.URDF",
        f"file:{tmp_path.name}/b/arm.urdf",
    ]
    assert all(isinstance(robot, RobotSource) and robot.packages == () for robot in robots)


def test_robot_that_is_given_twice_is_run_once(tmp_path: Path) -> None:
    path = _write(tmp_path / "arm.urdf")

    robots = resolve_corpora([f"dir:{tmp_path}", str(path)], _silent)

    assert [robot.id for robot in robots] == ["dir--arm"]


def test_equal_ids_of_different_robots_are_distinguished(tmp_path: Path) -> None:
    paths = [_write(tmp_path / name / "arm.urdf") for name in "ab"]

    robots = resolve_corpora(map(str, paths), _silent)

    assert len({robot.id for robot in robots}) == 2


def test_all_references_are_parsed_before_the_first_is_resolved() -> None:
    with pytest.raises(ReferenceSyntaxError):
        resolve_corpora(["rd:panda_description", "pybulet"], _silent)


def _list(folder: Path, text: str) -> str:
    file = folder / "robots.toml"
    file.write_text(text)
    return f"list:{file}"


def test_list_accepts_every_reference(tmp_path: Path) -> None:
    """Paths are relative to the list, whose settings have priority."""
    _write(tmp_path / "bots" / "arm.urdf")
    (tmp_path / "deps").mkdir()
    text = """
[[robots]]
reference = "bots/arm.urdf"
packages = { deps = "deps" }
base = "fixed"
notes = "the first"

[[robots]]
reference = "dir:bots"

[[robots]]
reference = "pybullet:r2d2.urdf"
license = "MIT"
"""

    arm, again, r2d2 = resolve_corpora([_list(tmp_path, text)], _silent)

    assert isinstance(arm, RobotSource)
    assert isinstance(again, RobotSource)
    # A fixed base makes it a different robot from that of the folder.
    assert (arm.id, arm.reference) == ("dir--arm", "file:bots/arm.urdf")
    assert (again.id, again.base, again.notes) == (
        "file--bots--arm",
        "fixed",
        "the first",
    )
    assert again.packages == (("deps", tmp_path / "deps"),)
    assert r2d2.origin.license == "MIT"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[robots]]\n", "robots.toml:1: 'reference' is missing"),
        (
            '[[robots]]\nreference = "pybulet"\n',
            "robots.toml:2: cannot resolve 'pybulet'",
        ),
        (
            '[[robots]]\nreference = "list:a.toml"\n',
            "robots.toml:2: a list cannot name",
        ),
        (
            '[[robots]]\nreference = "erd"\narguments = { a = 1 }\n',
            "robots.toml:3: erd is no single xacro file",
        ),
        (
            '[[robots]]\nreference = "a.urdf"\npackages = { a = "nowhere" }\n',
            "robots.toml:3: the folder of 'a' does not exist",
        ),
        (
            '\n\n[[robots]]\nreference = "pybullet:r2d.urdf"\n',
            "robots.toml:4: pybullet_data has no URDF 'r2d.urdf'; close to it: r2d2",
        ),
        ('[[robots]]\nreference = "x.urdf"\n', "robots.toml:2: x.urdf does not exist"),
        ("", "it has no [[robots]]"),
    ],
)
def test_faults_of_a_list_are_reported_with_their_lines(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(CorpusError) as refusal:
        resolve_corpora([_list(tmp_path, text)], _silent)

    assert message in str(refusal.value)


def test_robot_with_other_arguments_is_another_robot(tmp_path: Path) -> None:
    ids = []
    for name in "ab":
        folder = tmp_path / name
        _write(folder / "arm.xacro")
        text = "".join(
            f'[[robots]]\nreference = "arm.xacro"\narguments = {{ hand = {hand} }}\n'
            for hand in ("true", "false")
        )
        robots = resolve_corpora([_list(folder, text)], _silent)
        ids.append([robot.id for robot in robots])

    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 2


def test_folder_includes_xacro_files(tmp_path: Path) -> None:
    """Files without a robot are detected when they are read."""
    _write(tmp_path / "arm.urdf.xacro")
    _write(tmp_path / "leg.urdf")

    arm, leg = resolve_corpora([f"dir:{tmp_path}"], _silent)

    assert isinstance(arm, RobotSource)
    assert isinstance(leg, RobotSource)
    assert (arm.id, leg.id) == ("dir--arm", "dir--leg")
    assert arm.searched
    assert leg.searched


def test_all_names_are_validated_before_the_first_download(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fetch(*_: object) -> NoReturn:
        raise AssertionError("nothing may be downloaded")

    monkeypatch.setattr(descriptions, "fetch", fetch)

    with pytest.raises(UnknownRobotError):
        resolve_corpora(["rd:upkie_description", "pybullet:r2d.urdf"], _silent)
