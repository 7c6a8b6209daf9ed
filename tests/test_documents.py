"""Code blocks of the documents run as printed."""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.installed_examples import EXAMPLES, ROOT, environment_with_commands
from tests.robots import ROBOT
from urdf_usd.cli.main import main
from urdf_usd.converter import convert

DOCUMENTS = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "docs" / "dev").glob("*.md"),
)

# Commands that need another environment, the names of whose sessions are checked below.
_ELSEWHERE = ("nox", ".venv/bin/nox", "pip install", "python3 -m venv")
# Corpora that are large or downloaded, and their replacements here.
_SMALL = {
    " rd": " dir:my_robots",
    " erd": " dir:my_robots",
    " suite:joints": " suite:joints/axis-oblique",
    "-n 4": "-n 1",
}
# Files that a command needs, besides robots and the output of former commands.
_SCENE = """#usda 1.0
(
    upAxis = "Z"
    metersPerUnit = 1
)
def Xform "World"
{
    def Cube "arm" (apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {}
    def Cube "box" (apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {}
}
"""
_DRIVES = """base = "fixed"
[[joints]]
match = "*"
natural_frequency = 5
"""
# By command: files, and commands that come before it.
_TWO_ROOTS = '<robot name="two_roots"><link name="a"/><link name="b"/></robot>'
_ARM = (EXAMPLES / "arm.urdf").read_text("utf-8")
FILES = {
    "urdf-usd export scene.usd arm.urdf --root /World/arm": {"scene.usd": _SCENE},
    "urdf-usd run rd --out report --baseline known.toml": {"known.toml": ""},
    "urdf-usd reduce broken.urdf minimal": {"broken.urdf": _TWO_ROOTS},
    "urdf-usd behave arm.urdf --with arm.toml": {"arm.urdf": _ARM, "arm.toml": _DRIVES},
}
BEFORE = {
    "urdf-usd check --certificate robot.urdf out/robot.usda": (
        "urdf-usd convert robot.urdf out",
        "urdf-usd certify robot.urdf out/robot.usda",
    ),
    "urdf-usd diff report.before report": ("cp -r report report.before",),
}


@dataclass(frozen=True)
class Block:
    document: str  # path below the root
    line: int
    language: str
    file: str  # path under which a reader saves it; empty for none
    text: str

    @property
    def commands(self) -> tuple[str, ...]:
        """The commands of a shell block, without comments."""
        lines = (re.sub(r"(^|\s)#.*", "", line) for line in self.text.splitlines())
        return tuple(line.strip() for line in lines if line.strip())


def _blocks(path: Path) -> Iterator[Block]:
    text = path.read_text(encoding="utf-8")
    pattern = r'^( *)```(\w*)(?: title="([^"]*)")?\n(.*?)^\1```$'
    for found in re.finditer(pattern, text, re.DOTALL | re.MULTILINE):
        line = text.count("\n", 0, found.start()) + 1
        name = path.relative_to(ROOT).as_posix()
        yield Block(name, line, found[2], found[3] or "", textwrap.dedent(found[4]))


# Its blocks follow one another, and are tested together.
TUTORIAL = "docs/tutorial.md"
BLOCKS = tuple(block for path in sorted(DOCUMENTS) for block in _blocks(path))


def _in(*languages: str) -> list[object]:
    return [
        pytest.param(
            block,
            id=f"{block.document}-{block.line}",
            marks=[pytest.mark.corpus] if "pip download" in block.text else [],
        )
        for block in BLOCKS
        if block.language in languages and block.document != TUTORIAL
        # All commands of some are in a longer one.
        if block.language != "sh" or not any({*block.commands} < {*one.commands} for one in BLOCKS)
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the robots that documents use."""
    work = tmp_path / "work"
    (work / "my_robots").mkdir(parents=True)
    for name in ("robot.urdf", "my_robots/first.urdf"):
        (work / name).write_text(ROBOT.replace('name="arm"', 'name="robot"', 1))
    return work


def _run_line(line: str, folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Run a line of a shell script; return its exit status and its output.

    Our own command runs in this process, which is faster.
    """
    words = shlex.split(line)
    if words[0] != "urdf-usd" or {"|", "||", "&&", ">"} & set(words):
        done = subprocess.run(
            ("sh", "-c", line), cwd=folder, env=environment, capture_output=True, text=True
        )
        return done.returncode, done.stdout + done.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        result = CliRunner().invoke(main, words[1:], prog_name="urdf-usd", env=environment)
    return result.exit_code, result.output


def test_documents_have_blocks_of_known_languages() -> None:
    # The first two are diagrams and output.
    known = {"", "text", "python", "sh", "toml", "json", "xml", "yaml"}

    assert {block.language for block in BLOCKS} == known


@pytest.mark.parametrize("block", _in("python"))
def test_python_runs_as_a_saved_script(folder: Path, block: Block) -> None:
    for package in re.findall(r"^(?:import|from) (\w+)", block.text, re.MULTILINE):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    if "robot_usd/" in block.text and "convert(" not in block.text:
        convert(folder / "robot.urdf", folder / "robot_usd")
    tests = re.search(r"^def test_", block.text, re.MULTILINE)
    script = folder / ("test_script.py" if tests else "script.py")
    script.write_text(block.text)
    if tests:
        environment = environment_with_commands(folder.parent / "bin")
        status, output = _run_line(f"pytest {script}", folder, environment)
        assert status == 0, output
    else:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            runpy.run_path(str(script), run_name="__main__")


@pytest.mark.skipif(sys.platform == "win32", reason="commands are for POSIX shells")
def test_tutorial_works_from_start_to_end(tmp_path: Path) -> None:
    def comparable(output: str) -> str:
        """Replace the number of values, which grows with every check that is added."""
        return re.sub(r"\d+ values", "N values", output.replace("\N{NO-BREAK SPACE}", " "))

    folder = tmp_path / "work"
    folder.mkdir()
    # Those of every installation: others would be in the output too.
    engines = 'engine = ["mujoco", "openusd", "pybullet", "reference"]\n'
    (folder / "urdf-usd.toml").write_text(f"[check]\n{engines}[run]\n{engines}")
    environment = environment_with_commands(tmp_path / "bin")
    blocks = [block for block in BLOCKS if block.document == TUTORIAL]
    printed = ""
    for block in blocks:
        if block.file:
            file = folder / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            printed = ""
            for command in block.commands:
                if not command.startswith(_ELSEWHERE):
                    status, output = _run_line(command, folder, environment)
                    printed += comparable(output)
                    assert status == 0, f"{command}\n{printed}"
        else:
            for line in block.text.splitlines():
                assert comparable(line) in printed, f"line {block.line}"
    assert {block.language for block in blocks} >= {"sh", "text", "xml", "yaml"}


@pytest.mark.skipif(sys.platform == "win32", reason="they are for POSIX shells")
@pytest.mark.parametrize("block", _in("sh"))
def test_commands_run_as_they_are_printed(folder: Path, block: Block) -> None:
    environment = environment_with_commands(folder.parent / "bin")
    for command in block.commands:
        if command.startswith(_ELSEWHERE):
            continue
        for name, text in FILES.get(command, {}).items():
            (folder / name).write_text(text)
        for former in BEFORE.get(command, ()):
            _run_line(former, folder, environment)
        for large, small in _SMALL.items():
            command = re.sub(f"{large}(?= |$)", small, command)
        status, output = _run_line(command, folder, environment)
        assert status == 0, f"{command}\n{output}"


def test_blocks_are_those_of_examples_and_of_the_feature_suite() -> None:
    cases = {file.read_text("utf-8") for file in (ROOT / "corpus" / "suite").rglob("*.json")}
    saved = {block.file: block.text for block in BLOCKS}
    workflow = ".github/workflows/conformance.yml"
    printed = {command for block in BLOCKS for command in block.commands}

    assert saved["robots/arm.urdf"] == _ARM
    assert saved[workflow] == (EXAMPLES / "github-workflow.yml").read_text("utf-8")
    assert FILES.keys() | BEFORE.keys() <= printed
    for block in BLOCKS:
        assert block.language != "toml" or tomllib.loads(block.text)
        assert block.language != "json" or block.text in cases


def test_nox_sessions_in_documents_exist() -> None:
    code = (ROOT / "noxfile.py").read_text("utf-8")
    texts = "\n".join(path.read_text("utf-8") for path in DOCUMENTS)
    named = set(re.findall(r"nox -s (\w+)", texts))

    assert named
    assert named <= set(re.findall(r"^def (\w+)\(session", code, re.MULTILINE))


def test_options_in_documents_exist() -> None:
    context = click.Context(main, **main.context_settings)
    checked = 0
    for path in DOCUMENTS:
        text = re.sub(r"^ *```.*?^ *```$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
        for span in re.findall(r"`urdf-usd ([^`]+)`", text):
            words = span.split()
            is_subcommand = not words[0].startswith("-")
            command = main.get_command(context, words[0]) if is_subcommand else main
            assert command is not None, f"{path.name}: urdf-usd {span}"
            known = {"--help", *(name for one in command.params for name in one.opts)}
            options = {word for word in words if re.fullmatch(r"--[a-z-]+", word)}
            assert options <= known, f"{path.name}: urdf-usd {span}"
            checked += 1
    assert checked >= 5
