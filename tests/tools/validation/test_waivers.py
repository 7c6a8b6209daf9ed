"""Waivers of the document cover no other message."""

from __future__ import annotations

from tests.tools.validation.__main__ import is_waived


def test_waiver_covers_only_its_message_and_cause() -> None:
    impossible = frozenset({"inertia-implausible"})
    text = "diagonalInertia elements must be positive, prim path: /r/a"

    assert is_waived("RigidBodyChecker", text, impossible)
    assert not is_waived("RigidBodyChecker", text, frozenset())
    assert not is_waived("RigidBodyChecker", "nested bodies", impossible)
    assert not is_waived("ColliderChecker", text, impossible)
    assert is_waived("ManifoldChecker", "2 edges are non-manifold.", frozenset())
    normals = "Both normals and primvar:normals exist."
    assert not is_waived("NormalsExistChecker", normals, frozenset())
