"""An engine of another package, as CONTRIBUTING.md documents."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from urdf_usd.converter import convert

_ROOT = Path(__file__).parents[2]
_ROBOT = _ROOT / "tests/data/deviations/zero-effort.urdf"


def _block(language: str) -> str:
    """Return the code block of that language in the recipe."""
    text = (_ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipe = text[text.index("### Add an engine") : text.index("### Add a robot")]
    (found,) = re.findall(rf"```{language}\n(.*?)```", recipe, re.DOTALL)
    return str(found)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder of installed packages with that of the recipe, as installed by pip."""
    site = tmp_path / "site"
    metadata = site / "etree_engine-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / "etree_engine.py").write_text(_block("python"))
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: etree-engine\nVersion: 1.0\n"
    )
    groups = tomllib.loads(_block("toml"))["project"]["entry-points"]
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{name} = {at}" for name, at in entries.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    return site


def _command(
    site: Path, arguments: Sequence[object]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from urdf_usd.conformance.cli.main import main; main()",
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


def test_recipe_is_short() -> None:
    """About thirty lines, including blank ones."""
    assert len(_block("python").splitlines()) <= 32


def test_third_party_engine_is_compared(installed: Path, tmp_path: Path) -> None:
    """It is selected by its name, and compared on the quantities that it reports."""
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


def test_doctor_lists_the_third_party_engine(installed: Path) -> None:
    """With its version."""
    shown = _command(installed, ["doctor"]).stdout

    assert re.search(r"✓\s+etree\s+reads URDF, \d", shown)
