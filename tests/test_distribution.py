"""Requirements and extras, and the wheel: one package, without conflicts with names of users."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.installed import ROOT, installed
from tests.robots import ROBOT
from urdf_usd.installation import distribution_of, install_command

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
COPYLEFT = re.compile(r"GPL|GNU|MPL|Mozilla|EUPL|CDDL|EPL", re.IGNORECASE)


def _minimums(requirements: list[str]) -> list[tuple[str, str]]:
    """Return the minimum version of every requirement on another project."""
    parts = map(Requirement, requirements)
    return [(one.name, two.version) for one in parts for two in one.specifier if ">" in str(two)]


def test_document_lists_every_requirement_with_its_minimum() -> None:
    text = (ROOT / "docs/dev/dependencies.md").read_text("utf-8")
    core, extras, _ = text.split("\n## ")[1:]

    rows = re.findall(r"^\| ([\w-]+) \| ([\w.]+) \|", core, re.MULTILINE)
    assert rows[1:] == _minimums(PROJECT["dependencies"])
    rows = re.findall(r"^\| `([\w-]+)` \| ([\w-]+) \| (\S+) \|", extras, re.MULTILINE)
    stated = PROJECT["optional-dependencies"].items()
    assert rows == [(extra, *one) for extra, needed in stated for one in _minimums(needed)]


@pytest.mark.parametrize("requirement", PROJECT["dependencies"])
def test_no_requirement_of_every_installation_is_copyleft(requirement: str) -> None:
    needed = Requirement(requirement)
    if needed.marker and not needed.marker.evaluate():
        return
    stated = metadata.metadata(needed.name)
    licences: list[str] = [
        *stated.get_all("License-Expression", []),
        # Some packages have the whole text of the licence; its title is the first line.
        *(text.splitlines()[0] for text in stated.get_all("License", []) if text),
        *(c for c in stated.get_all("Classifier", []) if c.startswith("License ::")),
    ]

    assert any(licences)
    assert not COPYLEFT.search(" ".join(licences))


def test_distribution_of_a_module_may_have_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name != "part-fork":
            raise metadata.PackageNotFoundError(name)
        return "1.3"

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "packages_distributions", lambda: {"part": ["part-fork"]})

    found = map(distribution_of.__wrapped__, ("part-fork", "part", "other"))

    assert list(found) == [("part-fork", "1.3"), ("part-fork", "1.3"), None]


def test_command_names_the_requirements_of_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Markers besides the extra are omitted; a package without metadata is named itself."""
    physx = "pip install 'ovphysx>=0.7' 'physx-usd-schemas>=0.7'"
    assert install_command("physx") == physx
    one = "one>=1; (python_version < '3.13') and extra == 'fast'"
    stated = ["numpy>=2.0", one, 'two; extra == "slow"']
    monkeypatch.setattr(metadata, "requires", lambda _: stated)
    assert install_command("fast") == "pip install 'one>=1'"

    def missing(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)
    assert install_command("fast") == "pip install 'urdf-usd-conformance[fast]'"


# The wheel, which is on the path in place of the checkout.

# Folders of robotics projects that have the names of this project's folders.
TAKEN = ("conformance", "converter", "corpus", "reports")
CONFTEST = """
import urdf_usd
import converter, conformance, corpus, reports

def pytest_report_header():
    yield f"ours: {urdf_usd.__file__}"
    for one in (converter, conformance, corpus, reports):
        yield f"theirs: {one.__file__}"
"""
TEST = """
import converter, conformance as ours, corpus, reports
from urdf_usd import convert

def test_right(conformance):
    conformance("robot.urdf").assert_conforms()

def test_wrong(conformance, tmp_path):
    asset = convert("other.urdf", tmp_path / "usd")
    conformance("robot.urdf", usd=asset.root_layer).assert_conforms()
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the content of the wheel."""
    return installed(ROOT, tmp_path_factory.mktemp("distribution"))


def test_wheel_has_one_package(site: Path) -> None:
    package = site / "urdf_usd"
    folders = {path.name for path in package.iterdir() if path.is_dir()}

    assert {path.name for path in site.iterdir() if path.suffix != ".dist-info"} == {"urdf_usd"}
    assert folders == {*TAKEN, "cli", "pytest_plugin"}
    modules = {path.name for path in (ROOT / "urdf_usd").glob("*.py")}
    assert {path.name for path in package.glob("*.py")} == modules
    assert (package / "py.typed").is_file()
    assert not [path for path in site.rglob("*") if path.is_symlink()]
    suites = ROOT / "corpus" / "suite", package / "corpus" / "suite"
    here, there = ({path.relative_to(one) for path in one.rglob("*.*")} for one in suites)
    assert here == there


def test_packages_of_users_with_the_same_names_work(site: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    for name in TAKEN:
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").touch()
    (project / "robot.urdf").write_text(ROBOT)
    (project / "other.urdf").write_text(ROBOT.replace('value="2"', 'value="3"', 1))
    (project / "conftest.py").write_text(CONFTEST)
    (project / "test_robot.py").write_text(TEST)
    # The installed distribution would load the plugin a second time.
    isolated = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(site)}
    command = (sys.executable, "-m", "pytest", "-p", "urdf_usd.pytest_plugin.plugin")
    environment = os.environ | isolated

    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)

    assert f"ours: {site / 'urdf_usd' / '__init__.py'}" in done.stdout, done.stderr
    for name in TAKEN:
        assert f"theirs: {project / name / '__init__.py'}" in done.stdout
    assert "1 failed, 1 passed" in done.stdout
    # The only intended failure: the mass of a link differs.
    assert "FAILED test_robot.py::test_wrong" in done.stdout
    assert "mass" in done.stdout
