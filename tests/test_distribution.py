"""Content of the wheel: one package, without conflicts with names of users.

The built wheel is on the path here instead of the checkout.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.robots import ROBOT

ROOT = Path(__file__).parent.parent
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
    folder = tmp_path_factory.mktemp("distribution")
    command = ("-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    subprocess.run((sys.executable, *command), cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.iterdir()
    shutil.unpack_archive(made, folder / "site", "zip")
    return folder / "site"


def test_wheel_has_one_package(site: Path) -> None:
    names = {path.name for path in site.iterdir()}
    package = site / "urdf_usd"

    assert {name for name in names if not name.endswith(".dist-info")} == {"urdf_usd"}
    assert {path.name for path in package.iterdir() if path.is_dir()} == {
        *TAKEN,
        "cli",
        "pytest_plugin",
        "suite",
    }
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

    done = subprocess.run(
        (sys.executable, "-m", "pytest", "-p", "urdf_usd.pytest_plugin.plugin"),
        cwd=project,
        env=os.environ | isolated,
        capture_output=True,
        text=True,
        check=False,
    )

    assert f"ours: {site / 'urdf_usd' / '__init__.py'}" in done.stdout, done.stderr
    for name in TAKEN:
        assert f"theirs: {project / name / '__init__.py'}" in done.stdout
    assert "1 failed, 1 passed" in done.stdout
    # The only intended failure: the mass of a link differs.
    assert "FAILED test_robot.py::test_wrong" in done.stdout
    assert "mass" in done.stdout
