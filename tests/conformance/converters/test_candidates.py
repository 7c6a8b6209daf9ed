"""Which converters are meant, and how commands are filled in."""

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
    registered_names,
)
from urdf_usd.conformance.records.environment import DISTRIBUTION

TEMPLATE = f"{sys.executable} tool.py {{urdf}} {{out}}"


def test_default_converter_is_ours() -> None:
    """As ever."""
    assert parse_candidates(()) == (OWN,)
    assert parse_candidates((OURS,)) == (OWN,)
    assert OWN.title.startswith(f"{DISTRIBUTION} ")


def test_command_is_resolved_and_split() -> None:
    """The program by its path, words as a shell would split them."""
    (found,) = parse_candidates((f"other={TEMPLATE} '--note=two words'",))

    assert isinstance(found, CommandConverter)
    assert found.name == "other"
    assert Path(found.words[0]).is_absolute()
    assert found.words[1:] == ("tool.py", "{urdf}", "{out}", "--note=two words")


def test_recipes_hold_no_path_of_this_machine(tmp_path: Path) -> None:
    """Names of programs and folders alone."""
    command, ready = parse_candidates(
        (f"other={TEMPLATE}", f"made=folder:{tmp_path}"), {"other": "other 3"}
    )

    assert command.recipe == f"{Path(sys.executable).name} tool.py {{urdf}} {{out}}"
    assert command.title == "other 3"
    assert ready == ReadyUsds("made", tmp_path)
    assert ready.recipe == f"folder:{tmp_path.name}"


def test_version_is_that_of_the_distribution_that_brought_the_program() -> None:
    """It knows best; programs rarely say."""
    program = Path(sys.executable).with_name("pytest")
    (found,) = parse_candidates((f"x={program} {{urdf}} {{out}}",))

    assert found.title == f"pytest {pytest.__version__}"


def test_version_is_what_a_program_says_otherwise(tmp_path: Path) -> None:
    """The first line of what it answers."""
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n[ $1 = --version ] && echo && echo 'tool 2.5'\n")
    tool.chmod(0o755)
    (found,) = parse_candidates((f"x={tool} {{urdf}} {{out}}",))

    assert found.title == "tool 2.5"


def test_program_that_does_not_know_its_version_is_called_by_name(
    tmp_path: Path,
) -> None:
    """Rather than by its complaint."""
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho 'unknown option'\nexit 2\n")
    tool.chmod(0o755)
    (found,) = parse_candidates((f"x={tool} {{urdf}} {{out}}",))

    assert found.title == "tool"


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (("../x=tool {urdf} {out}",), "is not NAME"),
        (("x=",), r"no \{urdf\}"),
        ((f"x={sys.executable} {{urdf}}",), r"no \{out\}"),
        ((f"x={TEMPLATE} {{file}}",), r"\{file\} is none of \{out\}"),
        ((f"x={TEMPLATE} {{name}}",), r"\{name\} is none of"),
        ((f"x={TEMPLATE} [--package {{name}}",), "a bracket is not closed"),
        ((f"x={TEMPLATE} 'a",), "No closing quotation"),
        (("x=no-such-program {urdf} {out}",), "no program 'no-such-program'"),
        (("x=folder:no/such/folder",), "is not a folder"),
        (("nobody",), "no converter is called 'nobody'; there are .*urdf-usd"),
        ((f"urdf-usd={TEMPLATE}",), "our own converter"),
        ((f"x={TEMPLATE}", f"X={TEMPLATE}"), "two converters are called 'x'"),
    ],
)
def test_invalid_converters_are_rejected(texts: tuple[str, ...], said: str) -> None:
    """Before anything is converted."""
    with pytest.raises(CandidateError, match=said):
        parse_candidates(texts)


def test_a_version_belongs_to_a_command() -> None:
    """A typing error in its name would go unseen."""
    with pytest.raises(CandidateError, match="'othr', which is no command"):
        parse_candidates((f"other={TEMPLATE}",), {"othr": "1"})


def test_words_in_brackets_are_repeated_for_every_package() -> None:
    """None for none."""
    words = ("tool", "{urdf}", "{out}", "[--package", "{name}={path}]", "[-q]")
    packages = {"arm": "/ros/arm", "hand": "/ros/other"}

    def filled(packages: dict[str, str]) -> list[str]:
        return command_line(words, Path("/a.urdf"), Path("o"), packages)

    out = str(Path.cwd() / "o")
    assert filled({}) == ["tool", "/a.urdf", out]
    assert filled(packages) == [
        *("tool", "/a.urdf", out),
        *("--package", "arm=/ros/arm", "--package", "hand=/ros/other", "-q", "-q"),
    ]


def test_search_path_has_the_folders_that_hold_packages() -> None:
    """A package whose folder has another name is given by its own folder."""
    packages = {"arm": "/ros/arm", "leg": "/ros/leg", "hand": "/elsewhere/checkout"}
    line = command_line(("tool", "{packages}"), Path("a"), Path("o"), packages)

    assert line == ["tool", os.pathsep.join(("/ros", "/elsewhere/checkout"))]


def test_braces_that_are_no_placeholder_stay() -> None:
    """JSON is a common argument."""
    line = command_line(("tool", '{"up": "z"}'), Path("a"), Path("o"), {})

    assert line == ["tool", '{"up": "z"}']


def test_ours_is_registered_like_those_of_others(tmp_path: Path) -> None:
    """And makes the asset when it is called."""
    assert OURS in registered_names()
    urdf = tmp_path / "one.urdf"
    urdf.write_text('<robot name="one"><link name="a"/></robot>')
    make = load_registered(OURS)
    assert callable(make)

    root_layer = make(str(urdf), str(tmp_path / "usd"), {})

    assert Path(root_layer) == tmp_path / "usd" / "one.usda"
    assert RegisteredConverter(OURS).title == OWN.title
