"""What engines state of small files, as stored in ``urdfs.json``.

A case has the lines of a URDF, USD or MJCF, or is named as a file of ``tests/data/deviations``;
perhaps positions of joints; and what engines observe, or why they refuse the file. Engines that
read USD are given the asset of a URDF. ``UPDATE_SNAPSHOTS=1 pytest`` with this module stores what
the engines at hand state, to be reviewed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.conformance.engines import deviation_files
from tests.conformance.engines.oblique_arm import request
from tests.conformance.engines.optional_engines import installed
from tests.conformance.engines.stored_observations import assert_as_stored, observation_lines
from urdf_usd.conformance.engines.protocol import Side, UnsupportedError
from urdf_usd.conformance.observation.robot import DOUBLE_PRECISION
from urdf_usd.converter import ConvertOptions, Profile, convert

STORED = Path(__file__).with_name("urdfs.json")
CASES: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "engine"), [(name, engine) for name in CASES for engine in CASES[name]["observed"]]
)
def test_urdf_is_read_as_stored(name: str, engine: str, tmp_path: Path) -> None:
    case = CASES[name]
    lines = case.get("usd") or case.get("urdf") or case.get("mjcf")
    text = "\n".join(lines) if lines else deviation_files.text(name.partition(" ")[0])
    asked = request(tmp_path, text, **case.get("positions", {}))
    reader = installed(engine)
    if reader.side is Side.USD:
        path = Path(asked.path)
        if "usd" in case:
            usd = path.rename(path.with_suffix(".usda"))
        else:
            options = ConvertOptions(profile=Profile(case.get("profile", "generic")))
            usd = convert(path, tmp_path / "usd", options).root_layer
        asked = structs.replace(asked, path=str(usd))
    elif "mjcf" in case:
        mjcf = Path(asked.path).rename(Path(asked.path).with_suffix(".xml"))
        asked = structs.replace(asked, path=str(mjcf))
    slack = 0.0
    try:
        observation = reader.observe(asked)
        operations = 100 if reader.side is Side.USD else 20
        slack = operations * max(observation.precision, DOUBLE_PRECISION)
        computed = list(observation_lines(observation, digits=15))
    except UnsupportedError as error:
        computed = [f"refused: {error}"]
    computed = [line.replace(str(tmp_path), "") for line in computed]
    if os.environ.get("UPDATE_SNAPSHOTS"):
        case["observed"][engine] = computed
        text = json.dumps(CASES, indent=1, ensure_ascii=False)
        STORED.write_text(f"{text}\n", encoding="utf-8")
    assert_as_stored(computed, case["observed"][engine], rtol=slack, atol=slack)
