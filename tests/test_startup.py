"""Which libraries commands and packages import, and when."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from urdf_usd.converter import convert

ENGINES = {"mujoco", "newton", "pinocchio", "pybullet", "pydrake"}
REPORTS = {"jinja2", "rich"}
FORMATS = {"collada", "trimesh"}
RARE = {"lxml", "scipy", "xacro"}
LARGE = {"numpy", "pxr"}
# Modules of OpenUSD for stages and their schemas.
STAGES = {"pxr.Usd", "pxr.UsdGeom", "pxr.UsdPhysics", "pxr.UsdShade"}
# Slow modules of the standard library.
SLOW = {"difflib", "hashlib", "traceback"}

ROBOT = """<robot name="arm">
  <link name="a"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="1 2 3"/></geometry>
      <material name="grey"><color rgba="0.3 0.4 0.5 1"/></material></visual></link>
  <link name="b"><inertial><origin xyz="0 0.1 0.2" rpy="0 1.5707963267948966 0"/>
    <mass value="1"/>
    <inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="revolute"><parent link="a"/><child link="b"/>
    <origin xyz="0.1 0.2 0.3" rpy="0.4 -0.5 0.6"/><axis xyz="0 -1 0"/>
    <limit lower="-1" upper="2" effort="3" velocity="4"/></joint>
</robot>"""
COMMANDS = (
    *("check", "convert", "corpus", "diff", "doctor", "expand", "export", "init"),
    *("inspect", "joints", "lint", "reduce", "run", "schema", "view"),
)
MANIFEST = "<package><name>arm</name><license>MIT</license></package>"
TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 2 0\nf 1 2 3\n"


PACKAGES = (
    "urdf_usd",
    "urdf_usd.converter",
    "urdf_usd.conformance",
    "urdf_usd.corpus",
    "urdf_usd.reports",
)


def loaded(program: str, folder: Path | None = None) -> set[str]:
    """Run a program in a new process, and list the packages that it loads.

    Those of OpenUSD are listed with their modules, such as ``pxr.Sdf``.
    """
    show = "import json, sys\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run(
        (sys.executable, "-c", f"{program}\n{show}"),
        check=True,
        capture_output=True,
        cwd=folder,
        encoding="utf-8",
    )
    names: list[str] = json.loads(done.stdout.splitlines()[-1])
    modules = (name.split(".") for name in names)
    return {
        name
        for package, *inner in modules
        for name in (package, *(f"pxr.{one}" for one in inner[:1] if package == "pxr"))
    }


def command(*arguments: str) -> str:
    """Write a program that runs the command line."""
    return (
        "from urdf_usd.conformance.cli.main import main\n"
        f"main({list(arguments)!r}, standalone_mode=False)"
    )


def refused(*arguments: str) -> str:
    """Write a program that runs the command line, which exits."""
    return (
        "from urdf_usd.conformance.cli.main import main\n"
        f"try:\n    main({list(arguments)!r})\n"
        "except SystemExit:\n    pass"
    )


@pytest.mark.parametrize("package", PACKAGES)
def test_importing_a_package_loads_no_library(package: str) -> None:
    """Names are imported at their first use."""
    assert not loaded(f"import {package}") & (
        ENGINES | REPORTS | FORMATS | RARE | LARGE
    )


@pytest.mark.parametrize(
    "package", ["urdf_usd", "urdf_usd.converter", "urdf_usd.corpus"]
)
def test_every_public_name_can_be_imported(package: str) -> None:
    """The tables of lazy names are complete."""
    module = import_module(package)

    assert all(getattr(module, name) is not None for name in module.__all__)


def test_unknown_name_of_a_package_is_an_attribute_error() -> None:
    """Also for lazy packages."""
    for package in (*PACKAGES, "urdf_usd.corpus.sources"):
        with pytest.raises(AttributeError, match="has no attribute 'missing'"):
            _ = import_module(package).missing


def test_reading_urdf_needs_neither_openusd_nor_numpy(tmp_path: Path) -> None:
    """For tools that only read robots."""
    file = tmp_path / "arm.urdf"
    file.write_text(ROBOT)

    names = loaded(f"from urdf_usd import read_urdf\nread_urdf({str(file)!r})")

    assert not names & (ENGINES | REPORTS | FORMATS | RARE | LARGE)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("--version",),
        *((name, "--help") for name in COMMANDS),
        ("corpus", "list", "--help"),
        ("corpus", "show", "--help"),
        ("chek",),
        ("--debg",),
        *((name, "--no-such-option") for name in COMMANDS),
        ("run",),
        ("convert", "none.urdf", "out", "--layout", "flat"),
        ("convert", "none.urdf", "out", "--profile", "physx", "--bodies", "nested"),
        ("convert", "none.urdf", "out"),
        ("convert", "arm.urdf", "out", "--arg", "hand:=true"),
        ("check", "none.urdf", "arm.urdf"),
        ("check", "arm.urdf", "none.usda"),
        ("check", "arm.urdf", "arm.urdf", "--engine", "none"),
        ("corpus", "show", "none.urdf"),
        ("diff", "none", "none"),
        ("doctor", "--full"),
        ("expand", "none.urdf.xacro"),
        ("export", "none.usda", "arm.urdf"),
        ("inspect", "none.urdf"),
        ("lint", "none.urdf"),
        ("lint", "arm.urdf", "--fix"),
        ("run", "--out", "report", "--baseline", "none.toml"),
        ("run", "--out", "report", "--update-baseline"),
        ("run", "--out", "report", "--compare", "none"),
        ("run", "--out", "report", "--converter", "none"),
        ("run", "--out", "report", "--engine", "none"),
        ("run", "--out", "report", "--retry"),
        ("schema", "none"),
    ],
)
def test_help_and_refused_arguments_load_no_library(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """Arguments are validated before libraries are imported."""
    (tmp_path / "arm.urdf").write_text(ROBOT)

    names = loaded(refused(*arguments), tmp_path)

    assert not names & (ENGINES | REPORTS | FORMATS | RARE | LARGE)


@pytest.mark.parametrize(
    "arguments",
    [
        ("convert", "none.urdf", "out"),
        ("lint", "none.urdf"),
        ("check", "none.urdf", "arm.urdf"),
        ("run", "none.urdf", "--out", "report"),
        ("run", "--out", "report", "--baseline", "none.toml"),
    ],
)
def test_missing_file_does_not_load_metadata_of_packages(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """``importlib.metadata`` imports ``email``, and takes a third of such a command."""
    (tmp_path / "arm.urdf").write_text(ROBOT)

    assert "email" not in loaded(refused(*arguments), tmp_path)


def test_run_of_a_missing_robot_loads_no_engine(tmp_path: Path) -> None:
    """Only the gate, whose baseline is read before robots are downloaded."""
    names = loaded(refused("run", "none.urdf", "--out", "report"), tmp_path)

    assert not names & (ENGINES | FORMATS | RARE | LARGE | {"jinja2", "rich"})


def test_conversion_without_meshes_loads_no_mesh_library(tmp_path: Path) -> None:
    """Nor any slow module of the standard library."""
    file = tmp_path / "arm.urdf"
    file.write_text(ROBOT)
    (tmp_path / "package.xml").write_text(MANIFEST)

    names = loaded(command("convert", str(file), str(tmp_path / "usd")))

    assert not names & (ENGINES | REPORTS | FORMATS | RARE | SLOW | STAGES)
    assert names & LARGE == {"pxr"}


@pytest.mark.parametrize(
    ("plain", "oblique"),
    [('ixy="0" ixz', 'ixy="0.1" ixz'), ('axis xyz="0 -1 0"', 'axis xyz="1 -1 0"')],
)
def test_principal_axes_and_oblique_joints_load_only_numpy(
    plain: str, oblique: str, tmp_path: Path
) -> None:
    """For eigenvectors, and the choice among many frames."""
    file = tmp_path / "arm.urdf"
    file.write_text(ROBOT.replace(plain, oblique))

    names = loaded(command("convert", str(file), str(tmp_path / "usd")))

    assert not names & (ENGINES | REPORTS | FORMATS | RARE)
    assert names >= LARGE


def test_obj_mesh_loads_no_library_of_other_formats(tmp_path: Path) -> None:
    """Custom data needs no more."""
    (tmp_path / "part.obj").write_text(TRIANGLE)
    file = tmp_path / "arm.urdf"
    robot = ROBOT.replace('<box size="1 2 3"/>', '<mesh filename="part.obj"/>')
    file.write_text(robot.replace('<link name="a">', '<link name="a" colour="red">'))

    names = loaded(command("convert", str(file), str(tmp_path / "usd")))

    assert (tmp_path / "usd/payload/Extensions.usda").exists()
    assert not names & FORMATS
    assert not names & STAGES


def test_lint_of_boxes_loads_no_scipy(tmp_path: Path) -> None:
    """The inertia of this one is not that of its box, whose hull is the box."""
    file = tmp_path / "arm.urdf"
    file.write_text(
        ROBOT.replace('ixx="1"', 'ixx="9e3"').replace('izz="2.5"', 'izz="9e3"')
    )

    names = loaded(command("lint", str(file)), tmp_path)

    assert "numpy" in names
    assert "scipy" not in names


def test_lint_of_doubtful_inertia_loads_no_scipy(tmp_path: Path) -> None:
    """It depends on the extent of a mesh, not on its hull."""
    (tmp_path / "part.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
    )
    file = tmp_path / "arm.urdf"
    heavy = ROBOT.replace('ixx="1"', 'ixx="9e3"').replace('izz="2.5"', 'izz="9e3"')
    file.write_text(heavy.replace('<box size="1 2 3"/>', '<mesh filename="part.obj"/>'))

    names = loaded(command("lint", str(file)), tmp_path)

    assert "numpy" in names
    assert "scipy" not in names


@pytest.mark.parametrize(
    ("arguments", "begun"),
    [
        (("check", "arm.urdf", "arm.usda"), True),
        (("run", "arm.urdf", "--out", "report"), True),
        (("doctor",), True),
        (("export", "arm.usda", "back.urdf"), True),
        (("export", "none.usda", "back.urdf"), False),
        (("check", "none.urdf", "arm.usda"), False),
        (("check", "arm.urdf", "none.usda"), False),
        (("run", "none.urdf", "--out", "report"), False),
        (("run", "arm.urdf"), False),
        (("check", "--help"), False),
        (("lint", "arm.urdf"), False),
    ],
)
def test_engines_start_loading_after_arguments_are_validated(
    tmp_path: Path, *, arguments: tuple[str, ...], begun: bool
) -> None:
    """In another process, before this one imports its own libraries."""
    for name in ("arm.urdf", "arm.usda"):
        (tmp_path / name).write_text(ROBOT)

    done = _started(
        'lambda *_: sys.exit(f"begun {set(sys.modules) & LARGE or None}")',
        arguments,
        tmp_path,
    )

    assert ("begun None" in done.stderr) is begun
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["check", "run"])
def test_process_of_the_command_loads_no_engine(command: str, tmp_path: Path) -> None:
    """Workers have them; here numpy reads the arrays of their observations."""
    file, usd = tmp_path / "arm.urdf", tmp_path / "usd"
    file.write_text(ROBOT)
    arguments = ["run", str(file), "--out", str(tmp_path / "report"), "--jobs", "1"]
    if command == "check":
        arguments = ["check", str(file), str(convert(file, usd).root_layer)]

    names = loaded(refused(*arguments), tmp_path)

    assert "numpy" in names
    assert not names & (ENGINES | FORMATS | RARE | {"pxr"})


@pytest.mark.skipif(sys.platform == "win32", reason="terminals are POSIX")
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "arm.urdf", "arm.usda"),
        ("run", "arm.urdf", "--out", "report"),
        ("doctor",),
        ("doctor", "--sensitivity"),
        ("export", "arm.usda", "back.urdf"),
    ],
)
def test_status_line_appears_before_libraries_are_imported(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """As fast as a help text."""
    for name in ("arm.urdf", "arm.usda"):
        (tmp_path / name).write_text(ROBOT)

    first = loaded(
        f"""
import sys
from unittest.mock import patch
from urdf_usd.conformance.cli.main import main
from urdf_usd.conformance.cli.output import status

def shown(self, text):
    assert text.endswith(" ...") and text.isascii()
    sys.exit(0)

with patch.object(status.StatusLine, "show", shown):
    try:
        main({list(arguments)!r})
    except SystemExit as end:
        assert end.code == 0
""",
        tmp_path,
    )

    assert not first & (ENGINES | FORMATS | RARE | LARGE | {"jinja2", "rich"})


def test_interruption_during_startup_exits_130(
    tmp_path: Path,
) -> None:
    """With the same message as later."""
    program = """
import sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            raise KeyboardInterrupt

from urdf_usd.conformance.cli.program import start
sys.meta_path.insert(0, Interrupting())
start()
"""

    done = _run(program, tmp_path)

    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def _started(
    loading: str, arguments: tuple[str, ...], folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run the command line with another function instead of preloading engines."""
    return _run(
        f"""
import sys
from urdf_usd.conformance.execution.workers import context
from urdf_usd.conformance.cli.main import main
LARGE = {LARGE!r}
context.start_loading = {loading}
main({list(arguments)!r})
""",
        folder,
    )


def _run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-c", program),
        check=False,
        capture_output=True,
        encoding="utf-8",
        cwd=folder,
    )
