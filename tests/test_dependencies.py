"""Requirements in pyproject.toml, docs/dependencies.md and installed packages."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
COPYLEFT = re.compile(r"GPL|GNU|MPL|Mozilla|EUPL|CDDL|EPL", re.IGNORECASE)


def minimums(requirements: list[str]) -> dict[str, str]:
    """Return the minimum version of every requirement on another project."""
    parts = (one.partition(">=") for one in requirements)
    return {name: version for name, _, version in parts if version}


CORE = minimums(PROJECT["dependencies"])
EXTRAS = {
    extra: minimums(requirements)
    for extra, requirements in PROJECT["optional-dependencies"].items()
}


def test_document_lists_every_requirement_with_its_minimum() -> None:
    """In the order of pyproject.toml."""
    text = (ROOT / "docs/dependencies.md").read_text("utf-8")
    core, extras, _ = text.split("\n## ")[1:]

    rows = re.findall(r"^\| ([\w-]+) \| ([\w.]+) \|", core, re.MULTILINE)
    assert rows[1:] == list(CORE.items())
    rows = re.findall(r"^\| `([\w-]+)` \| ([\w-]+) \| (\S+) \|", extras, re.MULTILINE)
    assert [tuple(row) for row in rows] == [
        (extra, name, version)
        for extra, requirements in EXTRAS.items()
        for name, version in requirements.items()
    ]


@pytest.mark.parametrize("name", CORE)
def test_no_requirement_of_every_installation_is_copyleft(name: str) -> None:
    """By the licence that the installed package declares."""
    stated = metadata.metadata(name)
    licences: list[str] = [
        *stated.get_all("License-Expression", []),
        # Some packages have the whole text of the licence; its title is the first line.
        *(text.splitlines()[0] for text in stated.get_all("License", []) if text),
        *(c for c in stated.get_all("Classifier", []) if c.startswith("License ::")),
    ]

    assert any(licences)
    assert not COPYLEFT.search(" ".join(licences))
