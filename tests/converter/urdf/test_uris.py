"""Resolution of the files that a URDF refers to."""

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


def _resolve(uri: str, urdf: Path, **options: dict[str, str]) -> str | None:
    """Return the resolved path relative to the workspace's folder."""
    found = _find(uri, urdf, **options)
    return found.path.relative_to(urdf.parents[3]).as_posix() if found else None


def _find(uri: str, urdf: Path, **options: dict[str, str]) -> Found | None:
    return _around(urdf, **options).find(uri)


def _around(urdf: Path, **options: dict[str, str]) -> FileResolver:
    options.setdefault("packages", {})
    options.setdefault("environment", {})
    return FileResolver(urdf, **options)


@pytest.mark.parametrize(
    ("uri", "file"),
    [
        ("sibling.stl", "ws/arm-main/urdf/sibling.stl"),
        ("../meshes/my link.stl", "ws/arm-main/meshes/my link.stl"),
        ("../meshes/my%20link.stl", "ws/arm-main/meshes/my link.stl"),
        ("..\\meshes\\my link.stl", "ws/arm-main/meshes/my link.stl"),
        ("../meshes/50%25.stl", "ws/arm-main/meshes/50%25.stl"),
        ("meshes/my link.stl", "ws/arm-main/meshes/my link.stl"),
        ("../../hand/meshes/palm.stl", "ws/hand/meshes/palm.stl"),
        ("package://arm/meshes/my link.stl", "ws/arm-main/meshes/my link.stl"),
        ("package://arm-main/urdf/sibling.stl", "ws/arm-main/urdf/sibling.stl"),
        ("package://hand/meshes/palm.stl", "ws/hand/meshes/palm.stl"),
        ("PACKAGE://hand//meshes/palm.stl", "ws/hand/meshes/palm.stl"),
        ("model://hand/meshes/palm.stl", "ws/hand/meshes/palm.stl"),
        ("package://local/part.stl", "ws/arm-main/urdf/local/part.stl"),
        ("package:///hand/meshes/palm.stl", "ws/hand/meshes/palm.stl"),
        ("package:\\\\hand\\meshes\\palm.stl", "ws/hand/meshes/palm.stl"),
        ("file://sibling.stl", "ws/arm-main/urdf/sibling.stl"),
        ("file:sibling.stl", "ws/arm-main/urdf/sibling.stl"),
    ],
)
def test_references_are_resolved_in_common_repository_layouts(
    urdf: Path, uri: str, file: str
) -> None:
    """Packages in the folder of the URDF and above, by folder or by manifest."""
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
def test_unresolvable_references_are_none(urdf: Path, uri: str) -> None:
    """Folders, paths of other machines, and prefixes of package names."""
    assert _resolve(uri, urdf) is None


@pytest.mark.parametrize("prefix", ["", "file://", "file://localhost", "file:"])
def test_absolute_paths_are_resolved(urdf: Path, prefix: str) -> None:
    """Percent-encoded in a URI."""
    file = urdf.parent.parent / "meshes/my link.stl"
    text = quote(str(file)) if prefix else str(file)

    assert _resolve(prefix + text, urdf) == "ws/arm-main/meshes/my link.stl"


def test_named_package_has_priority_and_is_not_searched_elsewhere(urdf: Path) -> None:
    """The user named this folder."""
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
def test_ros_environment_variables_are_used(urdf: Path, variable: str, folder: str) -> None:
    """A list of packages, a package itself, or an install prefix."""
    value = f":/nowhere:{urdf.parents[3] / folder}"

    found = _resolve("package://eye/lens.obj", urdf, environment={variable: value})

    assert found == "elsewhere/share/eye/lens.obj"


def test_folder_with_another_packages_manifest_is_not_searched(
    urdf: Path,
) -> None:
    """Its link.stl is not that of the missing package."""
    assert _resolve("package://leg/meshes/my link.stl", urdf) is None


def test_symbolic_links_keep_their_name(urdf: Path) -> None:
    """Targets in stores of build systems have no suffix."""
    link = urdf.parent / "linked.stl"
    link.symlink_to(urdf.parent / "sibling.stl")

    assert _resolve("./linked.stl", urdf) == "ws/arm-main/urdf/linked.stl"


def test_relative_urdf_gives_absolute_paths(urdf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working folder may change later."""
    monkeypatch.chdir(urdf.parent)

    found = _find("sibling.stl", Path("arm.urdf"))

    assert found
    assert found.path == urdf.parent / "sibling.stl"
    assert not found.outside


@pytest.mark.parametrize(
    ("uri", "file"),
    [
        ("SIBLING.STL", "ws/arm-main/urdf/sibling.stl"),
        ("../Meshes/My Link.stl", "ws/arm-main/meshes/my link.stl"),
        ("package://ARM-main/Meshes/my link.stl", "ws/arm-main/meshes/my link.stl"),
        ("package://hand/MESHES/Palm.Stl", "ws/hand/meshes/palm.stl"),
    ],
)
def test_other_letter_case_is_a_warning(urdf: Path, uri: str, file: str) -> None:
    """Windows and macOS ignore case, so authors do not see the difference."""
    found = _find(uri, urdf)

    assert found
    assert found.other_case
    assert found.path.relative_to(urdf.parents[3]).as_posix() == file


def test_exact_name_has_priority_over_other_letter_case(urdf: Path) -> None:
    """Also if the other file is found first."""
    (urdf.parent / "PART.stl").touch()
    exact = urdf.parents[1] / "part.stl"
    exact.touch()

    found = _find("part.stl", urdf)

    assert found == Found(exact)


def test_two_names_that_differ_in_letter_case_are_ambiguous(urdf: Path) -> None:
    """No file is chosen."""
    for name in ("Two.stl", "tWo.stl"):
        (urdf.parent / name).touch()

    assert _find("two.stl", urdf) is None


@pytest.mark.parametrize(
    ("uri", "outside"),
    [
        ("sibling.stl", False),
        ("../meshes/my link.stl", False),
        ("package://arm/meshes/my link.stl", False),
        ("../../hand/meshes/palm.stl", True),
        ("package://hand/meshes/palm.stl", False),
        ("package://local/part.stl", False),
        ("package://arm/../hand/meshes/palm.stl", True),
        ("../../../elsewhere/share/eye/lens.obj", True),
    ],
)
def test_files_outside_the_package_are_marked(urdf: Path, uri: str, *, outside: bool) -> None:
    """They are used, with a warning."""
    found = _find(uri, urdf)

    assert found
    assert found.outside is outside


def test_sibling_folder_without_manifest_is_outside(urdf: Path) -> None:
    """Although ``package://`` is written in front of its name."""
    (urdf.parents[2] / "hand/package.xml").unlink()

    found = _find("package://hand/meshes/palm.stl", urdf)

    assert found
    assert found.outside


def test_absolute_paths_to_other_folders_are_outside(urdf: Path) -> None:
    """A URDF may name any file of the machine."""
    lens = urdf.parents[3] / "elsewhere/share/eye/lens.obj"

    inside = _find(str(urdf.parent / "sibling.stl"), urdf)

    assert _find(str(lens), urdf) == Found(lens, outside=True)
    assert inside
    assert not inside.outside


def test_symbolic_link_to_another_folder_is_outside(urdf: Path) -> None:
    """Independent of the folder of the link."""
    link = urdf.parent / "link.stl"
    link.symlink_to(urdf.parents[2] / "hand/meshes/palm.stl")

    assert _find("link.stl", urdf) == Found(link, outside=True)


def test_named_packages_are_inside(urdf: Path) -> None:
    """Also those of the ROS environment."""
    folder = urdf.parents[2] / "hand"
    variable = {"AMENT_PREFIX_PATH": str(urdf.parents[3] / "elsewhere")}
    uri = "package://hand/meshes/palm.stl"

    named = _find(uri, urdf, packages={"hand": str(folder)})
    installed = _find("package://eye/lens.obj", urdf, environment=variable)

    assert named
    assert not named.outside
    assert installed
    assert not installed.outside


def test_files_of_the_same_repository_are_inside(urdf: Path) -> None:
    """Its packages belong together."""
    (urdf.parents[2] / ".git").mkdir()

    found = _find("../../hand/meshes/palm.stl", urdf)

    assert found
    assert not found.outside


def test_parent_folder_is_inside_without_package_or_repository(
    tmp_path: Path,
) -> None:
    """Robots are distributed as a folder with urdf/ and meshes/."""
    for file in ("bot/urdf/bot.urdf", "bot/meshes/a.stl", "b.stl"):
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    urdf = tmp_path / "bot/urdf/bot.urdf"

    near, far = _find("../meshes/a.stl", urdf), _find("../../b.stl", urdf)

    assert near
    assert far
    assert (near.outside, far.outside) == (False, True)


def test_workspace_is_searched_like_in_ros(urdf: Path) -> None:
    """Packages are at any depth, but not inside packages or ignored folders."""
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
    environment = {"ROS_PACKAGE_PATH": str(workspace)}

    found = {
        name: _resolve(f"package://{name}/part.stl", urdf, environment=environment)
        for name in ("deep", "inner", "ignored", "hidden")
    }

    assert found == {
        "deep": "src/stack/group/deep_folder/part.stl",
        "inner": None,
        "ignored": None,
        "hidden": None,
    }


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
    """``$(find NAME)`` of xacro."""
    found = _around(urdf).package(name)

    assert found == (urdf.parents[3] / folder if folder else None)


def test_missing_named_package_is_not_searched_elsewhere(urdf: Path) -> None:
    """As for its files."""
    eye = urdf.parents[3] / "elsewhere/share/eye"

    assert _around(urdf, packages={"arm": str(eye)}).package("arm") == eye
    assert _around(urdf, packages={"arm": "/no/such"}).package("arm") is None


@pytest.mark.parametrize(
    ("uri", "read_as"),
    [
        ("..\\meshes\\my link.stl", "../meshes/my link.stl"),
        ("package:///hand/meshes/palm.stl", "package://hand/meshes/palm.stl"),
        ("package://sibling.stl", "sibling.stl"),
        (" ../meshes/my%20link.stl\n", None),
    ],
)
def test_malformed_reference_gives_its_interpretation(
    urdf: Path, uri: str, read_as: str | None
) -> None:
    """Surrounding blanks and percent-encoding are accepted."""
    found = _find(uri, urdf)

    assert found
    assert found.read_as == read_as


def _rules_for(urdf: Path, mesh: str) -> dict[str, str]:
    urdf.write_text(
        '<robot name="r"><link name="a"><visual><geometry>'
        f'<mesh filename="{mesh}"/></geometry></visual></link></robot>'
    )
    return {found.rule: found.message for found in parse(urdf).diagnostics}


def test_file_in_other_letter_case_is_used_with_a_warning(urdf: Path) -> None:
    """The rule is ``file-letter-case``."""
    found = _rules_for(urdf, "Sibling.STL")

    assert found == {"file-letter-case": "'Sibling.STL' is found as 'sibling.stl' (used once)"}


def test_malformed_reference_is_used_with_a_warning(urdf: Path) -> None:
    """The rule is ``file-reference``."""
    found = _rules_for(urdf, "local\\part.stl")

    assert found == {"file-reference": r"'local\\part.stl' is read as 'local/part.stl' (used once)"}


def test_file_outside_the_package_is_used_with_a_warning(urdf: Path) -> None:
    """The rule is ``file-outside``."""
    found = _rules_for(urdf, "package://arm/../hand/meshes/palm.stl")

    assert found == {
        "file-outside": "'package://arm/../hand/meshes/palm.stl' is outside the "
        "robot's own folders (used once)"
    }


@pytest.mark.parametrize(
    "mesh", ["/dev/zero", "/proc", "../../../../../../dev/stdin", "file:///dev/null"]
)
def test_devices_and_folders_are_not_files(urdf: Path, mesh: str) -> None:
    """Reading them could be endless."""
    assert list(_rules_for(urdf, mesh)) == ["mesh-missing"]


@pytest.mark.parametrize("mesh", ["https://example.org/m.stl", "HTTP://h/m.dae"])
def test_urls_are_not_downloaded(urdf: Path, mesh: str) -> None:
    """The message says so: a user does not search for a file."""
    assert _rules_for(urdf, mesh) == {"mesh-missing": f"{mesh!r} is not downloaded (used once)"}


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
    ],
)
def test_name_is_that_of_the_package_element(
    tmp_path: Path, manifest: str, name: str | None
) -> None:
    (tmp_path / "package.xml").write_text(manifest)

    assert declared_name(tmp_path) == name


def test_folder_without_manifest_has_no_declared_name(tmp_path: Path) -> None:
    assert declared_name(tmp_path) is None
