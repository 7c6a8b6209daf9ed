"""ROS packages in a folder."""

from __future__ import annotations

from pathlib import Path

from urdf_usd.corpus.files import declared_license, first_of_each, ros_packages


def _package(folder: Path, manifest: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "package.xml").write_text(manifest)
    return folder


def test_package_is_named_by_its_manifest(tmp_path: Path) -> None:
    arm = _package(tmp_path / "Arm_ROS2", "<package><name> arm </name></package>")

    assert ros_packages(tmp_path) == (("arm", arm),)


def test_package_with_malformed_manifest_is_named_after_folder(
    tmp_path: Path,
) -> None:
    broken = _package(tmp_path / "broken", "<package><name>x")
    nameless = _package(tmp_path / "nameless", "<package/>")

    assert ros_packages(tmp_path) == (("broken", broken), ("nameless", nameless))


def test_hidden_folders_contain_no_packages(tmp_path: Path) -> None:
    _package(tmp_path / ".git" / "arm", "<package><name>arm</name></package>")

    assert ros_packages(tmp_path) == ()


def test_first_of_two_packages_with_the_same_name_is_used(tmp_path: Path) -> None:
    first = _package(tmp_path / "a", "<package><name>arm</name></package>")
    second = _package(tmp_path / "b", "<package><name>arm</name></package>")

    assert ros_packages(tmp_path) == (("arm", first),)
    assert first_of_each(("arm", second), ("arm", first)) == (("arm", second),)


def test_package_whose_manifest_has_entities_is_named_after_folder(
    tmp_path: Path,
) -> None:
    document = '<!DOCTYPE package [<!ENTITY n "arm">]><package><name>&n;</name></package>'
    folder = _package(tmp_path / "odd", document)

    assert ros_packages(tmp_path) == (("odd", folder),)


def test_licences_of_a_robot_are_those_of_its_package(tmp_path: Path) -> None:
    folder = _package(
        tmp_path / "arm",
        "<package><license> BSD\n 3 </license><license>MIT</license><license/>"
        "<export><license>none</license></export></package>",
    )

    assert declared_license(folder / "urdf" / "arm.urdf") == "BSD 3 AND MIT"
