"""What is done with one robot: read, convert, ask, judge, record.

Everything that an engine, OpenUSD or a hostile file could bring down is a step (see
:mod:`urdf_usd.conformance.execution.workers.journal`).
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from urdf_usd.conformance.converters.candidates import OWN, ReadyUsds
from urdf_usd.conformance.engines.protocol import Crashed, Side
from urdf_usd.conformance.execution.assembly import (
    Subject,
    judged_record,
    source_record,
    unread_record,
    with_output,
)
from urdf_usd.conformance.execution.conversion import (
    Order,
    Unwritten,
    first_error,
    plan_making,
)
from urdf_usd.conformance.execution.engine_set import EngineResults, EngineSet
from urdf_usd.conformance.execution.fingerprint import fingerprint
from urdf_usd.conformance.execution.usd_limits import refused_record
from urdf_usd.conformance.execution.workers.journal import outlive
from urdf_usd.conformance.execution.workers.limits import DEFAULT_LIMITS, Limits
from urdf_usd.conformance.observation.robot import COORDINATES, Base
from urdf_usd.conformance.records.record import RobotRecord, Verdict
from urdf_usd.conformance.records.results import write_seconds
from urdf_usd.conformance.records.scene import scene_path
from urdf_usd.conformance.verdict.judgement import REFERENCE, Judgement
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.meshes.read import cached_meshes
from urdf_usd.converter.robot.bodies import BaseOption
from urdf_usd.converter.urdf.xacro.expansion import is_part, is_xacro

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from urdf_usd.conformance.converters.candidates import Candidate
    from urdf_usd.conformance.execution.tasks import InstalledEngine, Reading
    from urdf_usd.conformance.execution.workers.isolation import Isolation
    from urdf_usd.conformance.execution.workers.journal import Step, Steps
    from urdf_usd.conformance.observation.robot import Observation
    from urdf_usd.converter import ConvertOptions, Diagnostic
    from urdf_usd.converter.lint import Finding
    from urdf_usd.corpus import RobotSource


@dataclass(frozen=True, slots=True)
class Assignment:
    """One robot of a run, and what is to be done with it.

    Attributes:
        source: The robot.
        out: Folder of the run.
        options: How it is converted.
        engines: Who is asked.
        limits: What its process may take.
        former: Fingerprint of a result that is there already.
        retry: Whether a robot is examined again if something broke the last time.
        candidate: Who makes its USD.
        compared: Whether other converters do so too in this run.
        names: What a USD of it may be called that was made elsewhere.
        timed: Whether to write down how long it takes.
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

    @property
    def place(self) -> str:
        """Where the folder of the run keeps what concerns it, below each folder."""
        name = self.source.id
        return f"{self.candidate.name}/{name}" if self.compared else name


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The result that is there already is the one that there would be."""


def survive(
    isolation: Isolation, assignment: Assignment, variables: Mapping[str, str]
) -> RobotRecord | Unchanged:
    """Examine a robot in processes of its own, whatever becomes of them.

    Args:
        isolation: Where they are started.
        assignment: What is to be done.
        variables: Of the environment, to be set there.
    """
    ending = outlive(
        isolation,
        _examine_with,
        assignment,
        variables,
        timeout=assignment.limits.time,
    )
    if isinstance(ending, Crashed):
        subject = subject_of(assignment)
        return unread_record(subject, Verdict.CRASHED, ending.reason)
    return ending.value


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
        steps: Where it is done.
        assignment: What is to be done.
    """
    subject = subject_of(assignment)
    options = replace(
        assignment.options,
        base=_held(assignment.options.base, assignment.source),
        packages=tuple(subject.packages.items()),
        arguments=tuple(subject.arguments.items()),
    )
    engine_set = EngineSet(steps, assignment.engines)
    reading = engine_set.read(
        assignment.source.path, subject.packages, subject.arguments
    )
    if not isinstance(reading, SourceError | Crashed):
        own = assignment.candidate == OWN
        subject = replace(
            subject,
            inputs=reading.inputs,
            ledger=reading.ledger if own else (),
        )
    source = source_record(subject)

    def print_of(limits: Limits | None) -> str:
        by = assignment.candidate
        made_by = by.name, by.title, by.recipe
        return fingerprint(source, options, assignment.engines, limits, made_by)

    # How long something may take matters where it took too long.
    same = {print_of(None)}
    if not assignment.retry:
        same.add(print_of(assignment.limits))
    # Nobody says whether files that were made elsewhere are still the same.
    ready = isinstance(assignment.candidate, ReadyUsds)
    if assignment.former in same and not ready:
        return Unchanged()
    record = _examined(engine_set, subject, reading, assignment, options)
    broke = steps.crashed or record.verdict is Verdict.CRASHED
    limits = assignment.limits if broke else None
    return structs.replace(record, fingerprint=print_of(limits))


def examine_pair(  # noqa: PLR0913, PLR0917  # a call to a process of its own
    steps: Steps,
    subject: Subject,
    usd: Path,
    engines: tuple[InstalledEngine, ...],
    base: BaseOption,
    scene: Path | None = None,
) -> RobotRecord | SourceError:
    """Compare a USD, from any converter, with its URDF.

    Args:
        steps: Where it is done.
        subject: The URDF, and what the record says of it.
        usd: Root layer of the USD.
        engines: Who is asked.
        base: How the base has to be held; ``auto`` if the URDF alone decides.
        scene: File of the drawing, if there shall be one.

    Returns:
        The record; or why the URDF cannot be understood.
    """
    urdf = subject.urdf
    if urdf is None:
        raise ValueError("there is nothing to compare with")
    engine_set = EngineSet(steps, engines)
    reading = engine_set.read(urdf, subject.packages, subject.arguments)
    match reading:
        case SourceError():
            return reading
        case Crashed(reason):
            return unread_record(subject, Verdict.CRASHED, _reader_died(reason))
    subject = replace(subject, inputs=reading.inputs)
    if refused := refused_record(steps, subject, usd):
        return refused
    packages, asked = subject.packages, reading.configurations
    lint = engine_set.lint(urdf, packages, subject.arguments)
    steps.begin(lint)
    wanted = None if base is BaseOption.AUTO else Base(base.value)
    with tempfile.TemporaryDirectory(prefix="urdf-usd-") as work:
        said = _plain_urdf(urdf, reading, Path(work, f"{subject.id}.urdf"))
        there = engine_set.inquire(Side.URDF, said, packages, asked)
        here = engine_set.inquire(Side.USD, usd, packages, asked)
        engine_set.begin(there, here)
        results = engine_set.observe((there, here), packages, asked, Path(work))
        judging = engine_set.judge(results, wanted)
        if scene:
            steps.begin(judging)
            engine_set.draw(packages, results, asked, scene)
    return _judged(subject, results, judging, lint, reading.diagnostics)


def subject_of(assignment: Assignment) -> Subject:
    """Say what a record of a robot is about, before anything is read."""
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
        origin=source.origin,
        notes=source.notes,
        searched=source.searched,
        mirrored=source.mirrored,
        profile=(
            assignment.options.profile.value if assignment.candidate == OWN else None
        ),
    )


def _held(option: BaseOption, source: RobotSource) -> BaseOption:
    """Say how a base is to be held: as the user says, or whoever lists the robot."""
    if option is BaseOption.AUTO and source.base:
        return BaseOption(source.base)
    return option


def _examined(
    engine_set: EngineSet,
    subject: Subject,
    reading: Reading | SourceError | Crashed,
    assignment: Assignment,
    options: ConvertOptions,
) -> RobotRecord:
    urdf = assignment.source.path
    match reading:
        case SourceError(diagnostics=found):
            return _unreadable(engine_set, subject, urdf, found)
        case Crashed(reason):
            return unread_record(subject, Verdict.CRASHED, _reader_died(reason))
    out, place = assignment.out, assignment.place
    said = _plain_urdf(urdf, reading, out / "expanded" / f"{place}.urdf")
    order = Order(
        urdf=urdf,
        plain=said,
        directory=out / "assets" / place,
        options=options,
        packages=dict(reading.packages) | dict(subject.packages),
        names=assignment.names,
        timeout=assignment.limits.time,
    )
    packages, asked = subject.packages, reading.configurations
    lint = engine_set.lint(urdf, packages, subject.arguments)
    making = plan_making(engine_set.steps, assignment.candidate, order)
    # The two share meshes that are read.
    engine_set.steps.begin(making.step, lint)
    there = engine_set.inquire(Side.URDF, said, packages, asked)
    engine_set.begin(there)
    made = making.outcome()
    if isinstance(made, Unwritten):
        found = reading.diagnostics if made.diagnostics is None else made.diagnostics
        return with_output(_unwritten(subject, made, lint, found), subject, made.output)
    wanted = assignment.compared or assignment.timed
    if wanted and made.seconds is not None:
        write_seconds(out, place, made.seconds)
    foreign = assignment.candidate != OWN
    if foreign and (
        refused := refused_record(engine_set.steps, subject, made.root_layer)
    ):
        return with_output(refused, subject, made.output)
    here = engine_set.inquire(Side.USD, made.root_layer, packages, asked)
    engine_set.begin(here)
    with tempfile.TemporaryDirectory(prefix="urdf-usd-") as work:
        results = engine_set.observe((there, here), packages, asked, Path(work))
        base = None
        if assignment.candidate == OWN:
            base = _required_base(options.base, results.observation(REFERENCE))
        judging = engine_set.judge(results, base)
        engine_set.steps.begin(judging)
        engine_set.draw(packages, results, asked, scene_path(out, place))
    own = made.diagnostics if assignment.candidate == OWN else reading.diagnostics
    record = _judged(subject, results, judging, lint, own)
    record = structs.replace(record, asset=made.asset)
    return with_output(record, subject, made.output)


def _plain_urdf(urdf: Path, reading: Reading, file: Path) -> Path:
    """Return what engines can read: the URDF, or its expansion written to a file."""
    if reading.expanded is None:
        return urdf
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(reading.expanded)
    return file


def _unreadable(
    engine_set: EngineSet,
    subject: Subject,
    urdf: Path,
    diagnostics: Sequence[Diagnostic],
) -> RobotRecord:
    """Record a URDF that we refuse, and which engines read it all the same."""
    if is_xacro(str(urdf)):
        reason = first_error(diagnostics)
        rules = [found.rule for found in diagnostics]
        verdict = Verdict.UNREADABLE
        if subject.searched and is_part(rules):
            verdict, reason = Verdict.NOT_AVAILABLE, f"not a robot by itself: {reason}"
        elif subject.mirrored and "xacro-file-missing" in rules:
            verdict, reason = Verdict.NOT_AVAILABLE, f"not in the mirror: {reason}"
        return unread_record(subject, verdict, reason, diagnostics)
    asked = engine_set.inquire(Side.URDF, urdf, subject.packages)
    engine_set.begin(asked)
    results = engine_set.observe((asked,), subject.packages)
    reason = first_error(diagnostics)
    if results.heard:
        reason += f"; {' and '.join(results.heard)} read it all the same"
    judgement = Judgement((), (), Verdict.UNREADABLE, reason)
    return judged_record(subject, judgement, results, diagnostics)


def _unwritten(
    subject: Subject,
    made: Unwritten,
    lint: Step[tuple[Finding, ...]],
    diagnostics: Sequence[Diagnostic],
) -> RobotRecord:
    linted = _linted(subject, lint)
    if isinstance(linted, RobotRecord):
        return linted
    return unread_record(linted, made.verdict, made.reason, diagnostics)


def _judged(
    subject: Subject,
    results: EngineResults,
    judging: Step[Judgement],
    lint: Step[tuple[Finding, ...]],
    diagnostics: Sequence[Diagnostic],
) -> RobotRecord:
    ending = judging.ending()
    linted = _linted(subject, lint)
    if isinstance(linted, RobotRecord):
        return linted
    if isinstance(ending, Crashed):
        reason = f"the comparison died: {ending.reason}"
        judgement = Judgement((), (), Verdict.CRASHED, reason)
    else:
        judgement = ending.value
    return judged_record(linted, judgement, results, diagnostics)


def _linted(subject: Subject, lint: Step[tuple[Finding, ...]]) -> Subject | RobotRecord:
    """Add to a subject what lint finds; a record if lint finds its end."""
    ending = lint.ending()
    if isinstance(ending, Crashed):
        reason = f"lint died: {ending.reason}"
        return unread_record(subject, Verdict.CRASHED, reason)
    return replace(subject, findings=ending.value)


def _required_base(option: BaseOption, spec: Observation | None) -> Base | None:
    """Say how our converter has to hold the base: floating unless told otherwise."""
    if option is not BaseOption.AUTO:
        return Base(option.value)
    if spec is None or spec.base is not None:
        return None
    moves = any(COORDINATES[joint.type] for joint in spec.joints)
    weighs = any(link.mass and link.mass.mass for link in spec.links)
    return Base.FLOATING if moves or weighs else Base.STATIC


def _reader_died(reason: str) -> str:
    return f"the URDF reader died: {reason}"
