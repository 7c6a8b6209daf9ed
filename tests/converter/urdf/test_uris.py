"""Resolution of the files that a URDF refers to, and of ROS packages."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from urdf_usd.converter.urdf.parse import parse
from urdf_usd.converter.urdf.uris import FileResolver, Found, declared_name


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    """A workspace with two packages; the first one's folder has another name."""
    for file in (
        "ws/arm-main/package.xml",
        "ws/arm-main/urdf/arm.urdf",
        "ws/arm-main/urdf/sibling.stl",
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


def _around(
    urdf: Path,
    packages: dict[str, str] | None = None,
    environment: dict[str, str] | None = None,
) -> FileResolver:
    return FileResolver(urdf, packages or {}, environment or {})


_SIBLING = "arm-main/urdf/sibling.stl"
_LINK = "arm-main/meshes/my link.stl"
_PALM = "hand/meshes/palm.stl"


@pytest.mark.parametrize(
    ("uri", "file", "read_as"),
    [
        ("sibling.stl", _SIBLING, None),
        ("../meshes/my link.stl", _LINK, None),
        ("../meshes/my%20link.stl", _LINK, None),
        (" ../meshes/my%20link.stl\n", _LINK, None),
        ("..\\meshes\\my link.stl", _LINK, "../meshes/my link.stl"),
        ("../meshes/50%25.stl", "arm-main/meshes/50%25.stl", None),
        ("meshes/my link.stl", _LINK, None),
        ("package://arm/meshes/my link.stl", _LINK, None),
        ("package://arm-main/urdf/sibling.stl", _SIBLING, None),
        ("package://sibling.stl", _SIBLING, "sibling.stl"),
        ("package://hand/meshes/palm.stl", _PALM, None),
        ("PACKAGE://hand//meshes/palm.stl", _PALM, None),
        ("model://hand/meshes/palm.stl", _PALM, None),
        ("package://local/part.stl", "arm-main/urdf/local/part.stl", None),
        ("package:///hand/meshes/palm.stl", _PALM, "package://hand/meshes/palm.stl"),
        ("package:\\\\hand\\meshes\\palm.stl", _PALM, "package://hand/meshes/palm.stl"),
        ("file://sibling.stl", _SIBLING, None),
        ("file:sibling.stl", _SIBLING, None),
    ],
)
def test_references_are_resolved_in_common_repository_layouts(
    urdf: Path, uri: str, file: str, read_as: str | None
) -> None:
    assert _around(urdf).find(uri) == Found(urdf.parents[2] / file, read_as=read_as)


@pytest.mark.parametrize(
    ("uri", "file"),
    [
        ("SIBLING.STL", _SIBLING),
        ("../Meshes/My Link.stl", _LINK),
        ("package://ARM-main/Meshes/my link.stl", _LINK),
        ("package://hand/MESHES/Palm.Stl", _PALM),
    ],
)
def test_other_letter_case_is_marked(urdf: Path, uri: str, file: str) -> None:
    assert _around(urdf).find(uri) == Found(urdf.parents[2] / file, other_case=True)


@pytest.mark.parametrize(
    ("uri", "file"),
    [
        ("../../hand/meshes/palm.stl", "ws/hand/meshes/palm.stl"),
        ("package://arm/../hand/meshes/palm.stl", "ws/hand/meshes/palm.stl"),
        ("../../../elsewhere/share/eye/lens.obj", "elsewhere/share/eye/lens.obj"),
    ],
)
def test_files_outside_the_package_are_marked(urdf: Path, uri: str, file: str) -> None:
    assert _around(urdf).find(uri) == Found(urdf.parents[3] / file, outside=True)


@pytest.mark.parametrize(
    "uri",
    [
        *("", "no.stl", "/no/such.stl", "../meshes", "x" * 5000, "nul\0"),
        *("package://", "package:///", "package://arm", "package://hand/meshes/no.stl"),
        # A prefix of a package's name, and a folder with the manifest of another package.
        *("package://rm/meshes/my link.stl", "package://leg/meshes/my link.stl"),
        # Paths of other machines.
        *("http://localhost/meshes/palm.stl", "C:\\palm.stl", "file:///C:/palm.stl"),
    ],
)
def test_unresolvable_references_are_none(urdf: Path, uri: str) -> None:
    assert _around(urdf).find(uri) is None


@pytest.mark.parametrize("prefix", ["", "file://", "file://localhost", "file:"])
def test_absolute_paths_are_resolved(urdf: Path, prefix: str) -> None:
    # Percent-encoded in a URI; elsewhere, they are outside.
    file, lens = urdf.parents[2] / _LINK, urdf.parents[3] / "elsewhere/share/eye/lens.obj"

    assert _around(urdf).find(prefix + (quote(str(file)) if prefix else str(file))) == Found(file)
    assert _around(urdf).find(f"{prefix}{lens}") == Found(lens, outside=True)


def test_relative_urdf_gives_absolute_paths(urdf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(urdf.parent)

    assert _around(Path("arm.urdf")).find("sibling.stl") == Found(urdf.parent / "sibling.stl")


def test_exact_name_has_priority_over_other_letter_case(urdf: Path) -> None:
    (urdf.parent / "PART.stl").touch()
    exact = urdf.parents[1] / "part.stl"
    exact.touch()

    assert _around(urdf).find("part.stl") == Found(exact)


def test_two_names_that_differ_in_letter_case_are_ambiguous(urdf: Path) -> None:
    for name in ("Two.stl", "tWo.stl"):
        (urdf.parent / name).touch()

    assert _around(urdf).find("two.stl") is None


def test_symbolic_links_keep_their_name_and_are_followed_to_find_their_folder(urdf: Path) -> None:
    near, far = urdf.parent / "near.stl", urdf.parent / "far.stl"
    near.symlink_to(urdf.parent / "sibling.stl")
    far.symlink_to(urdf.parents[2] / _PALM)

    assert _around(urdf).find("./near.stl") == Found(near)
    assert _around(urdf).find("far.stl") == Found(far, outside=True)


def test_sibling_folder_without_manifest_is_outside(urdf: Path) -> None:
    (urdf.parents[2] / "hand/package.xml").unlink()
    found = _around(urdf).find("package://hand/meshes/palm.stl")

    assert found == Found(urdf.parents[2] / _PALM, outside=True)


def test_files_of_the_same_repository_are_inside(urdf: Path) -> None:
    (urdf.parents[2] / ".git").mkdir()

    assert _around(urdf).find("../../hand/meshes/palm.stl") == Found(urdf.parents[2] / _PALM)


def test_parent_folder_is_inside_without_package_or_repository(tmp_path: Path) -> None:
    for file in ("bot/urdf/bot.urdf", "bot/meshes/a.stl", "b.stl"):
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    resolver = _around(tmp_path / "bot/urdf/bot.urdf")

    assert resolver.find("../meshes/a.stl") == Found(tmp_path / "bot/meshes/a.stl")
    assert resolver.find("../../b.stl") == Found(tmp_path / "b.stl", outside=True)


# ---- Packages


def test_named_package_has_priority_and_is_not_searched_elsewhere(urdf: Path) -> None:
    hand = urdf.parents[2] / "hand"
    resolver = _around(urdf, packages={"arm": str(hand)})

    assert resolver.find("package://arm/meshes/palm.stl") == Found(urdf.parents[2] / _PALM)
    assert resolver.find("package://arm/meshes/my link.stl") is None
    assert resolver.package("arm") == hand
    assert _around(urdf, packages={"arm": "/no/such"}).package("arm") is None


@pytest.mark.parametrize(
    ("variable", "folder"),
    [
        ("ROS_PACKAGE_PATH", "elsewhere/share"),
        ("ROS_PACKAGE_PATH", "elsewhere/share/eye"),
        ("AMENT_PREFIX_PATH", "elsewhere"),
    ],
)
def test_ros_environment_variables_are_used(urdf: Path, variable: str, folder: str) -> None:
    value = f":/nowhere:{urdf.parents[3] / folder}"
    found = _around(urdf, environment={variable: value}).find("package://eye/lens.obj")

    assert found == Found(urdf.parents[3] / "elsewhere/share/eye/lens.obj")


def test_workspace_is_searched_like_in_ros(urdf: Path) -> None:
    workspace = urdf.parents[3] / "src"
    for name, folder in (
        ("deep", "stack/group/deep_folder"),
        ("inner", "stack/group/deep_folder/inner"),
        ("ignored", "old/ignored"),
        ("hidden", ".cache/hidden"),
    ):
        path = workspace / folder
        path.mkdir(parents=True)
        (path / "package.xml").write_text(f"<package><name>{name}</name></package>")
        (path / "part.stl").touch()
    (workspace / "old/COLCON_IGNORE").touch()
    resolver = _around(urdf, environment={"ROS_PACKAGE_PATH": str(workspace)})

    found = resolver.find("package://deep/part.stl")
    assert found == Found(workspace / "stack/group/deep_folder/part.stl")
    for name in ("inner", "ignored", "hidden"):
        assert resolver.find(f"package://{name}/part.stl") is None


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("arm", "ws/arm-main"),
        ("arm-main", "ws/arm-main"),
        ("hand", "ws/hand"),
        ("local", "ws/arm-main/urdf/local"),
        ("eye", None),
        ("", None),
    ],
)
def test_packages_are_found_for_find_expressions(urdf: Path, name: str, folder: str | None) -> None:
    # ``$(find NAME)`` of xacro.
    assert _around(urdf).package(name) == (urdf.parents[3] / folder if folder else None)


@pytest.mark.parametrize(
    ("manifest", "name"),
    [
        ("<package><name> arm\n</name></package>", "arm"),
        ("<package><!-- <name>old</name> --><name>arm</name></package>", "arm"),
        ("<package><export><name>x</name></export><name>arm</name></package>", "arm"),
        ("<package><name a='1'>arm</name><name>hand</name></package>", "arm"),
        ("<package><name>a&amp;b</name></package>", "a&b"),
        ("<package><name/></package>", None),
        ("<package><name>arm</name>", None),
        ('<!DOCTYPE p [<!ENTITY e "arm">]><package><name>&e;</name></package>', None),
        ("", None),
        (None, None),
    ],
)
def test_name_is_that_of_the_package_element(
    tmp_path: Path, manifest: str | None, name: str | None
) -> None:
    if manifest is not None:
        (tmp_path / "package.xml").write_text(manifest)

    assert declared_name(tmp_path) == name


# ---- Diagnostics


@pytest.mark.parametrize(
    ("mesh", "rule", "message"),
    [
        ("Sibling.STL", "file-letter-case", "'Sibling.STL' is found as 'sibling.stl'"),
        (r"local\part.stl", "file-reference", r"'local\\part.stl' is read as 'local/part.stl'"),
        (
            "package://arm/../hand/meshes/palm.stl",
            "file-outside",
            "'package://arm/../hand/meshes/palm.stl' is outside the robot's own folders",
        ),
        # Reading them could be endless.
        ("/dev/zero", "mesh-missing", "'/dev/zero' is not found"),
        ("file:///dev/null", "mesh-missing", "'file:///dev/null' is not found"),
        ("/proc", "mesh-missing", "'/proc' is not found"),
        # A user does not search for a file.
        ("https://h/m.stl", "mesh-missing", "'https://h/m.stl' is not downloaded"),
        ("HTTP://h/m.dae", "mesh-missing", "'HTTP://h/m.dae' is not downloaded"),
    ],
)
def test_unusual_references_are_reported(urdf: Path, mesh: str, rule: str, message: str) -> None:
    urdf.write_text(
        '<robot name="r"><link name="a"><visual><geometry>'
        f'<mesh filename="{mesh}"/></geometry></visual></link></robot>'
    )

    found = [(d.rule, d.message) for d in parse(urdf).diagnostics]

    assert found == [(rule, f"{message} (used once)")]
