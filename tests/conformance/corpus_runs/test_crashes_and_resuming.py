"""Runs with engines and converters that crash, stopped runs, and resumed ones."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pybullet_data
import pytest

from tests.conformance.hostile import ENGINE_KINDS, UNLOADABLE
from tests.conformance.misbehaviour import CRASHES, HANGS
from tests.conformance.runs import HANGS as _HANGS
from tests.conformance.runs import (
    Run,
    processes_with,
    tree,
    wait_until,
    write_mesh,
    write_robot,
)
from urdf_usd.converter import convert

_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to limits")
BULLET = Path(pybullet_data.getDataPath())
_POSIX = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")


@pytest.fixture
def robots(tmp_path: Path) -> Path:
    """A folder with two robots on which the hostile engine crashes, and two others."""
    folder = tmp_path / "robots"
    folder.mkdir()
    for name in ("abort", "calm", "hang", "quiet"):
        write_robot(folder, name)
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command."""
    return Run(tmp_path)


_KINDS = (*ENGINE_KINDS, "calm")


@pytest.fixture
def hostile_robots(tmp_path: Path) -> Path:
    """A folder with a robot for each kind of misbehaviour, and one for none."""
    folder = tmp_path / "robots"
    folder.mkdir()
    for name in _KINDS:
        write_robot(folder, name)
    return folder


@_LINUX
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_misbehaving_engine_does_not_affect_other_engines(
    run: Run, hostile_robots: Path, tmp_path: Path, short_path: Path, jobs: str
) -> None:
    """All other engines observe the robot, and the record has the reason."""
    temporary = short_path
    mark = {"TMPDIR": str(temporary), "MARK_OF_TEST": str(tmp_path)}
    limits = "--memory", "1024", "--jobs", jobs

    ending = run(f"dir:{hostile_robots}", *limits, **mark)

    assert ending.returncode == 0, ending.stderr
    for kind in _KINDS:
        record = run.record(kind)
        assert record["verdict"] in {"exact", "close"}, record["reason"]
        status = {w["name"]: w["status"] for w in record["engines"]}
        reason = ENGINE_KINDS.get(kind)
        assert status.pop("hostile") == ("crashed" if reason else "abstained"), kind
        assert set(status.values()) == {"observed"}
        if reason:
            assert run.hostile(kind)["reason"].startswith(reason)
    for kind in ("abort", "hang"):
        output = run.hostile(kind)["output"]
        assert output.startswith("printed by the engine\n")
        assert "in observe" in output
    wait_until(lambda: not processes_with(f"MARK_OF_TEST={tmp_path}"))
    assert list(temporary.iterdir()) == []
    assert _scraps(run.out) == []


@_LINUX
def test_each_misbehaving_engine_of_a_check_costs_its_own_answer(
    tmp_path: Path, short_path: Path
) -> None:
    """An engine of each kind, and engines that cannot be loaded, in one check."""
    robot = write_robot(tmp_path, "arm")
    asset = convert(robot, tmp_path / "asset").root_layer
    record = tmp_path / "record.json"
    check = Run(tmp_path, (*ENGINE_KINDS, *UNLOADABLE, "calm"))
    command = ("check", str(robot), str(asset), "--json", str(record))
    mark = {"TMPDIR": str(short_path), "MARK_OF_TEST": str(tmp_path)}

    ending = check.start((*command, "--memory", "1024", "--timeout", "300"), **mark)

    assert ending.returncode == 0, ending.stderr
    assert "Traceback" not in ending.stderr
    read = json.loads(record.read_text())
    assert read["verdict"] in {"exact", "close"}
    engines = {engine["name"]: engine for engine in read["engines"]}
    for kind, reason in ENGINE_KINDS.items():
        engine = engines.pop(f"hostile-{kind}")
        assert engine["status"] == ("crashed" if reason else "abstained"), kind
        assert (engine["reason"] or "").startswith(reason or "it reads nothing"), kind
    for name, (_, reason) in UNLOADABLE.items():
        engine = engines.pop(f"hostile-{name}")
        assert (engine["status"], engine["side"]) == ("crashed", "unknown")
        assert engine["reason"].startswith(f"it cannot be loaded: {reason}"), name
    assert engines.pop("hostile")["status"] == "abstained"
    assert engines.pop("hostile-calm")["status"] == "abstained"
    assert {"mujoco", "pybullet", "reference", "openusd"} <= {*engines}
    assert {engine["status"] for engine in engines.values()} == {"observed"}
    wait_until(lambda: not processes_with(f"MARK_OF_TEST={tmp_path}"))
    assert list(short_path.iterdir()) == []


def test_doctor_lists_engines_that_cannot_be_loaded(tmp_path: Path) -> None:
    """With the reason; the others are listed as ever."""
    ending = Run(tmp_path, UNLOADABLE).start(["doctor"])

    assert ending.returncode == 0, ending.stderr
    words = (line.split() for line in ending.stdout.splitlines())
    rows = {row[1]: " ".join(row) for row in words if len(row) > 1}
    assert "reads URDF" in rows["mujoco"]
    for name, (_, reason) in UNLOADABLE.items():
        line = rows[f"hostile-{name}"]
        assert f"crashes: it cannot be loaded: {reason}" in line


@_LINUX
def test_misbehaving_converter_costs_its_own_robots(
    run: Run, hostile_robots: Path, tmp_path: Path, short_path: Path
) -> None:
    """They are converted, compared and recorded."""
    temporary = short_path
    mark = {"TMPDIR": str(temporary), "MARK_OF_TEST": str(tmp_path)}
    chosen = "--memory", "1024", "--converter", "hostile"

    ending = run(f"dir:{hostile_robots}", *chosen, SPARE="1", **mark)

    assert ending.returncode == 1, ending.stderr
    for kind in _KINDS:
        record = run.record(kind)
        if kind in CRASHES or kind in HANGS:
            assert record["verdict"] == "crashed"
            died = f"the converter crashed: {ENGINE_KINDS[kind]}"
            assert record["reason"].startswith(died), kind
        else:
            assert record["verdict"] in {"exact", "close"}, record["reason"]
    wait_until(lambda: not processes_with(f"MARK_OF_TEST={tmp_path}"))
    assert list(temporary.iterdir()) == []


def _scraps(out: Path) -> list[Path]:
    return [path for path in out.rglob(".*") if path.name != ".urdf-usd-run"]


def _environment_robot(folder: Path) -> None:
    """Write a xacro file whose mass is an environment variable."""
    (folder / "variable.urdf.xacro").write_text(
        """<robot name="variable"><link name="only"><inertial>
        <mass value="$(optenv MASS_OF_TEST 2)"/>
        <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.15"/>
        </inertial></link></robot>"""
    )


def test_changed_environment_variable_is_a_change(run: Run, robots: Path) -> None:
    """The expansion of a xacro file depends on the environment."""
    for name in ("abort", "hang", "calm"):
        (robots / f"{name}.urdf").unlink()
    _environment_robot(robots)
    command = (f"dir:{robots}", "--env", "MASS_OF_TEST")
    run(*command, MASS_OF_TEST="3")
    run.mark("variable", "quiet")

    run(*command, "--resume", MASS_OF_TEST="3")
    kept_same = run.kept("variable", "quiet")
    run(*command, "--resume", MASS_OF_TEST="4")

    assert kept_same == ["variable", "quiet"]
    assert run.kept("variable", "quiet") == ["quiet"]
    assert run.record("variable")["total_mass"] == 4.0


_TEXTURED_URDF = """<robot name="{name}"><link name="base">
<visual><geometry><mesh filename="{mesh}"/></geometry>{material}</visual>
<inertial><mass value="2"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.15"/></inertial>
</link></robot>"""
_OBJ = """mtllib {library}
v 0 0 0
v 0.3 0 0
v 0 0.2 0
v 0 0 0.1
vt 0 0
vt 1 0
vt 0 1
usemtl red
f 1/1 3/2 2/3
f 1/1 2/2 4/3
f 1/1 4/2 3/3
f 2/1 3/2 4/3
"""
_MTL = "newmtl red\nKd 0.8 0.1 0.1\n{image}"
_XACRO = """<robot name="{name}" xmlns:xacro="http://www.ros.org/wiki/xacro">
{line}
<link name="only"><inertial><mass value="${{mass}}"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.15"/>
</inertial></link></robot>"""
_PROPERTY = (
    '<robot xmlns:xacro="http://www.ros.org/wiki/xacro">'
    '<xacro:property name="mass" value="{}"/></robot>'
)


def _dependent_robots(folder: Path) -> dict[str, Callable[[], object]]:
    """Write robots; return edits of each file on which one of them depends."""

    def change(name: str, before: str, after: str) -> Callable[[], object]:
        file = folder / name
        content = file.read_text()
        assert before in content
        return lambda: file.write_text(content.replace(before, after))

    def write_urdf(name: str, mesh: str, material: str = "") -> None:
        text = _TEXTURED_URDF.format(name=name, mesh=mesh, material=material)
        (folder / f"{name}.urdf").write_text(text)

    def write_xacro(name: str, line: str) -> None:
        text = _XACRO.format(name=name, line=line)
        (folder / f"{name}.urdf.xacro").write_text(text)

    holes = (BULLET / "table" / "table.png").read_bytes()
    other = (BULLET / "cube.png").read_bytes()

    def change_image(name: str) -> Callable[[], object]:
        (folder / name).write_bytes(holes)
        return lambda: (folder / name).write_bytes(other)

    write_urdf("library", "library.obj")
    (folder / "library.obj").write_text(_OBJ.format(library="library.mtl"))
    (folder / "library.mtl").write_text(_MTL.format(image=""))
    write_urdf("libraries", "libraries.obj")
    (folder / "libraries.obj").write_text(_OBJ.format(library="first.mtl second.mtl"))
    (folder / "first.mtl").write_text(_MTL.format(image=""))
    (folder / "second.mtl").write_text("newmtl blue\nKd 0 0 1\n")
    write_urdf("map", "map.obj")
    (folder / "map.obj").write_text(_OBJ.format(library="map.mtl"))
    (folder / "map.mtl").write_text(_MTL.format(image="map_Kd map.png\n"))
    texture = '<material name="skin"><texture filename="texture.png"/></material>'
    write_urdf("texture", "texture.obj", texture)
    (folder / "texture.obj").write_text(_OBJ.format(library="map.mtl"))
    collada = (BULLET / "duck.dae").read_text()
    write_urdf("image", "image.dae")
    (folder / "image.dae").write_text(collada.replace("duckCM.png", "image.png"))
    write_xacro("included", '<xacro:include filename="part.xacro"/>')
    (folder / "part.xacro").write_text(_PROPERTY.format(2))
    table = "${xacro.load_yaml('table.yaml')['mass']}"
    write_xacro("yaml", f'<xacro:property name="mass" value="{table}"/>')
    (folder / "table.yaml").write_text("mass: 2\n")
    write_robot(folder, "same")
    return {
        "library": change("library.mtl", "0.8", "0.7"),
        "libraries": change("first.mtl", "0.8", "0.7"),
        "map": change_image("map.png"),
        "texture": change_image("texture.png"),
        "image": change_image("image.png"),
        "included": change("part.xacro", '"2"', '"3"'),
        "yaml": change("table.yaml", "2", "3"),
        "same": lambda: None,
    }


def test_every_file_that_a_robot_refers_to_is_a_dependency(run: Run, tmp_path: Path) -> None:
    """Material libraries, textures, images of meshes, includes and YAML files."""
    folder = tmp_path / "dependent"
    folder.mkdir()
    changes = _dependent_robots(folder)
    corpus = f"dir:{folder}"
    done = run(corpus)
    run.mark(*changes)

    run(corpus, "--resume")
    kept_all = run.kept(*changes)
    for change in changes.values():
        change()
    run(corpus, "--resume")

    assert done.returncode == 0, done.stderr
    assert kept_all == list(changes)
    assert run.kept(*changes) == ["same"]


def _truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:40])


def test_resumed_run_equals_a_fresh_one(run: Run, robots: Path, tmp_path: Path) -> None:
    """Byte for byte, after any change of files of the first run."""
    (robots / "hang.urdf").unlink()
    names = ("record", "layer", "lost", "added", "scene", "garbage", "turned", "kept")
    for name in names:
        write_robot(robots, name)
    _environment_robot(robots)
    (robots / "empty.urdf").write_text('<robot name="empty"><link name="a"/></robot>')
    (robots / "broken.urdf").write_text('<robot name="broken"><link/></robot>')
    missing = (robots / "calm.urdf").read_text().replace("calm.stl", "gone.stl")
    (robots / "missing.urdf").write_text(missing)
    corpus = f"dir:{robots}"
    run(corpus)
    out, everything = run.out, (*names, "abort", "calm", "empty", "broken", "missing")
    run.mark(*everything)
    record = out / "results" / "dir--record.json"
    record.write_text(record.read_text().replace('"exact"', '"close"', 1))
    _truncate(out / "assets" / "dir--layer" / "payload" / "Physics.usda")
    (out / "assets" / "dir--lost" / "payload" / "Geometry.usda").unlink()
    (out / "assets" / "dir--added" / "payload" / "Extra.usda").write_text("#usda 1.0\n")
    _truncate(out / "scenes" / "dir--scene.gz")
    (out / "scenes" / "dir--garbage.gz").write_text("garbage")
    (robots / "turned.urdf").write_text('<robot name="turned"><link/></robot>')

    resumed = run(corpus, "--resume")

    kept = run.kept(*everything)
    assert kept == ["kept", "abort", "calm", "empty", "broken", "missing"]
    assert "dir--added is examined again: assets/dir--added/" in resumed.stderr
    out.rename(tmp_path / "resumed")
    fresh = run(corpus)
    assert resumed.returncode == fresh.returncode == 0
    assert resumed.stdout == fresh.stdout
    assert tree(tmp_path / "resumed") == tree(out)


def test_resumed_comparison_equals_a_fresh_one(run: Run, robots: Path, tmp_path: Path) -> None:
    """With several converters, and after a change of one converter's output."""
    for name in ("abort", "hang"):
        (robots / f"{name}.urdf").unlink()
    script = tmp_path / "convert.py"
    program = "import sys\nfrom urdf_usd import convert\nconvert(*sys.argv[1:])\n"
    script.write_text(program)
    command = f"other={sys.executable} {script} {{urdf}} {{out}}"
    options = "--converter", command, "--converter", "urdf-usd"
    corpus = f"dir:{robots}"
    run(corpus, *options)
    records = {name: run.out / "results" / name for name in ("other", "urdf-usd")}
    before = {name: _times(folder) for name, folder in records.items()}

    run(corpus, *options, "--resume")
    again = {name: _times(folder) for name, folder in records.items()}
    script.write_text(f"{program}# Another version.\n")
    run(corpus, *options, "--resume")

    assert again == before
    assert _times(records["urdf-usd"]) == before["urdf-usd"]
    assert not {*_times(records["other"])} & {*before["other"]}


def _times(folder: Path) -> list[int]:
    return sorted(file.stat().st_mtime_ns for file in folder.iterdir())


def test_unchanged_robots_are_kept(run: Run, robots: Path) -> None:
    """Others are examined again: after a change of a mesh, an option or the asset."""
    corpus = f"dir:{robots}"
    everything = ("abort", "calm", "hang", "quiet")
    run(corpus, SPARE="1")
    run.mark(*everything)

    again = run(corpus, "--resume", SPARE="1")
    kept_all = run.kept(*everything)
    write_mesh(robots / "calm.stl", 2.0)
    shutil.rmtree(run.out / "assets" / "dir--quiet")
    (robots / "hang.urdf").unlink()
    some = run(corpus, "--resume", SPARE="1")
    kept_some = run.kept("abort", "calm", "quiet")
    run(corpus, "--resume", "--bodies", "flat", SPARE="1")
    kept_none = run.kept("abort", "calm", "quiet")

    assert again.returncode == 0
    assert kept_all == list(everything)
    assert kept_some == ["abort"], some.stderr
    assert kept_none == []
    # Robots that are no longer in the corpus are removed.
    names = sorted(path.name for path in (run.out / "results").iterdir())
    assert names == [f"dir--{robot}.json" for robot in ("abort", "calm", "quiet")]
    assert (run.out / "assets" / "dir--quiet" / "quiet.usda").is_file()


def test_added_mesh_is_a_change(run: Run, robots: Path) -> None:
    """No file that was read has changed."""
    for name in ("abort", "hang"):
        (robots / f"{name}.urdf").unlink()
    mesh = robots / "calm.stl"
    mesh.rename(robots / "elsewhere")
    corpus = f"dir:{robots}"
    run(corpus, SPARE="1")
    run.mark("calm", "quiet")

    (robots / "elsewhere").rename(mesh)
    run(corpus, "--resume", SPARE="1")

    assert run.kept("calm", "quiet") == ["quiet"]


def test_added_file_before_another_is_a_change(run: Run, tmp_path: Path) -> None:
    """The first folder of a package path with the file counts."""
    folder, first, second = (tmp_path / name for name in ("robots", "first", "second"))
    for made in (folder, first / "parts", second / "parts"):
        made.mkdir(parents=True)
    for name in ("calm", "quiet"):
        write_robot(folder, name)
    urdf = folder / "calm.urdf"
    urdf.write_text(urdf.read_text().replace("calm.stl", "package://parts/calm.stl"))
    (folder / "calm.stl").rename(second / "parts" / "calm.stl")
    corpus = f"dir:{folder}"
    path = {"ROS_PACKAGE_PATH": f"{first}:{second}", "SPARE": "1"}
    run(corpus, **path)
    run.mark("calm", "quiet")

    run(corpus, "--resume", **path)
    kept_both = run.kept("calm", "quiet")
    write_mesh(first / "parts" / "calm.stl", 2.0)
    run(corpus, "--resume", **path)

    assert kept_both == ["calm", "quiet"]
    assert run.kept("calm", "quiet") == ["quiet"]


def test_crashed_robots_are_rerun_on_request_or_with_other_limits(run: Run, robots: Path) -> None:
    """Otherwise a robot over the time limit would be run every time."""
    corpus = f"dir:{robots}"
    (robots / "hang.urdf").unlink()
    run(corpus)
    run.mark("abort", "calm", "quiet")

    run(corpus, "--resume", SPARE="1")
    kept = run.kept("abort", "calm", "quiet")
    run(corpus, "--resume", "--timeout", "400")
    with_time = run.kept("abort", "calm", "quiet")
    still_broken = run.hostile("abort")["status"]
    run.mark("abort")
    run(corpus, "--resume", "--timeout", "400", "--retry", SPARE="1")

    assert kept == ["abort", "calm", "quiet"]
    assert with_time == ["calm", "quiet"]
    assert still_broken == "crashed"
    assert run.kept("abort", "calm", "quiet") == ["calm", "quiet"]
    assert run.hostile("abort")["status"] == "abstained"


@pytest.fixture
def stopped() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that are killed at the end of a test."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate(timeout=_HANGS)


@_POSIX
@pytest.mark.usefixtures("hangup")
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_stopped_run_reports_and_can_be_resumed(
    run: Run,
    robots: Path,
    stopped: list[subprocess.Popen[str]],
    short_path: Path,
    how: str,
) -> None:
    """Exit 130, no process or temporary file left; a batch system sends SIGTERM."""
    mark = str(short_path)
    corpus = f"dir:{robots}"
    (robots / "abort.urdf").unlink()
    # One robot takes longer than the test.
    process = subprocess.Popen(
        run.command(corpus, "--timeout", "6000"),
        env=run.environment | {"PATIENT": "1", "MARK_OF_TEST": mark, "TMPDIR": str(short_path)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    stopped.append(process)
    wait_until(lambda: run.finished("calm", "quiet"))
    if how == "SIGINT":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.Signals[how])
    _, stderr = process.communicate(timeout=_HANGS)

    assert process.returncode == 130
    assert "2 of 3 robots are finished" in stderr
    assert "Traceback" not in stderr
    summary = json.loads((run.out / "summary.json").read_text())
    assert (summary["complete"], summary["unfinished"]) == (False, 1)
    assert [robot["id"] for robot in summary["robots"]] == ["dir--calm", "dir--quiet"]
    assert "Incomplete" in (run.out / "index.html").read_text()
    wait_until(lambda: not processes_with(f"MARK_OF_TEST={mark}"))
    assert list(short_path.iterdir()) == []
    assert _scraps(run.out) == []

    run.mark("calm", "quiet")
    run(corpus, "--resume", SPARE="1")

    assert run.kept("calm", "quiet") == ["calm", "quiet"]
    summary = json.loads((run.out / "summary.json").read_text())
    assert (summary["complete"], summary["unfinished"]) == (True, 0)
    assert len(summary["robots"]) == 3


@_POSIX
def test_second_run_in_a_folder_is_refused(
    run: Run, robots: Path, stopped: list[subprocess.Popen[str]]
) -> None:
    """With exit status 2 and the process id of the first, which continues."""
    (robots / "abort.urdf").unlink()
    first = subprocess.Popen(  # this command
        run.command(f"dir:{robots}", "--timeout", "6000"),
        env=run.environment | {"PATIENT": "1"},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    stopped.append(first)
    wait_until(lambda: run.finished("calm", "quiet"))
    before = tree(run.out / "results") | tree(run.out / "assets")

    second = run(f"dir:{robots}", SPARE="1")
    resumed = run(f"dir:{robots}", "--resume", SPARE="1")

    for refused in (second, resumed):
        assert refused.returncode == 2
        assert f"in use by the run of process {first.pid} on " in refused.stderr
    assert first.poll() is None
    assert tree(run.out / "results") | tree(run.out / "assets") == before


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_killed_run_leaves_no_process(
    run: Run,
    robots: Path,
    stopped: list[subprocess.Popen[str]],
    tmp_path: Path,
    short_path: Path,
) -> None:
    """It has no chance to stop them itself; its folder can be used again.

    The next run removes its temporary files.
    """
    mark = str(tmp_path)
    temporary = str(short_path)
    for name in ("abort", "calm"):
        (robots / f"{name}.urdf").unlink()
    process = subprocess.Popen(
        run.command(f"dir:{robots}", "--timeout", "6000"),
        env=run.environment | {"PATIENT": "1", "MARK_OF_TEST": mark, "TMPDIR": temporary},
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    stopped.append(process)
    wait_until(lambda: run.finished("quiet"))

    process.kill()
    process.wait()

    wait_until(lambda: not processes_with(f"MARK_OF_TEST={mark}"))
    (run.out / "assets" / ".urdf-usd-unfinished").mkdir()
    run.mark("quiet")
    assert list(short_path.iterdir()) != []
    resumed = run(f"dir:{robots}", "--resume", SPARE="1", TMPDIR=temporary)
    assert resumed.returncode == 0, resumed.stderr
    assert list(short_path.iterdir()) == []
    assert run.kept("quiet") == ["quiet"]
    run.out.rename(tmp_path / "resumed")
    run(f"dir:{robots}", SPARE="1")
    assert tree(tmp_path / "resumed") == tree(run.out)
