"""Requirements in pyproject.toml, docs/dev/dependencies.md and installed packages; extras."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from urdf_usd.installation import distribution_of, install_command

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
COPYLEFT = re.compile(r"GPL|GNU|MPL|Mozilla|EUPL|CDDL|EPL", re.IGNORECASE)


def _minimums(requirements: list[str]) -> list[tuple[str, str]]:
    """Return the minimum version of every requirement on another project."""
    parts = map(Requirement, requirements)
    return [(one.name, two.version) for one in parts for two in one.specifier if ">" in str(two)]


def test_document_lists_every_requirement_with_its_minimum() -> None:
    text = (ROOT / "docs/dev/dependencies.md").read_text("utf-8")
    core, extras, _ = text.split("\n## ")[1:]

    rows = re.findall(r"^\| ([\w-]+) \| ([\w.]+) \|", core, re.MULTILINE)
    assert rows[1:] == _minimums(PROJECT["dependencies"])
    rows = re.findall(r"^\| `([\w-]+)` \| ([\w-]+) \| (\S+) \|", extras, re.MULTILINE)
    stated = PROJECT["optional-dependencies"].items()
    assert rows == [(extra, *one) for extra, needed in stated for one in _minimums(needed)]


@pytest.mark.parametrize("requirement", PROJECT["dependencies"])
def test_no_requirement_of_every_installation_is_copyleft(requirement: str) -> None:
    needed = Requirement(requirement)
    if needed.marker and not needed.marker.evaluate():
        return
    stated = metadata.metadata(needed.name)
    licences: list[str] = [
        *stated.get_all("License-Expression", []),
        # Some packages have the whole text of the licence; its title is the first line.
        *(text.splitlines()[0] for text in stated.get_all("License", []) if text),
        *(c for c in stated.get_all("Classifier", []) if c.startswith("License ::")),
    ]

    assert any(licences)
    assert not COPYLEFT.search(" ".join(licences))


def test_distribution_of_a_module_may_have_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name != "part-fork":
            raise metadata.PackageNotFoundError(name)
        return "1.3"

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "packages_distributions", lambda: {"part": ["part-fork"]})

    found = map(distribution_of.__wrapped__, ("part-fork", "part", "other"))

    assert list(found) == [("part-fork", "1.3"), ("part-fork", "1.3"), None]


def test_command_names_the_requirements_of_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Markers besides the extra are omitted; a package without metadata is named itself."""
    physx = "pip install 'ovphysx>=0.7' 'physx-usd-schemas>=0.7'"
    assert install_command("physx") == physx
    one = "one>=1; (python_version < '3.13') and extra == 'fast'"
    stated = ["numpy>=2.0", one, 'two; extra == "slow"']
    monkeypatch.setattr(metadata, "requires", lambda _: stated)
    assert install_command("fast") == "pip install 'one>=1'"

    def missing(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)
    assert install_command("fast") == "pip install 'urdf-usd-conformance[fast]'"
