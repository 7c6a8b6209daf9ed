"""The folder of a run: its lock, removed files, refusals, and what a resumed run keeps."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

from tests.conformance.direct import examine_in_this_process
from tests.conformance.runs import tree, write_mesh, write_robot
from urdf_usd.conformance.converters.candidates import OWN, CommandConverter
from urdf_usd.conformance.execution import run as execution
from urdf_usd.conformance.execution.folder import RunFolderError, claim_run_folder
from urdf_usd.conformance.execution.run import run
from urdf_usd.conformance.options import Limits, RunOptions
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.options import BodyNesting
from urdf_usd.corpus import resolve_corpora

_PLACES = ("arm", "leg")
_OF_ARM = {
    "results/arm.json",
    "assets/arm/robot.usda",
    "assets/arm/payload/Physics.usda",
    "scenes/arm.gz",
    "expanded/arm.urdf",
    "timings/arm.json",
}


def _write(out: Path, *names: str) -> None:
    for name in names:
        file = out / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"content of {name}")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The folder of a finished run."""
    folder = tmp_path / "out"
    with claim_run_folder(folder, _PLACES) as claimed:
        for place in _PLACES:
            _write(folder, *(name.replace("arm", place) for name in _OF_ARM))
            claimed.finish(place)
        _write(folder, "index.html", "robots/arm.html", "scripts/pages.js")
    return folder


def _left(out: Path) -> set[str]:
    return {name for name in tree(out) if not name.startswith(".urdf-usd-run")}


def test_new_run_removes_the_files_of_the_former_one_alone(out: Path, tmp_path: Path) -> None:
    _write(tmp_path, "elsewhere/mine.txt")
    (out / "assets" / "arm" / "link").symlink_to(tmp_path / "elsewhere")
    mine = {"notes.txt", "results/mine.json", "robots/arm.png", "assets/mine/robot.usda"}
    _write(out, *mine)
    with claim_run_folder(out, ("hand",)) as folder:
        assert not any(map(folder.finished, _PLACES))
        assert _left(out) == mine
        assert not (out / "expanded").exists()
    assert (tmp_path / "elsewhere" / "mine.txt").is_file()


def test_resumed_run_keeps_only_its_finished_robots(out: Path) -> None:
    for _ in range(2):
        with claim_run_folder(out, ("arm", "hand"), resume=True) as folder:
            assert [*folder.kept] == ["arm"]
            assert _left(out) == _OF_ARM
            assert not (out / "assets" / "hand").exists()
            folder.remove("hand")
            _write(out, "assets/hand/half.usda", "results/.hand.json.part")
            os.mkfifo(out / "assets" / "hand" / "pipe")
        _write(out, "assets/.urdf-usd-x1/asset/half.usda", ".urdf-usd-x2/half.usda")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("results/arm.json", None),
        ("scenes/arm.gz", "another"),
        ("assets/arm/robot.usda", ""),
        ("assets/arm/overlay.usda", "added"),
    ],
)
def test_robot_with_a_changed_file_is_removed_on_resuming(
    out: Path, name: str, content: str | None
) -> None:
    if content is None:
        (out / name).unlink()
    else:
        (out / name).write_text(content)

    with claim_run_folder(out, _PLACES, resume=True) as folder:
        assert [*folder.kept] == ["leg"]
    assert not {one for one in _left(out) if "arm" in one}


def test_other_folder_is_refused_and_unchanged(tmp_path: Path) -> None:
    _write(tmp_path, "assets/logo.svg", "index.html")
    before = tree(tmp_path)

    with (
        pytest.raises(RunFolderError, match=r"\(assets, index\.html\); name a new"),
        claim_run_folder(tmp_path, _PLACES),
    ):
        pass

    assert tree(tmp_path) == before


def test_lock_is_released_at_the_end_of_the_block(tmp_path: Path) -> None:
    held = f"run of process {os.getpid()} on {socket.gethostname()}; wait"
    for _ in range(2):
        with (
            claim_run_folder(tmp_path, ()),
            pytest.raises(RunFolderError, match=held),
            claim_run_folder(tmp_path, ()),
        ):
            pass


# A resumed run has the files of a fresh one, and repeats only what has changed.

_NAMESPACE = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
_ROBOT = f"""<robot name="r" {_NAMESPACE}>%s
<link name="a"><visual><geometry>%s</geometry></visual></link></robot>"""
_PART = f'<robot {_NAMESPACE}><xacro:property name="size" value="%s"/></robot>'
_OPTIONS = RunOptions(
    engines=("reference",), jobs=2, convert=ConvertOptions(environment=("SIZE_OF_TEST",))
)


def _run(corpus: Path, options: RunOptions = _OPTIONS, *, resume: bool = True) -> list[str]:
    """Run the robots of a folder; return those whose records were written."""
    out = corpus.parent / "out"
    before = {file: file.stat().st_mtime_ns for file in out.glob("results/**/*.json")}
    run(resolve_corpora([f"dir:{corpus}"]), out, structs.replace(options, resume=resume))
    return sorted(
        file.stem.removeprefix("dir--")
        for file in out.glob("results/**/*.json")
        if before.get(file) != file.stat().st_mtime_ns
    )


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder with one robot."""
    folder = tmp_path / "robots"
    folder.mkdir()
    write_robot(folder, "arm")
    return folder


def test_resumed_run_equals_a_fresh_one(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte for byte, after a change of any input, variable or file of the first run."""
    folder, out = corpus.parent, corpus.parent / "out"
    monkeypatch.setenv("SIZE_OF_TEST", "3")
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"{folder / 'first'}:{folder / 'second'}")
    for place in ("first", "second"):
        (folder / place / "parts").mkdir(parents=True)
    write_mesh(folder / "second" / "parts" / "part.stl", 1.0)
    include = '<xacro:include filename="part.xacro"/>'
    for file, text in {
        "part.xacro": _PART % 2,
        "included.urdf.xacro": _ROBOT % (include, '<sphere radius="${size}"/>'),
        "variable.urdf.xacro": _ROBOT % ("", '<sphere radius="$(optenv SIZE_OF_TEST 2)"/>'),
        "gone.urdf": _ROBOT % ("", '<mesh filename="absent.stl"/>'),
        "packaged.urdf": _ROBOT % ("", '<mesh filename="package://parts/part.stl"/>'),
        "missing.urdf": _ROBOT % ("", '<mesh filename="no.stl"/>'),
        "broken.urdf": '<robot name="broken"><link/></robot>',
        "empty.urdf": '<robot name="empty"><link name="a"/></robot>',
        "removed.urdf": '<robot name="r"><link name="a"/></robot>',
    }.items():
        (corpus / file).write_text(text)
    for name in ("mesh", "turned", "record", "layer"):
        write_robot(corpus, name)
    changes: dict[str, Callable[[], object]] = {
        "included": lambda: (corpus / "part.xacro").write_text(_PART % 3),
        "variable": lambda: os.environ.update(SIZE_OF_TEST="4"),
        "mesh": lambda: write_mesh(corpus / "mesh.stl", 2.0),
        "turned": lambda: (corpus / "turned.urdf").write_text('<robot name="t"><link/></robot>'),
        # Files that were not there: a missing one, and one before another in a search path.
        "gone": lambda: write_mesh(corpus / "absent.stl", 1.0),
        "packaged": lambda: write_mesh(folder / "first" / "parts" / "part.stl", 2.0),
        # Files that the run wrote.
        "record": lambda: os.truncate(out / "results" / "dir--record.json", 40),
        "layer": lambda: os.truncate(out / "assets/dir--layer/payload/Physics.usda", 40),
    }
    everything = {*changes, "arm", "broken", "empty", "missing", "removed", "part"}
    assert {*_run(corpus, resume=False)} == everything

    again = _run(corpus)
    for change in changes.values():
        change()
    (corpus / "removed.urdf").unlink()
    resumed = _run(corpus)

    # Nothing says which files a xacro file includes that is only part of a robot.
    assert again == ["part"]
    assert {*resumed} == {*changes, "part"}
    found = tree(out)
    _run(corpus, resume=False)
    assert found == tree(out)


def test_other_options_are_a_change(corpus: Path) -> None:
    _run(corpus, resume=False)

    flat = structs.replace(_OPTIONS, convert=ConvertOptions(bodies=BodyNesting.FLAT))
    others = [flat, structs.replace(_OPTIONS, engines=("mujoco",))]
    assert [_run(corpus, options) for options in others] == [["arm"]] * 2


def test_changed_script_repeats_the_robots_of_its_converter(corpus: Path, tmp_path: Path) -> None:
    script = tmp_path / "convert.py"
    program = "import sys\nfrom urdf_usd import convert\nconvert(*sys.argv[1:])\n"
    script.write_text(program)
    other = CommandConverter("other", (sys.executable, str(script), "{urdf}", "{out}"))
    options = structs.replace(_OPTIONS, converters=(other, OWN))
    assert _run(corpus, options, resume=False) == ["arm", "arm"]

    assert _run(corpus, options) == []
    script.write_text(f"{program}# Another version.\n")
    assert _run(corpus, options) == ["arm"]


def test_crashed_robots_are_repeated_on_request_or_with_other_limits(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a robot over the time limit would be run every time."""
    write_robot(corpus, "calm")

    def crash() -> None:
        with monkeypatch.context() as context:
            examine_in_this_process(context, {"usd openusd": "x"}, "arm")
            _run(corpus, resume=False)

    crash()
    assert _run(corpus) == []
    assert _run(corpus, structs.replace(_OPTIONS, limits=Limits(time=300.0))) == ["arm"]
    crash()
    assert _run(corpus, structs.replace(_OPTIONS, retry=True)) == ["arm"]


def test_no_engine_is_loaded_if_nothing_changed(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run(corpus, resume=False)
    monkeypatch.setattr(execution, "select_engines", None)

    assert _run(corpus) == []
