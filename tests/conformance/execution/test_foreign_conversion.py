"""Converters that are commands, and folders of existing USDs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.conformance.runs import wait_until
from urdf_usd.conformance.converters.candidates import CommandConverter, ReadyUsds
from urdf_usd.conformance.execution.foreign_conversion import (
    ConverterCrashError,
    Made,
    NoUsdError,
    call_registered,
    files_of,
    find_ready,
    root_layer_in,
    run_command,
)
from urdf_usd.conformance.execution.worker import Completed
from urdf_usd.conformance.execution.workers import Workers

NAMES = ("dir--arm", "arm")


def _run(script: str, tmp_path: Path, timeout: float = 60.0) -> Made:
    words = (sys.executable, "-c", script, "{urdf}", "{out}")
    return run_command(
        CommandConverter("tool", words),
        tmp_path / "arm.urdf",
        tmp_path / "out",
        packages={},
        names=NAMES,
        timeout=timeout,
    )


def _touch(folder: Path, *names: str) -> None:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#usda 1.0\n")


def test_program_gets_the_urdf_and_an_empty_folder(tmp_path: Path) -> None:
    """The former output is removed; what the program prints is recorded."""
    _touch(tmp_path / "out", "former.usda")
    script = (
        "import pathlib, sys\n"
        "urdf, out = sys.argv[1:]\n"
        "print(pathlib.Path(urdf).name, list(pathlib.Path(out).iterdir()))\n"
        "pathlib.Path(out, 'arm.usd').touch()\n"
    )
    made = _run(script, tmp_path)

    assert made == Made(tmp_path / "out" / "arm.usd", "arm.urdf []")


def test_program_finds_files_relative_to_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although the program runs in a separate folder."""
    monkeypatch.chdir(tmp_path)
    Path("arm.urdf").write_text("<robot/>")
    script = (
        "import pathlib, sys\n"
        "urdf, out = map(pathlib.Path, sys.argv[1:])\n"
        "(out / 'arm.usd').write_bytes(urdf.read_bytes())\n"
    )
    made = _run(script, Path())

    assert made.root_layer.read_text() == "<robot/>"


def test_output_of_a_failed_program_is_recorded(tmp_path: Path) -> None:
    """Its last line is the reason."""
    script = "import sys; print('reading'); sys.exit('no such mesh')"
    with pytest.raises(NoUsdError, match=r"^exit code 1: no such mesh$") as error:
        _run(script, tmp_path)

    assert not isinstance(error.value, ConverterCrashError)
    assert error.value.output is not None
    assert set(error.value.output.split("\n")) == {"reading", "no such mesh"}


def test_crash_of_a_program_is_distinguished_from_a_refusal(tmp_path: Path) -> None:
    """A signal is a crash."""
    script = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    with pytest.raises(ConverterCrashError, match="SIGSEGV"):
        _run(script, tmp_path)


def test_time_limit_of_a_program(tmp_path: Path) -> None:
    """The program only waits, so the test does not depend on speed."""
    with pytest.raises(ConverterCrashError, match=r"not finished after 0\.2 s"):
        _run("import time; time.sleep(600)", tmp_path, timeout=0.2)


@pytest.mark.skipif(os.name != "posix", reason="process groups are POSIX")
def test_child_processes_of_a_program_end_with_its_worker(tmp_path: Path) -> None:
    """They are in the worker's process group."""
    script = (
        "import pathlib, subprocess, sys\n"
        "child = subprocess.Popen(['sleep', '6000'])\n"
        "pathlib.Path(sys.argv[2], 'arm.usd').write_text(str(child.pid))\n"
    )
    with Workers() as workers:
        ending = workers.call(_run, script, tmp_path)
        assert isinstance(ending, Completed), ending
        child = int(ending.value.root_layer.read_text())

    wait_until(lambda: not _runs(child))


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_program_that_writes_nothing_has_failed(tmp_path: Path) -> None:
    """Independent of its exit code."""
    with pytest.raises(NoUsdError, match="wrote no USD") as error:
        _run("print('done')", tmp_path)

    assert error.value.output == "done"


@pytest.mark.parametrize(
    ("files", "root"),
    [
        (("anything.usdc",), "anything.usdc"),
        (("arm.usda", "configuration/arm_base.usd"), "arm.usda"),
        (("inner/robot.usd", "inner/deeper/x.usd"), "inner/robot.usd"),
        (("arm.usda", "arm_physics.usda"), "arm.usda"),
        (("ARM.usd", "meshes.usd"), "ARM.usd"),
        (("dir__arm.usd", "arm.usd"), "dir__arm.usd"),
        (("arm.usdz", "arm.usda", "arm.usdc"), "arm.usda"),
        (("two/two.usd", "two/materials.usd"), "two/two.usd"),
    ],
)
def test_root_layer_is_found_by_depth_and_name(
    tmp_path: Path, files: tuple[str, ...], root: str
) -> None:
    """The only layer at the least depth, or the one named like the robot or folder."""
    _touch(tmp_path, *files)

    assert root_layer_in(tmp_path, NAMES) == tmp_path / root


def test_ambiguous_root_layer_is_refused(tmp_path: Path) -> None:
    """The candidates are named."""
    _touch(tmp_path, "left.usd", "right.usd")

    with pytest.raises(NoUsdError, match=r"several .*: left\.usd, right\.usd$"):
        root_layer_in(tmp_path, NAMES)


@pytest.mark.parametrize(
    ("files", "found", "owned"),
    [
        (("arm.usd", "leg.usd"), "arm.usd", 1),
        (("dir--arm.usda", "arm.usd"), "dir--arm.usda", 1),
        (("arm/arm.usd", "arm/parts/a.usd", "leg/leg.usd"), "arm/arm.usd", 2),
        (("dir--arm/scene.usd",), "dir--arm/scene.usd", 1),
    ],
)
def test_existing_usds_are_found_by_id_or_stem(
    tmp_path: Path, files: tuple[str, ...], found: str, owned: int
) -> None:
    """As files or folders; the id has priority."""
    _touch(tmp_path, *files)
    made = find_ready(ReadyUsds("isaac", tmp_path), NAMES)

    assert made == Made(tmp_path / found)
    assert len(files_of(made.root_layer, tmp_path)) == owned


def test_robot_without_an_existing_usd_is_missing(tmp_path: Path) -> None:
    """The message has the names that were searched for."""
    _touch(tmp_path, "leg.usd")

    with pytest.raises(NoUsdError, match="has no USD named 'dir--arm' or 'arm'"):
        find_ready(ReadyUsds("isaac", tmp_path), NAMES)


def test_callable_returns_the_root_layer(tmp_path: Path) -> None:
    """It receives paths as text, and packages by name."""
    given: list[object] = []

    def make(urdf: str, directory: str, packages: dict[str, str]) -> str:
        given.extend((urdf, packages))
        _touch(Path(directory), "a.usda", "b.usda")
        return os.path.join(directory, "b.usda")  # noqa: PTH118  as others do

    urdf, out = tmp_path / "arm.urdf", tmp_path / "out"
    made = call_registered(make, urdf, out, {"arm": "/ros/arm"})

    assert made == Made(out / "b.usda")
    assert given == [str(urdf), {"arm": "/ros/arm"}]


def test_callable_that_returns_no_file_has_failed(tmp_path: Path) -> None:
    """Without it, opening the file would be reported as a crash."""
    with pytest.raises(NoUsdError, match=r"'robot\.usda', which is no file"):
        call_registered(lambda *_: "robot.usda", tmp_path / "arm.urdf", tmp_path / "out", {})
