"""Bundled scripts match their sources; their behaviour is tested in a browser."""

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
# Sources that both bundles include.
_BORROWED = {"viewer": ("pages/src/quantity.js",), "pages": ()}


def _bundle(name: str) -> str:
    return (_REPORTS / "static" / f"{name}.js").read_text("utf-8")


@pytest.mark.parametrize("name", _LICENSES)
def test_bundle_matches_its_sources(name: str) -> None:
    """`nox -s viewer` rebuilds both."""
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
def test_bundle_includes_licences_of_bundled_packages(name: str) -> None:
    """As these licences require."""
    assert all(words in _bundle(name) for words in _LICENSES[name])


@pytest.mark.parametrize("name", _LICENSES)
def test_bundle_can_be_embedded_in_a_page(name: str) -> None:
    """It contains no end tag of a script element."""
    assert "</script" not in _bundle(name)
