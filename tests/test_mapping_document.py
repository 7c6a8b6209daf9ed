"""docs/dev/mapping.md names existing functions and tests, and the whole grammar."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from urdf_usd.converter.urdf import grammar
from urdf_usd.converter.urdf.grammar import ElementType

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/dev/mapping.md"
_COLUMNS = 4
_HEADINGS = ("URDF", "---")
_CODE = re.compile(r"`([^`]+)`")


class Row(NamedTuple):
    """One row of the page's tables, column by column."""

    urdf: str
    usd: str
    functions: str
    tests: str


def rows() -> list[Row]:
    """Read the tables of the page."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            if not cells[0].startswith(_HEADINGS):
                assert len(cells) == _COLUMNS, line
                found.append(Row(*cells))
    return found


@cache
def defined(file: Path) -> frozenset[str]:
    """Names of the functions and classes of a module."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    kinds = ast.FunctionDef | ast.ClassDef
    return frozenset(node.name for node in tree.body if isinstance(node, kinds))


def missing(folder: Path, names: str) -> Iterator[str]:
    """Yield the functions and tests of a cell that do not exist."""
    for name in _CODE.findall(names):
        module, _, function = name.rpartition(".")
        file = folder / f"{module}.py"
        if not file.is_file() or function not in defined(file):
            yield name


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.urdf[:40])
def test_every_row_names_functions_and_tests_that_exist(row: Row) -> None:
    assert _CODE.search(row.functions)
    assert _CODE.search(row.tests)
    assert list(missing(ROOT / "converter", row.functions)) == []
    assert list(missing(ROOT / "tests/converter", row.tests)) == []


def test_every_element_and_attribute_of_the_grammar_has_a_row() -> None:
    named = {name for row in rows() for name in _CODE.findall(row.urdf)}

    lost = [
        known for known in known_to_the_grammar(grammar.ROBOT, "") if not named.intersection(known)
    ]

    assert lost == []


def known_to_the_grammar(element: ElementType, parent: str) -> Iterator[tuple[str, ...]]:
    """Yield all notations of each element and attribute."""
    tag = element.tag
    yield (f"{parent}/{tag}", *([] if parent else [tag]))
    for attribute in element.attributes:
        yield f"{tag}/@{attribute.name}", f"{parent}/{tag}/@{attribute.name}"
    for child in element.children:
        yield from known_to_the_grammar(child.type, tag)


def test_functions_on_the_way_of_a_number_exist() -> None:
    _, _, section = PAGE.read_text(encoding="utf-8").partition("## The way of one number")
    functions = [name for name in _CODE.findall(section) if "/" in name and "<" not in name]

    assert len(functions) > 20
    assert list(missing(ROOT, "".join(f"`{name}`" for name in functions))) == []
