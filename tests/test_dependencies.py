"""Requirements in pyproject.toml, docs/dev/dependencies.md and installed packages."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
COPYLEFT = re.compile(r"GPL|GNU|MPL|Mozilla|EUPL|CDDL|EPL", re.IGNORECASE)


def minimums(requirements: list[str]) -> dict[str, str]:
    """Return the minimum version of every requirement on another project."""
    parts = map(Requirement, requirements)
    return {
        one.name: clause.version
        for one in parts
        for clause in one.specifier
        if clause.operator == ">="
    }


CORE = minimums(PROJECT["dependencies"])
INSTALLED = [
    one.name
    for one in map(Requirement, PROJECT["dependencies"])
    if one.marker is None or one.marker.evaluate()
]
EXTRAS = {
    extra: minimums(requirements)
    for extra, requirements in PROJECT["optional-dependencies"].items()
}


def test_document_lists_every_requirement_with_its_minimum() -> None:
    text = (ROOT / "docs/dev/dependencies.md").read_text("utf-8")
    core, extras, _ = text.split("\n## ")[1:]

    rows = re.findall(r"^\| ([\w-]+) \| ([\w.]+) \|", core, re.MULTILINE)
    assert rows[1:] == list(CORE.items())
    rows = re.findall(r"^\| `([\w-]+)` \| ([\w-]+) \| (\S+) \|", extras, re.MULTILINE)
    assert [tuple(row) for row in rows] == [
        (extra, name, version)
        for extra, requirements in EXTRAS.items()
        for name, version in requirements.items()
    ]


@pytest.mark.parametrize("name", INSTALLED)
def test_no_requirement_of_every_installation_is_copyleft(name: str) -> None:
    stated = metadata.metadata(name)
    licences: list[str] = [
        *stated.get_all("License-Expression", []),
        # Some packages have the whole text of the licence; its title is the first line.
        *(text.splitlines()[0] for text in stated.get_all("License", []) if text),
        *(c for c in stated.get_all("Classifier", []) if c.startswith("License ::")),
    ]

    assert any(licences)
    assert not COPYLEFT.search(" ".join(licences))
