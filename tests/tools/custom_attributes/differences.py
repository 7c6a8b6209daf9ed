"""Checks whose results differ between an asset and its copy without ``urdf:``."""

from __future__ import annotations

from dataclasses import dataclass

from urdf_usd.reports.records.record import CheckRecord, Grade, RobotRecord


@dataclass(frozen=True, slots=True)
class CheckChange:
    """One check of one robot that differs.

    Attributes:
        check: Identifier of the check.
        grades: With and without ``urdf:`` opinions.
        values: Numbers of compared values, likewise.
        findings: What the second check reports in addition to the first.
    """

    check: str
    grades: tuple[str, str]
    values: tuple[int, int]
    findings: tuple[str, ...]


def differing_checks(whole: RobotRecord, stripped: RobotRecord) -> tuple[CheckChange, ...]:
    """Return the checks that differ in grade, number of values or findings."""
    before = {check.id: check for check in whole.checks}
    after = {check.id: check for check in stripped.checks}
    changes = []
    for name in dict.fromkeys((*before, *after)):
        first, second = _summary(before.get(name)), _summary(after.get(name))
        if first != second:
            known = set(first[2])
            new = tuple(message for message in second[2] if message not in known)
            changes.append(CheckChange(name, (first[0], second[0]), (first[1], second[1]), new))
    return tuple(changes)


def _summary(check: CheckRecord | None) -> tuple[str, int, tuple[str, ...]]:
    if check is None:
        return "absent", 0, ()
    messages = tuple(
        finding.message
        for finding in check.findings
        if finding.grade in {Grade.FAILS, Grade.DISPUTED, Grade.NOT_COMPARABLE}
    )
    return check.grade.value, check.compared, messages


# Values of joints for which UsdPhysics has no schema; other profiles have.
_WITHOUT_SCHEMA = (
    "limits.effort",
    "limits.velocity",
    "dynamics.damping",
    "dynamics.friction",
    "dynamics.rollout",
    "structure.mimic",
)
_WORSE = {Grade.FAILS.value, Grade.DISPUTED.value, Grade.NOT_COMPARABLE.value}
# No schema can state this velocity limit.
_ZERO = "velocity is absent, not 0"


def is_kept_by_urdf_alone(profile: str, change: CheckChange) -> bool:
    """Return whether docs/dev/decisions.md explains a change by a value of URDF alone.

    Args:
        profile: Of the assets.
        change: The change; one that leaves the check exact, close or without values is
            explained as well.
    """
    check = change.check.removeprefix("round-trip.")
    if change.grades[1] not in _WORSE or change.grades[0] == change.grades[1]:
        return True
    if profile == "usdphysics" and check in _WITHOUT_SCHEMA:
        return True
    return check == "limits.velocity" and all(
        message.endswith(_ZERO) for message in change.findings
    )
