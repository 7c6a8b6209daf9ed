"""What documents name exists and has its place; the site has a page for everything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import click
import pytest

import urdf_usd
from tests.tools.documentation.pages import PAGES, ROOT, foreign_loads, with_site_links
from urdf_usd.cli.program import main
from urdf_usd.conformance.checks.catalogue import CHECKS, ROUND_TRIP_CHECKS, SIMULATION_CHECKS
from urdf_usd.converter.urdf import grammar
from urdf_usd.converter.urdf.grammar import ElementType

ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
MAPPING = (ROOT / "docs/dev/mapping.md").read_text(encoding="utf-8")
_CODE = re.compile(r"`([^`]+)`")
_FUNCTION = re.compile(r"`((?:converter|conformance|corpus|reports)/[\w/]+\.\w+)`")
_PATH = re.compile(
    r"`((?:converter|conformance|corpus|docs|reports|tests|urdf_usd)/[\w/]*(?:\.\w+)?)`"
)
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
_FOLDERS = re.compile(r"^\| folder of `(\w+)/` \|.*?\n\n", flags=re.MULTILINE | re.DOTALL)
DOCUMENTS = (
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
)


def _rows(text: str) -> list[list[str]]:
    """Return the cells of the rows of all tables."""
    lines = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line] for line in lines]


# URDF, USD, functions and tests.
ROWS = [row for row in _rows(MAPPING) if row[0] != "URDF"]


@cache
def _defined(file: Path) -> frozenset[str]:
    """Names of the functions and classes of a module."""
    tree = ast.parse(file.read_text(encoding="utf-8")) if file.is_file() else ast.Module([], [])
    kinds = ast.FunctionDef | ast.ClassDef
    return frozenset(node.name for node in tree.body if isinstance(node, kinds))


def _missing(folder: Path, names: Iterable[str]) -> list[str]:
    """Return the functions, classes and tests that do not exist."""
    parts = ((name, *name.rpartition(".")[::2]) for name in names)
    return [one for one, module, name in parts if name not in _defined(folder / f"{module}.py")]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:40])
def test_every_row_of_the_mapping_names_functions_and_tests(row: list[str]) -> None:
    _, _, functions, tests = map(_CODE.findall, row)

    assert functions
    assert tests
    assert _missing(ROOT / "converter", functions) == []
    assert _missing(ROOT / "tests/converter", tests) == []


def test_functions_on_the_way_of_a_number_and_of_a_robot_exist() -> None:
    _, _, section = MAPPING.partition("## The way of one number")
    functions = [name for name in _CODE.findall(section) if "/" in name and "<" not in name]
    named = [name for name in _FUNCTION.findall(ARCHITECTURE) if not name.endswith(".py")]
    steps = re.findall(r"^\| \d+\. .*$", ARCHITECTURE, flags=re.MULTILINE)

    assert len(functions) > 20
    assert len(steps) > 10
    assert all(map(_FUNCTION.search, steps))
    assert _missing(ROOT, (*functions, *named)) == []


def test_every_element_and_attribute_of_the_grammar_has_a_row() -> None:
    named = {name for row in ROWS for name in _CODE.findall(row[0])}

    assert [known for known in _known(grammar.ROBOT, "") if not named.intersection(known)] == []


def _known(element: ElementType, parent: str) -> Iterator[tuple[str, ...]]:
    """Yield all notations of each element and attribute."""
    tag = element.tag
    yield (f"{parent}/{tag}", *([] if parent else [tag]))
    for attribute in element.attributes:
        yield f"{tag}/@{attribute.name}", f"{parent}/{tag}/@{attribute.name}"
    for child in element.children:
        yield from _known(child.type, tag)


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_named_paths_and_anchors_exist(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    named = [ROOT / path for path in _PATH.findall(text)]
    linked = [file.parent / path for path in _LINK.findall(text)]

    # The step of a robot names a module and a function; an example names a new engine.
    paths = [path for path in (*named, *linked) if not path.with_suffix(".py").is_file()]
    assert [str(path) for path in paths if not path.exists()] == []
    for target, anchor in re.findall(r"\]\(([^)\s:#]*)#([^)\s]+)\)", text):
        assert anchor in _anchors(file.parent / target if target else file), f"{target}#{anchor}"


def _anchors(file: Path) -> set[str]:
    """Return the anchors that GitHub gives to headings."""
    text = re.sub(r"^ *```.*?^ *```$", "", file.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("package", ["converter", "conformance"])
def test_every_folder_is_described(package: str) -> None:
    (table,) = (found[0] for found in _FOLDERS.finditer(ARCHITECTURE) if found[1] == package)
    folders = {file.parent.name for file in (ROOT / package).glob("*/__init__.py")}

    assert folders <= set(re.findall(r"`(\w+)/`", table))


def test_glossary_has_thirty_terms_at_most() -> None:
    rows = _rows((ROOT / "docs/glossary.md").read_text(encoding="utf-8"))[1:]
    terms = [row[0] for row in rows]

    assert len(terms) <= 30
    assert all(len(row) == 2 for row in rows)
    assert terms == sorted(terms)


# The site.


def test_navigation_names_every_page_once() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    (navigation,) = re.findall(r"^nav:\n((?: .*\n)+)", text, re.MULTILINE)
    files = [file.relative_to(ROOT / "docs").as_posix() for file in (ROOT / "docs").rglob("*.md")]

    assert sorted(re.findall(r"[\w/.-]+\.md", navigation)) == sorted([*files, *PAGES])


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
