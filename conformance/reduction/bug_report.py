"""Text of a bug report on a robot that was reduced."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from urdf_usd.conformance.reduction.reduce import FailureKind, Reduction
from urdf_usd.reports.records.record import Grade
from urdf_usd.reports.text import value_text

# A longer URDF is attached instead of quoted.
_LONGEST = 8000
_MOST_FINDINGS = 5
_TITLES = {
    FailureKind.CHECK: "check {} fails",
    FailureKind.CONVERSION: "conversion is {}",
    FailureKind.ENGINE: "engine {} crashes",
}
_TEXT = """\
# {converter}: {title}

{example}

Reduced from `{reference}` ({before}) to {after}.

## To reproduce

```sh
{command}
```

Verdict: {verdict}. {reason}

{differences}## URDF

{urdf}

## Versions

{versions}
"""


def bug_report(reduction: Reduction, reference: str, command: Sequence[str]) -> str:
    """Return the text in Markdown.

    Args:
        reduction: The reduced robot.
        reference: Reference of the robot that was reduced.
        command: Command line that shows the failure, in the folder of the URDF.
    """
    record, failure = reduction.record, reduction.failure
    urdf = reduction.urdf.read_text(encoding="utf-8")
    versions = (f"converter: {record.converter}", *map(" ".join, record.environment.items()))
    return _TEXT.format(
        converter=record.candidate or record.converter,
        title=_TITLES[failure.kind].format(failure.name),
        example=failure.example,
        reference=reference,
        before=reduction.before,
        after=reduction.after,
        command=shlex.join(command),
        verdict=record.verdict.value,
        reason=record.reason,
        differences="".join(f"{line}\n" for line in _difference_lines(reduction)),
        urdf=f"Attached: `{reduction.urdf.name}`."
        if len(urdf) > _LONGEST
        else f"```xml\n{urdf.rstrip()}\n```",
        versions="\n".join(f"- {version}" for version in versions),
    )


def _difference_lines(reduction: Reduction) -> Iterator[str]:
    """Yield the table of the failed check, or else the output of the converter."""
    record, name = reduction.record, reduction.failure.name
    checks = [one for one in record.checks if one.id == name and one.grade is Grade.FAILS]
    if checks:
        yield "| value | URDF | USD | difference | tolerance |"
        yield "|---|---|---|---|---|"
        failing = [one for one in checks[0].findings if one.grade is Grade.FAILS]
        for finding in failing[:_MOST_FINDINGS]:
            numbers = (_number(n, checks[0].unit) for n in (finding.measured, finding.tolerance))
            sides = (
                "" if value is None else value_text(value, finding.unit)
                for value in (finding.expected, finding.actual)
            )
            values = (finding.subject, *sides, *numbers)
            yield f"| {' | '.join(map(str, values))} |"
        yield ""
    elif record.output:
        yield from ("```", record.output.rstrip(), "```", "")


def _number(value: float | None, unit: str) -> str:
    if value is None or not unit:
        return ""
    return f"{value:.4g} {unit}" if unit != "1" else f"{value:.4g}"
