"""Converts robots and puts the assets before validators that others wrote.

    python -m tests.validation [CORPUS…] [--layout LAYOUT]… [--count]

Exits with 1 if a validator says of an asset what no waiver answers for. With --count,
rules that are waived as a whole are asked all the same, and counted: minutes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from converter import ConversionError, ConvertOptions, convert
from converter.layout import Layout
from corpus import UnavailableSource, resolve_corpora
from tests.validation.validators import NvidiaValidator, openusd_issues
from tests.validation.waivers import WAIVERS, waiver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from converter import Conversion
    from corpus import Resolved
    from tests.validation.validators import Issue


def main() -> None:
    """Validate corpora."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="*", default=["pybullet"])
    parser.add_argument(
        "--layout", action="append", choices=list(Layout), type=Layout, dest="layouts"
    )
    parser.add_argument("--count", action="store_true")
    options = parser.parse_args()
    sources = resolve_corpora(options.corpus, _say)
    whole = tuple(entry for entry in WAIVERS if entry.is_whole)
    nvidia = NvidiaValidator(() if options.count else whole)
    waived: Counter[str] = Counter()
    failed = validated = 0
    for layout in options.layouts or list(Layout):
        for source in sources:
            with tempfile.TemporaryDirectory() as folder:
                conversion = _converted(source, Path(folder, "asset"), layout)
                if conversion is None:
                    continue
                validated += 1
                asset = conversion.root_layer
                found = [*openusd_issues(asset), *nvidia.issues(asset)]
                failed += _judge(f"{source.id} ({layout})", found, conversion, waived)
    for rule, count in sorted(waived.items()):
        _say(f"waived: {rule}: {count}")
    _say(f"{validated} assets: {failed} with issues")
    sys.exit(1 if failed or not validated else 0)


def _converted(source: Resolved, folder: Path, layout: Layout) -> Conversion | None:
    """Convert a robot; None if it cannot be read, which is for others to judge."""
    if isinstance(source, UnavailableSource):
        return None
    options = ConvertOptions(
        layout=layout,
        packages=tuple((name, str(path)) for name, path in source.packages),
        arguments=tuple(source.arguments),
    )
    try:
        return convert(source.path, folder, options)
    except ConversionError:
        return None


def _judge(
    name: str, found: Sequence[Issue], conversion: Conversion, waived: Counter[str]
) -> bool:
    """Print and count issues; say whether one of them is not waived."""
    said = frozenset(diagnostic.rule for diagnostic in conversion.diagnostics)
    bad = False
    for issue in dict.fromkeys(found):
        if waiver(issue.rule, issue.message, said):
            waived[issue.rule] += found.count(issue)
        else:
            bad = True
            _say(f"{name}: {issue.rule}: {issue.message}")
    return bad


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    main()
