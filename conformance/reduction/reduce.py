"""Reduction of one robot to a folder that can be attached to a bug report.

The search is greedy. Each pass tries to apply all of its edits, then halves of them, and so on
to single edits, as delta debugging does (Zeller and Hildebrandt, 2002, *Simplifying and
isolating failure-inducing input*), without its tests of complements. Passes are repeated until
none of their edits can be applied.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
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
from urdf_usd.conformance.execution.worker import DEFAULT_LIMITS, Limits, Workers
from urdf_usd.conformance.reduction.documents import (
    ReductionError,
    standalone_document,
    write_with_files,
)
from urdf_usd.conformance.reduction.edits import PASSES, Pass, edit, list_edits, read_document
from urdf_usd.conformance.verdict.judged import REFERENCE
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.scratch import temporary_folder
from urdf_usd.corpus import RobotSource
from urdf_usd.reports.records.record import EngineStatus, Grade, RobotRecord, Verdict

# Paths, quoted names and numbers, which differ between a robot and its reduction.
_SPECIFIC = re.compile(r"'[^']*'|\"[^\"]*\"|\S*/\S*|[-+]?\d[\w.+-]*")
_REFUSED = frozenset({Verdict.CRASHED, Verdict.NOT_COMPARABLE, Verdict.UNREADABLE})
_Engines: TypeAlias = tuple[InstalledEngine, ...]


class FailureKind(StrEnum):
    """What fails: a check, the conversion, or an engine that crashes."""

    CHECK = "check"
    CONVERSION = "conversion"
    ENGINE = "engine"


class Failure(Struct, frozen=True):
    """What a robot and its reduction have in common."""

    kind: FailureKind
    name: str  # of the check or the engine, or the verdict without a comparison
    message: str  # without what is specific to a robot; of checks, whether a number differs
    example: str  # message of the robot as it was given

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.example}"


def _failures(record: RobotRecord) -> Iterator[Failure]:
    """Yield a conversion that fails, failing checks, and crashed engines."""
    if record.verdict in _REFUSED and not record.checks:
        message = record.reason
        if record.verdict is Verdict.UNREADABLE:
            errors = (one.rule for one in record.diagnostics if one.severity == "error")
            message = next(errors, message)
        name = record.verdict.value
        yield Failure(FailureKind.CONVERSION, name, without_specifics(message), record.reason)
    for check in record.checks:
        if check.grade is not Grade.FAILS:
            continue
        failing = [one for one in check.findings if one.grade is Grade.FAILS]
        if not failing:
            yield Failure(FailureKind.CHECK, check.id, "", check.reason or check.title)
        for finding in failing:
            is_number = check.unit and finding.measured is not None
            message = "number" if is_number else "other"
            yield Failure(FailureKind.CHECK, check.id, message, finding.message)
    for engine in record.engines:
        if engine.status is EngineStatus.CRASHED:
            reason = engine.reason or ""
            yield Failure(FailureKind.ENGINE, engine.name, without_specifics(reason), reason)


def _find_failure(record: RobotRecord, check: str | None) -> Failure | None:
    """Return the first failure of a robot, or of a check, if there is one."""
    for found in _failures(record):
        if check is None or (found.kind, found.name) == (FailureKind.CHECK, check):
            return found
    return None


def _has_failure(record: RobotRecord, failure: Failure) -> bool:
    """Whether a robot has a certain failure, possibly among others."""
    return any(
        structs.replace(one, example=failure.example) == failure for one in _failures(record)
    )


def without_specifics(message: str) -> str:
    """Replace paths, quoted names and numbers of a message by a placeholder.

    Example:
        >>> without_specifics("link 'tip': mass 2.5 kg instead of 4e-3 kg")
        'link *: mass * kg instead of * kg'
    """
    return _SPECIFIC.sub("*", message)


class TrialOptions(Struct, frozen=True):
    """How robots are examined."""

    convert: ConvertOptions  # of our converter
    candidate: Candidate = OWN  # the converter
    engines: tuple[str, ...] = ()  # besides the reference and OpenUSD; all if empty
    limits: Limits = DEFAULT_LIMITS
    jobs: int = 1  # robots that are examined at the same time


class Size(Struct, frozen=True):
    """Size of a URDF document."""

    links: int
    joints: int
    bytes: int

    def __str__(self) -> str:
        counts = (self.links, "link"), (self.joints, "joint"), (self.bytes, "byte")
        return ", ".join(f"{n:,} {noun}{'' if n == 1 else 's'}" for n, noun in counts)


def _size(document: bytes) -> Size:
    root = read_document(document)
    return Size(len(root.findall("link")), len(root.findall("joint")), len(document))


class Progress(Struct, frozen=True):
    """The state of a reduction: size of the document, and number of tests so far."""

    size: Size
    tests: int


class Reduction(Struct, frozen=True):
    """A robot that was reduced."""

    failure: Failure  # what it and the reduced robot have in common
    before: Size  # of the URDF, or of the expansion of a xacro file, without comments
    after: Size
    tests: int  # number of URDFs that were examined
    record: RobotRecord  # of the reduced robot
    urdf: Path


def reduce_robot(
    source: RobotSource,
    folder: Path,
    options: TrialOptions,
    check: str | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Reduction:
    """Write the smallest robot that is found to fail as a robot does.

    It is as valid as that robot: no rule of the converter is violated that was not
    violated before.

    Args:
        source: The robot.
        folder: Existing folder; it receives the URDF and ``files/`` with the meshes and
            textures that are left.
        options: How robots are examined.
        check: Id of the check that has to fail. Otherwise the first of these counts: a
            conversion that fails, the first failing check, a crashed engine.
        progress: Called when the robot got smaller.

    Raises:
        ReductionError: The robot does not fail, or the failure depends on something
            else than its URDF document.
        SourceError: A xacro file cannot be expanded.
        UnknownEngineError: An engine is named that is not installed.
    """
    document = standalone_document(source, options.convert)
    numbers = itertools.count()
    with temporary_folder() as temporary, Workers(options.limits) as workers:

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
                for job, result in examine_in_workers(workers, jobs, options.jobs):
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

        every = select_engines(workers, options.engines)
        (record,) = examine([source], every)
        first = _find_failure(record, check)
        if first is None:
            raise ReductionError(_nothing_fails(record, check))
        failure = first
        (alone,) = examine_texts([document], every)
        if not _has_failure(alone, failure):
            raise ReductionError(
                f"{failure} does not occur once comments are removed, malformed XML is "
                "repaired, and files have absolute paths"
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
            progress(Progress(_size(smallest), tests))
        urdf = folder / f"{source.path.name.partition('.')[0]}.urdf"
        write_with_files(smallest, urdf)
        (record,) = examine([structs.replace(source, path=urdf, packages=(), arguments=())], every)
    found = _find_failure(record, check)
    if not _has_failure(record, failure) or found is None:
        raise ReductionError(f"{failure} does not occur again: it is not deterministic")
    return Reduction(failure, _size(document), _size(urdf.read_bytes()), tests, record, urdf)


def _rules(record: RobotRecord) -> frozenset[str]:
    """Return the rules that a robot violates; a reduction violates no others."""
    return frozenset(
        each.rule for each in record.diagnostics if each.severity in {"error", "warning"}
    )


def _nothing_fails(record: RobotRecord, check: str | None) -> str:
    verdict = f"the robot is {record.verdict.value} ({record.reason})"
    if check is None:
        return f"nothing fails: {verdict}"
    others = [each.id for each in record.checks if each.grade.value == "fails"]
    failing = f"these checks fail: {', '.join(others)}" if others else "no check fails"
    return f"{check} does not fail: {verdict}; {failing}"


def reduce_document(
    text: bytes, test: Callable[[Sequence[bytes]], Sequence[bool]], parallel: int = 1
) -> Iterator[tuple[bytes, int]]:
    """Yield ever smaller documents that fail, each with the number of tests so far.

    The result does not depend on ``parallel`` if the test depends on nothing else than the
    document: of documents that are tested together, the first that fails counts.

    Args:
        text: A document that fails, as :func:`edits.document_text` writes it.
        test: Returns for each document whether it fails in the same way.
        parallel: Number of documents that are tested together.
    """
    known = {text: True}

    def apply_chunk(edits_of: Pass, begin: int, size: int) -> tuple[bytes, int] | None:
        """Apply the first chunk of edits that keeps the failure; return where it begins."""
        edits = list_edits(text, edits_of)
        begins = range(begin, len(edits), size)
        for first in range(0, len(begins), parallel):
            tried = [(edit(text, edits[at : at + size]), at) for at in begins[first:][:parallel]]
            unknown = [
                one
                for one in dict.fromkeys(one for one, _ in tried)
                if one not in known and len(one) <= len(text)
            ]
            if unknown:
                known.update(zip(unknown, test(unknown), strict=True))
            for one, at in tried:
                if one != text and known.get(one, False):
                    return one, at
        return None

    before = b""
    while text != before:
        before = text
        for edits_of in PASSES:
            size = len(list_edits(text, edits_of))
            while size:
                # Edits before `begin` were tried; the document has changed since.
                begin = 0
                while found := apply_chunk(edits_of, begin, size):
                    text, begin = found
                    yield text, len(known)
                size //= 2
