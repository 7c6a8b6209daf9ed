"""The source example-robot-data, with a wheel of three robots made here."""

from __future__ import annotations

from pathlib import Path

import pytest

from urdf_usd.corpus import (
    UnavailableError,
    UnavailableSource,
    resolve_corpora,
    resolve_robot,
)

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


def test_robot_is_found_by_the_stem_of_its_file(wheel: Path) -> None:
    """Its URIs name the distribution or the robot's folder as a package."""
    robot = resolve_robot("erd:panda")

    assert robot.path == wheel / "robots" / ROBOTS[0]
    assert robot.id == "erd--panda"
    assert dict(robot.packages)["example-robot-data"] == wheel
    assert dict(robot.packages)["panda_description"] == (wheel / "robots" / "panda_description")


def test_ambiguous_stems_are_extended_by_their_folder(wheel: Path) -> None:
    with pytest.raises(UnavailableError, match="erd:anymal_b_description/anymal or erd:anymal_c"):
        resolve_robot("erd:anymal")

    robot = resolve_robot("erd:anymal_c_description/anymal")

    assert robot.path == wheel / "robots" / ROBOTS[2]


@pytest.mark.usefixtures("wheel")
def test_whole_corpus_lists_every_file() -> None:
    assert [robot.id for robot in resolve_corpora(["erd"])] == [
        "erd--anymal_b_description--anymal",
        "erd--anymal_c_description--anymal",
        "erd--panda",
    ]


@pytest.mark.usefixtures("wheel")
def test_unknown_name_lists_similar_ones() -> None:
    with pytest.raises(UnavailableError, match="close to it: panda"):
        resolve_robot("erd:pand")


def test_missing_wheel_is_reported_with_the_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("urdf_usd.corpus.installed.DISTRIBUTION", "no-such-thing")

    (found,) = resolve_corpora(["erd"])

    assert isinstance(found, UnavailableSource)
    assert (found.id, found.reference) == ("erd", "erd")
    assert "pip install 'example-robot-data>=" in found.reason
