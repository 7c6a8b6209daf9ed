"""A resumed run has the files of a fresh one, and repeats only what has changed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from tests.conformance.direct import examine_in_this_process
from tests.conformance.runs import tree, write_mesh, write_robot
from urdf_usd.conformance.converters.candidates import OWN, CommandConverter
from urdf_usd.conformance.execution import run as execution
from urdf_usd.conformance.execution.run import run
from urdf_usd.conformance.options import Limits, RunOptions
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.options import BodyNesting
from urdf_usd.corpus import resolve_corpora

_URDF = """<robot name="{name}"><link name="base">
<visual><geometry><mesh filename="{mesh}"/></geometry></visual>
<inertial><mass value="2"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.15"/></inertial>
</link></robot>"""
_XACRO = """<robot name="{name}" xmlns:xacro="http://www.ros.org/wiki/xacro">
{line}
<link name="only"><inertial><mass value="{mass}"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.15"/>
</inertial></link></robot>"""
_PROPERTY = (
    '<robot xmlns:xacro="http://www.ros.org/wiki/xacro">'
    '<xacro:property name="mass" value="{}"/></robot>'
)
_OPTIONS = RunOptions(
    engines=("reference",), jobs=2, convert=ConvertOptions(environment=("MASS_OF_TEST",))
)


class _Runs:
    """Runs of one corpus in one folder."""

    def __init__(self, corpus: Path, out: Path) -> None:
        self.corpus = corpus
        self.out = out

    def __call__(self, options: RunOptions, *, resume: bool = False) -> list[str]:
        """Run; return the robots whose records were written."""
        results = self.out / "results"
        before = {file: file.stat().st_mtime_ns for file in results.rglob("*.json")}
        options = structs.replace(options, resume=resume)
        run(resolve_corpora([f"dir:{self.corpus}"]), self.out, options)
        return sorted(
            file.stem.removeprefix("dir--")
            for file in results.rglob("*.json")
            if before.get(file) != file.stat().st_mtime_ns
        )


@pytest.fixture
def runs(tmp_path: Path) -> _Runs:
    corpus = tmp_path / "robots"
    corpus.mkdir()
    return _Runs(corpus, tmp_path / "out")


def _dependent_robots(folder: Path) -> dict[str, Callable[[], object]]:
    """Write robots; return an edit of a file on which each depends."""

    def write_urdf(name: str, mesh: str) -> None:
        (folder / f"{name}.urdf").write_text(_URDF.format(name=name, mesh=mesh))

    def write_xacro(name: str, line: str, mass: str = "${mass}") -> None:
        text = _XACRO.format(name=name, line=line, mass=mass)
        (folder / f"{name}.urdf.xacro").write_text(text)

    write_xacro("included", '<xacro:include filename="part.xacro"/>')
    (folder / "part.xacro").write_text(_PROPERTY.format(2))
    write_xacro("variable", "", "$(optenv MASS_OF_TEST 2)")
    write_robot(folder, "mesh")
    write_robot(folder, "turned")
    write_urdf("gone", "absent.stl")
    write_urdf("packaged", "package://parts/part.stl")
    for place in ("first", "second"):
        (folder.parent / place / "parts").mkdir(parents=True)
    write_mesh(folder.parent / "second" / "parts" / "part.stl", 1.0)
    return {
        "included": lambda: (folder / "part.xacro").write_text(_PROPERTY.format(3)),
        "variable": lambda: os.environ.update(MASS_OF_TEST="4"),
        "mesh": lambda: write_mesh(folder / "mesh.stl", 2.0),
        "turned": lambda: (folder / "turned.urdf").write_text('<robot name="t"><link/></robot>'),
        # Files that were not there: a missing one, and one before another in a search path.
        "gone": lambda: write_mesh(folder / "absent.stl", 1.0),
        "packaged": lambda: write_mesh(folder.parent / "first" / "parts" / "part.stl", 2.0),
    }


def _damages(out: Path) -> dict[str, Callable[[], object]]:
    """Return changes of the files that a run wrote for a robot, by the robot's name."""

    def truncate(file: Path) -> object:
        return file.write_bytes(file.read_bytes()[:40])

    asset = out / "assets" / "dir--layer" / "payload"
    return {
        "record": lambda: truncate(out / "results" / "dir--record.json"),
        "layer": lambda: truncate(asset / "Physics.usda"),
    }


def test_resumed_run_equals_a_fresh_one(
    runs: _Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte, after a change of any input, variable or file of the first run."""
    monkeypatch.setenv("MASS_OF_TEST", "3")
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"{tmp_path / 'first'}:{tmp_path / 'second'}")
    changes = _dependent_robots(runs.corpus) | _damages(runs.out)
    for name in ("kept", *_damages(runs.out)):
        write_robot(runs.corpus, name)
    (runs.corpus / "broken.urdf").write_text('<robot name="broken"><link/></robot>')
    (runs.corpus / "empty.urdf").write_text('<robot name="empty"><link name="a"/></robot>')
    (runs.corpus / "missing.urdf").write_text(_URDF.format(name="m", mesh="no.stl"))
    (runs.corpus / "removed.urdf").write_text('<robot name="r"><link name="a"/></robot>')
    everything = {*changes, "kept", "broken", "empty", "missing", "removed"}
    assert {*runs(_OPTIONS)} == {*everything, "part"}

    again = runs(_OPTIONS, resume=True)
    for change in changes.values():
        change()
    (runs.corpus / "removed.urdf").unlink()
    resumed = runs(_OPTIONS, resume=True)

    # Nothing says which files a xacro file includes that is only part of a robot.
    assert again == ["part"]
    assert {*resumed} == {*changes, "part"}
    found = tree(runs.out)
    runs(_OPTIONS)
    assert found == tree(runs.out)


def test_other_options_are_a_change(runs: _Runs) -> None:
    write_robot(runs.corpus, "arm")
    runs(_OPTIONS)

    flat = structs.replace(_OPTIONS, convert=ConvertOptions(bodies=BodyNesting.FLAT))
    others = [flat, structs.replace(_OPTIONS, engines=("mujoco",))]
    assert [runs(options, resume=True) for options in others] == [["arm"]] * 2


def test_changed_script_repeats_the_robots_of_its_converter(runs: _Runs, tmp_path: Path) -> None:
    write_robot(runs.corpus, "arm")
    script = tmp_path / "convert.py"
    program = "import sys\nfrom urdf_usd import convert\nconvert(*sys.argv[1:])\n"
    script.write_text(program)
    other = CommandConverter("other", (sys.executable, str(script), "{urdf}", "{out}"))
    options = structs.replace(_OPTIONS, converters=(other, OWN))
    assert runs(options) == ["arm", "arm"]

    assert runs(options, resume=True) == []
    script.write_text(f"{program}# Another version.\n")
    assert runs(options, resume=True) == ["arm"]


def test_crashed_robots_are_repeated_on_request_or_with_other_limits(
    runs: _Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a robot over the time limit would be run every time."""
    for name in ("arm", "calm"):
        write_robot(runs.corpus, name)

    def crash(options: RunOptions) -> None:
        with monkeypatch.context() as context:
            examine_in_this_process(context, {"usd openusd": "x"}, "arm")
            runs(options)

    crash(_OPTIONS)
    assert runs(_OPTIONS, resume=True) == []
    slower = structs.replace(_OPTIONS, limits=Limits(time=300.0))
    assert runs(slower, resume=True) == ["arm"]
    crash(_OPTIONS)
    assert runs(structs.replace(_OPTIONS, retry=True), resume=True) == ["arm"]


def test_no_engine_is_loaded_if_nothing_changed(
    runs: _Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_robot(runs.corpus, "arm")
    runs(_OPTIONS)
    monkeypatch.setattr(execution, "select_engines", None)

    assert runs(_OPTIONS, resume=True) == []
