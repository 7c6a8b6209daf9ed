"""Selection of converters, and placeholders in their commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from urdf_usd.conformance.converters.candidates import (
    OURS,
    OWN,
    CandidateError,
    CommandConverter,
    ReadyUsds,
    RegisteredConverter,
    command_line,
    load_registered,
    parse_candidates,
    portable_text,
)
from urdf_usd.corpus.files import Format
from urdf_usd.installation import DISTRIBUTION

TEMPLATE = f"{sys.executable} tool.py {{urdf}} {{out}}"


def test_version_is_that_of_the_installed_distribution(tmp_path: Path) -> None:
    program, site = tmp_path / "bin" / "tool", tmp_path / "lib" / "python3" / "site-packages"
    for file, text in {
        program: "#!/bin/sh",
        site / "t-2.dist-info" / "METADATA": "Metadata-Version: 2.1\nName: t\nVersion: 2\n",
        site / "t-2.dist-info" / "entry_points.txt": "[console_scripts]\ntool = t:main\n",
    }.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    program.chmod(0o755)
    (found,) = parse_candidates((f"x={program} {{urdf}} {{out}}",))

    assert found.title == "t 2"


@pytest.mark.parametrize(
    ("command", "recipe"),
    [
        (TEMPLATE, f"{Path(sys.executable).name} tool.py {{urdf}} {{out}}"),
        ("python tool.py {urdf} {out}",) * 2,
        ("python ./tools/a.py {urdf} {out}", "python ./tools/a.py {urdf} {out}"),
        ("python /home/me/a.py {urdf} {out}", "python a.py {urdf} {out}"),
        (
            "python a.py --to=/home/me/b.toml {urdf} {out}",
            "python a.py --to=b.toml {urdf} {out}",
        ),
        ("python a.py '--note=two words' {urdf} {out}",) * 2,
    ],
)
def test_recipe_is_the_command_of_the_user(command: str, recipe: str) -> None:
    (found,) = parse_candidates((f"x={command}",))

    assert found.title == "x"
    assert found.recipe == recipe
    (again,) = parse_candidates((portable_text(found),))
    assert again.recipe == recipe


def test_ready_usds_and_stated_versions_are_titles(tmp_path: Path) -> None:
    command, ready = parse_candidates(
        (f"other={TEMPLATE}", f"made=folder:{tmp_path}"), {"other": "other 3"}
    )

    assert command.title == "other 3"
    assert ready == ReadyUsds("made", tmp_path)
    assert ready.recipe == f"folder:{tmp_path.name}"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (("../x=tool {urdf} {out}",), "is not NAME"),
        (("x=",), r"no \{urdf\}"),
        ((f"x={sys.executable} {{urdf}}",), r"no \{out\}"),
        ((f"x={TEMPLATE} {{file}}",), r"\{file\} is none of \{mjcf\}, \{out\}"),
        ((f"x={TEMPLATE} {{name}}",), r"\{name\} is none of"),
        ((f"x={TEMPLATE} [--package {{name}}",), "a bracket is not closed"),
        ((f"x={TEMPLATE} 'a",), "No closing quotation"),
        (("x=no-such-program {urdf} {out}",), "no program 'no-such-program'"),
        (("x=folder:no/such/folder",), "is not a folder"),
        (("unknown",), "no converter is called 'unknown'; there are .*urdf-usd"),
        ((f"urdf-usd={TEMPLATE}",), "our own converter"),
        ((f"x={TEMPLATE}", f"X={TEMPLATE}"), "two converters are called 'x'"),
    ],
)
def test_invalid_converters_are_rejected(texts: tuple[str, ...], message: str) -> None:
    with pytest.raises(CandidateError, match=message):
        parse_candidates(texts)


@pytest.mark.parametrize(
    ("words", "filled"),
    [
        (("{urdf}", "{out}"), [str(Path.cwd() / name) for name in ("a.urdf", "o")]),
        # Words in brackets are repeated for every package.
        (
            ("[--package", "{name}={path}]", "[-q]"),
            ["--package", "arm=/ros/arm", "--package", "hand=/other/checkout", "-q", "-q"],
        ),
        # A package whose folder has another name is given by its own folder.
        (("{packages}",), [os.pathsep.join(("/ros", "/other/checkout"))]),
        (('{"up": "z"}',), ['{"up": "z"}']),
    ],
)
def test_placeholders_are_filled_in(words: tuple[str, ...], filled: list[str]) -> None:
    packages = {"arm": "/ros/arm", "hand": "/other/checkout"}

    assert command_line(words, Path("a.urdf"), Path("o"), packages) == filled
    assert command_line(("tool", "[-q]"), Path("a.urdf"), Path("o"), {}) == ["tool"]


def test_default_converter_is_registered_like_others(tmp_path: Path) -> None:
    assert parse_candidates(()) == parse_candidates((OURS,)) == (OWN,)
    urdf = tmp_path / "one.urdf"
    urdf.write_text('<robot name="one"><link name="a"/></robot>')
    make = load_registered(OURS)
    assert callable(make)

    root_layer = make(str(urdf), str(tmp_path / "usd"), {})

    assert Path(root_layer) == tmp_path / "usd" / "one.usda"
    assert RegisteredConverter(OURS).title == OWN.title
    assert OWN.title.startswith(f"{DISTRIBUTION} ")


@pytest.mark.parametrize(
    ("input_name", "formats"),
    [
        ("urdf", {Format.URDF}),
        ("mjcf", {Format.MJCF}),
        ("source", {Format.URDF, Format.MJCF}),
    ],
)
def test_placeholder_of_the_file_states_the_formats(input_name: str, formats: set[Format]) -> None:
    (command,) = parse_candidates([f"mine={sys.executable} {{{input_name}}} {{out}}"])

    assert {one for one in Format if command.reads(one)} == formats
    assert isinstance(command, CommandConverter)
    line = command_line(command.words, Path("/a/robot.xml"), Path("/out"), {})
    assert line[1:] == ["/a/robot.xml", "/out"]
