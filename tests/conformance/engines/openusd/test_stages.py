"""Hand-written stages are observed and exported as stored.

A case of ``tests/data/usd/stages/*.json`` has a stage and what the engine ``openusd`` states of it
(``observed``), or the URDF and the diagnostics of its export (``exported``); its name says what it
shows. A stage with ``edits`` is the first of its file with texts replaced, by old text.
``UPDATE_STAGES=1 pytest`` with this module stores what is computed, to be reviewed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pxr import Usd

from tests.conformance.engines.stored_observations import (
    assert_as_stored,
    describe,
    observation_lines,
)
from tests.converter.usd.textured_meshes import png
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Request, UnsupportedError
from urdf_usd.conformance.export.reading import read_stage
from urdf_usd.conformance.observation.robot import Configurations
from urdf_usd.converter.diagnostics import StageError
from urdf_usd.converter.urdf.write import write

FOLDER = Path(__file__).parents[3] / "data" / "usd" / "stages"
FILES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")}


def _observed(path: Path, case: dict[str, Any]) -> Iterator[str]:
    positions = {name: np.array(rows) for name, rows in case.get("positions", {}).items()}
    count = max(map(len, positions.values()), default=1)
    labels = tuple(map(str, range(count)))
    arrays = tuple(positions.values())
    settings = Configurations(tuple(positions), arrays, labels, root=case.get("root"))
    return observation_lines(OpenusdEngine().observe(Request(str(path), settings)))


def _exported(path: Path, case: dict[str, Any]) -> Iterator[str]:
    reading = read_stage(Usd.Stage.Open(str(path)), **case.get("options", {}))
    yield from write(reading.robot).decode().splitlines()
    yield from (f"loop: {describe(loop)}" for loop in reading.loops)
    for uri, mesh in reading.meshes.items():
        yield f"mesh {uri}: {describe(mesh.points)} {describe(mesh.face_indices)}"
        if placed := mesh.attributes.texture_coordinates:
            yield f"coordinates: {describe(placed.values[placed.indices])}"
    yield from (f"{note.rule}: {note.message}" for note in reading.diagnostics)


def _stage(file: str, case: dict[str, Any]) -> str:
    if "stage" in case:
        return "\n".join(case["stage"])
    text = "\n".join(next(iter(FILES[file].values()))["stage"])
    for old, new in case["edits"].items():
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
    path.write_text(_stage(file, case), encoding="utf-8")
    computed = {x: _computed(path, case, x) for x in ("observed", "exported") if x in case}
    if os.environ.get("UPDATE_STAGES"):
        case |= computed
        text = json.dumps(FILES[file], indent=1, ensure_ascii=False)
        (FOLDER / f"{file}.json").write_text(f"{text}\n", encoding="utf-8")
    for stored, lines in computed.items():
        assert_as_stored(lines, case[stored])
