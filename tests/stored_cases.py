"""Cases in text files: for each its name, its files, and perhaps the outcome that is stored.

``UPDATE_SNAPSHOTS=1 pytest …`` writes the outcomes; their changes are part of the change that is
reviewed. A case begins with ``== name``, a part of it with ``-- title``; binary files are base64.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

# Contents of files by name; perhaps options, the outcome, and a remark.
Case: TypeAlias = dict[str, str]
OPTIONS, _OUTCOME, _WHY = "options", "read", "why"
_BINARY = "base64 "


def stored_cases(stored: Path) -> dict[str, Case]:
    cases = {}
    for text in stored.read_text(encoding="utf-8").split("\n== ")[1:]:
        name, *parts = text.split("\n-- ")
        pairs = (part.partition("\n") for part in parts)
        cases[name] = {title: content for title, _, content in pairs}
    return cases


def write_files(case: Case, folder: Path) -> Path:
    """Write the files of a case; return the first."""
    files = [name for name in case if name not in {OPTIONS, _OUTCOME, _WHY}]
    for name in files:
        path, content = folder / name, case[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        encoded = content.removeprefix(_BINARY)
        path.write_bytes(base64.b64decode(encoded) if encoded != content else content.encode())
    return folder / files[0]


def check_outcomes(
    stored: Path, outcome: Callable[[Case, Path], str], folder: Path, group: str = ""
) -> None:
    """Compare the outcomes of the cases whose names begin with a group, each in its folder."""
    cases = stored_cases(stored)
    chosen = {name: case for name, case in cases.items() if name.startswith(group)}
    found = {
        name: outcome(case, folder / str(number))
        for number, (name, case) in enumerate(chosen.items())
    }
    if os.environ.get("UPDATE_SNAPSHOTS"):
        texts = []
        for name, case in cases.items():
            case[_OUTCOME] = f"{found[name]}\n" if name in found else case[_OUTCOME]
            texts.append("\n-- ".join((name, *(f"{key}\n{case[key]}" for key in case))))
        stored.write_text("\n== " + "\n== ".join(texts), encoding="utf-8")
    else:
        assert found == {name: case[_OUTCOME].rstrip("\n") for name, case in chosen.items()}
