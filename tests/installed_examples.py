"""Packages of examples/, as pip installs them."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def installed_example(name: str, site: Path) -> Path:
    """Install a package into a new folder for PYTHONPATH, without building it.

    Args:
        name: Folder of the package in ``examples/``.
        site: The new folder.
    """
    text = (EXAMPLES / name / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    stem = project["name"].replace("-", "_")
    metadata = site / f"{stem}-{project['version']}.dist-info"
    metadata.mkdir(parents=True)
    shutil.copy(EXAMPLES / name / f"{stem}.py", site)
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = project["entry-points"]
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{name} = {at}" for name, at in entries.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    return site
