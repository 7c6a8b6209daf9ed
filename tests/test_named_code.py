"""Functions, tests and paths that documents name exist, and each has its place in a document."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from urdf_usd.converter.urdf import grammar
from urdf_usd.converter.urdf.grammar import ElementType

ROOT = Path(__file__).parent.parent
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
MAPPING = (ROOT / "docs/dev/mapping.md").read_text(encoding="utf-8")
_CODE = re.compile(r"`([^`]+)`")
_FUNCTION = re.compile(r"`((?:converter|conformance|corpus|reports)/[\w/]+\.\w+)`")
_PATH = re.compile(
    r"`((?:converter|conformance|corpus|docs|reports|tests|urdf_usd)/[\w/]*(?:\.\w+)?)`"
)
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
_FOLDERS = re.compile(r"^\| folder of `(\w+)/` \|.*?\n\n", flags=re.MULTILINE | re.DOTALL)
_DOCUMENTS = ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md")


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


@pytest.mark.parametrize("document", [*_DOCUMENTS, *sorted(ROOT.glob("docs/*.md"))], ids=str)
def test_named_paths_exist(document: str | Path) -> None:
    file = ROOT / document
    text = file.read_text(encoding="utf-8")
    named = [ROOT / path for path in _PATH.findall(text)]
    linked = [file.parent / path for path in _LINK.findall(text)]

    # The step of a robot names a module and a function; an example names a new engine.
    paths = [path for path in (*named, *linked) if not path.with_suffix(".py").is_file()]
    assert [str(path) for path in paths if not path.exists()] == []


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
