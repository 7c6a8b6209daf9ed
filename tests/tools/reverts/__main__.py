"""Put bugs of the past back, one at a time, and show that the tests still fail.

Each bug of ``bugs.toml`` is a replacement of text in a copy of the checkout. It is caught if one of
its tests fails with it, and passes without it. Fails if a bug is not caught.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from msgspec import Struct, convert

_ROOT = Path(__file__).parents[3]
_PACKAGES = ("converter", "conformance", "corpus", "reports", "urdf_usd/cli")


class Bug(Struct, frozen=True, forbid_unknown_fields=True):
    """What was wrong, the text that mends it, the wrong one, and tests that should fail."""

    id: str
    was: str
    old: str
    new: str
    tests: list[str]


def copy_checkout(folder: Path) -> None:
    """Copy the tracked files, with links between folders."""
    command = ("git", "ls-files", "-z")
    tracked = subprocess.run(command, cwd=_ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, tracked.split("\0")):
        if os.path.lexists(_ROOT / name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(_ROOT / name, folder / name, follow_symlinks=False)


def failing_test(folder: Path, tests: list[str]) -> str | None:
    """Return the first test that fails."""
    command = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests)
    copied = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=folder, env=copied, capture_output=True, text=True)
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return failed[1] if failed else None if done.returncode == 0 else "a crash"


def outcome(folder: Path, bug: Bug) -> str:
    """Return the test that catches a bug, or why none does, after a cross."""
    modules = [file for package in _PACKAGES for file in (folder / package).rglob("*.py")]
    texts = {file: file.read_text(encoding="utf-8") for file in modules}
    found = [file for file, text in texts.items() for _ in range(text.count(bug.old))]
    absent = [test for test in bug.tests if not (folder / test).exists()]
    if len(found) != 1 or absent:
        return f"✗ {len(found)} places; absent: {', '.join(absent) or 'nothing'}"
    text = texts[found[0]]
    found[0].write_text(text.replace(bug.old, bug.new), encoding="utf-8")
    failed = failing_test(folder, bug.tests)
    found[0].write_text(text, encoding="utf-8")
    return failed or "✗ no test fails"


def main() -> int:
    text = Path(__file__).with_name("bugs.toml").read_text(encoding="utf-8")
    bugs = convert(tomllib.loads(text)["bug"], list[Bug])
    chosen = [bug for bug in bugs if not sys.argv[1:] or bug.id in sys.argv[1:]]
    print("| bug | was | caught by |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        copy_checkout(Path(name))
        caught = []
        for bug in chosen:
            found = outcome(Path(name), bug)
            caught += [] if found.startswith("✗") else [found]
            print(f"| {bug.id} | {bug.was} | {found} |", flush=True)
        wrong = failing_test(Path(name), caught) if caught else None
    print(f"{len(caught)} of {len(chosen)} caught")
    if wrong:
        print(f"✗ {wrong} fails without a bug")
    return bool(wrong) or len(caught) < len(chosen)


if __name__ == "__main__":
    sys.exit(main())
