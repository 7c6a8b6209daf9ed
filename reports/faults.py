"""Independent faults of a USD: failing checks without those that follow from others."""

from __future__ import annotations

from msgspec import Struct

from urdf_usd.reports.overview import statement
from urdf_usd.reports.records.record import (
    CheckRecord,
    FindingRecord,
    Grade,
    RobotRecord,
)

_ROUND_TRIP = "round-trip."
# Checks of quantities that are computed from others, and the checks of these, by
# prefixes of identifiers.
_COMPUTED = (
    ("mass.group.", ("mass.link.", "mass.stated", "structure.")),
    ("mass.total", ("mass.link.", "mass.group.", "mass.stated", "structure.")),
    ("dynamics.inertia_matrix", ("mass.", "kinematics.", "structure.")),
    ("dynamics.bias", ("mass.", "kinematics.", "structure.", "dynamics.inertia")),
    (
        "dynamics.rollout",
        ("mass.", "kinematics.", "structure.", "dynamics.", "limits."),
    ),
)
_FRAMES = ("kinematics.position", "kinematics.rotation")
_LIMITS = ("limits.lower", "limits.upper")
# What several checks of a shape measure.
_MEASURES = ("shapes", "support", "area", "volume", "triangles")
# Links and joints that fail these have nothing else to compare.
_ABSENT = ("structure.links", "structure.joints", "structure.parents")


class Fault(Struct, frozen=True):
    """Differences that probably have one cause.

    Attributes:
        subjects: Links, joints and other parts that differ; the worst one first.
        check: First check that fails.
        finding: Its worst finding; None if the check fails without one.
        checks: All checks that fail for these parts, ``check`` among them.
    """

    subjects: tuple[str, ...]
    check: CheckRecord
    finding: FindingRecord | None
    checks: tuple[CheckRecord, ...]


def independent_faults(robot: RobotRecord) -> tuple[Fault, ...]:
    """Return the faults of a USD, in the order of the checks.

    Checks of the round trip and of computed quantities are left out if checks fail of
    which they are consequences. What fails at one link or joint is one fault, and so
    are all links and joints at which the same properties fail.
    """
    failing = [check for check in robot.checks if check.grade is Grade.FAILS]
    direct = [one for one in failing if not one.id.startswith(_ROUND_TRIP)] or failing
    causes = [one for one in direct if not _follows(one, direct)]
    found: dict[str, list[tuple[CheckRecord, FindingRecord | None]]] = {}
    for check in causes:
        for finding in _failing_findings(check):
            found.setdefault(finding.subject if finding else "", []).append((check, finding))
    alike: dict[frozenset[str], list[str]] = {}
    for subject, pairs in found.items():
        properties = frozenset(_property(*pair) for pair in pairs)
        absent = properties.intersection(_ABSENT)
        alike.setdefault(frozenset(_ABSENT) if absent else properties, []).append(subject)
    return tuple(
        Fault(
            subjects=tuple(filter(None, subjects)),
            check=found[subjects[0]][0][0],
            finding=found[subjects[0]][0][1],
            checks=tuple({check.id: check for one in subjects for check, _ in found[one]}.values()),
        )
        for subjects in alike.values()
    )


def _follows(check: CheckRecord, failing: list[CheckRecord]) -> bool:
    causes = next((known for own, known in _COMPUTED if check.id.startswith(own)), ())
    return any(one.id.startswith(causes) for one in failing if one.id != check.id)


def _failing_findings(check: CheckRecord) -> tuple[FindingRecord | None, ...]:
    found = tuple(one for one in check.findings if one.grade is Grade.FAILS)
    return found or (None,)


def _property(check: CheckRecord, finding: FindingRecord | None) -> str:
    if check.id in _FRAMES:
        # What is wrong with a joint; the link and its error follow.
        if finding and finding.subject.startswith("joint "):
            return statement(finding).partition(";")[0]
        return "frames"
    if check.id in _LIMITS:
        return "limits"
    group, _, name = check.id.partition(".")
    # Extents, area, volume and triangles of one shape.
    return group if name in _MEASURES else check.id
