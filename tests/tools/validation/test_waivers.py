"""Waivers match the documentation, and cover no other message."""

from __future__ import annotations

import re
from pathlib import Path

from tests.tools.validation.waivers import WAIVERS, waiver

_PAGE = Path(__file__).parents[3] / "docs/dev/validation.md"


def test_every_waiver_is_documented() -> None:
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in _PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    ]
    rows = [cell[:4] for cell in cells]

    assert rows == [
        [
            f"`{entry.rule}`",
            entry.says or "anything",
            f"`{entry.after}`" if entry.after else "always",
            entry.reason,
        ]
        for entry in WAIVERS
    ]
    assert all(re.fullmatch(r"\d[\d ]*", cell[4]) for cell in cells)


def test_waiver_covers_only_its_message_and_cause() -> None:
    impossible = frozenset({"inertia-implausible"})
    text = "diagonalInertia elements must be positive, prim path: /r/a"

    assert waiver("RigidBodyChecker", text, impossible)
    assert waiver("RigidBodyChecker", text, frozenset()) is None
    assert waiver("RigidBodyChecker", "nested bodies", impossible) is None
    assert waiver("ColliderChecker", text, impossible) is None
    assert waiver("ManifoldChecker", "2 edges are non-manifold.", frozenset())
    normals = "Both normals and primvar:normals exist."
    assert waiver("NormalsExistChecker", normals, frozenset()) is None


def test_no_rule_is_waived_twice() -> None:
    names = [entry.rule for entry in WAIVERS]

    assert len(set(names)) == len(names)
