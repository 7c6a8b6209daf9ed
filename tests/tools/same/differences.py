"""Differences between the outcomes of two versions."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pxr import Sdf

_TEXT = "text"
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


@dataclass(frozen=True)
class Names:
    """What was renamed since the former version: fields, values, commands."""

    fields: Mapping[str, str]
    values: Mapping[str, str]
    commands: Mapping[str, str]


@dataclass(frozen=True)
class Difference:
    """One difference.

    Attributes:
        kind: Heading under which it is printed.
        subject: Robot, command or fault.
        detail: What differs, former and current value.
    """

    kind: str
    subject: str
    detail: str

    @property
    def counts(self) -> bool:
        """Whether it is more than a message or a value as text."""
        return self.kind != _TEXT


def load_names(file: Path) -> Names:
    """Read what was renamed."""
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    return Names(**{key: table.get(key, {}) for key in ("fields", "values", "commands")})


def differences(
    former: Path, current: Path, names: Names, parts: Iterable[str]
) -> Iterator[Difference]:
    """Compare two folders of outcomes, part by part.

    JSON is compared value by value after renaming what the former version calls
    otherwise, USD layers opinion by opinion, all other files by their bytes.
    """
    for part in parts:
        before = _files(former / part)
        after = _files(current / part)
        for path in sorted(before.keys() | after.keys()):
            subject = f"{part}: {path}"
            if path not in before or path not in after:
                where = "now" if path not in before else "formerly"
                yield Difference("files", subject, f"only {where}")
            elif path.endswith(".json"):
                old, new = (json.loads(files[path].read_bytes()) for files in (before, after))
                yield from _compare_values(subject, _renamed(old, names), new)
            elif before[path].read_bytes() != after[path].read_bytes():
                yield from _compare_files(subject, before[path], after[path])


def printed(found: Sequence[Difference], *, texts: bool) -> Iterator[str]:
    """Return the lines that list differences by kind, the same details together."""
    for kind in dict.fromkeys(difference.kind for difference in found):
        group = [difference for difference in found if difference.kind == kind]
        subjects: dict[str, list[str]] = {}
        for difference in group:
            subjects.setdefault(difference.detail, []).append(difference.subject)
        yield f"\n{kind}: {len(group)}"
        if kind == _TEXT and not texts:
            yield "  messages and numbers as text; --texts lists them"
            continue
        for detail, places in sorted(subjects.items(), key=lambda item: -len(item[1])):
            more = f" (+{len(places) - 1} more)" if len(places) > 1 else ""
            yield f"  {places[0]}{more}: {detail}"
    counted = sum(difference.counts for difference in found)
    yield f"\n{counted or 'no'} differences"


def _files(folder: Path) -> dict[str, Path]:
    """Return the files to compare by path: assets, records and files of commands."""
    return {
        path.relative_to(folder).as_posix(): path
        for path in folder.rglob("*")
        if path.is_file() and _is_compared(path.relative_to(folder).parts)
    }


def _is_compared(parts: tuple[str, ...]) -> bool:
    """Leave out pages, which are made from records."""
    if "report" in parts:
        return "results" in parts or "assets" in parts
    return "out" in parts or parts[-1] in _LISTS


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


def _compare_values(subject: str, old: Any, new: Any) -> Iterator[Difference]:  # noqa: ANN401
    before = dict(_leaves(old, ()))
    after = dict(_leaves(new, ()))
    for way in dict.fromkeys((*before, *after)):
        if before.get(way) != after.get(way):
            yield Difference(
                _kind(way),
                subject,
                f"{'.'.join(way)}: {_shown(before, way)} -> {_shown(after, way)}",
            )


def _shown(leaves: Mapping[tuple[str, ...], Any], way: tuple[str, ...]) -> str:
    return repr(leaves[way]) if way in leaves else "absent"


def _leaves(
    value: Any,  # noqa: ANN401  JSON
    way: tuple[str, ...],
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Return the values without parts, each by the names that lead to it."""
    match value:
        case dict():
            for key, item in value.items():
                if key not in _IGNORED:
                    yield from _leaves(item, (*way, key))
        case list():
            seen: Counter[str] = Counter()
            for item in value:
                name = _name(item)
                seen[name] += 1
                again = f" {seen[name]}" if seen[name] > 1 else ""
                yield from _leaves(item, (*way, name + again))
        case _:
            yield way, value


def _name(item: Any) -> str:  # noqa: ANN401  JSON
    if isinstance(item, dict):
        return next((str(item[key]) for key in _KEYS if item.get(key)), "")
    return ""


def _kind(way: tuple[str, ...]) -> str:
    """Return the heading of a value of a record or of a list of faults."""
    for pattern, kind in _KINDS.items():
        parts = pattern.split()
        if len(parts) == len(way) and all(map(fnmatch, way, parts)):
            return kind
    return _TEXT


def _compare_files(subject: str, old: Path, new: Path) -> Iterator[Difference]:
    """Report the opinions in which two layers differ; of other files that they do."""
    if old.name == "stdout.txt":
        lines = [file.read_text(encoding="utf-8").splitlines() for file in (old, new)]
        for before, after in zip_longest(*lines):
            if before != after:
                yield Difference(_TEXT, subject, f"{before!r} -> {after!r}")
    elif old.suffix in _LAYERS:
        yield from _compare_layers(subject, old, new)
    else:
        yield Difference("files", subject, "other bytes")


def _compare_layers(subject: str, old: Path, new: Path) -> Iterator[Difference]:
    before, after = _opinions(old), _opinions(new)
    changed = [
        opinion
        for opinion in dict.fromkeys((*before, *after))
        if before.get(opinion) != after.get(opinion)
    ]
    if not changed:
        yield Difference("files", subject, "other bytes, the same opinions")
    for opinion in changed[:_MOST_OPINIONS]:
        was, is_now = (_cut(opinions.get(opinion)) for opinions in (before, after))
        yield Difference("files", subject, f"{' '.join(opinion)}: {was} -> {is_now}")
    if (more := len(changed) - _MOST_OPINIONS) > 0:
        yield Difference("files", subject, f"{more} more opinions")


def _cut(text: str | None) -> str:
    if text is None:
        return "absent"
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}..."


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
