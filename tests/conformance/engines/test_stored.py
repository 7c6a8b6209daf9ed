"""What engines state of small files, and what is exported of stages, as stored.

A case of ``urdfs.json`` has the lines of a URDF, USD or MJCF, or is named as a file of
``tests/data/deviations``; perhaps positions of joints; and what engines observe, or why they refuse
the file. Engines that read USD are given the asset of a URDF.

A case of ``tests/data/usd/stages/*.json`` has a stage and what the engine ``openusd`` states of it
(``observed``), or the URDF and the diagnostics of its export (``exported``); its name says what it
shows. A stage with ``edits`` is the first of its file with texts replaced, by old text.

``meshes.txt`` has mesh files, see :mod:`tests.stored_cases`. ``UPDATE_SNAPSHOTS=1 pytest`` with
this module stores what is computed by the engines at hand, to be reviewed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import Struct, structs
from pxr import Usd

from tests.conformance.engines.engine_requests import CASES, STORED, deviation, installed, request
from tests.converter.usd.textured_meshes import png
from tests.stored_cases import Case, check_outcomes, write_files
from urdf_usd.conformance.engines.mesh_materials import FileMaterial, ImageFile
from urdf_usd.conformance.engines.meshes import LoadedMesh, UnreadMeshError, load_mesh
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Request, Side, UnsupportedError
from urdf_usd.conformance.export.assets import read_stage
from urdf_usd.conformance.observation.robot import DOUBLE_PRECISION, Configurations, Observation
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.diagnostics import StageError
from urdf_usd.converter.urdf.write import write

STAGES = Path(__file__).parents[2] / "data" / "usd" / "stages"
FILES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in STAGES.glob("*.json")}
MESHES = Path(__file__).with_name("meshes.txt")
_UPDATE = os.environ.get("UPDATE_SNAPSHOTS")
# What says nothing about a file, or is a consequence of other fields.
_LEFT_OUT = {"engine", "states", "dynamics", "precision", "support"}
_NUMBER = re.compile(r"-?(?:\d+\.?\d*(?:e[-+]?\d+)?|\binf\b|\bnan\b)")
# What follows is said by numpy, trimesh or pycollada.
_FOREIGN = re.compile(r"(?<=raises )(\w+):.*|(?<=a statement is invalid):.*", re.DOTALL)


def _describe(value: object, digits: int = 9) -> str:
    """Return a value in one line, without fields that have their defaults."""
    match value:
        case Struct():
            fields = ", ".join(f"{name}={text}" for name, text in [*_fields(value, digits)][::-1])
            return f"{type(value).__name__}({fields})"
        case bool() | str():
            return str(value)
        case int() | float():
            return f"{value:.{digits}g}"
        case frozenset():
            return _describe(sorted(value), digits)
        case np.ndarray():
            return _describe(value.tolist(), digits)
        case tuple() | list():
            return f"[{', '.join(_describe(part, digits) for part in value)}]"
    return str(value)


def _fields(struct: Struct, digits: int) -> Iterator[tuple[str, str]]:
    names, defaults = struct.__struct_fields__, struct.__struct_defaults__
    for name, default in zip_longest(reversed(names), reversed(defaults)):
        value: Any = getattr(struct, name)
        is_empty = value is None or (isinstance(value, tuple | str) and not value)
        if not (name in _LEFT_OUT or is_empty or value is default):
            yield name, _describe(value, digits)


def _lines(observation: Observation, digits: int = 9) -> Iterator[str]:
    for name in observation.__struct_fields__:
        value = getattr(observation, name)
        if isinstance(value, tuple) and name != "up":
            yield from (f"{name}: {_describe(part, digits)}" for part in value)
        elif value is not None and name not in _LEFT_OUT:
            yield f"{name}: {_describe(value, digits)}"


def _is_as_stored(
    computed: Sequence[str], stored: Sequence[str], rtol: float = 2e-6, atol: float = 2e-9
) -> None:
    actual, expected = "\n".join(computed), "\n".join(stored)

    assert _NUMBER.sub("#", actual) == _NUMBER.sub("#", expected), actual
    found, wanted = (np.array(_NUMBER.findall(text), float) for text in (actual, expected))
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


def _store(file: Path, cases: dict[str, Any]) -> None:
    file.write_text(f"{json.dumps(cases, indent=1, ensure_ascii=False)}\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "engine"), [(name, engine) for name in CASES for engine in CASES[name]["observed"]]
)
def test_urdf_is_read_as_stored(name: str, engine: str, tmp_path: Path) -> None:
    case = CASES[name]
    lines = case.get("usd") or case.get("urdf") or case.get("mjcf")
    text = "\n".join(lines) if lines else deviation(name.partition(" ")[0])
    asked = request(tmp_path, text, **case.get("positions", {}))
    path = Path(asked.path)
    path.write_text(text, encoding=case.get("encoding", "utf-8"))
    reader = installed(engine)
    if "usd" in case:
        path = path.rename(path.with_suffix(".usda"))
    elif reader.side is Side.USD:
        options = ConvertOptions(profile=Profile(case.get("profile", "generic")))
        path = convert(path, tmp_path / "usd", options).root_layer
    elif "mjcf" in case:
        path = path.rename(path.with_suffix(".xml"))
    slack = 0.0
    try:
        observation = reader.observe(structs.replace(asked, path=str(path)))
        operations = 100 if reader.side is Side.USD else 20
        slack = operations * max(observation.precision, DOUBLE_PRECISION)
        computed = list(_lines(observation, digits=15))
    except UnsupportedError as error:
        computed = [f"refused: {error}"]
    # Words of MuJoCo's warnings depend on its version.
    computed = [re.sub("(?<=MuJoCo warns).*", "", line) for line in computed]
    computed = [line.replace(str(tmp_path), "") for line in computed]
    if _UPDATE:
        case["observed"][engine] = computed
        _store(STORED, CASES)
    _is_as_stored(computed, case["observed"][engine], rtol=slack, atol=slack)


def _observed(path: Path, case: dict[str, Any]) -> Iterator[str]:
    positions = {name: np.array(rows) for name, rows in case.get("positions", {}).items()}
    count = max(map(len, positions.values()), default=1)
    labels = tuple(map(str, range(count)))
    arrays = tuple(positions.values())
    settings = Configurations(tuple(positions), arrays, labels, root=case.get("root"))
    return _lines(OpenusdEngine().observe(Request(str(path), settings)))


def _exported(path: Path, case: dict[str, Any]) -> Iterator[str]:
    reading = read_stage(Usd.Stage.Open(str(path)), **case.get("options", {}))
    yield from write(reading.robot).decode().splitlines()
    yield from (f"loop: {_describe(loop)}" for loop in reading.loops)
    for uri, mesh in reading.meshes.items():
        yield f"mesh {uri}: {_describe(mesh.points)} {_describe(mesh.face_indices)}"
        if placed := mesh.coordinate_set(0):
            yield f"coordinates: {_describe(placed.values[placed.indices])}"
    yield from (f"{note.rule}: {note.message}" for note in reading.diagnostics)


def stored_stage(file: str, case: dict[str, Any] | None = None) -> str:
    """Return the stage of a case, or the first of a file."""
    first = next(iter(FILES[file].values()))
    text = "\n".join((case or first).get("stage", first["stage"]))
    for old, new in (case or first).get("edits", {}).items():
        assert old in text
        text = text.replace(old, new, 1)
    return text


def _computed(path: Path, case: dict[str, Any], stored: str) -> list[str]:
    path.with_name("image.png").write_bytes(png(128))
    try:
        lines = list((_observed if stored == "observed" else _exported)(path, case))
    except UnsupportedError as error:
        lines = [f"{type(error).__name__}: {error}"]
    except StageError as error:
        lines = [f"StageError: {note.rule}: {note.message}" for note in error.diagnostics]
    # OpenUSD's warning of blocked moments depends on memory that it does not initialise.
    kept = (line for line in lines if "possibly invalid inertia tensor" not in line)
    return [line.replace(f"{path.parent}{os.sep}", "") for line in kept]


@pytest.mark.parametrize(
    ("file", "name"), [(file, name) for file, cases in sorted(FILES.items()) for name in cases]
)
def test_stage_is_read_as_stored(file: str, name: str, tmp_path: Path) -> None:
    case, path = FILES[file][name], tmp_path / "robot.usda"
    path.write_text(stored_stage(file, case), encoding="utf-8")
    computed = {x: _computed(path, case, x) for x in ("observed", "exported") if x in case}
    if _UPDATE:
        case |= computed
        _store(STAGES / f"{file}.json", FILES[file])
    for stored, lines in computed.items():
        _is_as_stored(lines, case[stored])


def _numbers(values: np.ndarray) -> str:
    rows = values.reshape(-1, values.shape[-1])
    return ", ".join(" ".join(f"{number + 0.0:.6g}" for number in row) for row in rows.round(9))


def _material(material: FileMaterial) -> str:
    parts = []
    for field in structs.fields(material):
        value = getattr(material, field.name)
        if value == field.default:
            continue
        if isinstance(value, ImageFile):
            value = f"{value.reference} {len(value.content)} bytes" if value.content else value.name
        elif isinstance(value, frozenset):
            value = " ".join(sorted(value))
        elif isinstance(value, tuple) and isinstance(value[0], float):
            value = _numbers(np.array([value]))
        elif isinstance(value, float):
            value = f"{value:.6g}"
        parts.append(f"{field.name}=({value})")
    return " ".join(parts) or "default"


def _mesh_lines(mesh: LoadedMesh) -> Iterator[tuple[str, object]]:
    yield "points", _numbers(mesh.points)
    yield "triangles", _numbers(mesh.triangles)
    yield "materials of triangles", _numbers(mesh.material_of[None])
    yield "has normals", mesh.has_normals
    if mesh.normals is not None:
        yield "normals", _numbers(mesh.normals)
    if mesh.coordinates is not None:
        yield "coordinates", _numbers(mesh.coordinates)
    if mesh.corners > 3 or mesh.pieces > 1:
        yield "largest face, groups", f"{mesh.corners}, {mesh.pieces}"
    for group in mesh.groups:
        yield "group from, to", _numbers(np.array([group.points.min(0), group.points.max(0)]))
    for material in mesh.materials:
        yield "material", _material(material)


def _outcome(case: Case, folder: Path) -> str:
    try:
        mesh = load_mesh(str(write_files(case, folder)))
    except UnreadMeshError as error:
        reason = _FOREIGN.sub(r"\1", str(error))
        return f"not read: {reason}"
    return "\n".join(f"{key}: {value}" for key, value in _mesh_lines(mesh))


@pytest.mark.parametrize("form", ["dae", "glb", "gltf", "obj", "other", "ply"])
def test_mesh_files_are_read_as_stored(form: str, tmp_path: Path) -> None:
    check_outcomes(MESHES, _outcome, tmp_path, f"{form}:")
