"""An engine of another package, that of the examples."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.installed_examples import installed_example
from urdf_usd.converter import convert

_ROOT = Path(__file__).parents[3]
_ROBOT = _ROOT / "tests/data/deviations/zero-effort.urdf"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder of installed packages with that of the example."""
    return installed_example("engine", tmp_path / "site")


def _command(site: Path, arguments: Sequence[object]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from urdf_usd.cli.main import main; main()",
            *map(str, arguments),
        ],
        env=os.environ | {"PYTHONPATH": f"{site}{os.pathsep}{_ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )


def _check(site: Path, usd: Path) -> dict[str, Any]:
    record = usd.parent / "record.json"
    arguments = ["check", _ROBOT, usd, "--engine", "etree", "--json", record]
    ending = _command(site, arguments)
    assert record.is_file(), ending.stderr
    read: dict[str, Any] = json.loads(record.read_text())
    return read


def test_third_party_engine_is_compared(installed: Path, tmp_path: Path) -> None:
    root_layer = convert(_ROBOT, tmp_path / "usd").root_layer
    record = _check(installed, root_layer)
    (engine,) = (w for w in record["engines"] if w["name"] == "etree")
    stated = {
        check["id"].removeprefix("round-trip.")
        for check in record["checks"]
        for difference in check["differences"]
        if difference["engine"] == "etree" and difference["compared"]
    }

    assert engine["status"] == "observed"
    assert engine["side"] == "urdf"
    assert stated == {"structure.links"}
