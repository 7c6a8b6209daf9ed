"""The site has a page for everything, and its documents link to what exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

import urdf_usd
from tests.tools.documentation.pages import PAGES
from tests.tools.documentation.repository import foreign_loads, with_site_links
from urdf_usd.cli.main import main
from urdf_usd.conformance.checks.catalogue import (
    CHECKS,
    ROUND_TRIP_CHECKS,
    SIMULATION_CHECKS,
)

ROOT = Path(__file__).parents[3]
DOCUMENTS = (
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *(ROOT / "docs").rglob("*.md"),
)


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml without the functions that it names."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def _leaves(entry: Any) -> list[str]:  # noqa: ANN401  # any part of a navigation
    if isinstance(entry, dict):
        return [leaf for value in entry.values() for leaf in _leaves(value)]
    if isinstance(entry, list):
        return [leaf for value in entry for leaf in _leaves(value)]
    return [entry]


def test_navigation_names_every_page_once() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    settings = yaml.load(text, _Loader)  # noqa: S506  # a SafeLoader
    files = [file.relative_to(ROOT / "docs").as_posix() for file in (ROOT / "docs").rglob("*.md")]

    assert sorted(_leaves(settings["nav"])) == sorted([*files, *PAGES])


def _help(*words: str) -> str:
    done = CliRunner().invoke(main, [*words, "--help"])
    assert done.exit_code == 0
    return done.output


@pytest.mark.parametrize(
    "command",
    re.findall(r"^  ([a-z]+)  ", _help().partition("Commands:")[2], re.MULTILINE),
)
def test_page_of_a_command_names_every_option(command: str) -> None:
    text = PAGES[f"reference/commands/{command}.md"]()
    inner = _help(command).partition("Commands:")[2]
    helps = [_help(command)]
    helps += [_help(command, name) for name in re.findall(r"^  ([a-z]+)  ", inner, re.MULTILINE)]
    options = {
        option
        for one in helps
        for line in re.findall(r"^  (-.*?)(?:  |$)", one.partition("Options:")[2], re.MULTILINE)
        for option in re.findall(r"(?<![\w-])--?[a-z][a-z-]*", line)
    }

    assert "--help" in options
    assert [one for one in options if not re.search(rf"`.*{one}\b.*`\n:", text)] == []
    assert f"`{command}`" in PAGES["reference/commands/index.md"]()


def test_reference_names_everything() -> None:
    checks = PAGES["reference/checks.md"]()
    python = PAGES["reference/python.md"]()

    for check in (*CHECKS, *SIMULATION_CHECKS):
        assert f"\n`{check.id}`\n:   " in checks
    for check in ROUND_TRIP_CHECKS:
        assert f"| `{check.id}` | `{check.direct}` |" in checks
    for name in urdf_usd.__all__:
        assert f"::: urdf_usd.{name}\n" in python


@pytest.mark.parametrize(
    ("document", "link", "changed"),
    [
        ("README.md", "docs/comparing.md#variants", "comparing.md#variants"),
        ("README.md", "ARCHITECTURE.md", "architecture.md"),
        ("docs/tutorial.md", "../README.md#more", "index.md#more"),
        ("docs/report.md", "schema/robot-2.0.json", "schema/robot-2.0.json"),
        ("docs/dev/renders/README.md", "../mapping.md", "../mapping.md"),
        ("docs/dev/renders/README.md", "a1.png", "a1.png"),
        ("README.md", "https://example.org/a.md", "https://example.org/a.md"),
        ("docs/dev/decisions.md", "#xacro", "#xacro"),
    ],
)
def test_links_lead_to_pages_of_the_site(document: str, link: str, changed: str) -> None:
    text = with_site_links(f"[a]({link}) and `[a](README.md)`", document)

    assert text == f"[a]({changed}) and `[a](README.md)`"


def _anchors(file: Path) -> set[str]:
    """Return the anchors that GitHub gives to headings."""
    text = re.sub(r"^ *```.*?^ *```$", "", file.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_anchors_of_links_exist(document: Path) -> None:
    links = re.findall(r"\]\(([^)\s:#]*)#([^)\s]+)\)", document.read_text("utf-8"))

    for target, anchor in links:
        file = document.parent / target if target else document
        assert anchor in _anchors(file), f"{target}#{anchor}"


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://example.org/a.js"></script>',
        "<img alt=a src=//example.org/a.png>",
        '<link rel="stylesheet" href="https://example.org/a.css">',
        "body { background: url('https://example.org/a.png') }",
        '@import "https://example.org/a.css";',
    ],
)
def test_loads_from_other_servers_are_found(text: str) -> None:
    (found,) = foreign_loads(text)

    assert "example.org" in found


@pytest.mark.parametrize(
    "text",
    [
        '<a href="https://example.org">a link</a>',
        '<script src="assets/a.js"></script>',
        '<link rel="canonical" href="https://example.org">',
        "body { background: url(data:image/svg+xml;base64,AA) }",
    ],
)
def test_links_and_own_files_are_no_loads(text: str) -> None:
    assert foreign_loads(text) == ()
