"""One robot from its source to its record: read, convert, observe, judge, draw.

:func:`examine` runs in a worker. Everything that a library or a hostile file could crash
is a step: if it ends the process, the robot is examined again without it.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct, structs

from urdf_usd.conformance.drawing.scenery import draw_scene
from urdf_usd.conformance.engines.openusd.shapes import rest_solids
from urdf_usd.conformance.engines.protocol import Crashed, Outcome, Side
from urdf_usd.conformance.engines.reference import read_kept
from urdf_usd.conformance.execution.converting import (
    Order,
    Unwritten,
    Written,
    convert_by_other,
    convert_robot,
    first_error,
)
from urdf_usd.conformance.execution.engines import (
    AT_REST,
    USD_ENGINE,
    EngineResults,
    observe_files,
    observe_side,
)
from urdf_usd.conformance.execution.folder import discard_former, expansion_path
from urdf_usd.conformance.execution.job import Job, Unchanged
from urdf_usd.conformance.execution.portable_text import portable
from urdf_usd.conformance.execution.reading import (
    Reading,
    estimate_robot,
    file_digest,
    lint_robot,
    plan_comparison,
    read_robot,
)
from urdf_usd.conformance.execution.record import (
    Subject,
    judged_record,
    unread_record,
    with_output,
)
from urdf_usd.conformance.execution.resume import fingerprint, is_former
from urdf_usd.conformance.execution.usd_reading import ComposedUsd, compose_usd
from urdf_usd.conformance.execution.worker import Completed, Steps, own_folder
from urdf_usd.conformance.execution.workers import Workers
from urdf_usd.conformance.expectations import compare_readings, configurations_of, judge_case
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    Base,
    Configurations,
    Observation,
)
from urdf_usd.conformance.observation.simulation import SimulationObservation
from urdf_usd.conformance.observation.solids import Solid
from urdf_usd.conformance.requested_settings import requested_settings
from urdf_usd.conformance.verdict.judged import REFERENCE, ColliderChoice, Judgement
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter.diagnostics import ConversionError, Diagnostic, SourceError, StageError
from urdf_usd.converter.meshes.read import cached_meshes
from urdf_usd.converter.options import ColliderRules
from urdf_usd.converter.robot.body_options import BaseOption
from urdf_usd.converter.simulation.description import Description
from urdf_usd.converter.urdf.xacro import is_part, is_xacro
from urdf_usd.reports.records.record import (
    CaseOutcome,
    CaseReadingRecord,
    CaseRecord,
    DescriptionRecord,
    Grade,
    RobotRecord,
    Verdict,
)
from urdf_usd.reports.records.results import write_seconds
from urdf_usd.reports.records.scene import scene_path, write_scene
from urdf_usd.reports.records.suite_case import Expected, read_case

_READER_CRASHED = "the URDF reader crashed"
_SELECTION = "selection.usda"


def examine_in_worker(workers: Workers, job: Job) -> RobotRecord | Unchanged | ConversionError:
    """Examine a robot in a worker; a crash becomes part of the record.

    Returns:
        As :func:`examine`.

    Raises:
        CancelledError: The workers were closed meanwhile.
    """
    begin = time.perf_counter()
    result = workers.examine(examine, job)
    if isinstance(result, Crashed):
        result = unread_record(job.subject, Verdict.CRASHED, result.reason)
    if isinstance(result, RobotRecord) and result.case is None and job.source.case:
        case = _case_record(job, (CaseOutcome.CRASHED, result.reason))
        result = structs.replace(result, case=case)
    if job.timed and isinstance(result, RobotRecord):
        took = time.perf_counter() - begin
        write_seconds(job.folder, job.place, examination=took)
    return result


def examine(job: Job, crashes: Mapping[str, Crashed]) -> RobotRecord | Unchanged | ConversionError:
    """Examine a robot: convert it, and compare the USD with it.

    Args:
        job: The robot.
        crashes: Steps that have ended the process of a worker, and how.

    Returns:
        The record; that a former result is still valid; in a check, why the URDF cannot
        be read, or which variant of the USD does not exist.
    """
    with tempfile.TemporaryDirectory(prefix="robot-", dir=own_folder()) as name, cached_meshes():
        robot = _Robot(job, Steps(crashes), Path(name))
        try:
            return _examined(robot)
        except StageError as error:
            return error
        except MemoryError:
            raise
        # What engines and converters of others return may lead to any error.
        except Exception as error:  # noqa: BLE001
            reason = "".join(traceback.format_exception_only(error)).strip()
            return unread_record(job.subject, Verdict.CRASHED, reason)


class _Robot(Struct, frozen=True, eq=False):
    """A robot that is examined, its steps, and a folder for temporary files."""

    job: Job
    steps: Steps
    folder: Path


def _examined(robot: _Robot) -> RobotRecord | Unchanged | ConversionError:
    job, steps = robot.job, robot.steps
    subject = structs.replace(job.subject, scratch=robot.folder)
    file = str(subject.urdf)
    ending = steps.call(
        "read", read_robot, file, subject.packages, subject.arguments, subject.environment
    )
    reading = None if isinstance(ending, Crashed) else ending.value
    if isinstance(reading, Reading):
        ledger = reading.ledger if job.own else ()
        subject = structs.replace(subject, inputs=reading.inputs, ledger=ledger)
    else:
        digest = steps.call("hash", file_digest, file)
        if not isinstance(digest, Crashed):
            subject = structs.replace(subject, digest=digest.value)
    if job.usd is not None:
        if isinstance(reading, SourceError):
            return reading
        return _compared(robot, subject, ending).record
    if is_former(job, subject, reading):
        return Unchanged()
    discard_former(job.folder, job.place)
    examined = _compared(robot, subject, ending)
    record = examined.record
    if job.source.case is not None:
        record = structs.replace(record, case=_compared_with_case(robot, examined))
    crashed = steps.crashed or record.verdict is Verdict.CRASHED
    return structs.replace(record, fingerprint=fingerprint(job, subject, reading, crashed=crashed))


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


def _compared(
    robot: _Robot, subject: Subject, ending: Completed[Reading | SourceError] | Crashed
) -> _Examined:
    """Convert a robot that was read, or not, and compare the USD with it."""
    job, steps = robot.job, robot.steps
    if isinstance(ending, Crashed):
        return _Examined(_crashed(subject, _READER_CRASHED, ending))
    reading = ending.value
    if isinstance(reading, SourceError):
        record = _unreadable(robot, subject, reading.diagnostics)
        if job.source.case and not job.own:
            # A case is about the converter, whatever our reader makes of it.
            return _converted_unread(robot, subject, record)
        return _Examined(record, first_error(reading.diagnostics))
    plain = _plain_urdf(robot, reading)
    planned = _planned(robot, subject, reading, plain)
    if isinstance(planned, RobotRecord):
        return _Examined(planned)
    found = steps.call(
        "lint",
        lint_robot,
        str(subject.urdf),
        subject.packages,
        subject.arguments,
        subject.environment,
    )
    if isinstance(found, Crashed):
        return _Examined(_crashed(subject, "lint crashed", found))
    subject = structs.replace(subject, findings=found.value)
    diagnostics: tuple[Diagnostic, ...] = reading.diagnostics
    made: Written | None = None
    if job.usd is None:
        outcome = _converted(robot, plain, {**dict(reading.packages), **planned.packages})
        if isinstance(outcome, Unwritten):
            of_converter = outcome.diagnostics
            record = unread_record(
                subject,
                outcome.verdict,
                outcome.reason,
                diagnostics if of_converter is None else of_converter,
            )
            record = with_output(record, subject, outcome.output)
            crashed = outcome.verdict is Verdict.CRASHED
            return _Examined(record, None if crashed else outcome.reason)
        made = outcome
    usd = made.root_layer if made else job.usd
    assert usd is not None  # noqa: S101  # one of them is there
    composed = ComposedUsd(str(usd))
    if job.own and made:
        diagnostics = made.diagnostics
    else:
        layer = robot.folder / _SELECTION
        foreign = compose_usd(steps, subject, usd, job.reading, layer)
        if isinstance(foreign, RobotRecord):
            return _Examined(with_output(foreign, subject, made.output if made else None))
        composed = foreign
        diagnostics = (*diagnostics, *composed.diagnostics)
    files = {Side.URDF: planned.file, Side.USD: Path(composed.usd)}
    results = observe_files(
        steps, job.engines, files, planned.packages, planned.configurations, robot.folder
    )
    record = _judged(robot, subject, results, planned.estimated, diagnostics)
    record = _with_variants(record, subject, composed, reading.diagnostics)
    if made:
        record = structs.replace(record, asset=made.asset)
        record = with_output(record, subject, made.output)
    scene = job.scene if job.usd else scene_path(job.folder, job.place)
    if scene and (made or record.checks):
        _draw(robot, planned, results, scene)
    return _Examined(record, results=results)


def _crashed(subject: Subject, what: str, crash: Crashed) -> RobotRecord:
    """Record a robot of which a step crashed: ``what`` begins the reason."""
    return unread_record(subject, Verdict.CRASHED, f"{what}: {crash.reason}")


def _plain_urdf(robot: _Robot, reading: Reading) -> Path:
    """Return the file for engines: the URDF, or its expansion, which is written."""
    job = robot.job
    if reading.expanded is None:
        return job.source.path
    file = robot.folder / f"{job.source.id}.urdf"
    if job.usd is None:
        file = expansion_path(job.folder, job.place)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(reading.expanded)
    return file


class _Planned(Struct, frozen=True, eq=False):
    """The URDF that engines read, and where.

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


def _planned(
    robot: _Robot, subject: Subject, reading: Reading, plain: Path
) -> _Planned | RobotRecord:
    """Return the URDF that engines read: as it is, or with estimated mass."""
    requirements = robot.job.requirements
    if requirements.density is None:
        planned = robot.steps.call(
            "plan",
            plan_comparison,
            str(subject.urdf),
            subject.packages,
            subject.arguments,
            subject.environment,
        )
        if isinstance(planned, Crashed):
            return _crashed(subject, _READER_CRASHED, planned)
        return _Planned(plain, subject.packages, planned.value)
    packages = {**dict(reading.packages), **subject.packages}
    copy = robot.folder / f"{subject.id}-estimated.urdf"
    ending = robot.steps.call(
        "estimate",
        estimate_robot,
        str(plain),
        packages,
        requirements.base,
        requirements.density,
        str(copy),
    )
    if isinstance(ending, Crashed):
        return _crashed(subject, "the estimation of mass from shapes crashed", ending)
    if isinstance(ending.value, str):
        reason = f"mass cannot be computed from shapes: {ending.value}"
        return unread_record(subject, Verdict.NOT_COMPARABLE, reason, reading.diagnostics)
    return _Planned(copy, packages, ending.value.configurations, ending.value.links)


def _converted(robot: _Robot, plain: Path, packages: Mapping[str, str]) -> Written | Unwritten:
    """Convert a robot by the converter of the job, and write how long that took."""
    job = robot.job
    if job.own:
        made = convert_robot(robot.steps, job.source.path, job.asset, job.conversion)
    else:
        order = Order(plain, job.asset, packages, job.names)
        made = convert_by_other(robot.steps, job.candidate, order, job.limits)
    if isinstance(made, Written) and made.seconds is not None and (job.compared or job.timed):
        write_seconds(job.folder, job.place, made.seconds)
    return made


def _judged(
    robot: _Robot,
    subject: Subject,
    results: EngineResults,
    estimated: frozenset[str],
    diagnostics: Sequence[Diagnostic],
) -> RobotRecord:
    """Compare the outcomes of engines, and record the judgement."""
    job = robot.job
    expected = results.observation(REFERENCE)
    description, rules = job.requirements.description, job.requirements.colliders
    settings: SimulationObservation | None = None
    ending: Completed[Judgement] | Crashed | None = None
    if description and expected and results.observation(USD_ENGINE):
        stated = _requested_settings(robot, description, results, expected)
        if isinstance(stated, Crashed):
            ending = stated
        else:
            settings = stated.value
    if ending is None:
        usd = results.of_side(Side.USD)
        ending = robot.steps.call(
            "compare",
            partial(
                judge,
                results.of_side(Side.URDF),
                usd[USD_ENGINE],
                simulators=tuple(one for name, one in usd.items() if name != USD_ENGINE),
                back=results.back,
                expected_base=_required_base(job, expected),
                requested=settings,
                estimated=estimated,
                colliders=_collider_choices(expected, rules),
            ),
        )
    if isinstance(ending, Crashed):
        reason = f"the comparison crashed: {ending.reason}"
        judgement = Judgement((), (), Verdict.CRASHED, reason)
    else:
        judgement = ending.value
    record = judged_record(subject, judgement, results, diagnostics)
    record = structs.replace(record, touching=results.touching)
    if description is None:
        return record
    files = {
        Path(name).name: hashlib.sha256(content).hexdigest()
        for name, content in description.attached
    }
    described = DescriptionRecord(
        file=Path(description.file).name,
        sha256=description.sha256,
        files=files,
        settings=settings.sources if settings else (),
    )
    return structs.replace(record, description=described)


def _requested_settings(
    robot: _Robot, description: Description, results: EngineResults, expected: Observation
) -> Completed[SimulationObservation] | Crashed:
    """Resolve what a simulation settings file requests of a robot."""
    solids: tuple[Solid, ...] = ()
    if description.tables.filters.overlap:
        found = robot.steps.call("colliders of filters", rest_solids, str(results.files[Side.USD]))
        if isinstance(found, Crashed):
            return found
        solids = found.value
    urdf = str(results.files[Side.URDF])
    return robot.steps.call("description", requested_settings, description, urdf, expected, solids)


def _required_base(job: Job, expected: Observation | None) -> Base | None:
    """Return the base that the USD has to have; None if the URDF decides.

    Our converter has to write a floating one by default.
    """
    if not (job.usd or job.own):
        return None
    option = job.requirements.base
    if option is not BaseOption.AUTO:
        return Base(option.value)
    if job.usd or expected is None or expected.base is not None:
        return None
    moves = any(COORDINATES[joint.type] for joint in expected.joints)
    weighs = any(link.mass and link.mass.mass for link in expected.links)
    return Base.FLOATING if moves or weighs else Base.STATIC


def _collider_choices(
    expected: Observation | None, rules: ColliderRules
) -> dict[str, ColliderChoice]:
    """Return the requested colliders of each link that has a rule."""
    tolerance = rules.tolerance
    return {
        link.name: ColliderChoice(kind.value, tolerance.length, tolerance.fraction)
        for link in (expected.links if expected else ())
        if (kind := rules.kind_of(link.name))
    }


def _with_variants(
    record: RobotRecord,
    subject: Subject,
    composed: ComposedUsd,
    diagnostics: Sequence[Diagnostic],
) -> RobotRecord:
    """Add the selected variants to a record.

    If links or joints differ and a variant set has no selection, that is the cause: the
    USD is not comparable, and no check is reported.
    """
    unselected = composed.unselected
    if unselected and not record.verdict.agrees:
        reason = "; ".join(unselected)
        other_structure = not record.checks or any(
            check.id in {"structure.links", "structure.joints"}
            and check.grade in {Grade.FAILS, Grade.NOT_COMPARABLE}
            for check in record.checks
        )
        if other_structure:
            others = (e for e in composed.diagnostics if e.rule != "variant-unselected")
            missing = (Diagnostic("variant-required", each) for each in unselected)
            found = (*diagnostics, *others, *missing)
            record = unread_record(subject, Verdict.NOT_COMPARABLE, reason, found)
        else:
            reason = f"{portable(reason, subject.names)}; {record.reason}"
            record = structs.replace(record, reason=reason)
    return structs.replace(record, variants=composed.selection)


def _draw(robot: _Robot, planned: _Planned, results: EngineResults, target: Path) -> None:
    """Draw the robot; there is no drawing if that fails."""
    sides = {Side.URDF.value: REFERENCE, Side.USD.value: USD_ENGINE}
    readings = {
        side: reading for side, name in sides.items() if (reading := results.observation(name))
    }
    frames = {
        engine.name: reading.frames
        for engine in results.engines
        if (reading := results.observation(engine.name)) and reading.frames
    }
    target.unlink(missing_ok=True)
    if Side.URDF.value not in readings:
        return

    def draw() -> None:
        parsed = read_kept(str(planned.file), planned.packages)
        usd = str(results.files[Side.USD])
        scene = draw_scene(parsed.robot, usd, readings, frames, planned.configurations)
        write_scene(scene, target)

    robot.steps.call("draw", draw)


def _unreadable(robot: _Robot, subject: Subject, diagnostics: Sequence[Diagnostic]) -> RobotRecord:
    """Record a URDF that our reader refuses, and which engines read it."""
    urdf = robot.job.source.path
    reason = first_error(diagnostics)
    verdict = Verdict.UNREADABLE
    if is_xacro(str(urdf)):
        rules = [found.rule for found in diagnostics]
        if subject.searched and is_part(rules, included=subject.included):
            record = unread_record(subject, Verdict.NOT_AVAILABLE, reason, diagnostics)
            return structs.replace(record, part=True)
        if subject.mirrored and "xacro-file-missing" in rules:
            verdict, reason = Verdict.NOT_AVAILABLE, f"not in the mirror: {reason}"
        elif subject.searched and "xacro-file-missing" in rules:
            verdict, reason = Verdict.NOT_AVAILABLE, f"incomplete: {reason}"
        return unread_record(subject, verdict, reason, diagnostics)
    results = observe_files(
        robot.steps,
        robot.job.engines,
        {Side.URDF: urdf},
        subject.packages,
        AT_REST,
        robot.folder,
    )
    crash = results.outcomes.get(REFERENCE)
    if isinstance(crash, Crashed):
        verdict, reason = Verdict.CRASHED, f"{REFERENCE} crashed: {crash.reason}"
    elif results.observed:
        reason += f"; {' and '.join(results.observed)} read it nevertheless"
    return judged_record(subject, Judgement((), (), verdict, reason), results, diagnostics)


def _converted_unread(robot: _Robot, subject: Subject, record: RobotRecord) -> _Examined:
    """Convert a case that our reader refuses with another converter."""
    job = robot.job
    made = _converted(robot, job.source.path, subject.packages)
    if isinstance(made, Unwritten):
        record = with_output(record, subject, made.output)
        if made.verdict is Verdict.CRASHED:
            reason = portable(made.reason, subject.names)
            return _Examined(structs.replace(record, verdict=made.verdict, reason=reason))
        return _Examined(record, made.reason)
    record = with_output(structs.replace(record, asset=made.asset), subject, made.output)
    files = {Side.USD: made.root_layer}
    results = observe_files(
        robot.steps, job.engines, files, subject.packages, AT_REST, robot.folder
    )
    return _Examined(record, results=results)


def _compared_with_case(robot: _Robot, examined: _Examined) -> CaseRecord:
    """Compare a case of the feature suite with what became of it."""
    job, record, results = robot.job, examined.record, examined.results
    assert job.source.case is not None  # noqa: S101  # as the caller knows
    expected = read_case(job.source.case.text).expected
    readings: tuple[CaseReadingRecord, ...] = ()
    if results is not None and not expected.refused:
        outcomes = _outcomes_at_poses(robot, expected, results)
        compared = robot.steps.call("case", compare_readings, expected, outcomes)
        if isinstance(compared, Crashed):
            readings = (CaseReadingRecord(engine=USD_ENGINE, reason=compared.reason),)
        else:
            readings = compared.value
    refusal = examined.refusal
    ending = judge_case(
        expected,
        readings,
        refusal=refusal and portable(refusal, job.subject.names),
        written=results is not None,
        crash=record.reason,
        rules=frozenset(one.rule for one in record.diagnostics) if job.own else None,
    )
    return _case_record(job, ending, readings)


def _outcomes_at_poses(
    robot: _Robot, expected: Expected, results: EngineResults
) -> dict[str, Outcome]:
    """Observe a USD at the configurations of a case, with every engine."""
    if not expected.poses:
        return results.of_side(Side.USD)
    return observe_side(
        robot.steps,
        results.engines,
        Side.USD,
        results.files[Side.USD],
        robot.job.packages,
        configurations_of(expected),
        "case",
    )


def _case_record(
    job: Job,
    ending: tuple[CaseOutcome, str],
    readings: tuple[CaseReadingRecord, ...] = (),
) -> CaseRecord:
    """Record a case of the feature suite, with its outcome and the reason of it."""
    where = job.source.case
    assert where is not None  # noqa: S101  # as the caller knows
    case = read_case(where.text)
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
        urdf=job.source.path.read_bytes().decode("utf-8", "replace"),
    )
