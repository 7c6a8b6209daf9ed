"""Changes between two runs, and how reports show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct, structs

from urdf_usd.reports.records import record as r
from urdf_usd.reports.records.results import HistoryEntry, StoredRun

# Further changes are only counted.
MOST_ROWS = 200
# Improvements.
GOOD = frozenset({r.ChangeKind.FIXED, r.ChangeKind.BETTER})
_MOST_VALUES = 50


def compare_runs(first: StoredRun, second: StoredRun) -> tuple[r.ChangeRecord, ...]:
    """Compare two runs; the worst change comes first."""
    changes = [
        *changed_settings(first.summary.environment, second.summary.environment, "environment "),
        *changed_settings(first.summary.options, second.summary.options, "option "),
    ]
    for name in sorted(first.records.keys() | second.records.keys()):
        before, after = first.records.get(name), second.records.get(name)
        if before and after:
            changes += (structs.replace(one, subject=name) for one in _robot(before, after))
        elif after:
            # An added robot is not worse, whatever its verdict.
            values = None, "", after.verdict.value, after.reason
            changes.append(r.ChangeRecord(r.ChangeKind.ADDED, False, name, *values))
        elif before:
            worse, value = before.verdict.conforms, before.verdict.value
            changes.append(r.ChangeRecord(r.ChangeKind.REMOVED, worse, name, before=value))
    order = list(r.ChangeKind)
    return tuple(sorted(changes, key=lambda change: order.index(change.kind)))


def value_changes(
    robot: str, before: Mapping[str, str], after: Mapping[str, str]
) -> tuple[r.ChangeRecord, ...]:
    """Return the values of a robot that changed, at most 50; none if either side is not known."""
    if not before or not after:
        return ()
    changed = [
        r.ChangeRecord(
            r.ChangeKind.VALUE, False, robot, None, before.get(name, ""), after.get(name, ""), name
        )
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    ]
    rows = changed[:_MOST_VALUES]
    if more := len(changed) - len(rows):
        rows.append(r.ChangeRecord(r.ChangeKind.VALUE, False, robot, detail=f"{more} more"))
    return tuple(rows)


def changed_settings(
    before: Mapping[str, str], after: Mapping[str, str], prefix: str = ""
) -> Iterator[r.ChangeRecord]:
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, ""), after.get(name, "")
        if old != new:
            yield r.ChangeRecord(r.ChangeKind.SETTING, False, f"{prefix}{name}", None, old, new)


def changed_results(before: HistoryEntry, after: HistoryEntry) -> tuple[r.ChangeRecord, ...]:
    """Compare consecutive runs of a history; robots with worse results come first."""
    former, current = (
        {f"{one.candidate}/{one.id}": one for one in entry.robots} for entry in (before, after)
    )
    changes: list[r.ChangeRecord] = []
    for name in sorted(former.keys() | current.keys()):
        old, new = former.get(name), current.get(name)
        if old and new:
            moved = [
                (check, first, last)
                for check in sorted(old.grades.keys() | new.grades.keys())
                for first in [old.grades.get(check, r.Grade.EXACT)]
                for last in [new.grades.get(check, r.Grade.EXACT)]
                if first is not last
            ]
            lines = [f"{check}: {first} → {last}" for check, first, last in moved]
            worse = new.verdict.severity > old.verdict.severity
            if old.case and new.case and old.case is not new.case:
                # A case may require that the file is refused, whatever the verdict is then.
                worse = new.case.severity > old.case.severity
                lines.insert(0, f"case: {old.case} → {new.case}")
            elif old.verdict is new.verdict and not moved:
                continue
            worse = worse or any(last.severity > first.severity for _, first, last in moved)
            values = old.verdict.value, new.verdict.value, "\n".join(lines)
            changes.append(r.ChangeRecord(_kind(worse=worse), worse, name, None, *values))
        elif new:
            changes.append(r.ChangeRecord(r.ChangeKind.ADDED, False, name, after=new.verdict.value))
        elif old:
            worse, value = old.verdict.agrees, old.verdict.value
            changes.append(r.ChangeRecord(r.ChangeKind.REMOVED, worse, name, before=value))
    return tuple(sorted(changes, key=lambda change: not change.worse))


def _kind(*, worse: bool) -> r.ChangeKind:
    return r.ChangeKind.WORSE if worse else r.ChangeKind.BETTER


def _robot(before: r.RobotRecord, after: r.RobotRecord) -> Iterator[r.ChangeRecord]:
    yield from _verdict(before, after)
    files = [{file.path: file.sha256 for file in one.source.files} for one in (before, after)]
    paths = sorted(files[0].keys() | files[1].keys())
    other = [path for path in paths if files[0].get(path) != files[1].get(path)]
    if other and all(files):
        yield r.ChangeRecord(r.ChangeKind.FILES, False, after.id, detail=", ".join(other))
    orders = {engine.name: engine.joint_order for engine in before.engines}
    for engine in after.engines:
        # The same joints in another order.
        old, new = orders.get(engine.name, ()), engine.joint_order
        if old != new and sorted(old) == sorted(new):
            index = next(at for at, joint in enumerate(old) if joint != new[at])
            values = old[index], new[index], f"{engine.name}, index {index}"
            yield r.ChangeRecord(r.ChangeKind.JOINT_ORDER, True, after.id, None, *values)
    former = {check.id: check for check in before.checks}
    for check in after.checks:
        if check.id in former:
            yield from _check(after.id, former[check.id], check)
    remaining = {check.id for check in after.checks}
    for name, check in former.items():
        if remaining and name not in remaining:
            grade = check.grade.value
            yield r.ChangeRecord(r.ChangeKind.REMOVED, True, after.id, name, before=grade)


def _verdict(before: r.RobotRecord, after: r.RobotRecord) -> Iterator[r.ChangeRecord]:
    old, new = before.verdict, after.verdict
    passed, passes = old.agrees, new.agrees
    worse = new.severity > old.severity
    check, values, reason = None, (old.value, new.value), after.reason
    if before.case and after.case and before.case.outcome is not after.case.outcome:
        # A case may require that the file is refused, whatever the verdict is then.
        cases = before.case.outcome, after.case.outcome
        passed, passes = cases[0].passes, cases[1].passes
        worse = cases[1].severity > cases[0].severity
        check, values, reason = "case", (cases[0].value, cases[1].value), after.case.reason
    elif old is new:
        return
    elif passed is not passes:
        worse = passed
        reason = after.reason if worse else ""
    kind = _kind(worse=worse)
    if passed is not passes:
        kind = r.ChangeKind.NEWLY_FAILING if worse else r.ChangeKind.FIXED
    yield r.ChangeRecord(kind, worse, after.id, check, *values, reason)


def _check(robot: str, before: r.CheckRecord, after: r.CheckRecord) -> Iterator[r.ChangeRecord]:
    if before.grade is not after.grade:
        worse = after.grade.severity > before.grade.severity
        values = before.grade.value, after.grade.value, after.message if worse else ""
    elif before.worst is None or after.worst is None:
        return
    elif abs(after.worst - before.worst) > max(before.bound or 0.0, after.bound or 0.0):
        # The largest difference changed by more than rounding.
        worse = after.worst > before.worst
        values = _amount(before), _amount(after), after.worst_subject or ""
    else:
        return
    yield r.ChangeRecord(_kind(worse=worse), worse, robot, after.id, *values)


def _amount(check: r.CheckRecord) -> str:
    return f"{check.worst:.3g}{'' if check.unit == '1' else f' {check.unit}'}"


class Changes(Struct, frozen=True):
    name: str  # of the previous run's folder
    counts: tuple[tuple[r.ChangeKind, int], ...]  # of robots, the worst kind first
    rows: tuple[r.ChangeRecord, ...]  # of robots in that order, at most MOST_ROWS
    hidden: int  # number of changes that rows leave out
    settings: tuple[r.ChangeRecord, ...]

    @property
    def sentence(self) -> str:
        return ", ".join(f"{count} {kind}" for kind, count in self.counts) or "nothing changed"


def sorted_changes(former: r.FormerRunRecord | None) -> Changes | None:
    """Separate changes of robots from changed settings; None without a previous run."""
    if former is None:
        return None
    robots = [one for one in former.changes if one.kind is not r.ChangeKind.SETTING]
    return Changes(
        name=former.name,
        counts=tuple(Counter(one.kind for one in robots).items()),
        rows=tuple(robots[:MOST_ROWS]),
        hidden=max(len(robots) - MOST_ROWS, 0),
        settings=tuple(one for one in former.changes if one.kind is r.ChangeKind.SETTING),
    )


def style_class(change: r.ChangeRecord) -> str:
    good = "exact" if change.kind in GOOD else "not-comparable"
    return "fails" if change.worse else good


def sign(change: r.ChangeRecord) -> str:
    return {"fails": "✗", "exact": "✓"}.get(style_class(change), "·")
