"""Resolution of the files that a URDF refers to, and of ROS packages.

What the references in ``uris.txt`` lead to is stored there, see :mod:`tests.stored_cases`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.stored_cases import OPTIONS, Case, check_outcomes, stored_cases, write_files
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.converter.urdf.uris import FileResolver, Found

_STORED = Path(__file__).with_name("uris.txt")


def _shown(found: Found | None) -> str:
    if found is None:
        return "nothing"
    shown = [str(found.path), *(["outside"] if found.outside else [])]
    return ", ".join([*shown, *([f"read as {found.read_as}"] if found.read_as else [])])


def _outcome(case: Case, folder: Path) -> str:
    options = json.loads(case[OPTIONS].replace("FOLDER", str(folder)))
    urdf = write_files(case, folder)
    resolver = FileResolver(urdf, options.get("packages", {}), options.get("environment", {}))
    lines = [f"{uri!r}: {_shown(resolver.find(uri))}" for uri in options.get("find", ())]
    lines += [f"package {n!r}: {resolver.package(n)}" for n in options.get("package", ())]
    return "\n".join(lines).replace(f"{folder}{os.sep}", "").replace(str(folder), ".")


def test_references_are_resolved_as_stored(tmp_path: Path) -> None:
    check_outcomes(_STORED, _outcome, tmp_path)


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    """A workspace with two packages; the first one's folder has another name."""
    return write_files(next(iter(stored_cases(_STORED).values())), tmp_path)


def _find(urdf: Path, uri: str) -> Found | None:
    return FileResolver(urdf, {}, {}).find(uri)


def test_relative_urdf_gives_absolute_paths(urdf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(urdf.parent)

    assert _find(Path("arm.urdf"), "sibling.stl") == Found(urdf.parent / "sibling.stl")


def test_names_that_no_file_has_are_not_found(urdf: Path) -> None:
    assert _find(urdf, "x" * 5000) is None
    assert _find(urdf, "nul\0") is None


def test_symbolic_links_keep_their_name_and_are_followed_to_find_their_folder(urdf: Path) -> None:
    near, far = urdf.parent / "near.stl", urdf.parent / "far.stl"
    near.symlink_to(urdf.parent / "sibling.stl")
    far.symlink_to(urdf.parents[2] / "hand/meshes/palm.stl")

    assert _find(urdf, "./near.stl") == Found(near)
    assert _find(urdf, "far.stl") == Found(far, outside=True)


@pytest.mark.parametrize(
    ("mesh", "rule", "message"),
    [
        (r"local\part.stl", "file-reference", r"'local\\part.stl' is read as 'local/part.stl'"),
        ("/dev/zero", "mesh-missing", "'/dev/zero' is not found"),
        ("file:///dev/null", "mesh-missing", "'file:///dev/null' is not found"),
        ("HTTP://h/m.dae", "mesh-missing", "'HTTP://h/m.dae' is not downloaded"),
    ],
)
def test_unusual_references_are_reported(urdf: Path, mesh: str, rule: str, message: str) -> None:
    visual = f'<visual><geometry><mesh filename="{mesh}"/></geometry></visual>'
    urdf.write_text(f'<robot name="r"><link name="a">{visual}</link></robot>')

    found = [(d.rule, d.message) for d in parse(urdf).diagnostics]

    assert found == [(rule, f"{message} (used once)")]
