"""Finding the files that a URDF refers to."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from converter.urdf.uris import resolve


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    """A workspace with two packages; the first one's folder has another name."""
    for file in (
        "ws/arm-main/package.xml",
        "ws/arm-main/urdf/arm.urdf",
        "ws/arm-main/urdf/beside.stl",
        "ws/arm-main/urdf/local/part.stl",
        "ws/arm-main/meshes/my link.stl",
        "ws/arm-main/meshes/50%25.stl",
        "ws/hand/meshes/palm.stl",
        "ws/hand/package.xml",
        "elsewhere/share/eye/lens.obj",
    ):
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("<package><name> arm </name></package>", encoding="utf-8")
    return tmp_path / "ws/arm-main/urdf/arm.urdf"


def _resolve(uri: str, urdf: Path, **options: dict[str, str]) -> str | None:
    """Path below the workspace's folder."""
    options.setdefault("packages", {})
    options.setdefault("environment", {})
    found = resolve(uri, urdf=urdf, **options)
    return found.relative_to(urdf.parents[3]).as_posix() if found else None


@pytest.mark.parametrize(
    ("uri", "file"),
    [
        ("beside.stl", "ws/arm-main/urdf/beside.stl"),
        ("../meshes/my link.stl", "ws/arm-main/meshes/my link.stl"),
        ("../meshes/my%20link.stl", "ws/arm-main/meshes/my link.stl"),
        ("..\\meshes\\my link.stl", "ws/arm-main/meshes/my link.stl"),
        ("../meshes/50%25.stl", "ws/arm-main/meshes/50%25.stl"),
        ("meshes/my link.stl", "ws/arm-main/meshes/my link.stl"),
        ("../../hand/meshes/palm.stl", "ws/hand/meshes/palm.stl"),
        ("package://arm/meshes/my link.stl", "ws/arm-main/meshes/my link.stl"),
        ("package://arm-main/urdf/beside.stl", "ws/arm-main/urdf/beside.stl"),
        ("package://hand/meshes/palm.stl", "ws/hand/meshes/palm.stl"),
        ("PACKAGE://hand//meshes/palm.stl", "ws/hand/meshes/palm.stl"),
        ("model://hand/meshes/palm.stl", "ws/hand/meshes/palm.stl"),
        ("package://local/part.stl", "ws/arm-main/urdf/local/part.stl"),
        ("file://beside.stl", "ws/arm-main/urdf/beside.stl"),
        ("file:beside.stl", "ws/arm-main/urdf/beside.stl"),
    ],
)
def test_references_are_found_where_repositories_keep_them(
    urdf: Path, uri: str, file: str
) -> None:
    """Packages beside and above the URDF, by folder or by manifest."""
    assert _resolve(uri, urdf) == file


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "no.stl",
        "/no/such.stl",
        "package://",
        "package:///",
        "package://arm",
        "package://hand/meshes/no.stl",
        "package://rm/meshes/my link.stl",
        "http://localhost/meshes/palm.stl",
        "../meshes",
        "C:\\robots\\palm.stl",
        "file:///C:/robots/palm.stl",
        "x" * 5000,
        "nul\0",
    ],
)
def test_what_is_not_there_is_none(urdf: Path, uri: str) -> None:
    """Folders, other machines' paths and half a package name are not files."""
    assert _resolve(uri, urdf) is None


@pytest.mark.parametrize("prefix", ["", "file://", "file://localhost", "file:"])
def test_absolute_paths_are_found(urdf: Path, prefix: str) -> None:
    """Percent-encoded in a URI."""
    file = urdf.parent.parent / "meshes/my link.stl"
    text = quote(str(file)) if prefix else str(file)

    assert _resolve(prefix + text, urdf) == "ws/arm-main/meshes/my link.stl"


def test_a_named_package_wins_and_is_final(urdf: Path) -> None:
    """Who names a folder means that folder."""
    packages = {"arm": str(urdf.parents[2] / "hand")}

    found = _resolve("package://arm/meshes/palm.stl", urdf, packages=packages)
    missing = _resolve("package://arm/meshes/my link.stl", urdf, packages=packages)

    assert (found, missing) == ("ws/hand/meshes/palm.stl", None)


@pytest.mark.parametrize(
    ("variable", "folder"),
    [
        ("ROS_PACKAGE_PATH", "elsewhere/share"),
        ("ROS_PACKAGE_PATH", "elsewhere/share/eye"),
        ("AMENT_PREFIX_PATH", "elsewhere"),
    ],
)
def test_the_variables_of_ros_are_followed(
    urdf: Path, variable: str, folder: str
) -> None:
    """A path of packages, a package itself, or an install prefix."""
    value = f":/nowhere:{urdf.parents[3] / folder}"

    found = _resolve("package://eye/lens.obj", urdf, environment={variable: value})

    assert found == "elsewhere/share/eye/lens.obj"


def test_a_package_that_says_it_is_another_is_not_searched(urdf: Path) -> None:
    """Its own link.stl is not the one of a package that is not here."""
    assert _resolve("package://leg/meshes/my link.stl", urdf) is None


def test_links_in_the_file_system_keep_their_name(urdf: Path) -> None:
    """Stores of build systems have names without suffix."""
    link = urdf.parent / "linked.stl"
    link.symlink_to(urdf.parent / "beside.stl")

    assert _resolve("./linked.stl", urdf) == "ws/arm-main/urdf/linked.stl"


def test_a_relative_urdf_gives_absolute_paths(
    urdf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The working folder may change later."""
    monkeypatch.chdir(urdf.parent)

    found = resolve("beside.stl", urdf=Path("arm.urdf"), packages={}, environment={})

    assert found == urdf.parent / "beside.stl"
