"""Reduction of one robot to a folder that can be attached to a bug report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct, structs

from urdf_usd.conformance.reduction.documents import (
    ReductionError,
    standalone_document,
    write_with_files,
)
from urdf_usd.conformance.reduction.edits import read_document
from urdf_usd.conformance.reduction.failures import (
    Failure,
    FailureKind,
    find_failure,
    has_failure,
)
from urdf_usd.conformance.reduction.search import reduce_document
from urdf_usd.conformance.reduction.trials import (
    TrialOptions,
    TrialRunner,
    start_trials,
)
from urdf_usd.corpus import RobotSource
from urdf_usd.reports.records.record import RobotRecord


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
        check: Id of the check that has to fail; by default the first that fails.
        progress: Called when the robot got smaller.

    Raises:
        ReductionError: The robot does not fail, or the failure depends on something
            else than its URDF document.
        SourceError: A xacro file cannot be expanded.
    """
    document = standalone_document(source, options)
    with start_trials(source, options) as trials:
        (record,) = trials.examine([source])
        failure = find_failure(record, check)
        if failure is None:
            raise ReductionError(_nothing_fails(record, check))
        (alone,) = trials.examine_texts([document])
        if not has_failure(alone, failure):
            raise ReductionError(
                f"{failure} does not occur once comments are removed, malformed XML is "
                "repaired, and files have absolute paths"
            )
        rules = _rules(alone)
        every = trials.engines
        _use_fewer_engines(trials, document, failure)

        def test(texts: Sequence[bytes]) -> list[bool]:
            records = trials.examine_texts(texts)
            return [has_failure(record, failure) and _rules(record) <= rules for record in records]

        smallest, tests = document, 0
        for step in reduce_document(document, test, options.jobs):
            smallest, tests = step.text, step.tests
            progress(Progress(_size(smallest), tests))
        trials.use_engines(every)
        urdf = folder / f"{source.path.name.partition('.')[0]}.urdf"
        write_with_files(smallest, urdf)
        written = structs.replace(source, path=urdf, packages=(), arguments=())
        (record,) = trials.examine([written])
    found = find_failure(record, check)
    if not has_failure(record, failure) or found is None:
        raise ReductionError(f"{failure} does not occur again: it is not deterministic")
    return Reduction(
        failure=failure,
        before=_size(document),
        after=_size(urdf.read_bytes()),
        tests=tests,
        record=record,
        urdf=urdf,
    )


def _rules(record: RobotRecord) -> frozenset[str]:
    """Return the rules that a robot violates; a reduction violates no others."""
    return frozenset(
        each.rule for each in record.diagnostics if each.severity in {"error", "warning"}
    )


def _use_fewer_engines(trials: TrialRunner, document: bytes, failure: Failure) -> None:
    """Use the reference and OpenUSD alone if the failure occurs with these."""
    needed = {failure.name} if failure.kind is FailureKind.ENGINE else set()
    every = trials.engines
    trials.use_engines(frozenset(needed))
    (record,) = trials.examine_texts([document])
    if not has_failure(record, failure):
        trials.use_engines(every)


def _nothing_fails(record: RobotRecord, check: str | None) -> str:
    verdict = f"the robot is {record.verdict.value} ({record.reason})"
    if check is None:
        return f"nothing fails: {verdict}"
    others = [each.id for each in record.checks if each.grade.value == "fails"]
    failing = f"these checks fail: {', '.join(others)}" if others else "no check fails"
    return f"{check} does not fail: {verdict}; {failing}"
