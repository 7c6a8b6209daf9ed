"""Robot records and run summaries from outcomes, conversions and judgements.

What depends on the machine (paths, temporary names) is removed here.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import structs

from urdf_usd.conformance.checks.catalogue import CHECKS, ROUND_TRIP_CHECKS, SIMULATION_CHECKS
from urdf_usd.conformance.converters.candidates import OURS, Candidate
from urdf_usd.conformance.engines import protocol as p
from urdf_usd.conformance.execution.job import (
    USD_ENGINE,
    EngineResults,
    Examined,
    InstalledEngine,
    Job,
)
from urdf_usd.conformance.observation.robot import VELOCITIES, JointType
from urdf_usd.conformance.verdict.judged import REFERENCE, Judgement
from urdf_usd.converter.diagnostics import RULES, Diagnostic, Location, group_alike
from urdf_usd.converter.file_content import InputFile
from urdf_usd.converter.robot.model import Robot
from urdf_usd.corpus import Resolved, UnavailableSource
from urdf_usd.installation import environment
from urdf_usd.reports.records import record as r
from urdf_usd.reports.records.record import RobotRecord, Verdict
from urdf_usd.reports.records.results import record_json
from urdf_usd.reports.records.suite_case import read_case
from urdf_usd.reports.summary import chapter_scores
from urdf_usd.reports.text import of_formats as text_of_formats

EXTERNAL = "unknown"
# Largest file of which lines are quoted, in bytes, and longest quote.
_LARGEST_QUOTED = 16 * 1024 * 1024
_LONGEST_QUOTE = 240
# Independent coordinates per joint type.
_FREEDOMS = VELOCITIES | {JointType.PLANAR: 3}
# In text, or in JSON behind an escaped control character.
_ADDRESS = re.compile(r"0x(?:(?<!\w0x)|(?<=\\[nrt]0x))[0-9a-fA-F]{6,}\b")
# Paths of folders, and what stands for them, the longest first.
FolderNames: TypeAlias = tuple[tuple[str, str], ...]


def unavailable_record(source: UnavailableSource, candidate: Candidate) -> RobotRecord:
    reason = portable(source.reason, folder_names({}))
    return _unknown(source, candidate, Verdict.NOT_AVAILABLE, reason)


def _unknown(
    source: Resolved, candidate: Candidate | None, verdict: Verdict, reason: str
) -> RobotRecord:
    origin = structs.asdict(source.origin)
    del origin["robot"], origin["tags"]
    return RobotRecord(
        id=source.id,
        name=source.id,
        source=r.SourceRecord(reference=source.reference, **origin),
        converter=candidate.title if candidate else EXTERNAL,
        candidate=candidate.name if candidate else "",
        verdict=verdict,
        reason=reason,
        environment=environment(),
    )


def begun_record(job: Job, names: FolderNames, inputs: Iterable[InputFile] = ()) -> RobotRecord:
    """Record a robot of which nothing but its files is known, the URDF first."""
    source = job.source
    record = _unknown(source, None if job.usd else job.candidate, Verdict.CRASHED, "")
    files = tuple(
        r.FileRecord(path=portable_path(file.path, names), sha256=file.sha256, size=file.size)
        for file in inputs
    )
    stated = structs.replace(
        record.source,
        sha256=files[0].sha256 if files else None,
        arguments=job.arguments,
        notes=source.notes,
        files=files,
    )
    profile = job.options.profile.value if job.own else None
    return structs.replace(record, name=source.path.stem, source=stated, profile=profile)


def ended(
    begun: RobotRecord, verdict: Verdict, reason: str, diagnostics: Iterable[Diagnostic] = ()
) -> RobotRecord:
    """Record the verdict on a robot, and what was found in its files."""
    items = tuple(diagnostics)
    lost = Counter(found.rule for found in items if RULES[found.rule].fate)
    fate = r.CoverageStatus.LEFT_OUT
    losses = _ledger(*((one, lost[one], fate, RULES[one].summary) for one in sorted(lost)))
    return structs.replace(
        begun,
        verdict=verdict,
        reason=reason,
        diagnostics=diagnostic_records(items),
        ledger=(*begun.ledger, *losses) if begun.ledger else (),
    )


def crashed(job: Job, reason: str) -> Examined:
    names = robot_folders(job)
    record = ended(begun_record(job, names), Verdict.CRASHED, reason)
    record = portable_record(record, names)
    if job.source.case:
        record = structs.replace(record, case=case_record(job, (r.CaseOutcome.CRASHED, reason)))
    return Examined(record, crashed=True)


def case_record(
    job: Job, ending: tuple[r.CaseOutcome, str], readings: tuple[r.CaseReadingRecord, ...] = ()
) -> r.CaseRecord:
    assert job.source.case is not None  # noqa: S101  # as the caller knows
    place = structs.asdict(job.source.case)
    case = read_case(place.pop("text"))
    return r.CaseRecord(
        **place,
        requirement=case.requirement,
        outcome=ending[0],
        reason=ending[1],
        case=case,
        readings=readings,
        urdf=job.source.path.read_bytes().decode("utf-8", "replace"),
    )


def judged(
    begun: RobotRecord,
    judgement: Judgement,
    results: EngineResults,
    diagnostics: Iterable[Diagnostic] = (),
) -> RobotRecord:
    """Record a robot that engines read, or tried to."""
    found = [*diagnostics]
    match results.outcomes.get(USD_ENGINE):
        case p.Unsupported(reason, invalid=True):
            found.append(Diagnostic("stage-value", reason))
        case p.Observed(observation):
            found += [Diagnostic("stage-incomplete", text) for text in observation.missing]
    known: dict[str, Any] = {}
    if spec := results.expected:
        freedoms = (0 if joint.mimic else _FREEDOMS[joint.type] for joint in spec.joints)
        known = {
            "name": spec.robot or begun.name,
            "links": len(spec.links),
            "joints": len(spec.joints),
            "degrees_of_freedom": sum(freedoms),
            "total_mass": sum(link.mass.mass for link in spec.links if link.mass),
        }
        if results.deciding != REFERENCE:
            known["uncompared"] = dict(spec.uncompared)
    usd = results.observation(USD_ENGINE)
    return structs.replace(
        ended(begun, judgement.verdict, judgement.reason, found),
        **known,
        base=usd.base.value if usd and usd.base else None,
        configurations=results.configurations if judgement.checks else None,
        engines=tuple(
            engine_record(one, results.outcomes.get(one.name)) for one in results.engines
        ),
        checks=judgement.checks,
        deviations=judgement.deviations,
        touching=results.touching,
    )


def engine_record(engine: InstalledEngine, outcome: p.Outcome | None) -> r.EngineRecord:
    known: dict[str, Any]
    match outcome if engine.is_available else engine.availability:
        case p.Unavailable():
            known = {"status": r.EngineStatus.UNAVAILABLE, "reason": engine.problem}
        case p.Crashed(reason, output):
            known = {"status": r.EngineStatus.CRASHED, "reason": reason, "output": output}
        case p.Unsupported(reason):
            known = {"status": r.EngineStatus.UNSUPPORTED, "reason": reason}
        case p.Observed(found):
            known = {"status": r.EngineStatus.OBSERVED, "notes": found.notes}
            known["joint_order"] = found.joint_order
        case _:
            raise ValueError(f"engine {engine.name!r} has no outcome")
    version = getattr(engine.availability, "version", None)
    side = engine.side.value if engine.side else "unknown"
    return r.EngineRecord(name=engine.name, side=side, version=version, **known)


def summary_of(
    robots: Iterable[RobotRecord],
    corpus: Sequence[str],
    options: Mapping[str, str],
    unfinished: int = 0,
    *,
    converters: Sequence[Candidate] = (),
    gated: str = OURS,
) -> r.RunSummary:
    """Sum up a run, by robot and converter; the run passes by the one that is ``gated``."""
    order = {one.name: place for place, one in enumerate(converters)}
    records = sorted(robots, key=lambda one: (one.id, order.get(one.candidate, 0)))
    ordered = [record for record in records if not record.part]
    several = len(converters) > 1
    made = {check.id for robot in ordered for check in robot.checks}
    requested = tuple(check for check in SIMULATION_CHECKS if check.id in made)
    return r.RunSummary(
        corpus=tuple(corpus),
        environment=environment(),
        options=dict(options),
        verdicts=_verdicts(ordered, gated if several else None),
        converters=tuple(
            r.ConverterRecord(
                name=one.name,
                title=one.title,
                recipe=one.recipe,
                gated=one.name == gated or not several,
                verdicts=_verdicts(ordered, one.name),
            )
            for one in converters
        ),
        robots=tuple(
            r.RobotSummary(
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
            for robot in ordered
        ),
        checks=tuple(
            msgspec.convert(check, r.CheckHeading, from_attributes=True)
            for check in (*CHECKS, *requested, *ROUND_TRIP_CHECKS)
        ),
        complete=not unfinished,
        unfinished=unfinished,
        suite=chapter_scores(
            ((one.candidate, one.case.summary) for one in ordered if one.case),
            [one.name for one in converters],
        ),
        parts={one.source.reference: one.reason for one in records if one.part},
    )


def _verdicts(robots: Iterable[RobotRecord], of: str | None) -> dict[str, int]:
    counts = Counter(one.verdict for one in robots if of is None or one.candidate == of)
    return {verdict.value: counts[verdict] for verdict in Verdict if counts[verdict]}


def diagnostic_records(items: Iterable[Diagnostic]) -> tuple[r.DiagnosticRecord, ...]:
    """Record diagnostics, with the lines that they are about; equal ones are counted."""
    lines = cache(_lines)

    def quoted(place: Location | None) -> str | None:
        text = lines(place.file)[place.line - 1 : place.line] if place and place.line > 0 else ()
        line = "".join(text).strip()
        return (line if len(line) <= _LONGEST_QUOTE else f"{line[: _LONGEST_QUOTE - 1]}…") or None

    return tuple(
        r.DiagnosticRecord(
            rule=alike.one.rule,
            severity=alike.one.severity.value,
            message=alike.described(alike.one.message),
            count=alike.count,
            source=quoted(place),
            remedy=alike.one.remedy,
            **(structs.asdict(place) if place else {}),
        )
        for alike in group_alike(tuple(items))
        for place in [alike.one.location]
    )


def _lines(file: str) -> list[str]:
    """Read the lines of a file; none of what is no file, or a very large one."""
    with contextlib.suppress(OSError, ValueError):
        path = Path(file)
        # Devices and pipes have no size, or no end.
        if path.is_file() and path.stat().st_size <= _LARGEST_QUOTED:
            text = path.read_bytes().decode("utf-8", "replace")
            return text.replace("\r\n", "\n").split("\n")
    return []


# What is converted, kept as custom data, or left out.


def coverage(robot: Robot) -> tuple[r.LedgerRecord, ...]:
    """List the kinds of parts of a robot, and where each is converted to or kept."""
    links, below = robot.links, "below the link, except those left out below"
    masses = sum(link.inertial is not None for link in links)
    shapes = [shape for link in links for shape in link.shapes]
    visuals = sum(len(link.visuals) for link in links)
    kept: Counter[str] = Counter()
    for owner in (robot, *links, *shapes, *robot.joints):
        kept.update(f"<{element.content.tag}>" for element in owner.custom.elements)
        kept.update("/".join((*one.within, f"@{one.name}")) for one in owner.custom.attributes)
    where = "custom data, as written, on the prim of its owner"
    converted, in_data = r.CoverageStatus.CONVERTED, r.CoverageStatus.KEPT
    return _ledger(
        ("link", len(links), converted, "one prim each; a rigid body if it moves independently"),
        (
            "joint",
            len(robot.joints),
            converted,
            "one joint each, or none between links of one body",
        ),
        ("inertial", masses, converted, "the mass of the link's body"),
        ("visual", visuals, converted, f"shapes {below}"),
        ("collision", len(shapes) - visuals, converted, f"colliders {below}"),
        *((part, count, in_data, where) for part, count in sorted(kept.items())),
    )


def _ledger(*rows: tuple[str, int, r.CoverageStatus, str]) -> tuple[r.LedgerRecord, ...]:
    return tuple(
        r.LedgerRecord(part=part, count=count, fate=fate, where=where)
        for part, count, fate, where in rows
        if count
    )


# Text without paths of this machine, so that records compare across machines.


def folder_names(folders: Mapping[str, Path]) -> FolderNames:
    """List all spellings of folders, those of this machine too, with what stands for them.

    With an empty name the rest of the path is relative.
    """
    named = (
        *((name, str(folder)) for name, folder in folders.items()),
        ("<python>", sys.prefix),
        ("<python>", sys.base_prefix),
        ("~", str(Path.home())),
    )
    spellings = {
        str(folder): name
        for name, text in reversed(named)
        for folder in (Path(text), Path.cwd() / text, Path(text).resolve())
        if len(folder.parts) > 1
    }
    # A temporary folder may lie in the home folder.
    return tuple(sorted(spellings.items(), key=lambda item: -len(item[0])))


def robot_folders(job: Job, temporary: Path | None = None) -> FolderNames:
    """List what stands for folders in the record of a robot."""
    above = job.source.path.absolute().parents
    # Meshes are more often in a sibling of the URDF's folder than in it.
    folders = dict(zip(("", "..", "../.."), above, strict=False))
    folders["<usd>"] = job.asset
    if temporary:
        folders["<temporary>"] = temporary
    packages = {f"package://{name}": Path(folder) for name, folder in job.packages.items()}
    return folder_names(folders | packages)


def portable(text: str, names: FolderNames) -> str:
    """Replace machine paths in text, such as what an engine printed."""
    for folder, name in names:
        if folder in text:
            text = text.replace(f"{folder}/", f"{name}/" if name else "")
            text = re.sub(re.escape(folder) + r"(?![\w.-])", name or ".", text)
    return _ADDRESS.sub("0x…", text)


def portable_record(record: RobotRecord, names: FolderNames) -> RobotRecord:
    """Replace machine paths in all texts of a record, except in its source."""
    cut = _rewritten(record, lambda text: portable(text, names))
    return structs.replace(cut, source=record.source, case=record.case)


def of_formats(record: RobotRecord, formats: tuple[str, str]) -> RobotRecord:
    """Name the formats that are compared in the texts of a record, which say URDF and USD."""
    said = _rewritten(record, lambda text: text_of_formats(text, formats))
    return structs.replace(record, reason=said.reason, checks=said.checks, formats=formats)


def _rewritten(record: RobotRecord, rewrite: Callable[[str], str]) -> RobotRecord:
    text = rewrite(record_json(structs.replace(record, case=None)).decode())
    return msgspec.json.decode(text, type=RobotRecord, strict=False)


def portable_path(path: str, names: FolderNames) -> str:
    """Return a path as records hold it; of one outside the folders the last part."""
    shown = portable(path, names)
    place = Path(shown)
    if place.is_absolute() or shown.startswith("~"):
        return f"<outside>/{place.name}"
    return shown if "://" in shown else place.as_posix()
