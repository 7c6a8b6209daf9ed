"""Code blocks of the documents, the action, the hooks and the examples work as written."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner

from tests.installed import EXAMPLES, ROOT, installed
from tests.robots import ROBOT
from urdf_usd.cli.program import main
from urdf_usd.converter import convert

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="they are for POSIX shells")

DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md")]
DOCUMENTS += ROOT.glob("docs/dev/*.md")

# Commands that need another environment, the names of whose sessions are checked below.
_ELSEWHERE = ("nox", ".venv/bin/nox", "pip install", "python3 -m venv")
# Corpora that are large or downloaded, and their replacements here.
_SMALL = {" rd": " dir:my_robots", " erd": " dir:my_robots", "-n 4": "-n 1"}
_SMALL |= {" suite:joints": " suite:joints/axis-oblique"}
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
_DRIVES = 'base = "fixed"\n[[joints]]\nmatch = "*"\nnatural_frequency = 5\n'
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


def _environment(programs: Path) -> dict[str, str]:
    """Return an environment with the commands of this checkout, and one of another converter."""
    programs.mkdir(exist_ok=True)
    start = "from urdf_usd.cli.program import start; start()"
    for name, line in {
        "urdf-usd": f'{sys.executable} -P -c "{start}" "$@"',
        "pytest": f'{sys.executable} -P -m pytest -p no:cacheprovider "$@"',
        "urdf2usd": 'urdf-usd convert "$1" "$2"',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\nexec {line}\n")
        (programs / name).chmod(0o755)
    paths = os.pathsep.join((str(programs), os.environ["PATH"]))
    return os.environ | {"PATH": paths, "PYTHONPATH": str(ROOT)}


def _shell(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = ("bash", "-eo", "pipefail", "-c", script)
    environment = _environment(folder.parent / "bin") | variables
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def _run_line(line: str, folder: Path) -> tuple[int, str]:
    """Return exit status and output of a command; ours runs in this process, which is faster."""
    words = shlex.split(line)
    if words[0] != "urdf-usd" or {"|", "||", "&&", ">"} & set(words):
        done = _shell(line, folder)
        return done.returncode, done.stdout + done.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        environment = _environment(folder.parent / "bin")
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
        status, output = _run_line(f"pytest {script}", folder)
        assert status == 0, output
    else:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            runpy.run_path(str(script), run_name="__main__")


def test_tutorial_works_from_start_to_end(tmp_path: Path) -> None:
    def comparable(output: str) -> str:
        """Replace the number of values, which grows with every check that is added."""
        return re.sub(r"\d+ values", "N values", output.replace("\N{NO-BREAK SPACE}", " "))

    folder = tmp_path / "work"
    folder.mkdir()
    # Those of every installation: others would be in the output too.
    engines = 'engine = ["mujoco", "openusd", "pybullet", "reference"]\n'
    (folder / "urdf-usd.toml").write_text(f"[check]\n{engines}[run]\n{engines}")
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
                    status, output = _run_line(command, folder)
                    printed += comparable(output)
                    assert status == 0, f"{command}\n{printed}"
        else:
            for line in block.text.splitlines():
                assert comparable(line) in printed, f"line {block.line}"
    assert {block.language for block in blocks} >= {"sh", "text", "xml", "yaml"}


@pytest.mark.parametrize("block", _in("sh"))
def test_commands_run_as_they_are_printed(folder: Path, block: Block) -> None:
    for command in block.commands:
        if command.startswith(_ELSEWHERE):
            continue
        for name, text in FILES.get(command, {}).items():
            (folder / name).write_text(text)
        for former in BEFORE.get(command, ()):
            _run_line(former, folder)
        for large, small in _SMALL.items():
            command = re.sub(f"{large}(?= |$)", small, command)
        status, output = _run_line(command, folder)
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


# The action, the hooks and the examples.

_BROKEN = '<robot name="cut"><link name="a">'


def _yaml(file: Path) -> Any:  # noqa: ANN401  # any document
    return yaml.safe_load(file.read_text(encoding="utf-8"))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a robot, and another one that is not yet committed."""
    folder = tmp_path / "repository"
    (folder / "robots").mkdir(parents=True)
    (folder / "robots" / "arm.urdf").write_text(_ARM)
    for words in ("init -q", "add -A", "-c user.name=a -c user.email=a@b.org commit -qm first"):
        subprocess.run(("git", *words.split()), cwd=folder, check=True)
    other = _ARM.replace('name="arm"', 'name="other"')
    (folder / "robots" / "other.urdf").write_text(other)
    return folder


_PATTERNS = {
    "examples/Containerfile": r"FROM python:([\d.]+)-slim",
    "examples/gitlab-ci.yml": r"image: python:([\d.]+)",
    "action.yml": r'description: Version of Python\.\s+default: "([\d.]+)"',
}


@pytest.mark.parametrize("file", _PATTERNS)
def test_examples_install_wheels_for_a_python_that_the_session_resolve_resolves(file: str) -> None:
    text = (ROOT / file).read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    (version,) = re.findall(_PATTERNS[file], text)
    installing = [line for line in text.splitlines() if "-m pip install" in line]
    assert f"Programming Language :: Python :: {version}" in project["classifiers"]
    assert installing
    assert all("--only-binary :all:" in line for line in installing)


@pytest.mark.parametrize("file", ["action.yml", "examples/github-workflow.yml"])
def test_actions_of_others_are_pinned(file: str) -> None:
    used = re.findall(r"uses: (\S+/\S+@\S+.*)", (ROOT / file).read_text("utf-8"))

    assert used
    for one in used:
        assert re.fullmatch(r"OWNER/.*|[\w-]+(/[\w-]+)+@[0-9a-f]{40} # v[\d.]+", one)


@pytest.mark.parametrize(
    ("since", "robots", "options", "reported"),
    [
        ("HEAD", "dir:robots", "", ["other"]),
        ("", "dir:robots", "", ["arm", "other"]),
        ("", "robots/broken.urdf robots/arm.urdf", "--strict", ["arm", "broken"]),
    ],
)
def test_action_checks_what_changed_and_fails_with_the_status_of_the_run(
    repository: Path, since: str, robots: str, options: str, reported: list[str]
) -> None:
    if options:
        (repository / "robots" / "broken.urdf").write_text(_BROKEN)
    output, summary = repository.parent / "output", repository.parent / "summary"
    steps = _yaml(ROOT / "action.yml")["runs"]["steps"]
    (script,) = (step["run"] for step in steps if step["name"] == "Check")
    given = {"ROBOTS": robots, "SINCE": since, "OPTIONS": f"{options} --engine mujoco"}
    files = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}

    done = _shell(script, repository, REPORT="report", **given, **files)

    assert done.returncode == bool(options), done.stderr
    assert output.read_text().splitlines() == [f"status={done.returncode}", "report=true"]
    assert "conform" in summary.read_text("utf-8")
    names = (file.stem.rpartition("--")[2] for file in (repository / "report/results").iterdir())
    assert sorted(names) == reported
    assert (repository / "report" / "findings.sarif").is_file()


def test_action_passes_its_inputs() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")

    assert set(re.findall(r"inputs\.([\w-]+)", text)) == {*_yaml(ROOT / "action.yml")["inputs"]}


def test_gitlab_job_checks_what_changed(repository: Path) -> None:
    job = _yaml(EXAMPLES / "gitlab-ci.yml")["urdf-usd"]
    install, check = job["script"]

    done = _shell(check, repository, ROBOTS="dir:robots", CI_MERGE_REQUEST_DIFF_BASE_SHA="HEAD")

    assert install.startswith("python -m pip install --only-binary :all:")
    assert done.returncode == 0, done.stderr
    results = (repository / "conformance-report" / "results").glob("*.json")
    assert [file.name for file in results] == ["dir--other.json"]


@pytest.mark.parametrize("hook", ["urdf-usd-lint", "urdf-usd-check"])
def test_hooks_pass_and_fail(hook: str, repository: Path) -> None:
    (found,) = (one for one in _yaml(ROOT / ".pre-commit-hooks.yaml") if one["id"] == hook)
    (repository / "robots" / "broken.urdf").write_text(_BROKEN)

    good = _shell(f"{found['entry']} robots/arm.urdf robots/other.urdf", repository)
    bad = _shell(f"{found['entry']} robots/arm.urdf robots/broken.urdf", repository)

    assert good.returncode == 0, good.stdout + good.stderr
    assert bad.returncode != 0
    assert re.search(found["files"], "robots/arm.urdf")


def test_example_of_pytest_passes(tmp_path: Path) -> None:
    for name in ("test_my_robot.py", "arm.urdf"):
        shutil.copy(EXAMPLES / name, tmp_path)

    done = _shell("pytest -q -p no:cacheprovider test_my_robot.py", tmp_path)

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("converter", ["mass", "mass=mass-converter {urdf} {out}"])
def test_example_of_a_converter_is_judged(converter: str, tmp_path: Path) -> None:
    site = installed(EXAMPLES / "converter", tmp_path / "example")
    program = tmp_path / "bin" / "mass-converter"
    program.parent.mkdir()
    line = f'{sys.executable} -c "from mass_converter import main; main()" "$@"'
    program.write_text(f"#!/bin/sh\nexec {line}\n")
    program.chmod(0o755)
    (tmp_path / "work").mkdir()
    shutil.copy(EXAMPLES / "arm.urdf", tmp_path / "work")

    done = _shell(
        f"urdf-usd run arm.urdf --engine mujoco --out report --converter '{converter}'",
        tmp_path / "work",
        PYTHONPATH=os.pathsep.join((str(site), str(ROOT))),
    )

    assert done.returncode == 1, done.stderr
    (file,) = (tmp_path / "work" / "report" / "results").glob("*.json")
    record = json.loads(file.read_text("utf-8"))
    grades = {check["id"]: check["grade"] for check in record["checks"]}
    assert grades["mass.link.mass"] == grades["structure.links"] == "exact"
    assert grades["mass.link.inertia"] == grades["structure.types"] == "fails"


def test_notebook_runs_also_as_a_program_without_a_guard(tmp_path: Path) -> None:
    notebook = json.loads((EXAMPLES / "robot.ipynb").read_text("utf-8"))
    cells = [one for one in notebook["cells"] if one["cell_type"] == "code"]
    texts = ["".join(cell["source"]) for cell in cells]
    shutil.copy(EXAMPLES / "arm.urdf", tmp_path)
    if find_spec("matplotlib") is None:
        texts = [text for text in texts if "matplotlib" not in text]
    lines = ("open('runs.txt', 'a').write('run')", *texts, "print(record.verdict)")
    (tmp_path / "cells.py").write_text("\n".join(lines))

    done = _shell(f"{sys.executable} cells.py", tmp_path, MPLBACKEND="Agg")

    assert all((cell["outputs"], cell["execution_count"]) == ([], None) for cell in cells)
    assert done.returncode == 0, done.stderr
    # Child processes do not import the program that was started.
    assert (tmp_path / "runs.txt").read_text() == "run"
    assert done.stdout.splitlines()[-1] == "exact"
    assert "/arm/Geometry/base/forearm 1.5 kg\n" in done.stdout
