"""The commit of a git checkout, read from ``.git`` without a git executable."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# Lists the commits of the repositories of a mirror that are no checkouts.
MANIFEST = "MANIFEST.json"


def head_commit(folder: Path) -> str | None:
    """Return the commit that is checked out in a folder; None if it is no checkout."""
    git = folder / ".git"
    if git.is_file():
        # In a worktree or a submodule, the file holds the path of the repository.
        place = _text(git).removeprefix("gitdir:").strip()
        git = folder / place
    head = _text(git / "HEAD")
    name = head.removeprefix("ref:").strip()
    if name == head:
        return _commit(head)
    # A worktree shares the branches of its repository.
    shared = git / (_text(git / "commondir") or ".")
    loose = (_commit(_text(place / name)) for place in (git, shared))
    return next(filter(None, loose), None) or _packed(shared, name)


def mirrored_commit(mirror: Path, name: str) -> str | None:
    """Return the commit of one repository of a mirror.

    Read from the checkout; for other folders from ``MANIFEST.json``, which maps the
    folder's name to an object with its ``commit``.
    """
    commit = head_commit(mirror / name)
    if commit is not None:
        return commit
    try:
        manifest: Any = json.loads(_text(mirror / MANIFEST))
        stated = manifest[name]["commit"]
    except (KeyError, TypeError, ValueError):
        return None
    return _commit(stated) if isinstance(stated, str) else None


def _packed(git: Path, name: str) -> str | None:
    lines: Iterable[list[str]] = map(str.split, _text(git / "packed-refs").splitlines())
    return next((_commit(line[0]) for line in lines if line[1:] == [name]), None)


def _commit(text: str) -> str | None:
    return text if _COMMIT.fullmatch(text) else None


def _text(file: Path) -> str:
    """Text of a small file; empty if there is none."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
