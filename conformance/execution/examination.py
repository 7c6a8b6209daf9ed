"""One robot from its source to its record: read, convert, observe, judge, draw.

Everything that a library or a hostile file could crash is a step in a worker, or a
request to another one (:mod:`urdf_usd.conformance.execution.workers.pool`).
This module runs in a thread of the process that owns the workers.
"""

from __future__ import annotations

import hashlib
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias, TypeVar

from msgspec import structs

from urdf_usd.conformance.converters.candidates import OWN, Candidate, ReadyUsds
from urdf_usd.conformance.engines.protocol import Crashed, Outcome, Side
from urdf_usd.conformance.engines.registry import MissingEngineError
from urdf_usd.conformance.execution.assembly import (
    Subject,
    judged_record,
    source_record,
    unread_record,
    with_output,
)
from urdf_usd.conformance.execution.conversions.making import (
    Order,
    Unwritten,
    first_error,
    make_usd,
)
from urdf_usd.conformance.execution.engine_set import (
    USD_ENGINE,
    EngineResults,
    EngineSet,
)
from urdf_usd.conformance.execution.fingerprint import Programs, fingerprint
from urdf_usd.conformance.execution.portable_text import portable
from urdf_usd.conformance.execution.requirements import (
    URDF_ALONE,
    Requirements,
    required_of_conversion,
)
from urdf_usd.conformance.execution.run_folder import discard_former, expansion_path
from urdf_usd.conformance.execution.tasks import (
    Estimation,
    FormerInputs,
    InstalledEngine,
    Reading,
    cache_meshes,
    compare_with_case,
    estimate_robot,
    file_digest,
    lint_robot,
    plan_comparison,
    read_robot,
)
from urdf_usd.conformance.execution.usd_limits import (
    READ_DEFAULTS,
    ComposedUsd,
    ReadOptions,
    compose_usd,
    start_composing,
)
from urdf_usd.conformance.execution.workers.limits import DEFAULT_LIMITS, Limits
from urdf_usd.conformance.execution.workers.pool import RobotWorkers, WorkerPool
from urdf_usd.conformance.execution.workers.serving import Completed
from urdf_usd.conformance.expectations.judgement import judge_case
from urdf_usd.conformance.expectations.poses import configurations_of
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    Base,
    Configurations,
    Observation,
)
from urdf_usd.conformance.observation.simulation import SimulationObservation
from urdf_usd.conformance.records.record import (
    DescriptionRecord,
    Grade,
    RobotRecord,
    Verdict,
)
from urdf_usd.conformance.records.results import write_seconds
from urdf_usd.conformance.records.scene import scene_path
from urdf_usd.conformance.records.suite_case import (
    Case,
    CaseOutcome,
    CaseReadingRecord,
    CaseRecord,
    Expected,
    read_case,
)
from urdf_usd.conformance.verdict.judged import REFERENCE, Judgement
from urdf_usd.converter import ConvertOptions, Diagnostic
from urdf_usd.converter.diagnostics import ConversionError, SourceError, StageError
from urdf_usd.converter.options import ColliderRules, VariantChoice
from urdf_usd.converter.robot.body_options import BaseOption
from urdf_usd.converter.simulation.plan import Description
from urdf_usd.converter.urdf.xacro.expansion import is_part, is_xacro
from urdf_usd.corpus import RobotSource
from urdf_usd.corpus.robots import SuiteCase

_Result = TypeVar("_Result")
# Hashes of what was read of a robot.
_Read: TypeAlias = tuple[str, ...]
# Begin of the reason of a crash, by step; for converters see `conversion`.
_READER_CRASHED = "the URDF reader crashed"
_LINT_CRASHED = "lint crashed"
_REFERENCE_CRASHED = f"{REFERENCE} crashed"
_COMPARISON_CRASHED = "the comparison crashed"
_ESTIMATION_CRASHED = "the estimation of mass from shapes crashed"


@dataclass(frozen=True, slots=True)
class Assignment:
    """One robot of a run, and how it is examined.

    Attributes:
        source: The robot.
        out: Folder of the run.
        options: Options of the conversion.
        engines: The engines of the run.
        limits: Of each process.
        former: Fingerprint of the result in the folder of the run, if there is one.
        retry: Whether to examine a robot again of which something crashed before.
        candidate: The converter.
        compared: Whether the run has several converters.
        names: Names that a USD of it may have that was made elsewhere.
        timed: Whether to write how long it takes.
        programs: The converter and the engines of other packages, with hashes.
        root: Folder that stands for the root of the file system, if the files come from
            another machine.
        variants: Variants to select in USDs of other converters that have these sets.
    """

    source: RobotSource
    out: Path
    options: ConvertOptions
    engines: tuple[InstalledEngine, ...]
    limits: Limits = DEFAULT_LIMITS
    former: str | None = None
    retry: bool = False
    candidate: Candidate = OWN
    compared: bool = False
    names: tuple[str, ...] = ()
    timed: bool = False
    programs: Programs = ()
    root: Path | None = None
    variants: tuple[VariantChoice, ...] = ()

    @property
    def place(self) -> str:
        """Its path within each folder of the run, without a suffix."""
        name = self.source.id
        return f"{self.candidate.name}/{name}" if self.compared else name


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The result in the folder of the run is still valid."""


def examine_isolated(
    pool: WorkerPool,
    assignment: Assignment,
    variables: Mapping[str, str],
    *,
    parallel: bool = False,
) -> RobotRecord | Unchanged:
    """Examine a robot in workers; a crash becomes part of the record.

    Args:
        pool: Where workers are started.
        assignment: The robot.
        variables: Further environment variables of the workers.
        parallel: Whether its engines run at the same time.

    Raises:
        CancelledError: The pool was closed meanwhile.
    """
    timeout = assignment.limits.time
    begin = time.perf_counter()
    with RobotWorkers(pool, timeout, variables, parallel=parallel) as workers:
        result = record_errors(
            subject_of(assignment), lambda: examine(workers, assignment)
        )
    source = assignment.source
    if isinstance(result, RobotRecord) and source.case and result.case is None:
        ending = CaseOutcome.CRASHED, result.reason
        case = _case_record(source, source.case, read_case(source.case.text), ending)
        result = structs.replace(result, case=case)
    if assignment.timed and isinstance(result, RobotRecord):
        took = time.perf_counter() - begin
        write_seconds(assignment.out, assignment.place, examination=took)
    return result


def record_errors(
    subject: Subject, work: Callable[[], _Result]
) -> _Result | RobotRecord:
    """Return the result of some work, or the record of a robot that crashed.

    What engines and converters of others return may lead to any error.

    Raises:
        CancelledError: The pool was closed meanwhile.
        MissingEngineError: The reference or the OpenUSD engine is not available.
    """
    try:
        return work()
    except (CancelledError, MissingEngineError):
        raise
    except Exception as error:  # noqa: BLE001
        reason = "".join(traceback.format_exception_only(error)).strip()
        return unread_record(subject, Verdict.CRASHED, reason)


def examine(workers: RobotWorkers, assignment: Assignment) -> RobotRecord | Unchanged:
    """Convert a robot and compare the USD with it.

    Args:
        workers: Run the work.
        assignment: The robot.
    """
    subject = replace(subject_of(assignment), scratch=workers.folder)
    workers.call(cache_meshes)
    ending = _read(workers, subject)
    subject = _identified(workers, subject, ending, own=assignment.candidate == OWN)
    reading = ending.value if isinstance(ending, Completed) else None
    in_limits, without_limits = _fingerprints(assignment, subject, reading)
    if isinstance(ending, Crashed):
        discard_former(assignment.out, assignment.place)
        record = _crashed_record(subject, _READER_CRASHED, ending)
        return structs.replace(record, fingerprint=in_limits)
    if _is_former(assignment, in_limits, without_limits):
        return Unchanged()
    discard_former(assignment.out, assignment.place)
    examination = _Examination(
        workers,
        EngineSet(workers, assignment.engines),
        assignment,
        _conversion(assignment),
    )
    examined = examination.examine(subject, ending.value)
    record = examined.record
    if assignment.source.case is not None:
        case = examination.compare_with_case(assignment.source.case, examined)
        record = structs.replace(record, case=case)
    broke = workers.crashed or record.verdict is Verdict.CRASHED
    return structs.replace(record, fingerprint=in_limits if broke else without_limits)


def is_unchanged(assignment: Assignment, inputs: FormerInputs) -> bool:
    """Return whether the result in the folder of the run is still valid.

    Args:
        assignment: The robot.
        inputs: What was read of it.
    """
    subject = subject_of(assignment)
    reading = inputs.reading
    if isinstance(reading, Reading):
        subject = replace(subject, inputs=reading.inputs)
    else:
        subject = replace(subject, digest=inputs.digest)
    return _is_former(assignment, *_fingerprints(assignment, subject, reading))


def _is_former(assignment: Assignment, in_limits: str, without_limits: str) -> bool:
    """Return whether a former result has one of the fingerprints of a robot."""
    same = {without_limits}
    if not assignment.retry:
        same.add(in_limits)
    # Ready USDs may have changed since.
    ready = isinstance(assignment.candidate, ReadyUsds)
    return assignment.former in same and not ready


def _fingerprints(
    assignment: Assignment, subject: Subject, reading: Reading | SourceError | None
) -> tuple[str, str]:
    """Return the fingerprints of a result in which something crashed, and of others.

    Limits only matter to a result if something crashed.

    Args:
        assignment: The robot.
        subject: What its record says of it.
        reading: What was read of it; None if the reader crashed.
    """
    read: _Read = ()
    if reading is not None:
        read = _read_of(subject, reading, assignment.root)
    # Names decide which layer of another converter is the root layer.
    names: tuple[str, ...] = ()
    if assignment.candidate != OWN:
        names = (*assignment.names, *map(str, assignment.variants))
    searched = subject.searched, subject.included, subject.mirrored
    case = assignment.source.case
    expected = case and case.text
    robot = (source_record(subject), searched, names, read, expected)
    options = _conversion(assignment)

    def fingerprint_of(limits: Limits | None) -> str:
        return fingerprint(
            robot, options, assignment.engines, limits, assignment.programs
        )

    return fingerprint_of(assignment.limits), fingerprint_of(None)


def _conversion(assignment: Assignment) -> ConvertOptions:
    """Return the options with which a robot is converted."""
    subject = subject_of(assignment)
    return replace(
        assignment.options,
        base=_base_option(assignment.options.base, assignment.source),
        packages=tuple(subject.packages.items()),
        arguments=tuple(subject.arguments.items()),
    )


def examine_pair(  # noqa: PLR0911  # a return for each step that ends it
    workers: RobotWorkers,
    subject: Subject,
    usd: Path,
    engines: Callable[[], tuple[InstalledEngine, ...]],
    requirements: Requirements = URDF_ALONE,
    *,
    scene: Path | None = None,
    options: ReadOptions = READ_DEFAULTS,
) -> RobotRecord | ConversionError:
    """Compare a USD, from any converter, with its URDF.

    Args:
        workers: Run the work.
        subject: The URDF, and what else the record says of the robot.
        usd: Root layer of the USD.
        engines: Waits for the engines; they may be loaded meanwhile.
        requirements: What the USD has to have, besides what the URDF says.
        scene: File of the drawing, if there is to be one.
        options: How the USD is read.

    Returns:
        The record; or why the URDF cannot be read, or which variant does not exist.

    Raises:
        MissingEngineError: As raised by ``engines``.
    """
    urdf = subject.urdf
    if urdf is None:
        raise ValueError("there is nothing to compare with")
    subject = replace(subject, scratch=workers.folder)
    composing = start_composing(workers, subject, usd, options)
    ending = _read(workers, subject)
    if isinstance(ending, Crashed):
        # Nothing can be read within limits that engines exceed as they are loaded.
        engines()
        subject = _identified(workers, subject, ending)
        return _crashed_record(subject, _READER_CRASHED, ending)
    reading = ending.value
    if isinstance(reading, SourceError):
        return reading
    subject = replace(subject, inputs=reading.inputs)
    plain = _plain_urdf(urdf, reading, workers.folder / f"{subject.id}.urdf")
    compared = _compared_urdf(workers, subject, reading, plain, requirements)
    linted = _lint(workers, subject)
    engine_set = EngineSet(workers, engines())
    try:
        composed = composing()
    except StageError as error:
        return error
    if isinstance(composed, RobotRecord):
        return composed
    if isinstance(linted, RobotRecord):
        return linted
    if isinstance(compared, RobotRecord):
        return compared
    plain, packages = compared.file, compared.packages
    configurations = compared.configurations
    requests = (
        engine_set.request(Side.URDF, plain, packages, configurations),
        engine_set.request(Side.USD, Path(composed.usd), packages, configurations),
    )
    results = engine_set.observe(requests, packages, configurations)
    base = requirements.base
    promise = _Promise(
        None if base is BaseOption.AUTO else Base(base.value),
        compared.estimated,
        requirements.colliders,
        requirements.description,
    )
    found = (*reading.diagnostics, *composed.diagnostics)
    record = _judge(engine_set, linted, results, promise, found)
    record = _with_variants(record, linted, composed, reading.diagnostics)
    if scene and record.checks:
        engine_set.draw(packages, results, configurations, scene)
    return record


def _with_variants(
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


@dataclass(frozen=True, slots=True, eq=False)
class _Examined:
    """What became of a robot.

    Attributes:
        record: The record.
        refusal: Why there is no USD, if the URDF was refused.
        results: Outcomes of engines, if there is a USD.
    """

    record: RobotRecord
    refusal: str | None = None
    results: EngineResults | None = None


@dataclass(frozen=True, slots=True)
class _Examination:
    """The conversion and comparison of a robot that was read.

    Attributes:
        workers: Run the work.
        engine_set: The engines.
        assignment: The robot.
        options: Of the conversion.
    """

    workers: RobotWorkers
    engine_set: EngineSet
    assignment: Assignment
    options: ConvertOptions

    def examine(self, subject: Subject, reading: Reading | SourceError) -> _Examined:
        """Convert and compare, if our reader can read the URDF."""
        if isinstance(reading, SourceError):
            return self._refused(subject, reading)
        return self._compared(subject, reading)

    def _refused(self, subject: Subject, error: SourceError) -> _Examined:
        """Record a URDF that our reader refuses."""
        record = self._unreadable(subject, error.diagnostics)
        if self.assignment.source.case and self.assignment.candidate != OWN:
            # A case is about the converter, whatever our reader makes of it.
            return self._examine_unread(subject, record)
        return _Examined(record, first_error(error.diagnostics))

    def _compared(self, subject: Subject, reading: Reading) -> _Examined:
        """Convert and compare."""
        out, place = self.assignment.out, self.assignment.place
        own = self.assignment.candidate == OWN
        urdf = self.assignment.source.path
        plain = _plain_urdf(urdf, reading, expansion_path(out, place))
        requirements = required_of_conversion(self.options, own=own)
        compared = _compared_urdf(self.workers, subject, reading, plain, requirements)
        if isinstance(compared, RobotRecord):
            return _Examined(compared)
        packages, configurations = compared.packages, compared.configurations
        # In parallel, the engines of the URDF run during lint and conversion.
        there = self.engine_set.request(
            Side.URDF, compared.file, packages, configurations
        )
        linted = _lint(self.workers, subject)
        if isinstance(linted, RobotRecord):
            return _Examined(linted)
        order = Order(
            urdf=urdf,
            plain=plain,
            directory=out / "assets" / place,
            options=self.options,
            packages=dict(reading.packages) | dict(packages),
            names=self.assignment.names,
            timeout=self.assignment.limits.time,
        )
        made = make_usd(self.workers, self.assignment.candidate, order)
        if isinstance(made, Unwritten):
            found = made.diagnostics
            if found is None:
                found = reading.diagnostics
            record = unread_record(linted, made.verdict, made.reason, found)
            record = with_output(record, linted, made.output)
            crashed = made.verdict is Verdict.CRASHED
            return _Examined(record, None if crashed else made.reason)
        if made.seconds is not None and (
            self.assignment.compared or self.assignment.timed
        ):
            write_seconds(out, place, made.seconds)
        diagnostics = made.diagnostics
        composed = ComposedUsd(str(made.root_layer))
        if not own:
            options = ReadOptions(self.assignment.variants, optional=True)
            foreign = compose_usd(self.workers, subject, made.root_layer, options)
            if isinstance(foreign, RobotRecord):
                return _Examined(with_output(foreign, subject, made.output))
            composed = foreign
            diagnostics = (*reading.diagnostics, *composed.diagnostics)
        here = self.engine_set.request(
            Side.USD, Path(composed.usd), packages, configurations
        )
        results = self.engine_set.observe((there, here), packages, configurations)
        base = None
        if own:
            base = _required_base(self.options.base, results.observation(REFERENCE))
        promise = _Promise(
            base, compared.estimated, requirements.colliders, requirements.description
        )
        record = _judge(self.engine_set, linted, results, promise, diagnostics)
        record = _with_variants(record, linted, composed, reading.diagnostics)
        record = structs.replace(record, asset=made.asset)
        record = with_output(record, subject, made.output)
        self.engine_set.draw(packages, results, configurations, scene_path(out, place))
        return _Examined(record, results=results)

    def _examine_unread(self, subject: Subject, record: RobotRecord) -> _Examined:
        """Convert a case that our reader refuses with another converter."""
        order = Order(
            urdf=self.assignment.source.path,
            plain=self.assignment.source.path,
            directory=self.assignment.out / "assets" / self.assignment.place,
            options=self.options,
            packages=subject.packages,
            names=self.assignment.names,
            timeout=self.assignment.limits.time,
        )
        made = make_usd(self.workers, self.assignment.candidate, order)
        if isinstance(made, Unwritten):
            record = with_output(record, subject, made.output)
            if made.verdict is Verdict.CRASHED:
                reason = portable(made.reason, subject.names)
                record = structs.replace(record, verdict=made.verdict, reason=reason)
                return _Examined(record)
            return _Examined(record, made.reason)
        record = with_output(
            structs.replace(record, asset=made.asset), subject, made.output
        )
        usd = self.engine_set.request(Side.USD, made.root_layer, subject.packages)
        results = self.engine_set.observe((usd,), subject.packages)
        return _Examined(record, results=results)

    def compare_with_case(self, where: SuiteCase, examined: _Examined) -> CaseRecord:
        """Compare a case of the feature suite with what became of it.

        Args:
            where: The case.
            examined: The robot.
        """
        source, record = self.assignment.source, examined.record
        case = read_case(where.text)
        expected = case.expected
        readings: tuple[CaseReadingRecord, ...] = ()
        if examined.results is not None and not expected.refused:
            outcomes = self._outcomes_at_poses(expected, examined.results)
            compared = self.workers.call(compare_with_case, expected, outcomes)
            if isinstance(compared, Crashed):
                crash = CaseReadingRecord(engine=USD_ENGINE, reason=compared.reason)
                readings = (crash,)
            else:
                readings = compared.value
        rules: frozenset[str] | None = None
        if self.assignment.candidate == OWN:
            rules = frozenset(one.rule for one in record.diagnostics)
        refusal = examined.refusal
        ending = judge_case(
            expected,
            readings,
            refusal=refusal and portable(refusal, subject_of(self.assignment).names),
            written=examined.results is not None,
            crash=record.reason,
            rules=rules,
        )
        return _case_record(source, where, case, ending, readings)

    def _outcomes_at_poses(
        self, expected: Expected, results: EngineResults
    ) -> dict[str, Outcome]:
        """Observe a USD at the configurations of a case, with every engine."""
        if not expected.poses:
            requests = results.outcomes
        else:
            file = results.files[Side.USD]
            packages = subject_of(self.assignment).packages
            configurations = configurations_of(expected)
            requests = self.engine_set.request(
                Side.USD, file, packages, configurations
            ).outcomes()
        sides = {engine.name: engine.side for engine in results.engines}
        return {
            name: outcome
            for name, outcome in requests.items()
            if sides[name] is Side.USD
        }

    def _unreadable(
        self, subject: Subject, diagnostics: Sequence[Diagnostic]
    ) -> RobotRecord:
        """Record a URDF that our reader refuses, and which engines read it."""
        urdf = self.assignment.source.path
        if is_xacro(str(urdf)):
            reason = first_error(diagnostics)
            rules = [found.rule for found in diagnostics]
            verdict = Verdict.UNREADABLE
            if subject.searched and is_part(rules, included=subject.included):
                verdict, reason = (
                    Verdict.NOT_AVAILABLE,
                    f"not a complete robot: {reason}",
                )
            elif subject.mirrored and "xacro-file-missing" in rules:
                verdict, reason = Verdict.NOT_AVAILABLE, f"not in the mirror: {reason}"
            elif subject.searched and "xacro-file-missing" in rules:
                verdict, reason = Verdict.NOT_AVAILABLE, f"incomplete: {reason}"
            return unread_record(subject, verdict, reason, diagnostics)
        requests = self.engine_set.request(Side.URDF, urdf, subject.packages)
        results = self.engine_set.observe((requests,), subject.packages)
        crash = results.outcomes.get(REFERENCE)
        if isinstance(crash, Crashed):
            reason = f"{_REFERENCE_CRASHED}: {crash.reason}"
            judgement = Judgement((), (), Verdict.CRASHED, reason)
            return judged_record(subject, judgement, results, diagnostics)
        reason = first_error(diagnostics)
        if results.observed:
            reason += f"; {' and '.join(results.observed)} read it nevertheless"
        judgement = Judgement((), (), Verdict.UNREADABLE, reason)
        return judged_record(subject, judgement, results, diagnostics)


def _case_record(
    source: RobotSource,
    where: SuiteCase,
    case: Case,
    ending: tuple[CaseOutcome, str],
    readings: tuple[CaseReadingRecord, ...] = (),
) -> CaseRecord:
    """Record a case of the feature suite, with its outcome and the reason of it."""
    outcome, reason = ending
    return CaseRecord(
        version=where.version,
        chapter=where.chapter,
        title=where.title,
        name=where.name,
        number=where.number,
        requirement=case.requirement,
        outcome=outcome,
        reason=reason,
        case=case,
        readings=readings,
        urdf=source.path.read_bytes().decode("utf-8", "replace"),
    )


def _read_of(
    subject: Subject, reading: Reading | SourceError, root: Path | None
) -> _Read:
    """Return what a robot was read as, without paths of this machine.

    Diagnostics depend on more than the content of files: where they are, and which are
    not there. The expansion of a xacro file depends on the environment.

    Args:
        subject: The robot.
        reading: What was read.
        root: As in :class:`Assignment`.
    """
    prefix = "" if root is None else str(root)
    names = tuple((folder.removeprefix(prefix), name) for folder, name in subject.names)

    def plain(text: str) -> str:
        return portable(text.replace(prefix, "") if prefix else text, names)

    lines = [
        f"{one.rule} {place.file}:{place.line}:{place.column} {one.message}"
        if (place := one.location)
        else f"{one.rule} {one.message}"
        for one in reading.diagnostics
    ]
    if isinstance(reading, Reading) and reading.expanded is not None:
        lines.append(reading.expanded.decode("utf-8", "surrogateescape"))
    content = plain("\n".join(lines)).encode("utf-8", "surrogateescape")
    return (hashlib.sha256(content).hexdigest(),)


def subject_of(assignment: Assignment) -> Subject:
    """Return the subject of a robot's record, before anything is read."""
    source = assignment.source
    packages = {name: str(folder) for name, folder in source.packages}
    return Subject(
        id=source.id,
        reference=source.reference,
        converter=assignment.candidate.title,
        candidate=assignment.candidate.name,
        urdf=source.path,
        usd=assignment.out / "assets" / assignment.place,
        packages=packages | dict(assignment.options.packages),
        arguments=dict(source.arguments) | dict(assignment.options.arguments),
        environment=assignment.options.environment,
        origin=source.origin,
        notes=source.notes,
        searched=source.searched,
        included=source.included,
        mirrored=source.mirrored,
        profile=(
            assignment.options.profile.value if assignment.candidate == OWN else None
        ),
    )


def _read(
    workers: RobotWorkers, subject: Subject
) -> Completed[Reading | SourceError] | Crashed:
    return workers.call(
        read_robot,
        str(subject.urdf),
        subject.packages,
        subject.arguments,
        subject.environment,
    )


def _identified(
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
        return replace(subject, inputs=reading.inputs, ledger=ledger)
    digest = workers.call(file_digest, str(subject.urdf))
    return (
        subject
        if isinstance(digest, Crashed)
        else replace(subject, digest=digest.value)
    )


def _crashed_record(subject: Subject, what: str, crash: Crashed) -> RobotRecord:
    return unread_record(subject, Verdict.CRASHED, f"{what}: {crash.reason}")


def _lint(workers: RobotWorkers, subject: Subject) -> Subject | RobotRecord:
    """Add the findings of lint to a subject; return a record if it crashes."""
    ending = workers.call(
        lint_robot,
        str(subject.urdf),
        subject.packages,
        subject.arguments,
        subject.environment,
    )
    if isinstance(ending, Crashed):
        return _crashed_record(subject, _LINT_CRASHED, ending)
    return replace(subject, findings=ending.value)


@dataclass(frozen=True, slots=True)
class _Promise:
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


def _judge(
    engine_set: EngineSet,
    subject: Subject,
    results: EngineResults,
    promise: _Promise,
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
    record = structs.replace(record, touching=engine_set.touching_links(results))
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


def _base_option(option: BaseOption, source: RobotSource) -> BaseOption:
    """Return the base of a robot: that of the option, or else of its list."""
    if option is BaseOption.AUTO and source.base:
        return BaseOption(source.base)
    return option


def _plain_urdf(urdf: Path, reading: Reading, file: Path) -> Path:
    """Return the file for engines: the URDF, or its expansion, which is written."""
    if reading.expanded is None:
        return urdf
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(reading.expanded)
    return file


@dataclass(frozen=True, slots=True, eq=False)
class _ComparedUrdf:
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


def _compared_urdf(
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
            return _crashed_record(subject, _READER_CRASHED, planned)
        return _ComparedUrdf(plain, subject.packages, planned.value)
    packages = {**dict(reading.packages), **subject.packages}
    copy = workers.folder / f"{subject.id}-estimated.urdf"
    estimation = Estimation(requirements.base, requirements.density)
    ending = workers.call(estimate_robot, str(plain), packages, estimation, str(copy))
    if isinstance(ending, Crashed):
        return _crashed_record(subject, _ESTIMATION_CRASHED, ending)
    if isinstance(ending.value, str):
        reason = f"mass cannot be computed from shapes: {ending.value}"
        return unread_record(
            subject, Verdict.NOT_COMPARABLE, reason, reading.diagnostics
        )
    found = ending.value
    return _ComparedUrdf(copy, packages, found.configurations, found.links)


def _required_base(option: BaseOption, spec: Observation | None) -> Base | None:
    """Return the base that our converter has to write: floating by default."""
    if option is not BaseOption.AUTO:
        return Base(option.value)
    if spec is None or spec.base is not None:
        return None
    moves = any(COORDINATES[joint.type] for joint in spec.joints)
    weighs = any(link.mass and link.mass.mass for link in spec.links)
    return Base.FLOATING if moves or weighs else Base.STATIC
