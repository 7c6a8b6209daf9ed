"""Robots that are packed and unpacked on another machine find the same files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conformance.runs import ROBOT, write_mesh
from urdf_usd.conformance.execution.cluster.packing import (
    PackedResult,
    PackedRobot,
    pack,
    unpack_result,
    unpacked,
)
from urdf_usd.conformance.execution.examination.assignment import (
    Assignment,
    Unchanged,
    subject_of,
)
from urdf_usd.conformance.execution.tasks import Reading, read_robot
from urdf_usd.converter import ConvertOptions
from urdf_usd.corpus import RobotSource


def _packed(source: RobotSource, out: Path, **options: object) -> PackedRobot:
    packed = pack(Assignment(source, out, ConvertOptions(**options), ()))  # type: ignore[arg-type]  # options by name
    assert packed is not None
    return packed


def _read(assignment: Assignment) -> tuple[Reading, list[str]]:
    """Read a robot; return its diagnostics as well."""
    subject = subject_of(assignment)
    reading = read_robot(str(assignment.source.path), subject.packages, subject.arguments)
    assert isinstance(reading, Reading)
    return reading, [found.rule for found in reading.diagnostics]


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A folder that is removed before robots are unpacked."""
    folder = tmp_path / "there"
    folder.mkdir()
    return folder


def test_robot_is_packed_with_the_files_that_it_refers_to(there: Path, tmp_path: Path) -> None:
    """Other files in its folder are not packed."""
    urdf = there / "robot" / "urdf" / "arm.urdf"
    urdf.parent.mkdir(parents=True)
    urdf.write_text(ROBOT.format(name="../meshes/arm"))
    (there / "robot" / "meshes").mkdir()
    write_mesh(there / "robot" / "meshes" / "arm.stl", 1.0)
    (there / "robot" / "meshes" / "secret.stl").write_text("of somebody else")
    packed = _packed(RobotSource("arm", "file:arm.urdf", urdf), tmp_path / "out")
    shutil.rmtree(there)

    with unpacked(packed) as (assignment, variables):
        reading, rules = _read(assignment)
        root = assignment.source.path.parents[2]

        assert variables == {}
        assert sorted(p.name for p in root.rglob("*.*")) == ["arm.stl", "arm.urdf"]
        assert len(reading.inputs) == 2
        assert "mesh-missing" not in rules
        assert not assignment.out.exists()
    assert not root.exists()


def test_packages_of_the_environment_are_packed(
    there: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the name in their manifest, in any folder."""
    package = there / "workspace" / "deep" / "folder_of_another_name"
    package.mkdir(parents=True)
    (package / "package.xml").write_text("<package><name>arm_meshes</name></package>")
    write_mesh(package / "arm.stl", 1.0)
    urdf = there / "elsewhere" / "arm.urdf"
    urdf.parent.mkdir()
    urdf.write_text(ROBOT.format(name="package://arm_meshes/arm"))
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(there / "workspace"))
    packed = _packed(RobotSource("arm", "file:arm.urdf", urdf), tmp_path / "out")
    shutil.rmtree(there)

    with unpacked(packed) as (assignment, variables):
        monkeypatch.setenv("ROS_PACKAGE_PATH", variables["ROS_PACKAGE_PATH"])
        reading, rules = _read(assignment)

    assert [file.sha256 for file in reading.inputs] == [file.sha256 for file in packed.source.files]
    assert rules == []


def test_named_packages_are_packed(there: Path, tmp_path: Path) -> None:
    """Those of the corpus and of the user, including empty ones."""
    meshes, empty = there / "meshes", there / "empty"
    meshes.mkdir()
    empty.mkdir()
    write_mesh(meshes / "arm.stl", 1.0)
    urdf = there / "arm.urdf"
    urdf.write_text(ROBOT.format(name="package://arm_meshes/arm"))
    source = RobotSource("arm", "file:arm.urdf", urdf, (("none", empty),))
    packages = (("arm_meshes", str(meshes)),)
    packed = _packed(source, tmp_path / "out", packages=packages)
    shutil.rmtree(there)

    with unpacked(packed) as (assignment, _):
        reading, _ = _read(assignment)

        assert len(reading.inputs) == 2
        assert assignment.source.packages[0][1].is_dir()


def test_symbolic_link_to_another_folder_is_packed(there: Path, tmp_path: Path) -> None:
    """The diagnostic about it is the same after unpacking."""
    (there / "package" / "urdf").mkdir(parents=True)
    (there / "package" / "package.xml").write_text("<package><name>p</name></package>")
    (there / "outside").mkdir()
    write_mesh(there / "outside" / "mesh.stl", 1.0)
    (there / "package" / "meshes").symlink_to(there / "outside")
    urdf = there / "package" / "urdf" / "arm.urdf"
    urdf.write_text(ROBOT.format(name="../meshes/mesh"))
    source = RobotSource("arm", "file:arm.urdf", urdf)
    packed = _packed(source, tmp_path / "out")
    _, message = _read(Assignment(source, tmp_path / "out", ConvertOptions(), ()))
    shutil.rmtree(there)

    with unpacked(packed) as (assignment, _):
        reading, rules = _read(assignment)

        assert len(reading.inputs) == 2
    assert rules == message
    assert any("outside" in rule for rule in message)


def test_unreadable_robot_is_not_packed(tmp_path: Path) -> None:
    """The files that it needs are unknown, so it is examined locally."""
    urdf = tmp_path / "bad.urdf"
    urdf.write_text("<robot/>")
    source = RobotSource("bad", "file:bad.urdf", urdf)

    assert pack(Assignment(source, tmp_path, ConvertOptions(), ())) is None


def test_received_results_replace_former_ones(tmp_path: Path) -> None:
    """Files that the new result lacks are removed; those of other robots are kept."""
    for name in ("assets/arm/old.usda", "assets/leg/leg.usda", "expanded/arm.urdf"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("former")
    files = (
        ("assets/arm/arm.usda", b"root"),
        ("assets/arm/payload/Physics.usda", b"joints"),
        ("expanded/arm.urdf", b"text"),
    )

    unpack_result(PackedResult(Unchanged(), files), tmp_path, "r2d2")

    found = {
        path.relative_to(tmp_path).as_posix(): path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert found == dict(files) | {"assets/leg/leg.usda": b"former"}
