"""Reduction of one robot to a folder that can be attached to a bug report.

The search is greedy. Each pass tries to apply all of its edits, then halves of them, and so on
to single edits, as delta debugging does (Zeller and Hildebrandt, 2002, *Simplifying and
isolating failure-inducing input*), without its tests of complements. Passes are repeated until
none of their edits can be applied.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, structs

from urdf_usd.conformance.converters.candidates import OWN, Candidate
from urdf_usd.conformance.execution.job import (
    USD_ENGINE,
    Examined,
    InstalledEngine,
    Job,
    select_engines,
)
from urdf_usd.conformance.execution.run import examine_in_workers
from urdf_usd.conformance.options import DEFAULT_LIMITS, Limits
from urdf_usd.conformance.reduction import edits as editing
from urdf_usd.conformance.verdict.judged import REFERENCE
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.scratch import temporary_folder
from urdf_usd.corpus import RobotSource
from urdf_usd.reports.records.record import EngineStatus, Grade, RobotRecord, Verdict
from urdf_usd.reports.text import value_text

# Paths, quoted names and numbers, which differ between a robot and its reduction.
_SPECIFIC = re.compile(r"'[^']*'|\"[^\"]*\"|\S*/\S*|[-+]?\d[\w.+-]*")
_REFUSED = frozenset({Verdict.CRASHED, Verdict.NOT_COMPARABLE, Verdict.UNREADABLE})
_CHECK, _CONVERSION, _ENGINE = "check {} fails", "conversion is {}", "engine {} crashes"
_Engines: TypeAlias = tuple[InstalledEngine, ...]
# A longer URDF is attached instead of quoted.
_LONGEST = 8000
_MOST_FINDINGS = 5
_REPORT = """\
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


class Failure(Struct, frozen=True):
    """What a robot and its reduction have in common."""

    kind: str  # sentence on a check, a conversion or an engine
    name: str  # of the check or the engine, or the verdict without a comparison
    message: str  # without what is specific to a robot; of checks, whether a number differs
    example: str  # message of the robot as it was given

    @property
    def title(self) -> str:
        return self.kind.format(self.name)


def _failures(record: RobotRecord) -> Iterator[Failure]:
    """Yield a conversion that fails, failing checks, and crashed engines."""
    if record.verdict in _REFUSED and not record.checks:
        rules = [one.rule for one in record.diagnostics if one.severity == "error"]
        unreadable = record.verdict is Verdict.UNREADABLE and rules
        message = rules[0] if unreadable else _SPECIFIC.sub("*", record.reason)
        yield Failure(_CONVERSION, record.verdict.value, message, record.reason)
    for check in record.checks:
        if check.grade is Grade.FAILS:
            failing = [one for one in check.findings if one.grade is Grade.FAILS]
            if not failing:
                yield Failure(_CHECK, check.id, "", check.reason or check.title)
            for finding in failing:
                is_number = check.unit and finding.measured is not None
                message = "number" if is_number else "other"
                yield Failure(_CHECK, check.id, message, finding.message)
    for engine in record.engines:
        if engine.status is EngineStatus.CRASHED:
            reason = engine.reason or ""
            yield Failure(_ENGINE, engine.name, _SPECIFIC.sub("*", reason), reason)


def _has_failure(record: RobotRecord, failure: Failure) -> bool:
    """Whether a robot has a certain failure, possibly among others."""
    found = (structs.replace(one, example=failure.example) for one in _failures(record))
    return failure in found


class TrialOptions(Struct, frozen=True):
    convert: ConvertOptions  # of our converter
    candidate: Candidate = OWN  # the converter
    engines: tuple[str, ...] = ()  # besides the reference and OpenUSD; all if empty
    limits: Limits = DEFAULT_LIMITS
    jobs: int = 1  # robots that are examined at the same time


def _size(document: bytes) -> str:
    root = editing.read_document(document)
    counts = {"link": len(root.findall("link")), "joint": len(root.findall("joint"))}
    counts["byte"] = len(document)
    return ", ".join(f"{n:,} {noun}{'' if n == 1 else 's'}" for noun, n in counts.items())


class Reduction(Struct, frozen=True):
    """A robot that was reduced."""

    failure: Failure  # what it and the reduced robot have in common
    before: str  # size of the URDF, or of the expansion of a xacro file, without comments
    after: str
    tests: int  # number of URDFs that were examined
    record: RobotRecord  # of the reduced robot
    urdf: Path


def reduce_robot(
    source: RobotSource,
    folder: Path,
    options: TrialOptions,
    check: str | None = None,
    progress: Callable[[str, int], None] = lambda *_: None,
) -> Reduction:
    """Write the smallest robot that is found to fail as a robot does, and is as valid.

    The folder receives the URDF and ``files/``. ``check`` has to fail; otherwise the first of these
    counts: a conversion that fails, the first failing check, a crashed engine. ``progress`` is
    called with size and number of tests when the robot got smaller.

    Raises:
        ReductionError: The robot does not fail, or not by its URDF document alone.
        SourceError: A xacro file cannot be expanded.
        UnknownEngineError: An engine is named that is not installed.
    """
    document = editing.standalone_document(source, options.convert)
    numbers = itertools.count()
    with temporary_folder() as temporary:

        def examine(robots: Sequence[RobotSource], engines: _Engines) -> list[RobotRecord]:
            with temporary_folder() as out:
                jobs = [
                    Job(
                        source=robot,
                        folder=out / str(number),
                        options=structs.replace(options.convert, keep_chains=True),
                        engines=engines,
                        limits=options.limits,
                        candidate=options.candidate,
                        names=(robot.id, robot.path.stem),
                    )
                    for number, robot in enumerate(robots)
                ]
                records = {}
                for job, result in examine_in_workers(jobs, options.jobs):
                    assert isinstance(result, Examined)  # noqa: S101  # it is no check
                    records[job.folder] = result.record
            return [records[job.folder] for job in jobs]

        def examine_texts(texts: Sequence[bytes], engines: _Engines) -> list[RobotRecord]:
            robots = []
            for text in texts:
                file = temporary / str(next(numbers)) / "robot.urdf"
                file.parent.mkdir()
                file.write_bytes(text)
                robots.append(structs.replace(source, path=file, arguments=()))
            return examine(robots, engines)

        def test(texts: Sequence[bytes]) -> list[bool]:
            found = examine_texts(texts, engines)
            return [_has_failure(one, failure) and _rules(one) <= rules for one in found]

        every = select_engines(options.engines, options.limits)
        (record,) = examine([source], every)
        found = [
            one
            for one in _failures(record)
            if check is None or (one.kind, one.name) == (_CHECK, check)
        ]
        if not found:
            others = [each.id for each in record.checks if each.grade is Grade.FAILS]
            failing = f"; these checks fail: {', '.join(others)}" if others else ""
            what = f"{check} does not fail" if check else "nothing fails"
            verdict = f"{record.verdict.value} ({record.reason})"
            raise editing.ReductionError(f"{what}: the robot is {verdict}{failing}")
        failure = found[0]
        (alone,) = examine_texts([document], every)
        if not _has_failure(alone, failure):
            raise editing.ReductionError(
                f"{failure.title}: {failure.example}; not once comments are removed, malformed "
                "XML is repaired, and files have absolute paths"
            )
        rules = _rules(alone)
        # The reference and OpenUSD alone, if the failure occurs with these.
        needed = {REFERENCE, USD_ENGINE, failure.name}
        engines = tuple(engine for engine in every if engine.name in needed)
        (record,) = examine_texts([document], engines)
        if not _has_failure(record, failure):
            engines = every
        smallest, tests = document, 0
        for smallest, tests in reduce_document(document, test, options.jobs):
            progress(_size(smallest), tests)
        urdf = folder / f"{source.path.name.partition('.')[0]}.urdf"
        editing.write_with_files(smallest, urdf)
        (record,) = examine([structs.replace(source, path=urdf, packages=(), arguments=())], every)
    if not _has_failure(record, failure):
        raise editing.ReductionError(
            f"{failure.title}: {failure.example}; not again: not deterministic"
        )
    return Reduction(failure, _size(document), _size(urdf.read_bytes()), tests, record, urdf)


def _rules(record: RobotRecord) -> frozenset[str]:
    return frozenset(
        each.rule for each in record.diagnostics if each.severity in {"error", "warning"}
    )


def reduce_document(
    text: bytes, test: Callable[[Sequence[bytes]], Sequence[bool]], parallel: int = 1
) -> Iterator[tuple[bytes, int]]:
    """Yield ever smaller documents that fail, each with the number of tests so far.

    Of ``parallel`` documents that are tested together, the first that fails counts, so that the
    result does not depend on their number.
    """
    known = {text: True}

    def apply_chunk(edits_of: editing.Pass, begin: int, size: int) -> tuple[bytes, int] | None:
        """Apply the first chunk of edits that keeps the failure; return where it begins."""
        edits = editing.list_edits(text, edits_of)
        begins = range(begin, len(edits), size)
        for first in range(0, len(begins), parallel):
            tried = [
                (editing.edit(text, edits[at : at + size]), at) for at in begins[first:][:parallel]
            ]
            new = dict.fromkeys(one for one, _ in tried if len(one) <= len(text))
            unknown = [one for one in new if one not in known]
            if unknown:
                known.update(zip(unknown, test(unknown), strict=True))
            for one, at in tried:
                if one != text and known.get(one, False):
                    return one, at
        return None

    before = b""
    while text != before:
        before = text
        for edits_of in editing.PASSES:
            size = len(editing.list_edits(text, edits_of))
            while size:
                # Edits before `begin` were tried; the document has changed since.
                begin = 0
                while found := apply_chunk(edits_of, begin, size):
                    text, begin = found
                    yield text, len(known)
                size //= 2


def bug_report(reduction: Reduction, reference: str, command: Sequence[str]) -> str:
    """Return the text of a bug report in Markdown; the command shows the failure."""
    record, failure = reduction.record, reduction.failure
    lines = []
    checks = [one for one in record.checks if one.id == failure.name and one.grade is Grade.FAILS]
    if checks:
        lines = ["| value | URDF | USD | difference | tolerance |", "|---|---|---|---|---|"]
        failing = [one for one in checks[0].findings if one.grade is Grade.FAILS]
        for one in failing[:_MOST_FINDINGS]:
            sides = (one.expected, one.actual)
            texts = ["" if value is None else value_text(value, one.unit) for value in sides]
            if (unit := checks[0].unit) and one.measured is not None:
                numbers = (one.measured, one.tolerance)
                texts += [f"{n:.4g} {'' if unit == '1' else unit}".rstrip() for n in numbers]
            lines.append(f"| {' | '.join((one.subject, *texts))} |")
    elif record.output:
        lines = ["```", record.output.rstrip(), "```"]
    urdf = reduction.urdf.read_text(encoding="utf-8")
    quoted = f"```xml\n{urdf.rstrip()}\n```"
    versions = (f"converter: {record.converter}", *map(" ".join, record.environment.items()))
    return _REPORT.format(
        converter=record.candidate or record.converter,
        title=failure.title,
        example=failure.example,
        reference=reference,
        before=reduction.before,
        after=reduction.after,
        command=shlex.join(command),
        verdict=record.verdict.value,
        reason=record.reason,
        differences="".join(f"{line}\n" for line in (*lines, "")) if lines else "",
        urdf=quoted if len(urdf) <= _LONGEST else f"Attached: `{reduction.urdf.name}`.",
        versions="\n".join(f"- {version}" for version in versions),
    )
