"""Changes between two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import structs

from urdf_usd.reports.records.change_record import (
    ChangeRecord,
    FormerRunRecord,
    Kind,
)
from urdf_usd.reports.records.record import CheckRecord, RobotRecord
from urdf_usd.reports.records.stored_run import StoredRun
from urdf_usd.reports.records.suite_case import CaseRecord

_MOST_VALUES = 50


def compare_runs(first: StoredRun, second: StoredRun) -> tuple[ChangeRecord, ...]:
    """Compare two runs; the worst change comes first.

    A changed difference counts if it exceeds its bound of rounding to float32.
    """
    changes = [
        *_settings("environment", first.summary.environment, second.summary.environment),
        *_settings("option", first.summary.options, second.summary.options),
    ]
    for name in sorted(first.records.keys() | second.records.keys()):
        before, after = first.records.get(name), second.records.get(name)
        if before and after:
            changes += (structs.replace(one, subject=name) for one in _robot(before, after))
        elif after:
            changes.append(structs.replace(_added(after), subject=name))
        elif before:
            gone = before.verdict.conforms
            changes.append(ChangeRecord(Kind.REMOVED, gone, name, before=before.verdict.value))
    order = list(Kind)
    return tuple(sorted(changes, key=lambda change: order.index(change.kind)))


def value_changes(
    robot: str, before: Mapping[str, str], after: Mapping[str, str]
) -> tuple[ChangeRecord, ...]:
    """Return the values of a robot that changed, at most 50.

    Args:
        robot: Its name in the run.
        before: Values by the names of their parts; empty if they are not known.
        after: The same in the later run.
    """
    if not before or not after:
        return ()
    names = dict.fromkeys((*before, *after))
    changed = [name for name in names if before.get(name) != after.get(name)]
    rows = [
        ChangeRecord(
            kind=Kind.VALUE,
            worse=False,
            subject=robot,
            before=before.get(name, ""),
            after=after.get(name, ""),
            detail=name,
        )
        for name in changed[:_MOST_VALUES]
    ]
    if more := len(changed) - len(rows):
        rows.append(ChangeRecord(Kind.VALUE, False, robot, detail=f"{more} more"))
    return tuple(rows)


def former_record(name: str, first: StoredRun, second: StoredRun) -> FormerRunRecord:
    """Make the record of the changes since an earlier run."""
    return FormerRunRecord(name=name, changes=compare_runs(first, second))


def _settings(noun: str, before: dict[str, str], after: dict[str, str]) -> Iterator[ChangeRecord]:
    for name in sorted(before.keys() | after.keys()):
        pair = before.get(name, ""), after.get(name, "")
        if pair[0] != pair[1]:
            yield ChangeRecord(Kind.SETTING, False, f"{noun} {name}", None, *pair)


def _added(record: RobotRecord) -> ChangeRecord:
    """An added robot is not worse, whatever its verdict."""
    return ChangeRecord(
        Kind.ADDED, False, record.id, after=record.verdict.value, detail=record.reason
    )


def _robot(before: RobotRecord, after: RobotRecord) -> Iterator[ChangeRecord]:
    verdicts = before.verdict.value, after.verdict.value
    if before.case and after.case and before.case.outcome is not after.case.outcome:
        # A case may require that the file is refused, whatever the verdict is then.
        yield _case(after.id, before.case, after.case)
    elif before.verdict.agrees and not after.verdict.agrees:
        kind = Kind.NEWLY_FAILING
        yield ChangeRecord(kind, True, after.id, None, *verdicts, after.reason)
    elif after.verdict.agrees and not before.verdict.agrees:
        yield ChangeRecord(Kind.FIXED, False, after.id, None, *verdicts)
    elif before.verdict is not after.verdict:
        worse = after.verdict.severity > before.verdict.severity
        kind = Kind.WORSE if worse else Kind.BETTER
        yield ChangeRecord(kind, worse, after.id, None, *verdicts, after.reason)
    yield from _files(before, after)
    yield from _joint_orders(before, after)
    former = {check.id: check for check in before.checks}
    for check in after.checks:
        if check.id in former:
            yield from _check(after.id, former[check.id], check)
    if before.checks and after.checks:
        remaining = {check.id for check in after.checks}
        for gone in (check for name, check in former.items() if name not in remaining):
            yield ChangeRecord(Kind.REMOVED, True, after.id, gone.id, before=gone.grade.value)


def _case(robot: str, before: CaseRecord, after: CaseRecord) -> ChangeRecord:
    """Return the change of the outcome of a case of the feature suite."""
    worse = after.outcome.severity > before.outcome.severity
    kind = Kind.WORSE if worse else Kind.BETTER
    if before.outcome.passes is not after.outcome.passes:
        kind = Kind.NEWLY_FAILING if worse else Kind.FIXED
    outcomes = before.outcome.value, after.outcome.value
    return ChangeRecord(kind, worse, robot, "case", *outcomes, after.reason)


def _files(before: RobotRecord, after: RobotRecord) -> Iterator[ChangeRecord]:
    hashes = [
        {file.path: file.sha256 for file in record.source.files} for record in (before, after)
    ]
    paths = sorted(hashes[0].keys() | hashes[1].keys())
    other = [path for path in paths if hashes[0].get(path) != hashes[1].get(path)]
    if other and all(hashes):
        yield ChangeRecord(Kind.FILES, False, after.id, detail=", ".join(other))


def _joint_orders(before: RobotRecord, after: RobotRecord) -> Iterator[ChangeRecord]:
    """Yield engines that number the same joints in another order than before."""
    former = {engine.name: engine.joint_order for engine in before.engines}
    for engine in after.engines:
        was, now = former.get(engine.name, ()), engine.joint_order
        if was != now and sorted(was) == sorted(now):
            pairs = enumerate(zip(was, now, strict=True))
            first = next(index for index, pair in pairs if pair[0] != pair[1])
            yield ChangeRecord(
                kind=Kind.JOINT_ORDER,
                worse=True,
                subject=after.id,
                before=was[first],
                after=now[first],
                detail=f"{engine.name}, index {first}",
            )


def _check(robot: str, before: CheckRecord, after: CheckRecord) -> Iterator[ChangeRecord]:
    if before.grade is not after.grade:
        worse = after.grade.severity > before.grade.severity
        yield ChangeRecord(
            kind=Kind.WORSE if worse else Kind.BETTER,
            worse=worse,
            subject=robot,
            check=after.id,
            before=before.grade.value,
            after=after.grade.value,
            detail=_finding(after) if worse else "",
        )
    elif _moved(before, after):
        worse = (after.worst or 0.0) > (before.worst or 0.0)
        yield ChangeRecord(
            kind=Kind.WORSE if worse else Kind.BETTER,
            worse=worse,
            subject=robot,
            check=after.id,
            before=_figure(before),
            after=_figure(after),
            detail=after.worst_subject or "",
        )


def _moved(before: CheckRecord, after: CheckRecord) -> bool:
    """Whether the largest difference changed by more than rounding."""
    if before.worst is None or after.worst is None:
        return False
    rounding = max(before.bound or 0.0, after.bound or 0.0)
    return abs(after.worst - before.worst) > rounding


def _figure(check: CheckRecord) -> str:
    unit = "" if check.unit == "1" else f" {check.unit}"
    return f"{check.worst:.3g}{unit}"


def _finding(check: CheckRecord) -> str:
    first = next((f for f in check.findings if f.grade is check.grade), None)
    return first.message if first else check.reason or ""
