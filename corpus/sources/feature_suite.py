"""The feature suite: minimal URDFs with expected values, part of this package.

A version is a folder with ``manifest.json``, which lists its chapters. A case is a pair
``<chapter>/<case>.urdf`` and ``<chapter>/<case>.json``.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from urdf_usd.corpus.identifiers import identifier
from urdf_usd.corpus.references import Scheme, suite_parts
from urdf_usd.corpus.robots import (
    Origin,
    RobotSource,
    SuiteCase,
    UnknownRobotError,
)

ROOT = Path(__file__).parent.parent / "suite"
MANIFEST = "manifest.json"
# Name in package:// URIs of the folder of a version.
PACKAGE = "suite"
_LICENSE = "Apache-2.0"


def versions() -> tuple[str, ...]:
    """List the versions of the suite, oldest first."""
    return tuple(sorted(file.parent.name for file in ROOT.glob(f"*/{MANIFEST}")))


def manifest(version: str) -> dict[str, Any]:
    """Read the manifest of a version: its chapters and their titles."""
    text = (ROOT / version / MANIFEST).read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def names() -> tuple[str, ...]:
    """List the cases of the latest version as ``<chapter>/<case>``, by chapter."""
    return _names(versions()[-1])


def locate(target: str) -> RobotSource:
    """Find one case.

    Args:
        target: ``<chapter>/<case>``, after ``<version>/`` if it is not the latest.

    Raises:
        UnknownRobotError: There is no such case.
    """
    (found,) = locate_all(target)
    return found


def locate_all(target: str) -> tuple[RobotSource, ...]:
    """Find the cases of a version or a chapter, or one case.

    Args:
        target: ``<version>``, ``<chapter>`` or ``<chapter>/<case>``; the last two also
            after ``<version>/``.

    Raises:
        UnknownRobotError: There is no such version, chapter or case.
    """
    stated, chapter, case = suite_parts(target)
    known = versions()
    version = stated or known[-1]
    if version not in known:
        raise UnknownRobotError(
            f"the feature suite has no version {version!r}; there are {', '.join(known)}"
        )
    cases = _names(version)
    wanted = f"{chapter}/{case}" if case else chapter
    found = [
        name for name in cases if not wanted or name == wanted or name.startswith(f"{wanted}/")
    ]
    if not found:
        chapters = {name.partition("/")[0] for name in cases}
        close = difflib.get_close_matches(wanted, sorted({*cases, *chapters}), n=3)
        hint = f"; close to it: {', '.join(close)}" if close else ""
        raise UnknownRobotError(f"the feature suite has no case {wanted!r}{hint}")
    titles = {one["name"]: one["title"] for one in manifest(version)["chapters"]}
    return tuple(_case(version, titles, cases.index(name) + 1, name) for name in found)


def _names(version: str) -> tuple[str, ...]:
    folder = ROOT / version
    return tuple(
        f"{chapter['name']}/{file.stem}"
        for chapter in manifest(version)["chapters"]
        for file in sorted((folder / chapter["name"]).glob("*.json"))
    )


def _case(version: str, titles: Mapping[str, str], number: int, name: str) -> RobotSource:
    folder = ROOT / version
    full = f"{version}/{name}"
    chapter, _, own = name.partition("/")
    return RobotSource(
        id=identifier(Scheme.SUITE, full),
        reference=f"{Scheme.SUITE}:{full}",
        path=folder / f"{name}.urdf",
        packages=((PACKAGE, folder),),
        origin=Origin(license=_LICENSE),
        case=SuiteCase(
            version=version,
            chapter=chapter,
            title=titles[chapter],
            name=own,
            number=number,
            text=(folder / f"{name}.json").read_text(encoding="utf-8"),
        ),
    )
