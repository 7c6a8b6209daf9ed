"""Import directions, import cycles and module names, as ARCHITECTURE.md states them.

Imports for type checking are included: a dependency of types alone is a dependency.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = "urdf_usd"
FOLDERS = ("converter", "conformance", "corpus", "reports")
PACKAGES = tuple(f"{PACKAGE}.{folder}" for folder in FOLDERS)

# Modules per folder, for an overview at a glance.
MOST_MODULES = 15

BANNED_WORDS = frozenset(
    {"base", "common", "core", "data", "helper", "helpers", "info", "manager"}
    | {"misc", "util", "utils"}
)


@dataclass(frozen=True)
class Arrow:
    """Imports from this project that some modules may have.

    Attributes:
        source: Module or package that imports; the longest match applies.
        targets: Modules or packages that it may import, besides itself.
        barred: Exceptions to the targets.
    """

    source: str
    targets: tuple[str, ...]
    barred: tuple[str, ...] = ()


def _arrow(source: str, *targets: str, barred: tuple[str, ...] = ()) -> Arrow:
    """Make an arrow from names below the package; a source may import itself."""
    full = (f"{PACKAGE}.{target}" for target in (source, *targets))
    return Arrow(
        f"{PACKAGE}.{source}", tuple(full), tuple(f"{PACKAGE}.{b}" for b in barred)
    )


ARROWS = (
    _arrow("converter"),
    _arrow("converter.diagnostics"),
    _arrow("converter.robot", "converter.diagnostics"),
    _arrow(
        "converter.urdf",
        "converter.robot",
        "converter.diagnostics",
        "converter.file_content",
    ),
    _arrow(
        "converter.meshes",
        "converter.diagnostics",
        "converter.colors",
        "converter.file_content",
    ),
    _arrow("corpus", "installation"),
    _arrow("reports", "conformance.records"),
    _arrow("conformance.observation"),
    _arrow("conformance.records", "installation"),
    # Engines share no mathematics and no file reader with the converter.
    _arrow("conformance.engines", "conformance.observation", "installation"),
    # The reference engine uses the converter's URDF reader, so it never decides alone.
    # It reads meshes with its own libraries.
    _arrow(
        "conformance.engines.reference",
        "conformance.engines",
        "conformance.observation",
        "converter",
        barred=("converter.meshes", "converter.usd"),
    ),
    _arrow("conformance.tolerance", "conformance.observation", "conformance.records"),
    _arrow(
        "conformance.checks",
        "conformance.tolerance",
        "conformance.observation",
        "conformance.records",
    ),
    _arrow(
        "conformance.verdict",
        "conformance.checks",
        "conformance.tolerance",
        "conformance.observation",
        "conformance.records",
        "conformance.engines.protocol",
    ),
    _arrow(
        "conformance.matching",
        "conformance.observation",
        "conformance.engines.protocol",
        "conformance.engines.openusd.names",
    ),
    # Expected values are compared with observations, by formulas of its own.
    _arrow(
        "conformance.expectations",
        "conformance.observation",
        "conformance.records",
        "conformance.engines.protocol",
    ),
    _arrow("conformance.converters", "conformance.records"),
    # Reads robot description files without the converter.
    _arrow(
        "conformance.promises",
        "conformance.observation",
        "conformance.engines.mujoco",
    ),
    # Baselines are TOML tables like lists of robots.
    _arrow(
        "conformance.gate",
        "conformance.records",
        "conformance.checks.catalogue",
        "conformance.converters",
        "corpus.toml_tables",
    ),
    _arrow(
        "conformance.drawing",
        "conformance.observation",
        "conformance.records",
        "conformance.engines",
        "converter.robot",
    ),
    _arrow(
        "conformance.execution",
        "conformance",
        "converter",
        "corpus",
        "installation",
        barred=(
            "conformance.cli",
            "conformance.pytest_plugin",
            "conformance.suite",
            "conformance.mutation",
        ),
    ),
    # Faults are seeded into converted USDs, and read by the engine under test.
    _arrow(
        "conformance.mutation",
        "conformance",
        "converter",
        "corpus",
        barred=("conformance.cli", "conformance.pytest_plugin", "conformance.suite"),
    ),
    _arrow(
        "conformance.reduction",
        "conformance.execution",
        "conformance.converters",
        "conformance.engines.protocol",
        "conformance.records",
        "conformance.verdict.judged",
        "converter",
        "corpus",
    ),
    _arrow("conformance.cli", *FOLDERS),
    _arrow("installation"),
    _arrow(
        "robots",
        "conformance.execution.run",
        "conformance.records.record",
        "converter",
        "corpus",
    ),
    _arrow("conformance.pytest_plugin", *FOLDERS, barred=("conformance.cli",)),
    _arrow("conformance.suite", *FOLDERS, barred=("conformance.cli",)),
)

# Untyped or heavy dependencies, and the only modules that may import them. A name that
# ends in * matches all modules that begin with it.
QUARANTINE = {
    "click": ("urdf_usd.conformance.cli",),
    "collada": ("urdf_usd.conformance.engines.mesh_files.collada",),
    # Values are structs of msgspec, which are defined forty times as fast.
    "dataclasses": (),
    "fast_simplification": ("urdf_usd.conformance.drawing.coarsening",),
    "jinja2": ("urdf_usd.reports",),
    "lxml": (
        "urdf_usd.converter.urdf",
        "urdf_usd.conformance.engines",
        "urdf_usd.conformance.reduction",
    ),
    "mujoco": ("urdf_usd.conformance.engines.mujoco",),
    "newton": ("urdf_usd.conformance.engines.newton",),
    "newton_usd_schemas": (
        "urdf_usd.converter.usd",
        "urdf_usd.conformance.engines.openusd",
    ),
    "ovphysx": ("urdf_usd.conformance.engines.physx.program",),
    "ovstage": ("urdf_usd.conformance.engines.physx.program",),
    # Faults are edits of USDs; no comparison uses these modules.
    "pxr": (
        "urdf_usd.converter.usd",
        "urdf_usd.conformance.mutation",
        # It lets the library find its plugins.
        "urdf_usd.conformance.execution.workers.preloading",
        "urdf_usd.conformance.engines.openusd",
        # It authors a layer over the stage, for rollouts.
        "urdf_usd.conformance.engines.physx.engine",
    ),
    "PIL": (
        "urdf_usd.converter.usd.writer.materials.textures",
        "urdf_usd.conformance.engines.mesh_files.images",
    ),
    "pinocchio": ("urdf_usd.conformance.engines.pinocchio",),
    "pydrake": ("urdf_usd.conformance.engines.drake",),
    "pybullet": ("urdf_usd.conformance.engines.pybullet",),
    "pybullet_data": ("urdf_usd.corpus",),
    "rich": ("urdf_usd.conformance.cli", "urdf_usd.reports.terminal"),
    "robot_descriptions": ("urdf_usd.corpus",),
    "xacro": ("urdf_usd.converter.urdf.xacro.xacro_process",),
    # It is also the tests' independent reader of the other formats.
    "trimesh": (
        "urdf_usd.converter.meshes.ply",
        "urdf_usd.conformance.engines.mesh_files.trimesh_scenes",
    ),
    "warp": (
        "urdf_usd.conformance.engines.newton",
        "urdf_usd.conformance.engines.physx.program",
    ),
}


@dataclass(frozen=True)
class MeshReaders:
    """Readers of one mesh format.

    Attributes:
        converter: The converter's module.
        converter_libraries: Its libraries for the format, besides the standard library.
        harness: The harness's module.
        harness_libraries: Its libraries for the format.
    """

    converter: str
    converter_libraries: frozenset[str]
    harness: str
    harness_libraries: frozenset[str]


# Modules that are named after a format or a simulator, not after a library.
NAMED_AFTER_SUBJECTS = (
    "urdf_usd.converter.usd.profiles",
    "urdf_usd.converter.meshes",
    "urdf_usd.conformance.engines.mesh_files",
)
# A fault of a library that both sides use would be undetectable.
MESH_READERS = {
    "stl": MeshReaders("stl", frozenset(), "stl", frozenset()),
    "obj": MeshReaders("obj.mesh", frozenset(), "obj", frozenset()),
    "collada": MeshReaders(
        "collada.mesh", frozenset({"msgspec"}), "collada", frozenset({"collada"})
    ),
    "gltf": MeshReaders(
        "gltf.mesh", frozenset({"msgspec"}), "gltf", frozenset({"trimesh"})
    ),
    "ply": MeshReaders("ply", frozenset({"trimesh"}), "ply", frozenset()),
}
CONVERTER_MESHES = "urdf_usd.converter.meshes"
HARNESS_MESHES = "urdf_usd.conformance.engines.mesh_files"
# It reads no file.
SHARED_LIBRARIES = frozenset({"numpy"})
# What msgspec has for values; its decoders read files.
VALUES = frozenset({"msgspec.Struct", "msgspec.field", "msgspec.structs"})


@dataclass(frozen=True)
class Module:
    """One source file."""

    name: str
    path: Path
    tree: ast.Module
    lines: int


@cache
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
                    is_module = inner in known or inner in VALUES
                    yield node.lineno, inner if is_module else origin
            case ast.Call(
                func=ast.Attribute(attr="import_module")
                | ast.Name(id="import_module" | "__import__"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def absolute_origin(module: Module, node: ast.ImportFrom) -> str:
    """Return the full name of the module after ``from``."""
    if not node.level:
        return node.module or ""
    package = module.name.split(".")
    if module.path.name != "__init__.py":
        package = package[:-1]
    package = package[: len(package) - node.level + 1]
    return ".".join([*package, *filter(None, [node.module])])


def within(name: str, scope: str) -> bool:
    """Return whether a module is the scope, is in it, or begins like it."""
    if scope.endswith("*"):
        return name.startswith(scope[:-1])
    return name == scope or name.startswith(f"{scope}.")


def arrow_of(name: str) -> Arrow:
    """Find the most specific arrow of a module."""
    matching = (arrow for arrow in ARROWS if within(name, arrow.source))
    return max(matching, key=lambda arrow: len(arrow.source))


def may_import(name: str, target: str) -> bool:
    """Return whether a module may import another one."""
    # The package's public interface is in its __init__.
    if within(target, name) or name == "urdf_usd.conformance":
        return True
    arrow = arrow_of(name)
    return any(within(target, scope) for scope in arrow.targets) and not any(
        within(target, scope) for scope in arrow.barred
    )


def import_violations(root: Path) -> list[str]:
    """Return the imports that violate an arrow or a quarantine."""
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
    """Return the libraries that a module imports, directly and through this project."""
    known = frozenset(modules)
    found, pending = set[str](), [start]
    seen = {start}
    while pending:
        for _, target in imports(modules[pending.pop()], known):
            top = target.partition(".")[0]
            if target in VALUES:
                continue
            if top != PACKAGE:
                found.add(top)
            elif target in known and target not in seen:
                seen.add(target)
                pending.append(target)
    return frozenset(found - sys.stdlib_module_names - SHARED_LIBRARIES)


def import_cycles(root: Path) -> list[list[str]]:
    """Return groups of modules that import each other, directly or through others."""
    modules = find_modules(root)
    known = frozenset(module.name for module in modules)
    targets = {
        module.name: {target for _, target in imports(module, known) if target in known}
        - {module.name}
        for module in modules
    }
    reached = {name: _reachable(name, targets) for name in targets}
    groups = {
        tuple(sorted({name, *(o for o in reached[name] if name in reached[o])}))
        for name in targets
        if name in reached[name]
    }
    return [list(group) for group in sorted(groups)]


def _reachable(start: str, targets: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(targets[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += targets[name]
    return found


def crowded_folders(root: Path) -> list[str]:
    """Return folders with too many modules."""
    counts = Counter(
        module.path.parent.relative_to(root).as_posix()
        for module in find_modules(root)
        if module.path.name != "__init__.py"
    )
    return [
        f"{folder} has {count} modules"
        for folder, count in sorted(counts.items())
        if count > MOST_MODULES
    ]


def name_violations(root: Path) -> list[str]:
    """Return modules with a meaningless name, or that of a dependency."""
    found = []
    for module in find_modules(root):
        last = module.name.rpartition(".")[2]
        if BANNED_WORDS.intersection(last.split("_")) or (
            last in QUARANTINE
            and module.path.name != "__init__.py"
            and not any(within(module.name, folder) for folder in NAMED_AFTER_SUBJECTS)
        ):
            found.append(f"{module.name} is no name for a module")
    return found


def test_imports_follow_the_arrows() -> None:
    """Every package imports only packages below it."""
    assert import_violations(ROOT) == []


@pytest.mark.parametrize("form", MESH_READERS)
def test_mesh_formats_are_read_by_different_libraries_on_both_sides(
    form: str,
) -> None:
    """The table matches the imports, and its sides have no library in common."""
    readers = MESH_READERS[form]
    modules = named_modules(ROOT)
    ours = libraries(modules, f"{CONVERTER_MESHES}.{readers.converter}")
    theirs = libraries(modules, f"{HARNESS_MESHES}.{readers.harness}")

    assert ours == readers.converter_libraries
    assert theirs == readers.harness_libraries
    assert not ours & theirs


def test_table_of_mesh_readers_is_complete() -> None:
    """The modules that choose a reader import no library themselves."""
    modules = named_modules(ROOT)
    known = frozenset(modules)
    for chooser, listed in (
        (f"{CONVERTER_MESHES}.read", {one.converter for one in MESH_READERS.values()}),
        (f"{HARNESS_MESHES}.files", {o.harness for o in MESH_READERS.values()}),
    ):
        targets = {target for _, target in imports(modules[chooser], known)} - VALUES
        folder = chooser.rpartition(".")[0]
        reading = {
            target.removeprefix(f"{folder}.")
            for target in targets
            if within(target, folder)
            and libraries(modules, target) & (set(QUARANTINE) - SHARED_LIBRARIES)
        }
        outside = {target.partition(".")[0] for target in targets} - {PACKAGE}

        assert outside <= sys.stdlib_module_names | SHARED_LIBRARIES
        # Text STL, and formats that the converter does not support.
        assert reading <= listed | {"trimesh_scenes"}


def test_indirect_imports_of_libraries_are_found(tmp_path: Path) -> None:
    """Including imports in functions."""
    write_tree(
        tmp_path,
        {
            "converter/meshes/ply.py": "from urdf_usd.converter.meshes import text",
            "converter/meshes/text.py": "def f():\n    import plyfile, numpy, json",
        },
    )

    modules = named_modules(tmp_path)

    assert libraries(modules, f"{CONVERTER_MESHES}.ply") == {"plyfile"}


def test_no_import_cycles() -> None:
    """A module can be imported without those that use it."""
    assert import_cycles(ROOT) == []


def test_folders_have_few_modules() -> None:
    """A folder with more modules is two subjects."""
    assert crowded_folders(ROOT) == []


def test_modules_are_named_after_their_subject() -> None:
    """Neither generic names nor names of dependencies."""
    assert name_violations(ROOT) == []


def write_tree(root: Path, files: dict[str, str]) -> None:
    """Write modules of a small project with their packages."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "text", "target"),
    [
        (
            "converter/robot/model.py",
            "import urdf_usd.conformance.records.record",
            "urdf_usd.conformance.records.record",
        ),
        ("converter/robot/model.py", "from urdf_usd import read_urdf", "urdf_usd"),
        (
            "conformance/execution/run.py",
            "from urdf_usd import robots",
            "urdf_usd.robots",
        ),
        ("urdf_usd/robots.py", "import pxr.Usd", "pxr"),
        (
            "converter/robot/model.py",
            "from urdf_usd.corpus import catalogue",
            "urdf_usd.corpus",
        ),
        (
            "converter/usd/reader/read.py",
            "from urdf_usd.reports.html.site import x",
            "urdf_usd.reports.html.site",
        ),
        (
            "corpus/files.py",
            "from urdf_usd.converter.urdf.parse import x",
            "urdf_usd.converter",
        ),
        (
            "reports/html/site.py",
            "from urdf_usd.conformance.execution.run import run",
            "urdf_usd.conformance.execution.run",
        ),
        (
            "reports/html/site.py",
            "import urdf_usd.converter.robot.model",
            "urdf_usd.converter.robot.model",
        ),
        (
            "conformance/verdict/judgement.py",
            "import urdf_usd.converter.robot.model",
            "urdf_usd.converter.robot.model",
        ),
        (
            "conformance/verdict/judgement.py",
            "from urdf_usd.conformance.execution import run",
            "urdf_usd.conformance.execution.run",
        ),
        (
            "conformance/verdict/judgement.py",
            "from ..execution import run",
            "urdf_usd.conformance.execution.run",
        ),
        (
            "conformance/verdict/judgement.py",
            "from ..engines.reference.engine import x",
            "urdf_usd.conformance.engines.reference.engine",
        ),
        (
            "conformance/engines/a.py",
            "from ..records.record import x",
            "urdf_usd.conformance.records.record",
        ),
        (
            "conformance/engines/a.py",
            "import urdf_usd.converter",
            "urdf_usd.converter",
        ),
        (
            "conformance/engines/reference/engine.py",
            "import urdf_usd.corpus",
            "urdf_usd.corpus",
        ),
        ("converter/urdf/parse.py", "import pxr.Usd", "pxr"),
        ("converter/meshes/collada/mesh.py", "import trimesh", "trimesh"),
        ("converter/robot/model.py", "from lxml import etree", "lxml"),
        ("conformance/tolerance/sampling.py", "import mujoco", "mujoco"),
        ("conformance/engines/mujoco/engine.py", "import pybullet", "pybullet"),
        ("conformance/engines/pybullet_a.py", "import pybullet_data", "pybullet_d"),
        ("corpus/a.py", "import importlib\nimportlib.import_module('pxr')", "pxr"),
        ("corpus/a.py", "def f():\n    from pxr import Usd", "pxr"),
        (
            "corpus/a.py",
            "if TYPE_CHECKING:\n    import urdf_usd.converter.robot.model",
            "urdf_usd.converter.robot.model",
        ),
    ],
)
def test_forbidden_import_is_found(
    tmp_path: Path, file: str, text: str, target: str
) -> None:
    """In every form of the statement."""
    write_tree(
        tmp_path,
        {"conformance/execution/run.py": "", "urdf_usd/robots.py": "", file: text},
    )

    (violation,) = import_violations(tmp_path)

    assert f"may not import {target}" in violation
    name = file.removesuffix(".py").removeprefix("urdf_usd/").replace("/", ".")
    assert violation.startswith(f"urdf_usd.{name}")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("converter/__init__.py", "from urdf_usd.converter.urdf.parse import parse"),
        ("converter/urdf/xml/source.py", "from lxml import etree"),
        ("converter/usd/writer/joints.py", "from pxr import Usd"),
        (
            "conformance/__init__.py",
            "from urdf_usd.conformance.execution.run import run",
        ),
        (
            "conformance/execution/run.py",
            "import urdf_usd.corpus, urdf_usd.converter",
        ),
        (
            "conformance/cli/commands/run.py",
            "from urdf_usd.conformance.cli.main import x; import click",
        ),
        (
            "conformance/verdict/judgement.py",
            "from urdf_usd.conformance.records.record import Verdict",
        ),
        ("conformance/engines/openusd/a.py", "from pxr import UsdPhysics"),
        ("conformance/engines/a.py", "from .statements import x"),
        (
            "conformance/engines/reference/engine.py",
            "from urdf_usd.converter.robot.model import Robot",
        ),
        (
            "reports/html/site.py",
            "from urdf_usd.conformance.records.record import Verdict\nimport jinja2",
        ),
        ("corpus/sources/pybullet_assets.py", "import pybullet_data"),
        ("urdf_usd/robots.py", "import urdf_usd.converter, urdf_usd.corpus"),
    ],
)
def test_allowed_import_is_accepted(tmp_path: Path, file: str, text: str) -> None:
    """One example for each arrow."""
    write_tree(tmp_path, {file: text})

    assert import_violations(tmp_path) == []


def test_import_cycle_is_found(tmp_path: Path) -> None:
    """Through several modules, inside functions and for types too."""
    write_tree(
        tmp_path,
        {
            "converter/a.py": "from urdf_usd.converter import b",
            "converter/b.py": "def f():\n    from urdf_usd.converter.c import x",
            "converter/c.py": "if TYPE_CHECKING:\n    import urdf_usd.converter.a",
            "converter/d.py": "from urdf_usd.converter import a",
        },
    )

    assert import_cycles(tmp_path) == [
        ["urdf_usd.converter.a", "urdf_usd.converter.b", "urdf_usd.converter.c"]
    ]


def test_crowded_folder_is_found(tmp_path: Path) -> None:
    """A package counts as one name in its folder; here, none is counted."""
    names = [f"converter/m{number}.py" for number in range(MOST_MODULES + 1)]
    write_tree(tmp_path, dict.fromkeys([*names, "converter/usd/a.py"], ""))

    assert crowded_folders(tmp_path) == [f"converter has {MOST_MODULES + 1} modules"]


@pytest.mark.parametrize(
    "file", ["utils.py", "usd/mesh_helpers.py", "core/__init__.py", "usd/mujoco.py"]
)
def test_meaningless_name_is_found(tmp_path: Path, file: str) -> None:
    """Generic names, and modules that shadow a dependency."""
    write_tree(tmp_path, {f"converter/{file}": "", "converter/database.py": ""})

    assert len(name_violations(tmp_path)) == 1
