"""Waivers of the document cover no other message."""

from __future__ import annotations

from tests.tools.validation.waivers import waiver


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
