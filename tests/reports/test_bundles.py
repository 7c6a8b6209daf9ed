"""Tests of the bundled scripts; what they do is tested in a browser."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

_REPORTS = Path(__file__).parents[2] / "reports/html"
_LICENSES = {
    "viewer": ("three.js authors", "Permission is hereby granted"),
    "pages": ("Observable, Inc.", "Mike Bostock", "Permission to use, copy, modify"),
}
# Sources of one that the other takes as well.
_BORROWED = {"viewer": ("pages/src/quantity.js",), "pages": ()}


def _bundle(name: str) -> str:
    return (_REPORTS / "templates" / f"{name}.js").read_text("utf-8")


@pytest.mark.parametrize("name", _LICENSES)
def test_a_bundle_is_built_from_the_sources_beside_it(name: str) -> None:
    """`nox -s viewer` builds both anew after a change."""
    folder = _REPORTS / name
    digest = hashlib.sha256((folder / "package.json").read_bytes())
    for source in sorted((folder / "src").iterdir()):
        digest.update(source.read_bytes())
    for borrowed in _BORROWED[name]:
        digest.update((_REPORTS / borrowed).read_bytes())
    stated = re.search(r"sources: sha256 (\w+)", _bundle(name))
    assert stated is not None
    assert stated[1] == digest.hexdigest()


@pytest.mark.parametrize("name", _LICENSES)
def test_a_bundle_carries_the_licences_of_what_it_holds(name: str) -> None:
    """Their authors ask for that, in copies of any form."""
    assert all(words in _bundle(name) for words in _LICENSES[name])


@pytest.mark.parametrize("name", _LICENSES)
def test_a_bundle_can_stand_inside_a_page(name: str) -> None:
    """Nothing in it ends the script element that holds it."""
    assert "</script" not in _bundle(name)
