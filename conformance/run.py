"""The only orchestrator: reads, converts, asks witnesses, has them judged, records.

Everything that an engine, OpenUSD or a hostile file could bring down happens in child
processes with a time limit. Threads only wait for them, one per robot at work.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.assembly import Subject, judged_record, summary_of, unread_record
from conformance.environment import DISTRIBUTION, environment
from conformance.isolation import DEFAULT_TIMEOUT, Isolation
from conformance.observation import COORDINATES, Base
from conformance.panel import Panel, Testimony, convene
from conformance.record import RobotRecord, RunSummary, Verdict
from conformance.results import write_record
from conformance.verdict import REFERENCE, Judgement
from conformance.witness import Crashed, Side
from converter import ConvertOptions
from converter.diagnostics import (
    ConversionError,
    SourceError,
)
from converter.embodiment import BaseOption
from converter.rules import Severity
from converter.urdf.expansion import is_part, is_xacro
from corpus import UnavailableSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from conformance.observation import Observation
    from conformance.tasks import Reading
    from converter import Diagnostic
    from corpus import Resolved, RobotSource

EXTERNAL = "unknown"


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What can be chosen about a check.

    Attributes:
        base: How the robot's base shall be held; ``auto`` follows the URDF.
        packages: Folder of each ROS package, by name.
        arguments: Value of each argument of a xacro file, by name.
        witnesses: Engines to ask on the URDF besides the specification; all if empty.
        time_limit: Longest time for one task on one robot [s].
    """

    base: BaseOption = BaseOption.AUTO
    packages: tuple[tuple[str, str], ...] = ()
    arguments: tuple[tuple[str, str], ...] = ()
    witnesses: tuple[str, ...] = ()
    time_limit: float = DEFAULT_TIMEOUT


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What can be chosen about a run.

    Attributes:
        convert: Choices of the converter.
        witnesses: As in :class:`CheckOptions`; likewise the time limit.
        jobs: Robots that are worked on at the same time; one per CPU if None.
    """

    convert: ConvertOptions = field(default_factory=ConvertOptions)
    witnesses: tuple[str, ...] = ()
    jobs: int | None = None
    time_limit: float = DEFAULT_TIMEOUT

    def as_text(self) -> dict[str, str]:
        """Return the choices that change results, for the summary."""
        given = (f"{name}:={value}" for name, value in self.convert.arguments)
        arguments = {"arg": shlex.join(given)} if self.convert.arguments else {}
        return {
            **arguments,
            "bodies": self.convert.bodies.value,
            "base": self.convert.base.value,
            "massless": self.convert.massless.value,
            "merge-fixed": "yes" if self.convert.merge_fixed else "no",
            "witnesses": ", ".join(self.witnesses) or "all",
        }


CHECK_DEFAULTS = CheckOptions()
RUN_DEFAULTS = RunOptions()


def check(
    urdf: str | os.PathLike[str],
    usd: str | os.PathLike[str],
    options: CheckOptions = CHECK_DEFAULTS,
    *,
    name: str | None = None,
    reference: str | None = None,
) -> RobotRecord:
    """Compare a USD, from any converter, with its URDF.

    Args:
        urdf: URDF file, or a file that ends in ``.xacro``.
        usd: Root layer of the USD.
        options: Choices.
        name: Identifier in the record; the URDF's stem if absent.
        reference: How the URDF is named in the record; its file name if absent.

    Raises:
        SourceError: The URDF cannot be understood.
        UnknownWitnessError: A witness is named that is not installed.
    """
    urdf, usd = Path(urdf), Path(usd)
    subject = Subject(
        id=name or urdf.stem,
        reference=reference or f"file:{urdf.name}",
        converter=EXTERNAL,
        urdf=urdf,
        usd=usd.parent,
        packages=dict(options.packages),
        arguments=dict(options.arguments),
    )
    with (
        tempfile.TemporaryDirectory(prefix="urdf-usd-") as work,
        Isolation() as isolation,
    ):
        panel = convene(isolation, options.witnesses, options.time_limit)
        reading = panel.read(urdf, subject.packages, dict(options.arguments))
        match reading:
            case SourceError():
                raise reading
            case Crashed(reason):
                return unread_record(subject, Verdict.CRASHED, _reader_died(reason))
        subject = replace(subject, inputs=reading.inputs)
        said = _plain_urdf(urdf, reading, Path(work, f"{subject.id}.urdf"))
        files = {Side.URDF: said, Side.USD: usd}
        testimony = panel.hear(files, subject.packages, reading.configurations)
        base = None if options.base is BaseOption.AUTO else Base(options.base.value)
        return _judged(panel, subject, testimony, base, reading.diagnostics)


def run(
    sources: Sequence[Resolved],
    out: str | os.PathLike[str],
    options: RunOptions = RUN_DEFAULTS,
    *,
    corpus: Sequence[str] = (),
    progress: Callable[[RobotRecord], None] | None = None,
) -> RunSummary:
    """Convert and check robots; write a record of each as soon as it is finished.

    Args:
        sources: Robots, with distinct ids.
        out: Folder that receives ``results/<id>.json``, ``assets/<id>/``, and
            ``expanded/<id>.urdf`` of what is xacro.
        options: Choices.
        corpus: The references that led to the robots, for the summary.
        progress: Called with each record, in the order in which robots finish.

    Raises:
        UnknownWitnessError: A witness is named that is not installed.
    """
    folder = Path(out)
    jobs = options.jobs or _cpus()
    records: list[RobotRecord] = []
    # On an interruption the isolation is left first: it stops all children, and so
    # frees the threads that wait for them.
    with ThreadPoolExecutor(jobs) as threads, Isolation(jobs) as isolation:
        panel = convene(isolation, options.witnesses, options.time_limit)
        futures = [
            threads.submit(_robot_record, panel, source, folder, options)
            for source in sources
        ]
        try:
            for future in as_completed(futures):
                record = future.result()
                write_record(record, folder / "results" / f"{record.id}.json")
                records.append(record)
                if progress:
                    progress(record)
        finally:
            threads.shutdown(wait=False, cancel_futures=True)
    return summarise(records, options, corpus)


def summarise(
    records: Iterable[RobotRecord], options: RunOptions, corpus: Sequence[str]
) -> RunSummary:
    """Sum up the records of a run, also of one that was interrupted."""
    return summary_of(records, corpus, options.as_text())


def _robot_record(
    panel: Panel, source: Resolved, out: Path, options: RunOptions
) -> RobotRecord:
    converter = f"{DISTRIBUTION} {environment()[DISTRIBUTION]}"
    if isinstance(source, UnavailableSource):
        subject = Subject(source.id, source.reference, converter, origin=source.origin)
        return unread_record(subject, Verdict.NOT_AVAILABLE, source.reason)
    packages = {name: str(folder) for name, folder in source.packages}
    packages |= dict(options.convert.packages)
    arguments = dict(source.arguments) | dict(options.convert.arguments)
    subject = Subject(
        id=source.id,
        reference=source.reference,
        converter=converter,
        urdf=source.path,
        usd=out / "assets" / source.id,
        packages=packages,
        arguments=arguments,
        origin=source.origin,
        notes=source.notes,
        searched=source.searched,
    )
    choices = replace(
        options.convert,
        base=_held(options.convert.base, source),
        packages=tuple(packages.items()),
        arguments=tuple(arguments.items()),
    )
    return _converted_record(panel, source.path, out, subject, choices)


def _held(option: BaseOption, source: RobotSource) -> BaseOption:
    """Say how a base is to be held: as the user says, or whoever lists the robot."""
    if option is BaseOption.AUTO and source.base:
        return BaseOption(source.base)
    return option


def _converted_record(
    panel: Panel, urdf: Path, out: Path, subject: Subject, options: ConvertOptions
) -> RobotRecord:
    reading = panel.read(urdf, subject.packages, dict(options.arguments))
    match reading:
        case SourceError(diagnostics=found):
            return _unreadable(panel, subject, urdf, found)
        case Crashed(reason):
            return unread_record(subject, Verdict.CRASHED, _reader_died(reason))
    subject = replace(subject, inputs=reading.inputs)
    conversion = panel.convert(urdf, out / "assets" / subject.id, options)
    match conversion:
        case ConversionError(diagnostics=found):
            reason = f"no USD was written: {_first_error(found)}"
            return unread_record(subject, Verdict.NOT_COMPARABLE, reason, found)
        case Crashed(reason):
            return unread_record(
                subject,
                Verdict.CRASHED,
                f"the converter died: {reason}",
                reading.diagnostics,
            )
    said = _plain_urdf(urdf, reading, out / "expanded" / f"{subject.id}.urdf")
    files = {Side.URDF: said, Side.USD: conversion.root_layer}
    testimony = panel.hear(files, subject.packages, reading.configurations)
    base = _required_base(options.base, testimony.observation(REFERENCE))
    return _judged(panel, subject, testimony, base, conversion.diagnostics)


def _plain_urdf(urdf: Path, reading: Reading, file: Path) -> Path:
    """Return what engines can read: the URDF, or its expansion written to a file."""
    if reading.expanded is None:
        return urdf
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(reading.expanded)
    return file


def _unreadable(
    panel: Panel, subject: Subject, urdf: Path, diagnostics: Sequence[Diagnostic]
) -> RobotRecord:
    """Record a URDF that we refuse, and which engines read it all the same."""
    if is_xacro(str(urdf)):
        reason = _first_error(diagnostics)
        if subject.searched and is_part(found.rule for found in diagnostics):
            reason = f"not a robot by itself: {reason}"
            return unread_record(subject, Verdict.NOT_AVAILABLE, reason, diagnostics)
        return unread_record(subject, Verdict.UNREADABLE, reason, diagnostics)
    testimony = panel.hear({Side.URDF: urdf}, subject.packages)
    reason = _first_error(diagnostics)
    if testimony.heard:
        reason += f"; {' and '.join(testimony.heard)} read it all the same"
    judgement = Judgement((), (), Verdict.UNREADABLE, reason)
    return judged_record(subject, judgement, testimony, diagnostics)


def _judged(
    panel: Panel,
    subject: Subject,
    testimony: Testimony,
    base: Base | None,
    diagnostics: Sequence[Diagnostic],
) -> RobotRecord:
    judgement = panel.judge(testimony, base)
    if isinstance(judgement, Crashed):
        reason = f"the comparison died: {judgement.reason}"
        judgement = Judgement((), (), Verdict.CRASHED, reason)
    return judged_record(subject, judgement, testimony, diagnostics)


def _required_base(option: BaseOption, spec: Observation | None) -> Base | None:
    """Say how our converter has to hold the base: floating unless told otherwise."""
    if option is not BaseOption.AUTO:
        return Base(option.value)
    if spec is None or spec.base is not None:
        return None
    moves = any(COORDINATES[joint.type] for joint in spec.joints)
    weighs = any(link.mass and link.mass.mass for link in spec.links)
    return Base.FLOATING if moves or weighs else Base.STATIC


def _first_error(diagnostics: Sequence[Diagnostic]) -> str:
    errors = [found for found in diagnostics if found.severity is Severity.ERROR]
    first = (errors or list(diagnostics))[0]
    place = f"line {first.location.line}: " if first.location else ""
    return f"{place}{first.message}"


def _cpus() -> int:
    """Count the CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _reader_died(reason: str) -> str:
    return f"the URDF reader died: {reason}"
