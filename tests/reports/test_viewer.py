"""Tests of the bundled viewer; what it does is tested in a browser."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

_REPORTS = Path(__file__).parents[2] / "reports"
_SOURCES = _REPORTS / "viewer"
_BUNDLE = _REPORTS / "templates" / "viewer.js"


def test_the_bundle_is_built_from_the_sources_beside_it() -> None:
    """`nox -s viewer` builds it anew after a change."""
    digest = hashlib.sha256((_SOURCES / "package.json").read_bytes())
    for source in sorted((_SOURCES / "src").iterdir()):
        digest.update(source.read_bytes())
    stated = re.search(r"sources: sha256 (\w+)", _BUNDLE.read_text("utf-8"))
    assert stated is not None
    assert stated[1] == digest.hexdigest()


def test_the_bundle_carries_the_licence_of_what_it_holds() -> None:
    """three.js asks for that, in copies of any form."""
    text = _BUNDLE.read_text("utf-8")
    assert "three.js authors" in text
    assert "Permission is hereby granted" in text


def test_the_bundle_can_stand_inside_a_page() -> None:
    """Nothing in it ends the script element that holds it."""
    assert "</script" not in _BUNDLE.read_text("utf-8")
