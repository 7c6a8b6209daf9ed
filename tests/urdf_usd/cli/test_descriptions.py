"""Simulation settings files on the command line."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from lxml import html

from tests.converter.simulation.robots import write_description, write_urdf
from tests.urdf_usd.cli.command import urdf_usd


@pytest.fixture
def urdf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_urdf(tmp_path)


def test_init_writes_a_file_that_convert_accepts(urdf: Path) -> None:
    written = urdf_usd("init", urdf)

    assert (written.exit_code, written.stdout) == (0, "two.toml\n")
    assert urdf_usd("convert", urdf, "out", "--with", "two.toml").exit_code == 0
    assert Path("out/payload/Simulation.usda").exists()


def test_init_names_links_that_overlap_at_rest(urdf: Path) -> None:
    shape = '<collision><geometry><sphere radius="0.07"/></geometry></collision>'
    text = urdf.read_text(encoding="utf-8")
    wide = text.replace('<link name="finger">', f'<link name="finger">{shape}')
    urdf.write_text(wide, encoding="utf-8")

    assert urdf_usd("init", urdf, "robot.toml").exit_code == 0

    written = Path("robot.toml").read_text(encoding="utf-8")
    assert "overlap at rest" in written
    assert "finger and tool" in written
    assert "#overlap = true\n" in written


def test_page_of_a_check_has_the_options_that_change_results(urdf: Path) -> None:
    options = (
        *("--engine", "mujoco", "--base", "floating", "--inertia", "geometry"),
        *("--mass-density", "900", "--colliders", "tool=hull"),
        *("--colliders", "none", "--package", f"robot={urdf.parent}"),
    )
    assert urdf_usd("convert", urdf, "out").exit_code == 0
    (usd,) = Path("out").glob("*.usda")

    urdf_usd("check", urdf, usd, *options, "--html", "page.html", "--timeout", "100")

    page = html.fromstring(Path("page.html").read_text(encoding="utf-8"))
    commands = map(shlex.split, page.xpath("//pre/code/text()"))
    (command,) = (words for words in commands if words[:2] == ["urdf-usd", "check"])
    assert command[2:4] == [str(urdf), str(usd)]
    assert command[-2:] == ["--html", "robot.html"]
    words = command[4:-2]
    pairs = sorted(zip(words[::2], words[1::2], strict=True))
    assert pairs == sorted(zip(options[::2], options[1::2], strict=True))


@pytest.mark.parametrize("command", ["convert", "check"])
def test_invalid_description_is_reported_with_its_place(urdf: Path, command: str) -> None:
    file = write_description(urdf.parent, "[[joint]]\n")
    Path("out").mkdir()

    refused = urdf_usd(command, urdf, "out", "--with", file)

    assert refused.exit_code == 2
    assert f"{file}:1:1: error: 'joint': it is not known here" in refused.stderr
    assert list(Path().rglob("*.usda")) == []


def test_contradictory_profiles_are_refused(urdf: Path) -> None:
    words = ("convert", urdf, "out", "--with", write_description(urdf.parent, 'profile = "physx"'))
    refused = urdf_usd(*words, "--profile", "generic")

    assert refused.exit_code == 2
    assert "--profile generic contradicts" in refused.stderr
    assert urdf_usd(*words).exit_code == 0
    assert "PhysxJointAPI" in Path("out/payload/Physics.usda").read_text(encoding="utf-8")
