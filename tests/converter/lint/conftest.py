"""Fixtures that lint URDF text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.lint.linting import lint

Lint: TypeAlias = Callable[[str], tuple[Diagnostic, ...]]


@pytest.fixture
def robot_file(tmp_path: Path) -> Path:
    """Return the path where the text of a test is written."""
    return tmp_path / "robot.urdf"


@pytest.fixture
def lint_text(robot_file: Path) -> Lint:
    """Return a function that gives the findings of a text."""

    def lint_it(text: str) -> tuple[Diagnostic, ...]:
        robot_file.write_text(text, encoding="utf-8")
        return lint(robot_file).findings

    return lint_it
