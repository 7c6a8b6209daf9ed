"""The action, the hooks and the examples work as they are written."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.installed_examples import EXAMPLES, ROOT, environment_with_commands, installed_example

_ARM = (EXAMPLES / "arm.urdf").read_text(encoding="utf-8")
_BROKEN = '<robot name="cut"><link name="a">'

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="they are for bash")


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


def _shell(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run bash with the commands of this checkout."""
    environment = environment_with_commands(folder.parent / "bin") | variables
    command = ("bash", "-eo", "pipefail", "-c", script)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


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
    ours = [one for one in used if one.startswith("OWNER/")]
    for one in set(used) - set(ours):
        assert re.fullmatch(r"[\w-]+(/[\w-]+)+@[0-9a-f]{40} # v[\d.]+", one)


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
    hooks = {one["id"]: one for one in _yaml(ROOT / ".pre-commit-hooks.yaml")}
    broken = repository / "robots" / "broken.urdf"
    broken.write_text(_BROKEN)
    entry = hooks[hook]["entry"]

    good = _shell(f"{entry} robots/arm.urdf robots/other.urdf", repository)
    bad = _shell(f"{entry} robots/arm.urdf robots/broken.urdf", repository)

    assert good.returncode == 0, good.stdout + good.stderr
    assert bad.returncode != 0
    assert re.search(hooks[hook]["files"], "robots/arm.urdf")


def test_example_of_pytest_passes(tmp_path: Path) -> None:
    for name in ("test_my_robot.py", "arm.urdf"):
        shutil.copy(EXAMPLES / name, tmp_path)

    done = _shell("pytest -q -p no:cacheprovider test_my_robot.py", tmp_path)

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("converter", ["mass", "mass=mass-converter {urdf} {out}"])
def test_example_of_a_converter_is_judged(converter: str, tmp_path: Path) -> None:
    site = installed_example("converter", tmp_path / "site")
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
    for right, wrong in (
        ("mass.link.mass", "mass.link.inertia"),
        ("structure.links", "structure.types"),
    ):
        assert (grades[right], grades[wrong]) == ("exact", "fails")


def test_notebook_runs(tmp_path: Path) -> None:
    notebook = json.loads((EXAMPLES / "robot.ipynb").read_text("utf-8"))
    cells = [one for one in notebook["cells"] if one["cell_type"] == "code"]
    texts = ["".join(cell["source"]) for cell in cells]
    shutil.copy(EXAMPLES / "arm.urdf", tmp_path)
    if find_spec("matplotlib") is None:
        texts = [text for text in texts if "matplotlib" not in text]
    (tmp_path / "cells.py").write_text("\n".join((*texts, "print(record.verdict)")))

    done = _shell(f"{sys.executable} cells.py", tmp_path, MPLBACKEND="Agg")

    assert all((cell["outputs"], cell["execution_count"]) == ([], None) for cell in cells)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1] == "exact"
    assert "/arm/Geometry/base/forearm 1.5 kg" in lines
