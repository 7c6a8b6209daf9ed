"""Steps of an examination: read, estimate, lint, judge.

What a library or a hostile file could crash is a call of a worker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, structs

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.assembly import (
    Subject,
    judged_record,
    unread_record,
)
from urdf_usd.conformance.execution.engine_set import EngineResults, EngineSet
from urdf_usd.conformance.execution.portable_text import portable
from urdf_usd.conformance.execution.requirements import Requirements
from urdf_usd.conformance.execution.tasks import (
    Estimation,
    Reading,
    estimate_robot,
    file_digest,
    lint_robot,
    plan_comparison,
    read_robot,
)
from urdf_usd.conformance.execution.usd_limits import ComposedUsd
from urdf_usd.conformance.execution.workers.pool import RobotWorkers
from urdf_usd.conformance.execution.workers.serving import Completed
from urdf_usd.conformance.observation.robot import Base, Configurations
from urdf_usd.conformance.observation.simulation import SimulationObservation
from urdf_usd.conformance.verdict.judged import Judgement
from urdf_usd.converter import Diagnostic
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.options import ColliderRules
from urdf_usd.converter.simulation.description import Description
from urdf_usd.reports.records.record import (
    DescriptionRecord,
    Grade,
    RobotRecord,
    Verdict,
)

# Begin of the reason of a crash, by step.
READER_CRASHED = "the URDF reader crashed"
_LINT_CRASHED = "lint crashed"
_COMPARISON_CRASHED = "the comparison crashed"
_ESTIMATION_CRASHED = "the estimation of mass from shapes crashed"


def read_source(
    workers: RobotWorkers, subject: Subject
) -> Completed[Reading | SourceError] | Crashed:
    """Read the URDF of a subject in a worker."""
    return workers.call(
        read_robot,
        str(subject.urdf),
        subject.packages,
        subject.arguments,
        subject.environment,
    )


def identified(
    workers: RobotWorkers,
    subject: Subject,
    ending: Completed[Reading | SourceError] | Crashed,
    *,
    own: bool = False,
) -> Subject:
    """Add to a subject what was read of it, or at least the hash of its file."""
    if isinstance(ending, Completed) and isinstance(ending.value, Reading):
        reading = ending.value
        ledger = reading.ledger if own else ()
        return structs.replace(subject, inputs=reading.inputs, ledger=ledger)
    digest = workers.call(file_digest, str(subject.urdf))
    return subject if isinstance(digest, Crashed) else structs.replace(subject, digest=digest.value)


def crashed_record(subject: Subject, what: str, crash: Crashed) -> RobotRecord:
    """Record a robot of which a step crashed: ``what`` begins the reason."""
    return unread_record(subject, Verdict.CRASHED, f"{what}: {crash.reason}")


def lint_source(workers: RobotWorkers, subject: Subject) -> Subject | RobotRecord:
    """Add the findings of lint to a subject; return a record if it crashes."""
    ending = workers.call(
        lint_robot,
        str(subject.urdf),
        subject.packages,
        subject.arguments,
        subject.environment,
    )
    if isinstance(ending, Crashed):
        return crashed_record(subject, _LINT_CRASHED, ending)
    return structs.replace(subject, findings=ending.value)


class Promise(Struct, frozen=True):
    """What the USD of a robot has to have by options, and not by the URDF.

    Attributes:
        base: Its base; None if the URDF decides.
        estimated: Links whose mass properties were computed from shapes.
        colliders: Colliders instead of the URDF's.
        description: Robot description file.
    """

    base: Base | None
    estimated: frozenset[str]
    colliders: ColliderRules
    description: Description | None


def judge_outcomes(
    engine_set: EngineSet,
    subject: Subject,
    results: EngineResults,
    promise: Promise,
    diagnostics: Sequence[Diagnostic],
) -> RobotRecord:
    """Compare the outcomes of engines, and record the judgement."""
    promised = None
    description = promise.description
    if description is not None:
        attached = dict(description.attached)
        promised = engine_set.promise(description.text, attached, results)
    simulation = promised.value if isinstance(promised, Completed) else None
    ending = (
        promised
        if isinstance(promised, Crashed)
        else engine_set.judge(
            results, promise.base, simulation, promise.estimated, promise.colliders
        )
    )
    if isinstance(ending, Crashed):
        reason = f"{_COMPARISON_CRASHED}: {ending.reason}"
        judgement = Judgement((), (), Verdict.CRASHED, reason)
    else:
        judgement = ending.value
    record = judged_record(subject, judgement, results, diagnostics)
    record = structs.replace(record, touching=results.touching())
    if description is None:
        return record
    return structs.replace(record, description=_described(description, simulation))


def _described(
    description: Description, simulation: SimulationObservation | None
) -> DescriptionRecord:
    return DescriptionRecord(
        file=Path(description.file).name,
        sha256=description.sha256,
        files={
            Path(name).name: hashlib.sha256(content).hexdigest()
            for name, content in description.attached
        },
        settings=simulation.sources if simulation else (),
    )


def plain_urdf(urdf: Path, reading: Reading, file: Path) -> Path:
    """Return the file for engines: the URDF, or its expansion, which is written."""
    if reading.expanded is None:
        return urdf
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(reading.expanded)
    return file


class _ComparedUrdf(Struct, frozen=True, eq=False):
    """The URDF that engines read.

    Attributes:
        file: The file.
        packages: Folder of each ROS package, by name.
        configurations: Where the robot is compared.
        estimated: Links whose mass properties were computed from shapes.
    """

    file: Path
    packages: Mapping[str, str]
    configurations: Configurations
    estimated: frozenset[str] = frozenset()


def compared_urdf(
    workers: RobotWorkers,
    subject: Subject,
    reading: Reading,
    plain: Path,
    requirements: Requirements,
) -> _ComparedUrdf | RobotRecord:
    """Return the URDF that engines read: as it is, or with estimated mass.

    Args:
        workers: Run the work.
        subject: The robot.
        reading: What was read of it.
        plain: The URDF.
        requirements: Whether mass is to be estimated, and with which base.

    Returns:
        The URDF; or a record with the reason why nothing can be estimated.
    """
    if requirements.density is None:
        planned = workers.call(
            plan_comparison,
            str(subject.urdf),
            subject.packages,
            subject.arguments,
            subject.environment,
        )
        if isinstance(planned, Crashed):
            return crashed_record(subject, READER_CRASHED, planned)
        return _ComparedUrdf(plain, subject.packages, planned.value)
    packages = {**dict(reading.packages), **subject.packages}
    copy = workers.folder / f"{subject.id}-estimated.urdf"
    estimation = Estimation(requirements.base, requirements.density)
    ending = workers.call(estimate_robot, str(plain), packages, estimation, str(copy))
    if isinstance(ending, Crashed):
        return crashed_record(subject, _ESTIMATION_CRASHED, ending)
    if isinstance(ending.value, str):
        reason = f"mass cannot be computed from shapes: {ending.value}"
        return unread_record(subject, Verdict.NOT_COMPARABLE, reason, reading.diagnostics)
    found = ending.value
    return _ComparedUrdf(copy, packages, found.configurations, found.links)


def with_variants(
    record: RobotRecord,
    subject: Subject,
    composed: ComposedUsd,
    diagnostics: Sequence[Diagnostic],
) -> RobotRecord:
    """Add the selected variants to a record.

    If links or joints differ and a variant set has no selection, that is the cause: the
    USD is not comparable, and no check is reported.

    Args:
        record: Result of the comparison.
        subject: The robot.
        composed: The USD.
        diagnostics: Of the reader of the URDF.
    """
    unselected = composed.unselected
    if unselected and not record.verdict.agrees:
        reason = "; ".join(unselected)
        if _has_other_structure(record):
            others = (e for e in composed.diagnostics if e.rule != "variant-unselected")
            missing = (Diagnostic("variant-required", each) for each in unselected)
            record = unread_record(
                subject,
                Verdict.NOT_COMPARABLE,
                reason,
                (*diagnostics, *others, *missing),
            )
        else:
            names = subject.names
            reason = f"{portable(reason, names)}; {record.reason}"
            record = structs.replace(record, reason=reason)
    return structs.replace(record, variants=composed.selection)


def _has_other_structure(record: RobotRecord) -> bool:
    """Whether a USD was not read, or links or joints differ from those of the URDF."""
    return not record.checks or any(
        check.id in {"structure.links", "structure.joints"}
        and check.grade in {Grade.FAILS, Grade.NOT_COMPARABLE}
        for check in record.checks
    )
