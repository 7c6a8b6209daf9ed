"""ROS packages in a folder."""

from __future__ import annotations

from pathlib import Path

from urdf_usd.corpus.packages import declared_license, first_of_each, ros_packages


def _package(folder: Path, manifest: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "package.xml").write_text(manifest)
    return folder


def test_a_package_is_named_by_its_manifest(tmp_path: Path) -> None:
    """A repository's folder often has another name than the package in it."""
    arm = _package(tmp_path / "Arm_ROS2", "<package><name> arm </name></package>")

    assert ros_packages(tmp_path) == (("arm", arm),)


def test_a_broken_manifest_counts_under_its_folders_name(tmp_path: Path) -> None:
    """The meshes are there all the same."""
    broken = _package(tmp_path / "broken", "<package><name>x")
    nameless = _package(tmp_path / "nameless", "<package/>")

    assert ros_packages(tmp_path) == (("broken", broken), ("nameless", nameless))


def test_hidden_folders_hold_no_packages(tmp_path: Path) -> None:
    """A .git folder may hold anything."""
    _package(tmp_path / ".git" / "arm", "<package><name>arm</name></package>")

    assert ros_packages(tmp_path) == ()


def test_of_two_packages_with_one_name_the_first_is_kept(tmp_path: Path) -> None:
    """Path order decides, so that two runs agree."""
    first = _package(tmp_path / "a", "<package><name>arm</name></package>")
    second = _package(tmp_path / "b", "<package><name>arm</name></package>")

    assert ros_packages(tmp_path) == (("arm", first),)
    assert first_of_each(("arm", second), ("arm", first)) == (("arm", second),)


def test_a_manifest_that_declares_entities_counts_under_its_folders_name(
    tmp_path: Path,
) -> None:
    """A few lines of them can stand for more text than there is memory."""
    document = (
        '<!DOCTYPE package [<!ENTITY n "arm">]><package><name>&n;</name></package>'
    )
    folder = _package(tmp_path / "odd", document)

    assert ros_packages(tmp_path) == (("odd", folder),)


def test_a_robot_has_the_licences_that_its_package_states(tmp_path: Path) -> None:
    """Those of the package alone, not of what it exports."""
    folder = _package(
        tmp_path / "arm",
        "<package><license> BSD\n 3 </license><license>MIT</license><license/>"
        "<export><license>none</license></export></package>",
    )

    assert declared_license(folder / "urdf" / "arm.urdf") == "BSD 3 AND MIT"
