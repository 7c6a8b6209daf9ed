"""Text of a bug report on a robot that was reduced."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from urdf_usd.conformance.reduction.failures import FailureKind
from urdf_usd.conformance.reduction.reduce import Reduction
from urdf_usd.reports.records.record import CheckRecord, Grade

# A longer URDF is attached instead of quoted.
_LONGEST = 8000
_MOST_FINDINGS = 5


def bug_report(reduction: Reduction, reference: str, command: Sequence[str]) -> str:
    """Return the text in Markdown.

    Args:
        reduction: The reduced robot.
        reference: Reference of the robot that was reduced.
        command: Command line that shows the failure, in the folder of the URDF.
    """
    record = reduction.record
    failure = reduction.failure
    lines = [
        f"# {record.candidate or record.converter}: {_title(reduction)}",
        "",
        f"{failure.example}",
        "",
        f"Reduced from `{reference}` ({reduction.before}) to {reduction.after}.",
        "",
        "## To reproduce",
        "",
        "```sh",
        shlex.join(command),
        "```",
        "",
        f"Verdict: {record.verdict.value}. {record.reason}",
        "",
        *_check_lines(reduction),
        "## URDF",
        "",
        *_urdf_lines(reduction),
        "## Versions",
        "",
        f"- converter: {record.converter}",
        *(f"- {name} {version}" for name, version in record.environment.items()),
        "",
    ]
    return "\n".join(lines)


def _title(reduction: Reduction) -> str:
    failure = reduction.failure
    match failure.kind:
        case FailureKind.CHECK:
            return f"check {failure.name} fails"
        case FailureKind.CONVERSION:
            return f"conversion is {failure.name}"
        case FailureKind.ENGINE:
            return f"engine {failure.name} crashes"


def _check_lines(reduction: Reduction) -> list[str]:
    check = next(
        (
            each
            for each in reduction.record.checks
            if each.id == reduction.failure.name and each.grade is Grade.FAILS
        ),
        None,
    )
    if check is None:
        output = reduction.record.output
        return ["```", output.rstrip(), "```", ""] if output else []
    return [
        "| value | URDF | USD | difference | tolerance |",
        "|---|---|---|---|---|",
        *_rows(check),
        "",
    ]


def _rows(check: CheckRecord) -> list[str]:
    failing = [each for each in check.findings if each.grade is Grade.FAILS]
    return [
        f"| {each.subject} | {each.expected or ''} | {each.actual or ''} "
        f"| {_number(each.measured, check.unit)} "
        f"| {_number(each.tolerance, check.unit)} |"
        for each in failing[:_MOST_FINDINGS]
    ]


def _number(value: float | None, unit: str) -> str:
    if value is None or not unit:
        return ""
    return f"{value:.4g} {unit}" if unit != "1" else f"{value:.4g}"


def _urdf_lines(reduction: Reduction) -> list[str]:
    text = reduction.urdf.read_text(encoding="utf-8")
    if len(text) > _LONGEST:
        return [f"Attached: `{reduction.urdf.name}`.", ""]
    return ["```xml", text.rstrip(), "```", ""]
