"""Robot records and run summaries from outcomes, conversions and judgements.

What depends on the machine (paths, temporary names) is removed here.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from msgspec import structs

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
from urdf_usd.conformance.execution.engines import USD_ENGINE, EngineResults, InstalledEngine
from urdf_usd.conformance.execution.job import Job
from urdf_usd.conformance.observation.robot import JointType, Observation
from urdf_usd.conformance.verdict.judged import REFERENCE, Judgement
from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.diagnostics.messages import group_alike
from urdf_usd.converter.diagnostics.rules import RULES
from urdf_usd.converter.file_content import InputFile
from urdf_usd.converter.robot.model import Robot
from urdf_usd.corpus import Resolved, UnavailableSource
from urdf_usd.reports.records.environment import environment
from urdf_usd.reports.records.record import (
    CheckHeading,
    CheckRecord,
    ConverterRecord,
    CoverageStatus,
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

EXTERNAL = "unknown"
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
# Rules about something that is left out of the USD.
_LOSSES = frozenset(
    {
        "attribute-version",
        "element-incomplete",
        "geometry-invalid",
        "geometry-unknown",
        "joint-dangling",
        "mesh-missing",
        "mesh-partial",
        "mesh-unreadable",
        "mimic-fixed",
        "mimic-loop",
        "mimic-target-missing",
        "text-ignored",
        "texture-dropped",
        "texture-missing",
        "texture-unnamed",
        "xml-outside",
    }
)
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
# Paths of folders, and what stands for them, the longest first.
FolderNames: TypeAlias = tuple[tuple[str, str], ...]


def unavailable_record(source: UnavailableSource, candidate: Candidate) -> RobotRecord:
    """Record a robot that is not available here."""
    return RobotRecord(
        id=source.id,
        name=source.id,
        source=_source_record(source),
        converter=candidate.title,
        candidate=candidate.name,
        verdict=Verdict.NOT_AVAILABLE,
        reason=portable(source.reason, folder_names({})),
        environment=environment(),
    )


def begun_record(
    job: Job,
    names: FolderNames,
    inputs: Iterable[InputFile] = (),
    digest: str | None = None,
) -> RobotRecord:
    """Record a robot of which nothing but its files is known.

    Args:
        job: The robot.
        names: What stands for folders.
        inputs: Its files, the URDF first, if it can be read.
        digest: SHA-256 of the URDF.
    """
    source = job.source
    files = tuple(
        FileRecord(path=portable_path(file.path, names), sha256=file.sha256, size=file.size)
        for file in inputs
    )
    return RobotRecord(
        id=source.id,
        name=source.path.stem,
        source=structs.replace(
            _source_record(source),
            sha256=files[0].sha256 if files else digest,
            arguments=job.arguments,
            notes=source.notes,
            files=files,
        ),
        converter=EXTERNAL if job.usd else job.candidate.title,
        profile=job.options.profile.value if job.own else None,
        candidate="" if job.usd else job.candidate.name,
        verdict=Verdict.CRASHED,
        reason="",
        environment=environment(),
    )


def unread(
    begun: RobotRecord,
    names: FolderNames,
    verdict: Verdict,
    reason: str,
    diagnostics: Iterable[Diagnostic] = (),
) -> RobotRecord:
    """Record a robot that no engine read."""
    items = tuple(diagnostics)
    return structs.replace(
        begun,
        verdict=verdict,
        reason=portable(reason, names),
        diagnostics=diagnostic_records(items, names),
        ledger=(*begun.ledger, *_losses(items)) if begun.ledger else (),
    )


def judged(
    begun: RobotRecord,
    names: FolderNames,
    judgement: Judgement,
    results: EngineResults,
    diagnostics: Iterable[Diagnostic] = (),
) -> RobotRecord:
    """Record a robot that engines read, or tried to."""
    found = (*diagnostics, *_faults_of_usd(results))
    record = unread(begun, names, judgement.verdict, judgement.reason, found)
    spec = results.expected
    usd = results.observation(USD_ENGINE)
    if spec and results.deciding != REFERENCE:
        record = structs.replace(record, uncompared=dict(spec.uncompared))
    return structs.replace(
        record if spec is None else _described(record, spec),
        base=usd.base.value if usd and usd.base else None,
        configurations=results.configurations if judgement.checks else None,
        engines=tuple(
            _engine(names, engine, results.outcomes.get(engine.name)) for engine in results.engines
        ),
        checks=tuple(_portable_check(check, names) for check in judgement.checks),
        deviations=judgement.deviations,
        touching=results.touching,
    )


def _source_record(source: Resolved) -> SourceRecord:
    origin = source.origin
    return SourceRecord(
        reference=source.reference,
        license=origin.license,
        maker=origin.maker,
        repository=origin.repository,
        commit=origin.commit,
        distribution=origin.distribution,
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


def _described(record: RobotRecord, spec: Observation) -> RobotRecord:
    return structs.replace(
        record,
        name=spec.robot or record.name,
        links=len(spec.links),
        joints=len(spec.joints),
        degrees_of_freedom=sum(
            0 if joint.mimic else _FREEDOMS[joint.type] for joint in spec.joints
        ),
        total_mass=sum(link.mass.mass for link in spec.links if link.mass),
    )


def diagnostic_records(
    items: Iterable[Diagnostic], names: FolderNames
) -> tuple[DiagnosticRecord, ...]:
    """Record diagnostics; equal ones are counted."""
    grouped = group_alike(tuple(items))
    lines = source_lines(
        (alike.one.location.file, alike.one.location.line)
        for alike in grouped
        if alike.one.location
    )
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


# What is converted, kept as custom data, or left out.


def coverage(robot: Robot) -> tuple[LedgerRecord, ...]:
    """List the kinds of parts of a robot, and where each is converted to or kept."""
    shapes = "shapes below the link, except those left out below"
    colliders = "colliders below the link, except those left out below"
    converted = {
        "link": (len(robot.links), "one prim each; a rigid body if it moves independently"),
        "joint": (len(robot.joints), "one joint each, or none between links of one body"),
        "inertial": (
            sum(link.inertial is not None for link in robot.links),
            "the mass of the link's body",
        ),
        "visual": (sum(len(link.visuals) for link in robot.links), shapes),
        "collision": (sum(len(link.collisions) for link in robot.links), colliders),
    }
    kept: Counter[str] = Counter()
    shapes_of_links = (shape for link in robot.links for shape in link.shapes)
    for owner in (robot, *robot.links, *shapes_of_links, *robot.joints):
        kept.update(f"<{element.content.tag}>" for element in owner.custom.elements)
        kept.update("/".join((*one.within, f"@{one.name}")) for one in owner.custom.attributes)
    where = "custom data, as written, on the prim of its owner"
    return (
        *(
            LedgerRecord(part=part, count=count, fate=CoverageStatus.CONVERTED, where=where)
            for part, (count, where) in converted.items()
            if count
        ),
        *(
            LedgerRecord(part=part, count=count, fate=CoverageStatus.KEPT, where=where)
            for part, count in sorted(kept.items())
        ),
    )


def _losses(diagnostics: Iterable[Diagnostic]) -> tuple[LedgerRecord, ...]:
    """List what is left out of the USD, and why."""
    lost = Counter(found.rule for found in diagnostics if found.rule in _LOSSES)
    return tuple(
        LedgerRecord(
            part=rule, count=count, fate=CoverageStatus.LEFT_OUT, where=RULES[rule].summary
        )
        for rule, count in sorted(lost.items())
    )


# Text without paths of this machine, so that records compare across machines.


def folder_names(folders: Mapping[str, Path]) -> FolderNames:
    """List all spellings of folders, those of this machine too, with their names.

    Args:
        folders: Folders by the name that stands for them; an empty name leaves the
            rest of the path relative.
    """
    named = (
        *((name, str(folder)) for name, folder in folders.items()),
        ("<python>", sys.prefix),
        ("<python>", sys.base_prefix),
        ("~", str(Path.home())),
    )
    working = str(Path.cwd())
    spellings = {
        spelling: name
        for name, text in reversed(named)
        for spelling in _spellings_of(text, working)
    }
    # A temporary folder may lie in the home folder.
    return tuple(sorted(spellings.items(), key=lambda item: -len(item[0])))


# Robots of a corpus have folders in common.
@lru_cache(maxsize=1024)
def _spellings_of(text: str, working: str) -> tuple[str, ...]:
    folder = Path(text)
    spellings = folder, Path(working) / folder, folder.resolve()
    return tuple(str(one) for one in spellings if len(one.parts) > 1)


def portable(text: str, names: FolderNames) -> str:
    """Replace machine paths in text, such as what an engine printed."""
    if "/" in text or "\\" in text:
        for folder, name in names:
            if folder in text:
                below = f"{name}/" if name else ""
                text = text.replace(f"{folder}/", below).replace(f"{folder}\\", below)
                text = re.sub(re.escape(folder) + r"(?![\w.-])", name or ".", text)
    return _ADDRESS.sub("0x…", text)


def portable_path(path: str, names: FolderNames) -> str:
    """Return a path as records hold it; of one outside the folders the last part."""
    shown = portable(path, names)
    place = Path(shown)
    if place.is_absolute() or shown.startswith("~"):
        return f"<outside>/{place.name}"
    return shown if "://" in shown else place.as_posix()
