"""The site has a page for everything, and its documents link to what exists."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
import yaml

import urdf_usd
from tests.tools.documentation.pages import PAGES, ROOT, foreign_loads, with_site_links
from urdf_usd.cli.main import main
from urdf_usd.conformance.checks.catalogue import CHECKS, ROUND_TRIP_CHECKS, SIMULATION_CHECKS

DOCUMENTS = (
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *(ROOT / "docs").rglob("*.md"),
)


class _Loader(yaml.SafeLoader):
    """Reads mkdocs.yml without the functions that it names."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def test_navigation_names_every_page_once() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    navigation = yaml.load(text, _Loader)["nav"]  # noqa: S506  # a SafeLoader
    files = [file.relative_to(ROOT / "docs").as_posix() for file in (ROOT / "docs").rglob("*.md")]

    assert sorted(re.findall(r"[\w/.-]+\.md", str(navigation))) == sorted([*files, *PAGES])


def test_reference_names_everything() -> None:
    checks, python = PAGES["reference/checks.md"](), PAGES["reference/python.md"]()

    for check in (*CHECKS, *SIMULATION_CHECKS):
        assert f"\n`{check.id}`\n:   " in checks
    for check in ROUND_TRIP_CHECKS:
        assert f"| `{check.id}` | `{check.direct}` |" in checks
    for name in urdf_usd.__all__:
        assert f"::: urdf_usd.{name}\n" in python
    for name in main.list_commands(click.Context(main)):
        assert f"`{name}`" in PAGES["reference/commands/index.md"]()
        assert f"urdf-usd {name}" in PAGES[f"reference/commands/{name}.md"]()


@pytest.mark.parametrize(
    ("document", "link", "changed"),
    [
        ("README.md", "docs/comparing.md#variants", "comparing.md#variants"),
        ("README.md", "ARCHITECTURE.md", "architecture.md"),
        ("docs/tutorial.md", "../README.md#more", "index.md#more"),
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


def test_anchors_of_links_exist() -> None:
    for document in DOCUMENTS:
        links = re.findall(r"\]\(([^)\s:#]*)#([^)\s]+)\)", document.read_text("utf-8"))
        for target, anchor in links:
            file = document.parent / target if target else document
            assert anchor in _anchors(file), f"{document.name}: {target}#{anchor}"


def test_loads_from_other_servers_are_found() -> None:
    loads = (
        '<script src="https://example.org/a.js"></script>',
        "<img alt=a src=//example.org/a.png>",
        '<link rel="stylesheet" href="https://example.org/a.css">',
        "body { background: url('https://example.org/a.png') }",
        '@import "https://example.org/a.css";',
    )
    others = (
        '<a href="https://example.org">a link</a> <script src="assets/a.js"></script>',
        '<link rel="canonical" href="https://example.org">',
        "body { background: url(data:image/svg+xml;base64,AA) }",
    )

    assert len(foreign_loads("\n".join((*loads, *others)))) == len(loads)
