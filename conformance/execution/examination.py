"""One robot from its source to its record: read, convert, observe, judge, draw.

Everything that a library or a hostile file could crash is a step, or a request to
a worker (:mod:`urdf_usd.conformance.execution.workers.steps`).
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from msgspec import structs

from urdf_usd.conformance.converters.candidates import OWN, Candidate, ReadyUsds
from urdf_usd.conformance.engines.protocol import Crashed, Side
from urdf_usd.conformance.execution.assembly import (
    Subject,
    judged_record,
    source_record,
    unread_record,
    with_output,
)
from urdf_usd.conformance.execution.conversion import (
    CONVERTER_CRASHED,
    Order,
    Unwritten,
    first_error,
    make_usd,
)
from urdf_usd.conformance.execution.engine_set import EngineResults, EngineSet
from urdf_usd.conformance.execution.fingerprint import Programs, fingerprint
from urdf_usd.conformance.execution.portable_text import portable
from urdf_usd.conformance.execution.run_folder import discard_former, expansion_path
from urdf_usd.conformance.execution.tasks import (
    InstalledEngine,
    Reading,
    lint_robot,
    read_robot,
)
from urdf_usd.conformance.execution.usd_limits import refused_record
from urdf_usd.conformance.execution.workers.limits import DEFAULT_LIMITS, Limits
from urdf_usd.conformance.execution.workers.serving import Completed
from urdf_usd.conformance.execution.workers.steps import Interrupted, Steps, run_steps
from urdf_usd.conformance.execution.workers.worker import WorkerPool
from urdf_usd.conformance.observation.robot import COORDINATES, Base, Observation
from urdf_usd.conformance.records.record import RobotRecord, Verdict
from urdf_usd.conformance.records.results import write_seconds
from urdf_usd.conformance.records.scene import scene_path
from urdf_usd.conformance.verdict.judgement import REFERENCE, Judgement
from urdf_usd.converter import ConvertOptions, Diagnostic
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.meshes.read import cached_meshes
from urdf_usd.converter.robot.bodies import BaseOption
from urdf_usd.converter.urdf.xacro.expansion import is_part, is_xacro
from urdf_usd.corpus import RobotSource

# Hashes of what was read of a robot.
_Read: TypeAlias = tuple[str, ...]
# Begin of the reason of a crash, by step; for converters see `conversion`.
_READER_CRASHED = "the URDF reader crashed"
_LINT_CRASHED = "lint crashed"
_REFERENCE_CRASHED = f"{REFERENCE} crashed"
_COMPARISON_CRASHED = "the comparison crashed"


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

    @property
    def place(self) -> str:
        """Its path within each folder of the run, without a suffix."""
        name = self.source.id
        return f"{self.candidate.name}/{name}" if self.compared else name


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The result in the folder of the run is still valid."""


@dataclass(frozen=True, slots=True)
class _Fallback:
    """The record of a robot whose process ends in a step.

    Attributes:
        record: The record.
        crash_reason: Begin of the reason; None if the record needs no such step.
    """

    record: RobotRecord
    crash_reason: str | None


def examine_isolated(
    pool: WorkerPool,
    assignment: Assignment,
    variables: Mapping[str, str],
    *,
    parallel: bool = False,
) -> RobotRecord | Unchanged:
    """Examine a robot in a worker; a crash becomes part of the record.

    Args:
        pool: Where workers are started.
        assignment: The robot.
        variables: To be set in the environment of the workers.
        parallel: Whether its engines run at the same time.

    Raises:
        CancelledError: The pool was closed meanwhile.
    """
    ending = run_steps(
        pool,
        _examine_with,
        assignment,
        variables,
        timeout=assignment.limits.time,
        parallel=parallel,
    )
    if isinstance(ending, Completed):
        return ending.value
    discard_former(assignment.out, assignment.place)
    return crashed_record(subject_of(assignment), ending)


def crashed_record(subject: Subject, ending: Crashed | Interrupted) -> RobotRecord:
    """Record a robot whose process crashed.

    Args:
        subject: The robot, of which nothing was read.
        ending: How the process crashed.
    """
    match ending:
        case Interrupted(_, _Fallback(record, None)):
            return record
        case Interrupted(crash, _Fallback(record, crash_reason)):
            return structs.replace(record, reason=f"{crash_reason}: {crash.reason}")
        case Interrupted(crash):
            return unread_record(subject, Verdict.CRASHED, crash.reason)
        case Crashed(reason):
            return unread_record(subject, Verdict.CRASHED, reason)


def _examine_with(
    steps: Steps, assignment: Assignment, variables: Mapping[str, str]
) -> RobotRecord | Unchanged:
    os.environ.update(variables)
    begin = time.perf_counter()
    with cached_meshes():
        result = examine(steps, assignment)
    if assignment.timed and isinstance(result, RobotRecord):
        took = time.perf_counter() - begin
        write_seconds(assignment.out, assignment.place, examination=took)
    return result


def examine(steps: Steps, assignment: Assignment) -> RobotRecord | Unchanged:
    """Convert a robot and compare the USD with it.

    Args:
        steps: Runs the work.
        assignment: The robot.
    """
    subject = subject_of(assignment)
    options = replace(
        assignment.options,
        base=_base_option(assignment.options.base, assignment.source),
        packages=tuple(subject.packages.items()),
        arguments=tuple(subject.arguments.items()),
    )

    def fingerprint_of(
        subject: Subject, limits: Limits | None, read: _Read = ()
    ) -> str:
        # Names decide which layer of another converter is the root layer.
        names = () if assignment.candidate == OWN else assignment.names
        searched = subject.searched, subject.included, subject.mirrored
        robot = (source_record(subject), searched, names, read)
        return fingerprint(
            robot, options, assignment.engines, limits, assignment.programs
        )

    # Limits only matter to a result if something crashed.
    in_limits = fingerprint_of(subject, assignment.limits)

    def fall_back(record: RobotRecord, crash_reason: str | None) -> None:
        if crash_reason is not None:
            record = structs.replace(record, verdict=Verdict.CRASHED)
        record = structs.replace(record, fingerprint=in_limits)
        steps.fall_back(_Fallback(record, crash_reason))

    fall_back(_crashed(subject), _READER_CRASHED)
    reading = steps.call(
        read_robot,
        str(assignment.source.path),
        subject.packages,
        subject.arguments,
        subject.environment,
    )
    if isinstance(reading, Crashed):
        discard_former(assignment.out, assignment.place)
        reason = f"{_READER_CRASHED}: {reading.reason}"
        record = unread_record(subject, Verdict.CRASHED, reason)
        return structs.replace(record, fingerprint=in_limits)
    read = _read_of(subject, reading.value, assignment.root)
    if not isinstance(reading.value, SourceError):
        own = assignment.candidate == OWN
        subject = replace(
            subject,
            inputs=reading.value.inputs,
            ledger=reading.value.ledger if own else (),
        )
    in_limits = fingerprint_of(subject, assignment.limits, read)
    without_limits = fingerprint_of(subject, None, read)
    same = {without_limits}
    if not assignment.retry:
        same.add(in_limits)
    # Ready USDs may have changed since.
    ready = isinstance(assignment.candidate, ReadyUsds)
    if assignment.former in same and not ready:
        return Unchanged()
    discard_former(assignment.out, assignment.place)
    examination = _Examination(
        steps, EngineSet(steps, assignment.engines), assignment, options, fall_back
    )
    record = examination.examine(subject, reading.value)
    broke = steps.crashed or record.verdict is Verdict.CRASHED
    return structs.replace(record, fingerprint=in_limits if broke else without_limits)


def examine_pair(  # noqa: PLR0913, PLR0917  # a call from another process
    steps: Steps,
    subject: Subject,
    usd: Path,
    engines: tuple[InstalledEngine, ...],
    base: BaseOption,
    scene: Path | None = None,
) -> RobotRecord | SourceError:
    """Compare a USD, from any converter, with its URDF.

    Args:
        steps: Runs the work.
        subject: The URDF, and what else the record says of the robot.
        usd: Root layer of the USD.
        engines: The engines.
        base: The base that the USD has to have; ``auto`` if the URDF decides.
        scene: File of the drawing, if there is to be one.

    Returns:
        The record; or why the URDF cannot be read.
    """
    urdf = subject.urdf
    if urdf is None:
        raise ValueError("there is nothing to compare with")

    def fall_back(record: RobotRecord, crash_reason: str | None) -> None:
        if crash_reason is not None:
            record = structs.replace(record, verdict=Verdict.CRASHED)
        steps.fall_back(_Fallback(record, crash_reason))

    engine_set = EngineSet(steps, engines)
    fall_back(_crashed(subject), _READER_CRASHED)
    ending = steps.call(
        read_robot,
        str(urdf),
        subject.packages,
        subject.arguments,
        subject.environment,
    )
    if isinstance(ending, Crashed):
        reason = f"{_READER_CRASHED}: {ending.reason}"
        return unread_record(subject, Verdict.CRASHED, reason)
    reading = ending.value
    if isinstance(reading, SourceError):
        return reading
    subject = replace(subject, inputs=reading.inputs)
    if refused := refused_record(steps, subject, usd):
        return refused
    packages, configurations = subject.packages, reading.configurations
    with tempfile.TemporaryDirectory(prefix="urdf-usd-") as work:
        plain = _plain_urdf(urdf, reading, Path(work, f"{subject.id}.urdf"))
        requests = (
            engine_set.request(Side.URDF, plain, packages, configurations),
            engine_set.request(Side.USD, usd, packages, configurations),
        )
        linted = _lint(steps, subject, fall_back)
        if isinstance(linted, RobotRecord):
            return linted
        fall_back(_crashed(linted, reading.diagnostics), _REFERENCE_CRASHED)
        results = engine_set.observe(requests, packages, configurations, Path(work))
        required = None if base is BaseOption.AUTO else Base(base.value)
        record = _judge(
            engine_set, linted, results, required, reading.diagnostics, fall_back
        )
        if scene:
            fall_back(record, None)
            engine_set.draw(packages, results, configurations, scene)
    return record


@dataclass(frozen=True, slots=True)
class _Examination:
    """The conversion and comparison of a robot that was read.

    Attributes:
        steps: Runs the work.
        engine_set: The engines.
        assignment: The robot.
        options: Of the conversion.
        fall_back: Sets the record for the case that the process ends.
    """

    steps: Steps
    engine_set: EngineSet
    assignment: Assignment
    options: ConvertOptions
    fall_back: Callable[[RobotRecord, str | None], None]

    def examine(self, subject: Subject, reading: Reading | SourceError) -> RobotRecord:
        """Convert and compare."""
        if isinstance(reading, SourceError):
            return self._unreadable(subject, reading.diagnostics)
        out, place = self.assignment.out, self.assignment.place
        own = self.assignment.candidate == OWN
        packages, configurations = subject.packages, reading.configurations
        urdf = self.assignment.source.path
        plain = _plain_urdf(urdf, reading, expansion_path(out, place))
        # In parallel, the engines of the URDF run during lint and conversion.
        there = self.engine_set.request(Side.URDF, plain, packages, configurations)
        linted = _lint(self.steps, subject, self.fall_back)
        if isinstance(linted, RobotRecord):
            return linted
        order = Order(
            urdf=urdf,
            plain=plain,
            directory=out / "assets" / place,
            options=self.options,
            packages=dict(reading.packages) | dict(packages),
            names=self.assignment.names,
            timeout=self.assignment.limits.time,
        )
        self.fall_back(_crashed(linted, reading.diagnostics), CONVERTER_CRASHED)
        made = make_usd(self.steps, self.assignment.candidate, order)
        if isinstance(made, Unwritten):
            found = made.diagnostics
            if found is None:
                found = reading.diagnostics
            record = unread_record(linted, made.verdict, made.reason, found)
            return with_output(record, linted, made.output)
        if made.seconds is not None and (
            self.assignment.compared or self.assignment.timed
        ):
            write_seconds(out, place, made.seconds)
        if not own and (
            refused := refused_record(self.steps, subject, made.root_layer)
        ):
            return with_output(refused, subject, made.output)
        diagnostics = made.diagnostics if own else reading.diagnostics
        self.fall_back(_crashed(linted, diagnostics), _REFERENCE_CRASHED)
        here = self.engine_set.request(
            Side.USD, made.root_layer, packages, configurations
        )
        with tempfile.TemporaryDirectory(prefix="urdf-usd-") as work:
            results = self.engine_set.observe(
                (there, here), packages, configurations, Path(work)
            )
            base = None
            if own:
                base = _required_base(self.options.base, results.observation(REFERENCE))
            record = _judge(
                self.engine_set, linted, results, base, diagnostics, self.fall_back
            )
            record = structs.replace(record, asset=made.asset)
            record = with_output(record, subject, made.output)
            self.fall_back(record, None)
            self.engine_set.draw(
                packages, results, configurations, scene_path(out, place)
            )
        return record

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
        self.fall_back(_crashed(subject, diagnostics), _REFERENCE_CRASHED)
        requests = self.engine_set.request(Side.URDF, urdf, subject.packages)
        results = self.engine_set.observe((requests,), subject.packages)
        reason = first_error(diagnostics)
        if results.observed:
            reason += f"; {' and '.join(results.observed)} read it nevertheless"
        judgement = Judgement((), (), Verdict.UNREADABLE, reason)
        return judged_record(subject, judgement, results, diagnostics)


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


def _crashed(subject: Subject, diagnostics: Sequence[Diagnostic] = ()) -> RobotRecord:
    """Return the record of a robot whose process ends; the reason is added then."""
    return unread_record(subject, Verdict.CRASHED, "", diagnostics)


def _lint(
    steps: Steps, subject: Subject, fall_back: Callable[[RobotRecord, str | None], None]
) -> Subject | RobotRecord:
    """Add the findings of lint to a subject; return a record if it crashes."""
    fall_back(_crashed(subject), _LINT_CRASHED)
    ending = steps.call(
        lint_robot,
        str(subject.urdf),
        subject.packages,
        subject.arguments,
        subject.environment,
    )
    if isinstance(ending, Crashed):
        reason = f"{_LINT_CRASHED}: {ending.reason}"
        return unread_record(subject, Verdict.CRASHED, reason)
    return replace(subject, findings=ending.value)


def _judge(  # noqa: PLR0913, PLR0917  # what a record is made of
    engine_set: EngineSet,
    subject: Subject,
    results: EngineResults,
    base: Base | None,
    diagnostics: Sequence[Diagnostic],
    fall_back: Callable[[RobotRecord, str | None], None],
) -> RobotRecord:
    """Compare the outcomes of engines, and record the judgement."""
    crashed = Judgement((), (), Verdict.CRASHED, "")
    fall_back(
        judged_record(subject, crashed, results, diagnostics), _COMPARISON_CRASHED
    )
    ending = engine_set.judge(results, base)
    if isinstance(ending, Crashed):
        judgement = replace(crashed, reason=f"{_COMPARISON_CRASHED}: {ending.reason}")
    else:
        judgement = ending.value
    return judged_record(subject, judgement, results, diagnostics)


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


def _required_base(option: BaseOption, spec: Observation | None) -> Base | None:
    """Return the base that our converter has to write: floating by default."""
    if option is not BaseOption.AUTO:
        return Base(option.value)
    if spec is None or spec.base is not None:
        return None
    moves = any(COORDINATES[joint.type] for joint in spec.joints)
    weighs = any(link.mass and link.mass.mass for link in spec.links)
    return Base.FLOATING if moves or weighs else Base.STATIC
