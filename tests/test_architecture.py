"""ARCHITECTURE.md and the glossary match the code."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
_FUNCTION = re.compile(r"`((?:converter|conformance|corpus|reports)/[\w/]+)\.(\w+)`")
_PATH = re.compile(
    r"`((?:converter|conformance|corpus|docs|reports|tests|urdf_usd)/[\w/]*(?:\.\w+)?)`"
)
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
_FOLDERS = re.compile(r"^\| folder of `(\w+)/` \|.*?\n\n", flags=re.MULTILINE | re.DOTALL)
FUNCTIONS = _FUNCTION.findall(ARCHITECTURE)
_DOCUMENTS = sorted(f"docs/{file.name}" for file in (ROOT / "docs").glob("*.md"))


def test_every_step_names_a_function() -> None:
    steps = re.findall(r"^\| \d+\. .*$", ARCHITECTURE, flags=re.MULTILINE)

    assert len(steps) > 10
    assert all(_FUNCTION.search(step) for step in steps)


@pytest.mark.parametrize(("module", "name"), FUNCTIONS)
def test_named_functions_exist(module: str, name: str) -> None:
    file = ROOT / f"{module}.py"
    assert file.is_file()
    if name == "py":
        return
    tree = ast.parse(file.read_text(encoding="utf-8"))
    kinds = ast.FunctionDef | ast.ClassDef

    assert name in {node.name for node in tree.body if isinstance(node, kinds)}


@pytest.mark.parametrize(
    "document",
    ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", *_DOCUMENTS],
)
def test_named_paths_exist(document: str) -> None:
    file = ROOT / document
    text = file.read_text(encoding="utf-8")
    named = [ROOT / path for path in _PATH.findall(text)]
    linked = [file.parent / path for path in _LINK.findall(text)]
    # The step of a robot names a module and a function; an example names a new engine.
    names = [path for path in (*named, *linked) if not _names_function(path)]

    assert [str(path) for path in names if not path.exists()] == []


def _names_function(path: Path) -> bool:
    return path.with_suffix(".py").is_file()


@pytest.mark.parametrize("package", ["converter", "conformance"])
def test_every_folder_is_described(package: str) -> None:
    (table,) = (found[0] for found in _FOLDERS.finditer(ARCHITECTURE) if found[1] == package)
    folders = {file.parent.name for file in (ROOT / package).glob("*/__init__.py")}

    assert folders <= set(re.findall(r"`(\w+)/`", table))


def test_glossary_has_thirty_terms_at_most() -> None:
    lines = (ROOT / "docs/glossary.md").read_text(encoding="utf-8").splitlines()
    rows = [line.split(" | ") for line in lines if line.startswith("| ")][1:]
    terms = [row[0].removeprefix("| ") for row in rows]

    assert len(terms) <= 30
    assert all(len(row) == 2 for row in rows)
    assert terms == sorted(terms)
