"""Packages of examples/, and commands, as pip installs them."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


def installed_example(name: str, site: Path) -> Path:
    """Install a package of ``examples/`` into a new folder for PYTHONPATH, without building it."""
    text = (EXAMPLES / name / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    stem = project["name"].replace("-", "_")
    metadata = site / f"{stem}-{project['version']}.dist-info"
    metadata.mkdir(parents=True)
    shutil.copy(EXAMPLES / name / f"{stem}.py", site)
    fields = ("Metadata-Version: 2.1", *(f"{key}: {project[key]}" for key in ("name", "version")))
    (metadata / "METADATA").write_text("\n".join(fields) + "\n")
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {at}" for name, at in entries.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    return site


def environment_with_commands(programs: Path) -> dict[str, str]:
    """Install the commands of this checkout; return an environment in which they are found.

    ``urdf2usd`` represents a converter of another project.
    """
    programs.mkdir(exist_ok=True)
    start = "from urdf_usd.cli.program import start; start()"
    for name, line in {
        "urdf-usd": f'{sys.executable} -P -c "{start}" "$@"',
        "pytest": f'{sys.executable} -P -m pytest -p no:cacheprovider "$@"',
        "urdf2usd": 'urdf-usd convert "$1" "$2"',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\nexec {line}\n")
        (programs / name).chmod(0o755)
    paths = os.pathsep.join((str(programs), os.environ["PATH"]))
    return os.environ | {"PATH": paths, "PYTHONPATH": str(ROOT)}
