"""What programs over corpora share: arguments, robots, and tables in Markdown."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence

from urdf_usd.corpus import RobotSource, resolve_corpora


def corpus_parser(
    description: str | None, *default: str, kinds: Iterable[str] = ()
) -> argparse.ArgumentParser:
    """Return a parser with the arguments of :func:`robots`, after a kind if there are any."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if kinds:
        parser.add_argument("kind", choices=kinds)
    parser.add_argument("corpus", nargs="*", default=default)
    parser.add_argument("--sample", type=int, help="robots, spread over the corpora")
    return parser


def robots(options: argparse.Namespace) -> list[RobotSource]:
    """Return the robots of the corpora that are available."""
    found = [one for one in resolve_corpora(options.corpus) if isinstance(one, RobotSource)]
    count = min(options.sample or len(found), len(found))
    return [found[index * len(found) // count] for index in range(count)]


def table(columns: Sequence[object], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table."""
    first, *others = (f"| {' | '.join(map(str, cells))} |" for cells in (columns, *rows))
    yield from (first, f"|{'---|' * len(columns)}", *others)
