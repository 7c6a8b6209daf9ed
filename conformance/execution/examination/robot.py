"""One robot from its source to its record: read, convert, observe, judge, draw.

Everything that a library or a hostile file could crash is a step in a worker, or a
request to another one (:mod:`urdf_usd.conformance.execution.workers.pool`).
This module runs in a thread of the process that owns the workers.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, structs

from urdf_usd.conformance.converters.candidates import OWN
from urdf_usd.conformance.engines.protocol import Crashed, Outcome, Side
from urdf_usd.conformance.engines.registry import MissingEngineError
from urdf_usd.conformance.execution.assembly import (
    Subject,
    judged_record,
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
from urdf_usd.conformance.execution.examination.assignment import (
    Assignment,
    Unchanged,
    conversion_options,
    subject_of,
)
from urdf_usd.conformance.execution.examination.steps import (
    READER_CRASHED,
    Promise,
    compared_urdf,
    crashed_record,
    identified,
    judge_outcomes,
    lint_source,
    plain_urdf,
    read_source,
    with_variants,
)
from urdf_usd.conformance.execution.examination.unchanged import fingerprints, is_former
from urdf_usd.conformance.execution.portable_text import portable
from urdf_usd.conformance.execution.requirements import required_of_conversion
from urdf_usd.conformance.execution.run_folder import discard_former, expansion_path
from urdf_usd.conformance.execution.tasks import (
    Reading,
    cache_meshes,
    compare_with_case,
)
from urdf_usd.conformance.execution.usd_limits import (
    ComposedUsd,
    ReadOptions,
    compose_usd,
)
from urdf_usd.conformance.execution.workers.pool import RobotWorkers, WorkerPool
from urdf_usd.conformance.execution.workers.serving import Completed
from urdf_usd.conformance.expectations import configurations_of, judge_case
from urdf_usd.conformance.observation.robot import COORDINATES, Base, Observation
from urdf_usd.conformance.verdict.judged import REFERENCE, Judgement
from urdf_usd.converter import ConvertOptions, Diagnostic
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.robot.body_options import BaseOption
from urdf_usd.converter.urdf.xacro import is_part, is_xacro
from urdf_usd.corpus import RobotSource
from urdf_usd.corpus.robots import SuiteCase
from urdf_usd.reports.records.record import RobotRecord, Verdict
from urdf_usd.reports.records.results import write_seconds
from urdf_usd.reports.records.scene import scene_path
from urdf_usd.reports.records.suite_case import (
    Case,
    CaseOutcome,
    CaseReadingRecord,
    CaseRecord,
    Expected,
    read_case,
)

_Result = TypeVar("_Result")
_REFERENCE_CRASHED = f"{REFERENCE} crashed"


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
        result = record_errors(subject_of(assignment), lambda: examine(workers, assignment))
    source = assignment.source
    if isinstance(result, RobotRecord) and source.case and result.case is None:
        ending = CaseOutcome.CRASHED, result.reason
        case = _case_record(source, source.case, read_case(source.case.text), ending)
        result = structs.replace(result, case=case)
    if assignment.timed and isinstance(result, RobotRecord):
        took = time.perf_counter() - begin
        write_seconds(assignment.out, assignment.place, examination=took)
    return result


def record_errors(subject: Subject, work: Callable[[], _Result]) -> _Result | RobotRecord:
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
    subject = structs.replace(subject_of(assignment), scratch=workers.folder)
    workers.call(cache_meshes)
    ending = read_source(workers, subject)
    subject = identified(workers, subject, ending, own=assignment.candidate == OWN)
    reading = ending.value if isinstance(ending, Completed) else None
    in_limits, without_limits = fingerprints(assignment, subject, reading)
    if isinstance(ending, Crashed):
        discard_former(assignment.out, assignment.place)
        record = crashed_record(subject, READER_CRASHED, ending)
        return structs.replace(record, fingerprint=in_limits)
    if is_former(assignment, in_limits, without_limits):
        return Unchanged()
    discard_former(assignment.out, assignment.place)
    examination = _Examination(
        workers,
        EngineSet(workers, assignment.engines),
        assignment,
        conversion_options(assignment),
    )
    examined = examination.examine(subject, ending.value)
    record = examined.record
    if assignment.source.case is not None:
        case = examination.compare_with_case(assignment.source.case, examined)
        record = structs.replace(record, case=case)
    broke = workers.crashed or record.verdict is Verdict.CRASHED
    return structs.replace(record, fingerprint=in_limits if broke else without_limits)


class _Examined(Struct, frozen=True, eq=False):
    """What became of a robot.

    Attributes:
        record: The record.
        refusal: Why there is no USD, if the URDF was refused.
        results: Outcomes of engines, if there is a USD.
    """

    record: RobotRecord
    refusal: str | None = None
    results: EngineResults | None = None


class _Examination(Struct, frozen=True):
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
        plain = plain_urdf(urdf, reading, expansion_path(out, place))
        requirements = required_of_conversion(self.options, own=own)
        compared = compared_urdf(self.workers, subject, reading, plain, requirements)
        if isinstance(compared, RobotRecord):
            return _Examined(compared)
        packages, configurations = compared.packages, compared.configurations
        # In parallel, the engines of the URDF run during lint and conversion, but for
        # the reference, which is a step as these.
        there = self.engine_set.request(
            Side.URDF, compared.file, packages, configurations, reference_last=True
        )
        linted = lint_source(self.workers, subject)
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
        if made.seconds is not None and (self.assignment.compared or self.assignment.timed):
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
        here = self.engine_set.request(Side.USD, Path(composed.usd), packages, configurations)
        results = self.engine_set.observe((there, here), packages, configurations)
        base = None
        if own:
            base = _required_base(self.options.base, results.observation(REFERENCE))
        promise = Promise(
            base, compared.estimated, requirements.colliders, requirements.description
        )
        record = judge_outcomes(self.engine_set, linted, results, promise, diagnostics)
        record = with_variants(record, linted, composed, reading.diagnostics)
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
        record = with_output(structs.replace(record, asset=made.asset), subject, made.output)
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

    def _outcomes_at_poses(self, expected: Expected, results: EngineResults) -> dict[str, Outcome]:
        """Observe a USD at the configurations of a case, with every engine."""
        if not expected.poses:
            requests = results.outcomes
        else:
            file = results.files[Side.USD]
            # Loads numpy, which a run without such cases may not need.

            packages = subject_of(self.assignment).packages
            configurations = configurations_of(expected)
            requests = self.engine_set.request(Side.USD, file, packages, configurations).outcomes()
        sides = {engine.name: engine.side for engine in results.engines}
        return {name: outcome for name, outcome in requests.items() if sides[name] is Side.USD}

    def _unreadable(self, subject: Subject, diagnostics: Sequence[Diagnostic]) -> RobotRecord:
        """Record a URDF that our reader refuses, and which engines read it."""
        urdf = self.assignment.source.path
        if is_xacro(str(urdf)):
            reason = first_error(diagnostics)
            rules = [found.rule for found in diagnostics]
            verdict = Verdict.UNREADABLE
            if subject.searched and is_part(rules, included=subject.included):
                record = unread_record(subject, Verdict.NOT_AVAILABLE, reason, diagnostics)
                return structs.replace(record, part=True)
            if subject.mirrored and "xacro-file-missing" in rules:
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


def _required_base(option: BaseOption, spec: Observation | None) -> Base | None:
    """Return the base that our converter has to write: floating by default."""
    if option is not BaseOption.AUTO:
        return Base(option.value)
    if spec is None or spec.base is not None:
        return None
    moves = any(COORDINATES[joint.type] for joint in spec.joints)
    weighs = any(link.mass and link.mass.mass for link in spec.links)
    return Base.FLOATING if moves or weighs else Base.STATIC
