"""Differences between the outcomes of two versions."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from pxr import Sdf

# Kind of messages and values as text, which do not count.
TEXT = "text"
# Headings of values by the names that lead to them, `*` for any.
_KINDS = {
    "exit_status": "exit statuses",
    "verdict": "verdicts",
    "checks * grade": "grades",
    "checks * compared": "values compared",
    "diagnostics * rule": "rule ids",
    "lint * rule": "rule ids",
    "engines * status": "engines",
    "deviations * id": "deviations",
    "deviations * check": "deviations",
    "raised * *": "faults",
    "faults * *": "faults",
    "faults * checks *": "faults",
    "faults * missed *": "faults",
}
# Lists whose items have a name: by it they are compared, not by their order.
_KEYS = ("id", "name", "engine", "path", "rule", "subject")
# Different wherever the environment or the folder is.
_IGNORED = frozenset({"environment", "fingerprint", "sha256", "size"})
# Printed of one layer, and of one value.
_MOST_OPINIONS = 8
_MOST_CHARACTERS = 80
_LAYERS = frozenset({".usda", ".usdc", ".usd"})
_LISTS = frozenset({"status.json", "faults.json", "stdout.txt"})


class Names(NamedTuple):
    """What was renamed since the former version."""

    fields: Mapping[str, str]
    values: Mapping[str, str]
    commands: Mapping[str, str]


class Difference(NamedTuple):
    """One difference."""

    kind: str  # heading under which it is printed
    subject: str  # robot, command or fault
    detail: str  # what differs, former and current value


def load_names(file: Path) -> Names:
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    return Names(*(table.get(key, {}) for key in Names._fields))


def differences(
    former: Path, current: Path, names: Names, parts: Iterable[str]
) -> Iterator[Difference]:
    """Compare two folders of outcomes, part by part.

    JSON is compared value by value after renaming what the former version calls
    otherwise, USD layers opinion by opinion, all other files by their bytes.
    """
    for part in parts:
        before, after = _files(former / part), _files(current / part)
        for path in sorted(before.keys() | after.keys()):
            subject = f"{part}: {path}"
            if path not in before or path not in after:
                where = "now" if path not in before else "formerly"
                yield Difference("files", subject, f"only {where}")
                continue
            old, new = (files[path].read_bytes() for files in (before, after))
            if path.endswith(".json"):
                yield from _compare_values(subject, _renamed(json.loads(old), names), new)
            elif old != new and path.endswith("stdout.txt"):
                for lines in zip_longest(*(text.decode().splitlines() for text in (old, new))):
                    if lines[0] != lines[1]:
                        yield Difference(TEXT, subject, "{!r} -> {!r}".format(*lines))
            elif old != new and before[path].suffix in _LAYERS:
                yield from _compare_layers(subject, before[path], after[path])
            elif old != new:
                yield Difference("files", subject, "other bytes")


def printed(found: Sequence[Difference], *, texts: bool) -> Iterator[str]:
    """Return the lines that list differences by kind, the same details together."""
    for kind in dict.fromkeys(difference.kind for difference in found):
        group = [difference for difference in found if difference.kind == kind]
        subjects: dict[str, list[str]] = {}
        for difference in group:
            subjects.setdefault(difference.detail, []).append(difference.subject)
        yield f"\n{kind}: {len(group)}"
        if kind == TEXT and not texts:
            yield "  messages and numbers as text; --texts lists them"
            continue
        for detail, places in sorted(subjects.items(), key=lambda item: -len(item[1])):
            more = f" (+{len(places) - 1} more)" if len(places) > 1 else ""
            yield f"  {places[0]}{more}: {detail}"
    counted = sum(difference.kind != TEXT for difference in found)
    yield f"\n{counted or 'no'} differences"


def _files(folder: Path) -> dict[str, Path]:
    """Return the files to compare by path, without pages, which are made from records."""
    found = {}
    for file in folder.rglob("*"):
        parts = file.relative_to(folder).parts
        of_report = "results" in parts or "assets" in parts
        compared = of_report if "report" in parts else "out" in parts or parts[-1] in _LISTS
        if compared and file.is_file():
            found["/".join(parts)] = file
    return found


def _renamed(value: Any, names: Names) -> Any:  # noqa: ANN401  JSON
    match value:
        case dict():
            return {
                names.fields.get(key, names.values.get(key, key)): _renamed(item, names)
                for key, item in value.items()
            }
        case list():
            return [_renamed(item, names) for item in value]
        case str():
            return names.values.get(value, value)
    return value


def _compare_values(subject: str, old: object, new: bytes) -> Iterator[Difference]:
    before, after = dict(_leaves(old, ())), dict(_leaves(json.loads(new), ()))
    for way in dict.fromkeys((*before, *after)):
        if before.get(way) != after.get(way):
            was, now = (repr(one[way]) if way in one else "absent" for one in (before, after))
            yield Difference(_kind(way), subject, f"{'.'.join(way)}: {was} -> {now}")


def _leaves(value: object, way: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    """Return the values without parts, each by the names that lead to it."""
    match value:
        case dict():
            for key, item in value.items():
                if key not in _IGNORED:
                    yield from _leaves(item, (*way, key))
        case list():
            seen: Counter[str] = Counter()
            for item in value:
                given = item if isinstance(item, dict) else {}
                name = next((str(given[key]) for key in _KEYS if given.get(key)), "")
                seen[name] += 1
                again = f" {seen[name]}" if seen[name] > 1 else ""
                yield from _leaves(item, (*way, name + again))
        case _:
            yield way, value


def _kind(way: tuple[str, ...]) -> str:
    """Return the heading of a value of a record or of a list of faults."""
    for pattern, kind in _KINDS.items():
        parts = pattern.split()
        if len(parts) == len(way) and all(map(fnmatch, way, parts)):
            return kind
    return TEXT


def _compare_layers(subject: str, old: Path, new: Path) -> Iterator[Difference]:
    before, after = _opinions(old), _opinions(new)
    every = dict.fromkeys((*before, *after))
    changed = [opinion for opinion in every if before.get(opinion) != after.get(opinion)]
    if not changed:
        yield Difference("files", subject, "other bytes, the same opinions")
    for opinion in changed[:_MOST_OPINIONS]:
        texts = [one.get(opinion, "absent") for one in (before, after)]
        was, now = (
            text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."
            for text in texts
        )
        yield Difference("files", subject, f"{' '.join(opinion)}: {was} -> {now}")
    if (more := len(changed) - _MOST_OPINIONS) > 0:
        yield Difference("files", subject, f"{more} more opinions")


def _opinions(file: Path) -> dict[tuple[str, str], str]:
    """Return all fields of a layer as text, by path and name of the field."""
    layer = Sdf.Layer.FindOrOpen(str(file))
    opinions: dict[tuple[str, str], str] = {}

    def collect(path: Sdf.Path) -> None:
        spec = layer.GetObjectAtPath(path)
        # Targets and connections have paths and no specs; their lists are fields.
        for field in spec.ListInfoKeys() if spec else ():
            opinions[str(path), field] = str(spec.GetInfo(field))

    layer.Traverse(Sdf.Path.absoluteRootPath, collect)
    return opinions
