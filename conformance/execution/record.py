"""Robot records and run summaries from outcomes, conversions and judgements.

What depends on the machine (paths, temporary names) is removed here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field, structs

from urdf_usd.conformance.checks.catalogue import (
    CHECKS,
    ROUND_TRIP_CHECKS,
    SIMULATION_CHECKS,
)
from urdf_usd.conformance.converters.candidates import OURS, Candidate
from urdf_usd.conformance.engines.protocol import (
    Abstained,
    Available,
    Crashed,
    Observed,
    Outcome,
    Unavailable,
)
from urdf_usd.conformance.execution.coverage import losses
from urdf_usd.conformance.execution.engines import USD_ENGINE, EngineResults, InstalledEngine
from urdf_usd.conformance.execution.portable_text import (
    FolderNames,
    folder_names,
    portable,
    portable_path,
)
from urdf_usd.conformance.observation.robot import (
    JointObservation,
    JointType,
    Observation,
)
from urdf_usd.conformance.verdict.judged import REFERENCE, Judgement
from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.diagnostics.messages import group_alike
from urdf_usd.converter.file_content import InputFile
from urdf_usd.corpus import UnavailableSource
from urdf_usd.corpus.robots import NOWHERE, Origin
from urdf_usd.reports.records.environment import environment
from urdf_usd.reports.records.record import (
    CheckHeading,
    CheckRecord,
    ConverterRecord,
    DiagnosticRecord,
    EngineRecord,
    EngineStatus,
    FileRecord,
    LedgerRecord,
    RobotRecord,
    RobotSummary,
    RunSummary,
    SourceRecord,
    Value,
    Verdict,
)
from urdf_usd.reports.summary import chapter_scores

# Largest file of which lines are quoted, in bytes, and longest quote.
_LARGEST_QUOTED = 16 * 1024 * 1024
_LONGEST_QUOTE = 240
# Independent coordinates per joint type.
_FREEDOMS = {
    JointType.REVOLUTE: 1,
    JointType.CONTINUOUS: 1,
    JointType.PRISMATIC: 1,
    JointType.PLANAR: 3,
    JointType.FIXED: 0,
    JointType.FLOATING: 6,
    JointType.SPHERICAL: 3,
}


class Subject(Struct, frozen=True):
    """The robot of a record.

    Attributes:
        id: Identifier of the robot.
        reference: Its reference in a corpus.
        converter: Name and version of the converter.
        urdf: Its file; None if it is not available.
        usd: Folder of its USD.
        packages: Folder of each ROS package, by name.
        arguments: Value of each argument of a xacro file, by name.
        environment: Names of environment variables that xacro may read.
        origin: Where its files come from.
        notes: Notes of the list that names it.
        inputs: Its files, if it could be read.
        findings: Of lint, likewise.
        ledger: Coverage, if the converter is ours.
        searched: Whether a search found it: it may be a part of a robot.
        included: Whether another xacro file of the same folder includes it.
        mirrored: Whether its files are a copy that may be incomplete.
        profile: Target simulator or standard, if the converter is ours.
        candidate: Name of the converter in the run.
        digest: SHA-256 of its file, if it could not be read.
        scratch: Folder of temporary files.
    """

    id: str
    reference: str
    converter: str
    urdf: Path | None = None
    usd: Path | None = None
    packages: Mapping[str, str] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)
    environment: tuple[str, ...] = ()
    origin: Origin = NOWHERE
    notes: str | None = None
    inputs: tuple[InputFile, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
    ledger: tuple[LedgerRecord, ...] = ()
    searched: bool = False
    included: bool = False
    mirrored: bool = False
    profile: str | None = None
    candidate: str = ""
    digest: str | None = None
    scratch: Path | None = None

    @property
    def names(self) -> FolderNames:
        """What stands for folders in records."""
        folders: dict[str, Path] = {}
        if self.urdf:
            above = self.urdf.absolute().parents
            # Meshes are more often in a sibling of the URDF's folder than in it.
            folders |= dict(zip(("", "..", "../.."), above, strict=False))
        if self.usd:
            folders["<usd>"] = self.usd
        if self.scratch:
            folders["<temporary>"] = self.scratch
        for name, folder in self.packages.items():
            folders[f"package://{name}"] = Path(folder)
        return folder_names(folders)


def unavailable_record(source: UnavailableSource, candidate: Candidate) -> RobotRecord:
    """Record a robot that is not available here."""
    subject = Subject(
        source.id,
        source.reference,
        candidate.title,
        origin=source.origin,
        candidate=candidate.name,
    )
    return unread_record(subject, Verdict.NOT_AVAILABLE, source.reason)


def unread_record(
    subject: Subject,
    verdict: Verdict,
    reason: str,
    diagnostics: Iterable[Diagnostic] = (),
) -> RobotRecord:
    """Record a robot that no engine read."""
    items = tuple(diagnostics)
    return RobotRecord(
        id=subject.id,
        name=subject.urdf.stem if subject.urdf else subject.id,
        source=source_record(subject),
        converter=subject.converter,
        profile=subject.profile,
        candidate=subject.candidate,
        verdict=verdict,
        reason=portable(reason, subject.names),
        diagnostics=_diagnostics(subject, items),
        environment=environment(),
        lint=_diagnostics(subject, subject.findings),
        ledger=(*subject.ledger, *losses(items)) if subject.ledger else (),
    )


def judged_record(
    subject: Subject,
    judgement: Judgement,
    results: EngineResults,
    diagnostics: Iterable[Diagnostic] = (),
) -> RobotRecord:
    """Record a robot that engines read, or tried to."""
    found = (*diagnostics, *_faults_of_usd(results))
    record = unread_record(subject, judgement.verdict, judgement.reason, found)
    spec = results.observation(REFERENCE)
    usd = results.observation(USD_ENGINE)
    return structs.replace(
        record if spec is None else _described(record, spec),
        base=usd.base.value if usd and usd.base else None,
        configurations=results.configurations if judgement.checks else None,
        engines=_engines(subject, results),
        checks=tuple(_portable_check(check, subject.names) for check in judgement.checks),
        deviations=judgement.deviations,
    )


def _portable_check(check: CheckRecord, names: FolderNames) -> CheckRecord:
    """Remove paths of this machine: values of shapes name their mesh files."""

    def cut(value: Value | None) -> Value | None:
        return portable(value, names) if isinstance(value, str) else value

    findings = tuple(
        structs.replace(
            finding,
            message=portable(finding.message, names),
            expected=cut(finding.expected),
            actual=cut(finding.actual),
        )
        for finding in check.findings
    )
    return structs.replace(check, findings=findings)


def _faults_of_usd(results: EngineResults) -> Iterator[Diagnostic]:
    """Yield what the USD engine found invalid, or missing, in the USD."""
    match results.outcomes.get(USD_ENGINE):
        case Abstained(reason, invalid=True):
            yield Diagnostic("stage-value", reason)
        case Observed(observation):
            for message in observation.missing:
                yield Diagnostic("stage-incomplete", message)


def with_output(record: RobotRecord, subject: Subject, output: str | None) -> RobotRecord:
    """Add what a converter printed, without paths of this machine."""
    text = None if output is None else portable(output, subject.names)
    return structs.replace(record, output=text)


def summary_of(
    robots: Iterable[RobotRecord],
    corpus: Sequence[str],
    options: Mapping[str, str],
    unfinished: int = 0,
    *,
    converters: Sequence[Candidate] = (),
    gated: str = OURS,
) -> RunSummary:
    """Sum up a run, with robots ordered by id, and say how many are missing.

    Args:
        robots: One per robot and converter.
        corpus: The references that led to them.
        options: Choices, as text.
        unfinished: Number of those that are missing.
        converters: In the order in which they were named.
        gated: Name of the one by which the run passes.
    """
    order = {one.name: place for place, one in enumerate(converters)}
    records = sorted(robots, key=lambda r: (r.id, order.get(r.candidate, 0)))
    ordered = [record for record in records if not record.part]
    several = len(converters) > 1
    made = {check.id for robot in ordered for check in robot.checks}
    requested = tuple(check for check in SIMULATION_CHECKS if check.id in made)
    return RunSummary(
        corpus=tuple(corpus),
        environment=environment(),
        options=dict(options),
        verdicts=_verdicts(ordered, gated if several else None),
        converters=tuple(
            ConverterRecord(
                name=one.name,
                title=one.title,
                recipe=one.recipe,
                gated=one.name == gated or not several,
                verdicts=_verdicts(ordered, one.name),
            )
            for one in converters
        ),
        robots=tuple(_summary(robot) for robot in ordered),
        checks=tuple(
            CheckHeading(id=check.id, title=check.title, group=check.group, unit=check.unit)
            for check in (*CHECKS, *requested, *ROUND_TRIP_CHECKS)
        ),
        complete=not unfinished,
        unfinished=unfinished,
        suite=chapter_scores(
            ((r.candidate, r.case.summary) for r in ordered if r.case),
            [one.name for one in converters],
        ),
        parts={one.source.reference: one.reason for one in records if one.part},
    )


def _verdicts(robots: Iterable[RobotRecord], of: str | None) -> dict[str, int]:
    counts = Counter(r.verdict for r in robots if of is None or r.candidate == of)
    return {verdict.value: counts[verdict] for verdict in Verdict if counts[verdict]}


def _summary(robot: RobotRecord) -> RobotSummary:
    return RobotSummary(
        id=robot.id,
        name=robot.name,
        reference=robot.source.reference,
        verdict=robot.verdict,
        reason=robot.reason,
        grades={check.id: check.grade for check in robot.checks},
        worst={c.id: c.worst for c in robot.checks if c.worst is not None},
        engines={engine.name: engine.status for engine in robot.engines},
        candidate=robot.candidate,
        compared=robot.compared,
        case=robot.case.summary if robot.case else None,
    )


def source_record(subject: Subject) -> SourceRecord:
    """Record what is read of a robot."""
    names = subject.names
    return SourceRecord(
        reference=subject.reference,
        sha256=subject.inputs[0].sha256 if subject.inputs else subject.digest,
        arguments=dict(subject.arguments),
        license=subject.origin.license,
        maker=subject.origin.maker,
        repository=subject.origin.repository,
        commit=subject.origin.commit,
        distribution=subject.origin.distribution,
        notes=subject.notes,
        files=tuple(
            FileRecord(
                path=portable_path(file.path, names),
                sha256=file.sha256,
                size=file.size,
            )
            for file in subject.inputs
        ),
    )


def _described(record: RobotRecord, spec: Observation) -> RobotRecord:
    return structs.replace(
        record,
        name=spec.robot or record.name,
        links=len(spec.links),
        joints=len(spec.joints),
        degrees_of_freedom=sum(map(_freedoms, spec.joints)),
        total_mass=sum(link.mass.mass for link in spec.links if link.mass),
    )


def _freedoms(joint: JointObservation) -> int:
    return 0 if joint.mimic else _FREEDOMS[joint.type]


def _diagnostics(subject: Subject, items: Sequence[Diagnostic]) -> tuple[DiagnosticRecord, ...]:
    grouped = group_alike(items)
    lines = source_lines(
        (alike.one.location.file, alike.one.location.line)
        for alike in grouped
        if alike.one.location
    )
    names = subject.names
    return tuple(
        DiagnosticRecord(
            rule=alike.one.rule,
            severity=alike.one.severity.value,
            message=portable(alike.described(alike.one.message), names),
            count=alike.count,
            file=portable(place.file, names) if place else None,
            line=place.line if place else None,
            column=place.column if place else None,
            source=portable(text, names) if text else None,
            remedy=alike.one.remedy,
        )
        for alike in grouped
        for place in [alike.one.location]
        for text in [lines.get((place.file, place.line)) if place else None]
    )


def _engines(subject: Subject, results: EngineResults) -> tuple[EngineRecord, ...]:
    names = subject.names
    return tuple(
        _engine(names, engine, results.outcomes.get(engine.name)) for engine in results.engines
    )


def _engine(names: FolderNames, engine: InstalledEngine, outcome: Outcome | None) -> EngineRecord:
    version: str | None = None
    reason: str | None = None
    output: str | None = None
    notes: tuple[str, ...] = ()
    joint_order: tuple[str, ...] = ()
    match engine.availability, outcome:
        case Unavailable(why, remedy), _:
            status, reason = EngineStatus.UNAVAILABLE, f"{why}; {remedy}"
        case Crashed(reason, output), _:
            status = EngineStatus.CRASHED
        case Available(version), Observed(observation):
            status, notes = EngineStatus.OBSERVED, observation.notes
            joint_order = observation.joint_order
        case Available(version), Abstained(reason):
            status = EngineStatus.ABSTAINED
        case Available(version), Crashed(reason, output):
            status = EngineStatus.CRASHED
        case _:
            raise ValueError(f"engine {engine.name!r} has no outcome")
    return EngineRecord(
        name=engine.name,
        side=engine.side.value if engine.side else "unknown",
        status=status,
        version=version,
        reason=None if reason is None else portable(reason, names),
        output=None if output is None else portable(output, names),
        notes=tuple(portable(note, names) for note in notes),
        joint_order=joint_order,
    )


def source_lines(places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """Read the lines at places, without the blanks around them.

    Args:
        places: File and line, counted from 1.

    Returns:
        Text of each line, truncated if it is long; nothing of files that cannot be
        read.
    """
    lines_by_file: dict[str, set[int]] = {}
    for file, line in places:
        lines_by_file.setdefault(file, set()).add(line)
    found = {}
    for file, numbers in lines_by_file.items():
        lines = _lines(Path(file))
        for number in numbers:
            if 0 < number <= len(lines):
                found[file, number] = _cut(lines[number - 1])
    return found


def _lines(path: Path) -> list[str]:
    try:
        # Devices and pipes have no size, or no end.
        if not path.is_file() or path.stat().st_size > _LARGEST_QUOTED:
            return []
        content = path.read_bytes()
    except (OSError, ValueError):
        return []
    return content.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")


def _cut(line: str) -> str:
    text = line.strip()
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 1]}…"
