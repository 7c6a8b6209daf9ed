"""Converters of others: their selection and commands; USDs that they wrote, or that are found."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.urdf_usd.cli.command import urdf_usd
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
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.converting import (
    UncomparedError,
    compose,
    find_ready,
    root_layer_in,
    run_command,
)
from urdf_usd.conformance.execution.job import Job
from urdf_usd.conformance.execution.worker import OUT_OF_MEMORY, over_limits
from urdf_usd.corpus import RobotSource
from urdf_usd.corpus.files import Format
from urdf_usd.installation import DISTRIBUTION
from urdf_usd.reports.records.record import Verdict

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


NAMES = ("dir--arm", "arm")


def _run(script: str, folder: Path, timeout: float = 60.0) -> tuple[Path, str | None]:
    line = (sys.executable, "-c", script, str(folder / "arm.urdf"), str(folder / "out"))
    return folder / "out", run_command(line, folder / "out", timeout)


def _touch(folder: Path, *names: str) -> None:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#usda 1.0\n")


def test_program_gets_the_urdf_and_an_empty_folder(tmp_path: Path) -> None:
    _touch(tmp_path / "out", "former.usda")
    (tmp_path / "arm.urdf").write_text("<robot/>")
    script = (
        "import pathlib, sys\n"
        "urdf, out = map(pathlib.Path, sys.argv[1:])\n"
        "print(urdf.read_text(), list(out.iterdir()))\n"
        "(out / 'arm.usd').touch()\n"
    )

    out, printed = _run(script, tmp_path)
    assert printed == "<robot/> []"
    assert root_layer_in(out, NAMES) == out / "arm.usd"


@pytest.mark.parametrize(
    ("script", "timeout", "ending"),
    [
        (
            "import sys; print(7); sys.exit('no mesh')",
            60.0,
            (Verdict.NOT_COMPARABLE, "exit code 1: no mesh", {"7", "no mesh"}),
        ),
        ("import os; os.abort()", 60.0, (Verdict.CRASHED, "it was killed by SIGABRT", {""})),
        (
            "import time; time.sleep(600)",
            2.0,
            (Verdict.CRASHED, "not finished after 2 s", {""}),
        ),
    ],
)
def test_program_that_writes_no_usd_has_a_reason(
    tmp_path: Path, script: str, timeout: float, ending: tuple[Verdict, str, set[str]]
) -> None:
    """A crash is distinguished from a refusal; its output is recorded."""
    with pytest.raises(UncomparedError) as caught:
        _run(script, tmp_path, timeout)

    error = caught.value
    printed = {*(error.output or "").split("\n")}
    assert (error.verdict, error.reason.partition(": ")[2], printed) == ending


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (("arm.usd", "leg.usd"), ("arm.usd", 1)),
        (("dir--arm.usda", "arm.usd"), ("dir--arm.usda", 1)),
        (("arm/arm.usd", "arm/parts/a.usd", "leg/leg.usd"), ("arm/arm.usd", 2)),
        (("dir--arm/scene.usd",), ("dir--arm/scene.usd", 1)),
        (("leg.usd",), "has no USD named 'dir--arm' or 'arm'"),
        # In a folder, the only layer at the least depth, or the one named like robot or folder.
        (("arm/any.usdc",), ("arm/any.usdc", 1)),
        (("arm/arm.usda", "arm/configuration/arm_base.usd"), ("arm/arm.usda", 2)),
        (("arm/inner/robot.usd", "arm/inner/deeper/x.usd"), ("arm/inner/robot.usd", 2)),
        (("arm/arm.usda", "arm/arm_physics.usda"), ("arm/arm.usda", 2)),
        (("arm/ARM.usd", "arm/meshes.usd"), ("arm/ARM.usd", 2)),
        (("arm/dir__arm.usd", "arm/arm.usd"), ("arm/dir__arm.usd", 2)),
        (("arm/arm.usdz", "arm/arm.usda", "arm/arm.usdc"), ("arm/arm.usda", 3)),
        (("arm/two/two.usd", "arm/two/materials.usd"), ("arm/two/two.usd", 2)),
        (("arm/left.usd", "arm/right.usd"), r"several .*: left\.usd, right\.usd$"),
    ],
)
def test_existing_usd_is_found_with_its_files(
    tmp_path: Path, files: tuple[str, ...], found: tuple[str, int] | str
) -> None:
    _touch(tmp_path, *files)
    usds = ReadyUsds("isaac", tmp_path)

    if isinstance(found, str):
        with pytest.raises(UncomparedError, match=found):
            find_ready(usds, NAMES)
    else:
        layer, owned = find_ready(usds, NAMES)
        assert (layer.relative_to(tmp_path).as_posix(), len(owned)) == found


# USDs that cannot be composed end at the limits of a process.


def _layer(metadata: str = "", arcs: str = "", inside: str = "") -> str:
    head = f'#usda 1.0\n(\n    defaultPrim = "r"\n    metersPerUnit = 1\n{metadata})\n'
    return f'{head}def Xform "r"{arcs}\n{{\n{inside}}}\n'


def _write_doubling_layers(folder: Path) -> None:
    """Write layers that refer twice to the next; composed, 2^30 prims."""
    for level in range(30):
        twice = "".join(
            f'def Xform "{one}" (references = @{level + 1}.usda@)\n{{\n}}\n' for one in "ab"
        )
        (folder / f"{level or 'robot'}.usda").write_text(_layer(inside=twice))
    (folder / "30.usda").write_text(_layer())


def _write_pipe(folder: Path) -> None:
    """Write a layer that refers to a pipe; no process writes to it."""
    os.mkfifo(folder / "odd.usda")
    (folder / "robot.usda").write_text(_layer("    subLayers = [@odd.usda@]\n"))


@pytest.mark.parametrize(
    ("write", "command"),
    [
        (_write_pipe, ("export", "robot.usda", "robot.urdf", "--force")),
        (_write_doubling_layers, ("check", "robot.urdf", "robot.usda", "--json", "record.json")),
    ],
)
def test_commands_refuse_an_endless_usd_and_change_nothing(
    tmp_path: Path,
    write: Callable[[Path], None],
    command: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    before = '<robot name="r"><link name="a"/></robot>'
    (tmp_path / "robot.urdf").write_text(before)

    # Reading the URDF has the same limit, which must suffice on a busy machine.
    result = urdf_usd(*command, "--timeout", "4")

    shown = " ".join(result.output.split())
    assert result.exit_code == 2, shown
    assert "robot.usda cannot be composed and read: no answer after 4 s" in shown
    assert (tmp_path / "robot.urdf").read_text() == before
    if command[0] == "check":
        record = json.loads((tmp_path / "record.json").read_text())
        assert (record["checks"], record["engines"]) == ([], [])


@pytest.mark.parametrize(
    "asset", ["gone.usda", "http://example.com/x.usda", "/etc/passwd", "robot.usda"]
)
def test_missing_and_cyclic_layers_are_left_to_composition(tmp_path: Path, asset: str) -> None:
    usd = tmp_path / "robot.usda"
    usd.write_text(_layer(arcs=f" (references = @{asset}@)"))

    job = Job(RobotSource("robot", "file:robot.urdf", tmp_path / "robot.urdf"), usd=usd)
    assert compose(str(usd), str(tmp_path / "layer.usda"), job).usd == str(usd)


def test_exceptions_are_not_reported_as_limits() -> None:
    for reason in ("no answer after 5 s", OUT_OF_MEMORY, "the process died: SIGSEGV"):
        assert over_limits("robot.usda", Crashed(reason))
    assert not over_limits("robot.usda", Crashed("KeyError: '/World/box0'"))
