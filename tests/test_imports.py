"""The architecture, enforced: who may import whom, and how large a module may be.

The arrows are those of ARCHITECTURE.md. Imports for type checking count as well: an
arrow that only types follow is still an arrow.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parent.parent
PACKAGE = "urdf_usd"
FOLDERS = ("converter", "conformance", "corpus", "reports")
PACKAGES = tuple(f"{PACKAGE}.{folder}" for folder in FOLDERS)

LONGEST_MODULE = 400
LONGEST_FUNCTION = 60
# Modules that may be longer, with the reason.
LONG: dict[str, str] = {}

BANNED_WORDS = frozenset(
    {"base", "common", "core", "data", "helper", "helpers", "info", "manager"}
    | {"misc", "util", "utils"}
)

# The parts of the harness that bring everything together.
ORCHESTRATION = (
    "urdf_usd.conformance.assembly",
    "urdf_usd.conformance.back_again",
    "urdf_usd.conformance.cli",
    "urdf_usd.conformance.cluster",
    "urdf_usd.conformance.commands",
    "urdf_usd.conformance.examination",
    "urdf_usd.conformance.examined",
    "urdf_usd.conformance.examiner",
    "urdf_usd.conformance.export_process",
    "urdf_usd.conformance.fingerprint",
    "urdf_usd.conformance.ledger",
    "urdf_usd.conformance.fixture",
    "urdf_usd.conformance.labelling",
    "urdf_usd.conformance.making",
    "urdf_usd.conformance.panel",
    "urdf_usd.conformance.parcels",
    "urdf_usd.conformance.preloading",
    "urdf_usd.conformance.preloading_usd",
    "urdf_usd.conformance.program",
    "urdf_usd.conformance.pytest_plugin",
    "urdf_usd.conformance.run",
    "urdf_usd.conformance.scenery",
    "urdf_usd.conformance.suite",
    "urdf_usd.conformance.tasks",
    "urdf_usd.conformance.usd_limits",
)


@dataclass(frozen=True)
class Arrow:
    """What some modules may import from our own packages.

    Attributes:
        source: Module or package that imports; the longest match counts.
        targets: Modules or packages that it may import, besides itself.
        barred: Exceptions to the targets.
    """

    source: str
    targets: tuple[str, ...]
    barred: tuple[str, ...] = ()


ARROWS = (
    # The public interface, which nothing inside imports.
    Arrow(PACKAGE, PACKAGES),
    Arrow("urdf_usd.converter", ("urdf_usd.converter",)),
    Arrow("urdf_usd.corpus", ("urdf_usd.corpus",)),
    Arrow(
        "urdf_usd.reports",
        (
            "urdf_usd.reports",
            "urdf_usd.conformance.baseline_record",
            "urdf_usd.conformance.change_record",
            "urdf_usd.conformance.ledger_record",
            "urdf_usd.conformance.record",
            "urdf_usd.conformance.scene",
        ),
    ),
    Arrow(
        "urdf_usd.conformance",
        ("urdf_usd.conformance",),
        ("urdf_usd.conformance.witnesses", *ORCHESTRATION),
    ),
    *(Arrow(name, PACKAGES) for name in ORCHESTRATION),
    # A witness shares no mathematics with what it judges.
    Arrow(
        "urdf_usd.conformance.witnesses",
        (
            # Pure functions of what witnesses state.
            "urdf_usd.conformance.couplings",
            "urdf_usd.conformance.drawing",
            "urdf_usd.conformance.free_motion",
            "urdf_usd.conformance.observation",
            "urdf_usd.conformance.shapes",
            "urdf_usd.conformance.witness",
            "urdf_usd.conformance.witnesses",
        ),
    ),
    # What prims are called is asked before anybody compares.
    Arrow(
        "urdf_usd.conformance.witnesses.usdphysics_names",
        (
            "urdf_usd.conformance.named_prims",
            "urdf_usd.conformance.observation",
            "urdf_usd.conformance.witness",
            "urdf_usd.conformance.witnesses",
        ),
    ),
    # The specification's own reading is the converter's: it never decides alone.
    Arrow(
        "urdf_usd.conformance.witnesses.spec_witness",
        (
            "urdf_usd.converter",
            "urdf_usd.conformance.observation",
            "urdf_usd.conformance.witness",
            # It has MuJoCo roll out what it read.
            "urdf_usd.conformance.witnesses.mujoco_model",
            "urdf_usd.conformance.witnesses.spec_shapes",
        ),
    ),
    Arrow(
        "urdf_usd.conformance.witnesses.spec_shapes",
        (
            "urdf_usd.converter",
            "urdf_usd.conformance.drawing",
            "urdf_usd.conformance.shapes",
            # Neither meshes nor their measures are the converter's.
            "urdf_usd.conformance.witnesses.loaded_mesh",
            "urdf_usd.conformance.witnesses.mesh_files",
            "urdf_usd.conformance.witnesses.spec_looks",
            "urdf_usd.conformance.witnesses.surfaces",
        ),
        ("urdf_usd.converter.meshes",),
    ),
    Arrow(
        "urdf_usd.conformance.witnesses.spec_looks",
        (
            "urdf_usd.conformance.shapes",
            "urdf_usd.conformance.witnesses.file_materials",
            "urdf_usd.conformance.witnesses.loaded_mesh",
            "urdf_usd.conformance.witnesses.surfaces",
            "urdf_usd.converter.model",
        ),
    ),
    # Faults are seeded into USDs of our own, and read by the witness on trial.
    Arrow(
        "urdf_usd.conformance.mutations.experiment",
        ("urdf_usd.conformance", "urdf_usd.converter"),
    ),
    Arrow(
        "urdf_usd.conformance.mutations.sensitivity",
        ("urdf_usd.conformance", "urdf_usd.corpus"),
    ),
    # People write baselines as they write lists of robots.
    Arrow(
        "urdf_usd.conformance.baseline",
        ("urdf_usd.conformance", "urdf_usd.corpus.toml_tables"),
    ),
)

# Untyped or heavy dependencies, and the only places that may import them. A name that
# ends in * stands for all modules that begin with it.
QUARANTINE = {
    "click": ("urdf_usd.conformance.cli", "urdf_usd.conformance.commands"),
    "collada": ("urdf_usd.conformance.witnesses.dae_files",),
    "fast_simplification": ("urdf_usd.conformance.coarsening",),
    "jinja2": ("urdf_usd.reports",),
    "lxml": ("urdf_usd.converter.urdf", "urdf_usd.conformance.witnesses"),
    "mujoco": ("urdf_usd.conformance.witnesses.mujoco*",),
    "newton": ("urdf_usd.conformance.witnesses.newton*",),
    "newton_usd_schemas": (
        "urdf_usd.converter.usd",
        "urdf_usd.conformance.witnesses.usdphysics*",
    ),
    "pebble": ("urdf_usd.conformance.isolation",),
    # Faults are edits of USDs; nothing in there is ever compared with.
    "pxr": (
        "urdf_usd.converter.usd",
        "urdf_usd.conformance.mutations",
        # It has the library find its plugins.
        "urdf_usd.conformance.preloading",
        "urdf_usd.conformance.preloading_usd",
        "urdf_usd.conformance.witnesses.usdphysics*",
    ),
    "pinocchio": ("urdf_usd.conformance.witnesses.pinocchio*",),
    "plyfile": ("urdf_usd.conformance.witnesses.ply_files",),
    "pydrake": ("urdf_usd.conformance.witnesses.drake*",),
    "pybullet": ("urdf_usd.conformance.witnesses.pybullet*",),
    "pybullet_data": ("urdf_usd.corpus",),
    "simdjson": ("urdf_usd.converter.meshes.number_lists",),
    "stl": ("urdf_usd.converter.meshes.stl_triangles",),
    "tinyobjloader": ("urdf_usd.converter.meshes.obj",),
    "rich": ("urdf_usd.conformance.commands", "urdf_usd.reports.terminal"),
    "robot_descriptions": ("urdf_usd.corpus",),
    "xacro": ("urdf_usd.converter.urdf.xacro_process",),
    "xacrodoc": ("urdf_usd.converter.urdf.xacro_process",),
    # Also the tests' independent reader of the other formats.
    "trimesh": (
        "urdf_usd.converter.meshes.ply",
        "urdf_usd.conformance.witnesses.stl_files",
        "urdf_usd.conformance.witnesses.trimesh_scenes",
    ),
    "warp": ("urdf_usd.conformance.witnesses.newton*",),
}


@dataclass(frozen=True)
class MeshReaders:
    """What reads one format of meshes.

    Attributes:
        converter: The converter's module.
        converter_libraries: What it reads the format by, besides the standard library.
        harness: The harness' module.
        harness_libraries: What that reads the format by.
    """

    converter: str
    converter_libraries: frozenset[str]
    harness: str
    harness_libraries: frozenset[str]


# A fault of a library that both sides read a format by would hide itself.
MESH_READERS = {
    "stl": MeshReaders(
        "stl_triangles", frozenset({"stl"}), "stl_files", frozenset({"trimesh"})
    ),
    "obj": MeshReaders(
        "obj", frozenset({"tinyobjloader"}), "obj_files", frozenset({"trimesh"})
    ),
    "collada": MeshReaders(
        "dae", frozenset({"simdjson"}), "dae_files", frozenset({"collada"})
    ),
    "gltf": MeshReaders("gltf", frozenset(), "gltf_files", frozenset({"trimesh"})),
    "ply": MeshReaders(
        "ply", frozenset({"trimesh"}), "ply_files", frozenset({"plyfile"})
    ),
}
CONVERTER_MESHES = "urdf_usd.converter.meshes"
HARNESS_ENGINES = "urdf_usd.conformance.witnesses"
# It reads no file.
SHARED_LIBRARIES = frozenset({"numpy"})


@dataclass(frozen=True)
class Module:
    """One source file."""

    name: str
    path: Path
    tree: ast.Module
    lines: int


def find_modules(root: Path) -> tuple[Module, ...]:
    """Parse all modules of our packages below a folder."""
    found = []
    inside = (path for name in FOLDERS for path in (root / name).rglob("*.py"))
    for path in sorted((*(root / PACKAGE).glob("*.py"), *inside)):
        parts = path.relative_to(root).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        name = ".".join(parts if parts[0] == PACKAGE else (PACKAGE, *parts))
        text = path.read_text(encoding="utf-8")
        found.append(Module(name, path, ast.parse(text), len(text.splitlines())))
    return tuple(found)


def named_modules(root: Path) -> dict[str, Module]:
    """Parse all modules of our packages below a folder; return them by name."""
    return {module.name: module for module in find_modules(root)}


def imports(module: Module, known: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Yield line and full name of every module that a module imports."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(names=names):
                origin = absolute_origin(module, node)
                for alias in names:
                    inner = f"{origin}.{alias.name}"
                    yield node.lineno, inner if inner in known else origin
            case ast.Call(
                func=ast.Attribute(attr="import_module")
                | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def absolute_origin(module: Module, node: ast.ImportFrom) -> str:
    """Name what stands between ``from`` and ``import``, in full."""
    if not node.level:
        return node.module or ""
    package = module.name.split(".")
    if module.path.name != "__init__.py":
        package = package[:-1]
    package = package[: len(package) - node.level + 1]
    return ".".join([*package, *filter(None, [node.module])])


def within(name: str, scope: str) -> bool:
    """Whether a module is the scope, lies in it, or begins like it."""
    if scope.endswith("*"):
        return name.startswith(scope[:-1])
    return name == scope or name.startswith(f"{scope}.")


def arrow_of(name: str) -> Arrow:
    """Find the most specific arrow of a module."""
    matching = (arrow for arrow in ARROWS if within(name, arrow.source))
    return max(matching, key=lambda arrow: len(arrow.source))


def may_import(name: str, target: str) -> bool:
    """Whether a module may import one of ours."""
    # A package's front door shows what is inside.
    if within(target, name) or name == "urdf_usd.conformance":
        return True
    arrow = arrow_of(name)
    return any(within(target, scope) for scope in arrow.targets) and not any(
        within(target, scope) for scope in arrow.barred
    )


def import_violations(root: Path) -> list[str]:
    """Say which imports break an arrow or a quarantine."""
    modules = find_modules(root)
    known = frozenset(module.name for module in modules)
    found = []
    for module in modules:
        for line, target in dict.fromkeys(imports(module, known)):
            top = target.partition(".")[0]
            places = QUARANTINE.get(top)
            if top == PACKAGE and not may_import(module.name, target):
                found.append(f"{module.name}:{line} may not import {target}")
            elif places is not None and not any(within(module.name, p) for p in places):
                found.append(f"{module.name}:{line} may not import {top}")
    return found


def libraries(modules: Mapping[str, Module], start: str) -> frozenset[str]:
    """Return what a module imports that is not ours, itself and through ours."""
    known = frozenset(modules)
    found, pending = set[str](), [start]
    seen = {start}
    while pending:
        for _, target in imports(modules[pending.pop()], known):
            top = target.partition(".")[0]
            if top != PACKAGE:
                found.add(top)
            elif target in known and target not in seen:
                seen.add(target)
                pending.append(target)
    return frozenset(found - sys.stdlib_module_names - SHARED_LIBRARIES)


def size_violations(root: Path, long: Mapping[str, str]) -> list[str]:
    """Say which modules and functions are too long."""
    found = []
    for module in find_modules(root):
        if module.lines > LONGEST_MODULE and module.name not in long:
            found.append(f"{module.name} has {module.lines} lines")
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > LONGEST_FUNCTION:
                    found.append(f"{module.name}.{node.name} has {length} lines")
    return found


def name_violations(root: Path) -> list[str]:
    """Say which modules have a name that says nothing, or a dependency's."""
    found = []
    for module in find_modules(root):
        last = module.name.rpartition(".")[2]
        if BANNED_WORDS.intersection(last.split("_")) or last in QUARANTINE:
            found.append(f"{module.name} is no name for a module")
    return found


def test_imports_follow_the_arrows() -> None:
    """Every package imports only what lies below it."""
    assert import_violations(ROOT) == []


@pytest.mark.parametrize("form", MESH_READERS)
def test_each_format_of_meshes_is_read_by_other_libraries_on_both_sides(
    form: str,
) -> None:
    """The table is what is imported, and its sides have nothing in common."""
    readers = MESH_READERS[form]
    modules = named_modules(ROOT)
    ours = libraries(modules, f"{CONVERTER_MESHES}.{readers.converter}")
    theirs = libraries(modules, f"{HARNESS_ENGINES}.{readers.harness}")

    assert ours == readers.converter_libraries
    assert theirs == readers.harness_libraries
    assert not ours & theirs


def test_no_reader_of_meshes_is_missing_in_the_table() -> None:
    """Neither of the modules that choose a reader reads by a library itself."""
    modules = named_modules(ROOT)
    known = frozenset(modules)
    for chooser, listed in (
        (f"{CONVERTER_MESHES}.read", {one.converter for one in MESH_READERS.values()}),
        (f"{HARNESS_ENGINES}.mesh_files", {o.harness for o in MESH_READERS.values()}),
    ):
        targets = {target for _, target in imports(modules[chooser], known)}
        folder = chooser.rpartition(".")[0]
        reading = {
            target.rpartition(".")[2]
            for target in targets
            if within(target, folder)
            and libraries(modules, target) & (set(QUARANTINE) - SHARED_LIBRARIES)
        }
        outside = {target.partition(".")[0] for target in targets} - {PACKAGE}

        assert outside <= sys.stdlib_module_names | SHARED_LIBRARIES
        # Text of STL, and formats that the converter does not read.
        assert reading <= listed | {"trimesh_scenes"}


def test_libraries_are_found_through_modules_of_ours(tmp_path: Path) -> None:
    """Also where they are imported in a function."""
    write_tree(
        tmp_path,
        {
            "converter/meshes/ply.py": "from urdf_usd.converter.meshes import text",
            "converter/meshes/text.py": "def f():\n    import plyfile, numpy, json",
        },
    )

    modules = named_modules(tmp_path)

    assert libraries(modules, f"{CONVERTER_MESHES}.ply") == {"plyfile"}


def test_modules_and_functions_stay_small() -> None:
    """A long module has a reason, or two subjects."""
    assert size_violations(ROOT, LONG) == []


def test_modules_are_named_after_their_subject() -> None:
    """Neither drawers nor dependencies."""
    assert name_violations(ROOT) == []


def test_exceptions_to_the_size_are_still_needed() -> None:
    """An exemption that nobody needs is removed."""
    sizes = {module.name: module.lines for module in find_modules(ROOT)}

    assert [name for name in LONG if sizes.get(name, 0) <= LONGEST_MODULE] == []


def write_tree(root: Path, files: dict[str, str]) -> None:
    """Write modules of a small project, with the packages they lie in."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "text", "target"),
    [
        (
            "converter/model.py",
            "import urdf_usd.conformance.record",
            "urdf_usd.conformance.record",
        ),
        ("converter/model.py", "from urdf_usd import read_urdf", "urdf_usd"),
        ("conformance/run.py", "from urdf_usd import robots", "urdf_usd.robots"),
        ("urdf_usd/robots.py", "import pxr.Usd", "pxr"),
        (
            "converter/model.py",
            "from urdf_usd.corpus import catalogue",
            "urdf_usd.corpus",
        ),
        (
            "converter/usd/read.py",
            "from urdf_usd.reports.site import x",
            "urdf_usd.reports.site",
        ),
        (
            "corpus/files.py",
            "from urdf_usd.converter.urdf.parse import x",
            "urdf_usd.converter",
        ),
        (
            "reports/site.py",
            "from urdf_usd.conformance.run import run",
            "urdf_usd.conformance.run",
        ),
        (
            "reports/site.py",
            "import urdf_usd.converter.model",
            "urdf_usd.converter.model",
        ),
        (
            "conformance/verdict.py",
            "import urdf_usd.converter.model",
            "urdf_usd.converter.model",
        ),
        (
            "conformance/verdict.py",
            "from urdf_usd.conformance import run",
            "urdf_usd.conformance.run",
        ),
        ("conformance/verdict.py", "from . import run", "urdf_usd.conformance.run"),
        (
            "conformance/verdict.py",
            "from .witnesses.spec_witness import x",
            "urdf_usd.conformance.witnesses.spec_witness",
        ),
        (
            "conformance/witnesses/a.py",
            "from ..record import x",
            "urdf_usd.conformance.record",
        ),
        (
            "conformance/witnesses/a.py",
            "import urdf_usd.converter",
            "urdf_usd.converter",
        ),
        (
            "conformance/witnesses/spec_witness.py",
            "import urdf_usd.corpus",
            "urdf_usd.corpus",
        ),
        ("converter/urdf/parse.py", "import pxr.Usd", "pxr"),
        ("converter/meshes/dae.py", "import trimesh", "trimesh"),
        ("converter/model.py", "from lxml import etree", "lxml"),
        ("conformance/sampling.py", "import mujoco", "mujoco"),
        ("conformance/witnesses/mujoco_witness.py", "import pybullet", "pybullet"),
        ("conformance/witnesses/pybullet_a.py", "import pybullet_data", "pybullet_d"),
        ("corpus/a.py", "import importlib\nimportlib.import_module('pxr')", "pxr"),
        ("corpus/a.py", "def f():\n    from pxr import Usd", "pxr"),
        (
            "corpus/a.py",
            "if TYPE_CHECKING:\n    import urdf_usd.converter.model",
            "urdf_usd.converter.model",
        ),
    ],
)
def test_an_import_against_the_arrows_is_caught(
    tmp_path: Path, file: str, text: str, target: str
) -> None:
    """In whatever way it is written."""
    write_tree(
        tmp_path, {"conformance/run.py": "", "urdf_usd/robots.py": "", file: text}
    )

    (violation,) = import_violations(tmp_path)

    assert f"may not import {target}" in violation
    name = file.removesuffix(".py").removeprefix("urdf_usd/").replace("/", ".")
    assert violation.startswith(f"urdf_usd.{name}")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("converter/__init__.py", "from urdf_usd.converter.urdf.parse import parse"),
        ("converter/urdf/source.py", "from lxml import etree"),
        ("converter/usd/joints.py", "from pxr import Usd"),
        ("conformance/__init__.py", "from urdf_usd.conformance.run import run"),
        (
            "conformance/run.py",
            "import urdf_usd.corpus, urdf_usd.converter, urdf_usd.reports",
        ),
        (
            "conformance/commands/run.py",
            "from urdf_usd.conformance.cli import x; import click",
        ),
        ("conformance/verdict.py", "from urdf_usd.conformance.record import Verdict"),
        ("conformance/witnesses/usdphysics_a.py", "from pxr import UsdPhysics"),
        ("conformance/witnesses/a.py", "from .statements import x"),
        (
            "conformance/witnesses/spec_witness.py",
            "from urdf_usd.converter.model import Robot",
        ),
        (
            "reports/site.py",
            "from urdf_usd.conformance.record import Verdict\nimport jinja2",
        ),
        ("corpus/sources/pybullet_assets.py", "import pybullet_data"),
        ("urdf_usd/robots.py", "import urdf_usd.conformance, urdf_usd.corpus"),
    ],
)
def test_an_import_along_the_arrows_is_allowed(
    tmp_path: Path, file: str, text: str
) -> None:
    """One example for each arrow."""
    write_tree(tmp_path, {file: text})

    assert import_violations(tmp_path) == []


def test_what_is_too_long_is_caught(tmp_path: Path) -> None:
    """One line too many, for a module, a function and a method."""
    body = "    x = 1\n" * LONGEST_FUNCTION
    write_tree(
        tmp_path,
        {
            "converter/a.py": "\n" * (LONGEST_MODULE + 1),
            "converter/b.py": "\n" * LONGEST_MODULE,
            "converter/c.py": f"def long():\n{body}",
            "converter/d.py": f"class C:\n  async def long(self):\n{body}",
            "converter/e.py": f"def short():\n{body[10:]}",
        },
    )

    assert size_violations(tmp_path, {}) == [
        "urdf_usd.converter.a has 401 lines",
        "urdf_usd.converter.c.long has 61 lines",
        "urdf_usd.converter.d.long has 61 lines",
    ]
    assert len(size_violations(tmp_path, {"urdf_usd.converter.a": "a reason"})) == 2


@pytest.mark.parametrize(
    "file", ["utils.py", "usd/mesh_helpers.py", "core/__init__.py", "usd/mujoco.py"]
)
def test_a_name_that_says_nothing_is_caught(tmp_path: Path, file: str) -> None:
    """Drawers, and modules that hide a dependency's name."""
    write_tree(tmp_path, {f"converter/{file}": "", "converter/database.py": ""})

    assert len(name_violations(tmp_path)) == 1
