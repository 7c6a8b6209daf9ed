"""Convert robots and run third-party validators on the assets.

    python -m tests.tools.validation [CORPUS…] [--layout LAYOUT]… [--profile PROFILE]…
        [--opener PROGRAM]… [--count]

Every robot is converted twice, with identical bytes, and its asset is moved to another
folder before it is opened. An opener is a Python with another OpenUSD, or with Newton
if its path ends in `:newton`, which has to open every asset without any message; the
running one is always used.

Exits with 1 on any issue without a waiver. With --count, rules that are waived as a
whole run as well and are counted, which takes minutes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from tests.tools.validation.conversions import converted
from tests.tools.validation.validators import Issue, NvidiaValidator, openusd_issues
from tests.tools.validation.waivers import waiver, waivers
from urdf_usd.converter import Conversion, Profile
from urdf_usd.converter.options import Layout
from urdf_usd.corpus import resolve_corpora


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="*", default=["pybullet"])
    parser.add_argument(
        "--layout", action="append", choices=list(Layout), type=Layout, dest="layouts"
    )
    parser.add_argument(
        "--profile",
        action="append",
        choices=list(Profile),
        type=Profile,
        dest="profiles",
    )
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--opener", action="append", dest="openers", default=[])
    options = parser.parse_args()
    openers = [_Opener(program) for program in (sys.executable, *options.openers)]
    sources = resolve_corpora(options.corpus, _say)
    whole = tuple(entry for entry in waivers() if entry.is_whole)
    nvidia = NvidiaValidator(() if options.count else whole)
    waived: Counter[str] = Counter()
    failed = validated = 0
    kinds = tuple(
        itertools.product(options.profiles or [Profile.GENERIC], options.layouts or list(Layout))
    )
    for profile, layout in kinds:
        for source in sources:
            with tempfile.TemporaryDirectory() as folder:
                written = partial(converted, source, profile=profile, layout=layout)
                conversion = written(Path(folder, "asset"))
                if conversion is None:
                    continue
                validated += 1
                written(Path(folder, "again"))
                found = list(_differing(Path(folder)))
                moved = Path(folder, "elsewhere", "an asset")
                moved.parent.mkdir()
                Path(folder, "asset").rename(moved)
                asset = moved / conversion.root_layer.relative_to(Path(folder, "asset").resolve())
                found += [one for opener in openers for one in opener.issues(asset)]
                found += [*openusd_issues(asset), *nvidia.issues(asset)]
                failed += _judge(f"{source.id} ({profile}, {layout})", found, conversion, waived)
    for rule, count in sorted(waived.items()):
        _say(f"waived: {rule}: {count}")
    _say(f"{validated} assets: {failed} with issues")
    sys.exit(1 if failed or not validated else 0)


def _differing(folder: Path) -> Iterator[Issue]:
    """Return the files in which two conversions differ."""
    first, again = (_contents(folder / name) for name in ("asset", "again"))
    for name in sorted(first.keys() | again.keys()):
        if first.get(name) != again.get(name):
            yield Issue("again", f"another conversion writes another {name}")


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


class _Opener:
    """A process that opens assets and returns the messages."""

    def __init__(self, program: str) -> None:
        python, _, simulator = program.partition(":")
        command = [python, str(Path(__file__).with_name("opening.py")), simulator]
        self._name = program
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def issues(self, asset: Path) -> Iterator[Issue]:
        """Open one asset."""
        questions, answers = self._process.stdin, self._process.stdout
        if questions is None or answers is None:
            raise RuntimeError("it has no pipes")
        questions.write(f"{asset}\n")
        questions.flush()
        answer = answers.readline()
        messages = json.loads(answer) if answer else ["the process ended"]
        for sentence in messages:
            yield Issue("opening", f"{self._name}: {sentence}")


def _judge(name: str, found: Sequence[Issue], conversion: Conversion, waived: Counter[str]) -> bool:
    """Print and count issues; return whether one of them is not waived."""
    rules = frozenset(diagnostic.rule for diagnostic in conversion.diagnostics)
    bad = False
    for issue in dict.fromkeys(found):
        if waiver(issue.rule, issue.message, rules):
            waived[issue.rule] += found.count(issue)
        else:
            bad = True
            _say(f"{name}: {issue.rule}: {issue.message}")
    return bad


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
