"""Robot description files on the command line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from lxml import html

from tests.converter.simulation.robots import write_description, write_urdf
from urdf_usd.cli.main import main


def _urdf_usd(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_init_writes_a_file_that_convert_accepts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named after the robot, in the working folder; its path is on stdout."""
    monkeypatch.chdir(tmp_path)
    urdf = write_urdf(tmp_path)

    written = _urdf_usd("init", urdf)

    assert written.exit_code == 0
    assert written.stdout == "two.toml\n"
    done = _urdf_usd("convert", urdf, tmp_path / "out", "--with", "two.toml")
    assert done.exit_code == 0
    assert (tmp_path / "out/payload/Simulation.usda").exists()


def test_init_names_links_that_overlap_at_rest(tmp_path: Path) -> None:
    """A finger of 70 mm at a distance of 100 mm from the tool, of 50 mm.

    They collide until the filter, a comment, is put into force.
    """
    urdf = write_urdf(tmp_path)
    shape = '<collision><geometry><sphere radius="0.07"/></geometry></collision>'
    text = urdf.read_text(encoding="utf-8")
    wide = text.replace('<link name="finger">', f'<link name="finger">{shape}')
    urdf.write_text(wide, encoding="utf-8")
    file = tmp_path / "robot.toml"

    assert _urdf_usd("init", urdf, file).exit_code == 0

    written = file.read_text(encoding="utf-8")
    assert "# Recommended for this robot" in written
    assert "#overlap = true\n" in written
    words = written.replace("\n#   ", " ")
    assert "filters.overlap stops their collisions: finger and tool.\n" in words
    assert "do not collide: finger" not in words


def test_page_of_a_check_has_the_options_that_change_results(tmp_path: Path) -> None:
    """With the options of ``check``, in its order; not those of files and limits."""
    urdf = write_urdf(tmp_path)
    options = (
        *("--engine", "mujoco", "--base", "floating", "--inertia", "geometry"),
        *("--mass-density", "900.0", "--colliders", "tool=hull"),
        *("--colliders", "none", "--package", f"robot={tmp_path}"),
    )
    out, page = tmp_path / "out", tmp_path / "page.html"
    assert _urdf_usd("convert", urdf, out).exit_code == 0
    (usd,) = out.glob("*.usda")

    _urdf_usd("check", urdf, usd, *options, "--html", page, "--timeout", "100")

    written = html.fromstring(page.read_text(encoding="utf-8"))
    (command,) = (
        shlex.split(text)
        for text in written.xpath("//pre/code/text()")
        if text.startswith("urdf-usd check")
    )
    assert command[:4] == ["urdf-usd", "check", str(urdf), str(usd)]
    assert command[-2:] == ["--html", "robot.html"]
    words = command[4:-2]
    pairs = sorted(zip(words[::2], words[1::2], strict=True))
    assert pairs == sorted(zip(options[::2], options[1::2], strict=True))


@pytest.mark.parametrize("command", ["convert", "check"])
def test_invalid_description_is_reported_with_its_place(tmp_path: Path, command: str) -> None:
    urdf = write_urdf(tmp_path)
    file = write_description(tmp_path, "[[joint]]\n")
    target = tmp_path / "out"
    if command == "check":
        target.mkdir()

    refused = _urdf_usd(command, urdf, target, "--with", file)

    assert refused.exit_code == 2
    assert f"{file}:1:1: error: 'joint' is not known here" in refused.stderr
    assert list(tmp_path.rglob("*.usda")) == []


def test_contradictory_profiles_are_refused(tmp_path: Path) -> None:
    """The profile of the file counts if there is no option."""
    urdf = write_urdf(tmp_path)
    file = write_description(tmp_path, 'profile = "physx"')

    refused = _urdf_usd("convert", urdf, tmp_path / "out", "--with", file, "--profile", "generic")
    done = _urdf_usd("convert", urdf, tmp_path / "out", "--with", file)

    assert refused.exit_code == 2
    assert "--profile generic contradicts" in refused.stderr
    assert done.exit_code == 0
    physics = (tmp_path / "out/payload/Physics.usda").read_text(encoding="utf-8")
    assert "PhysxJointAPI" in physics


def test_schema_of_descriptions_is_printed() -> None:
    printed = _urdf_usd("doctor", "--schema", "description")

    schema = json.loads(printed.stdout)
    assert set(schema["$defs"]["DescriptionTable"]["properties"]) == {
        *("base", "colliders", "filters", "inertia", "joints", "links", "pose"),
        *("profile", "self_collision", "sources"),
    }
