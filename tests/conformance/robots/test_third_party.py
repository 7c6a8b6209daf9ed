"""An engine of another package, that of the examples."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.installed import EXAMPLES, installed
from urdf_usd.converter import convert

_ROOT = Path(__file__).parents[3]


def test_third_party_engine_is_compared(tmp_path: Path) -> None:
    site, file = installed(EXAMPLES / "engine", tmp_path / "example"), tmp_path / "record.json"
    urdf = _ROOT / "tests/data/deviations/zero-effort.urdf"
    usd = convert(urdf, tmp_path / "usd").root_layer
    program = "from urdf_usd.cli.main import main; main()"
    command = ("check", urdf, usd, "--engine", "etree", "--json", file)
    subprocess.run(
        [sys.executable, "-c", program, *map(str, command)],
        env=os.environ | {"PYTHONPATH": f"{site}{os.pathsep}{_ROOT}"},
        check=False,
    )

    record = json.loads(file.read_text())
    (engine,) = (one for one in record["engines"] if one["name"] == "etree")
    stated = {
        check["id"].removeprefix("round-trip.")
        for check in record["checks"]
        for difference in check["differences"]
        if difference["engine"] == "etree" and difference["compared"]
    }
    assert (engine["status"], engine["side"]) == ("observed", "urdf")
    assert stated == {"structure.links"}
