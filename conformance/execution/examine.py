"""One robot from its source to its record: read, lint, convert, observe, judge, draw.

:func:`examine` runs in a worker. Everything that a library or a hostile file could crash
is a step: if it ends the process, the robot is examined again without it.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import structs

from urdf_usd.conformance import descriptions, expectations
from urdf_usd.conformance.descriptions import Source
from urdf_usd.conformance.drawing.scene import draw_scene
from urdf_usd.conformance.engines import protocol as p
from urdf_usd.conformance.engines.openusd.shapes import rest_shapes
from urdf_usd.conformance.execution import converting
from urdf_usd.conformance.execution import record as records
from urdf_usd.conformance.execution.converting import ComposedUsd, UncomparedError, Written
from urdf_usd.conformance.execution.folder import MISSING, expansion_path
from urdf_usd.conformance.execution.job import (
    USD_ENGINE,
    EngineResults,
    Examined,
    InstalledEngine,
    Job,
)
from urdf_usd.conformance.execution.worker import Steps, over_limits, own_folder
from urdf_usd.conformance.export.assets import read_stage
from urdf_usd.conformance.matching import Labelled, label_robot
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.shapes import Solid
from urdf_usd.conformance.verdict.judged import (
    DECIDING,
    REFERENCE,
    ColliderChoice,
    Judgement,
    RoundTripOutcomes,
)
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter import diagnostics as d
from urdf_usd.converter.inputs import input_files, references
from urdf_usd.converter.lint.linting import lint_parsed
from urdf_usd.converter.meshes.read import cached_meshes
from urdf_usd.converter.options import InertiaOption
from urdf_usd.converter.robot.model import BaseOption
from urdf_usd.converter.urdf.write import write
from urdf_usd.converter.urdf.xacro import is_part, is_xacro
from urdf_usd.converter.usd.loading import open_stage
from urdf_usd.corpus import RobotSource
from urdf_usd.corpus.files import Format
from urdf_usd.installation import DISTRIBUTION, environment
from urdf_usd.reports.records import record as r
from urdf_usd.reports.records.record import OverlapRecord, RobotRecord, Verdict
from urdf_usd.reports.records.results import write_seconds
from urdf_usd.reports.records.scene import scene_path, write_scene
from urdf_usd.reports.records.suite_case import Expected, read_case

_Result = TypeVar("_Result")
# What steps raise about files; anything else is a crash.
_EXPECTED = (d.ConversionError, p.UnsupportedError, UncomparedError)
_AT_REST = obs.Configurations((), (), ("zero",))
_UNSELECTED = "variant-unselected"
_STRUCTURE = frozenset({"structure.links", "structure.joints"})


def examine(job: Job, crashes: Mapping[str, p.Crashed] | None = None) -> Examined:
    """Examine a robot: convert it, and compare the USD with it.

    Args:
        job: The robot.
        crashes: The steps that have ended the process of a worker, and how; by default
            those of this worker.

    Raises:
        SourceError: In a check, the source cannot be read.
        StageError: In a check, a variant or prim of the USD does not exist.
    """
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="robot-", dir=own_folder()) as folder, cached_meshes():
        try:
            return _Examination(job, Steps(crashes), Path(folder)).examined()
        except (d.SourceError, d.StageError, MemoryError):
            raise
        # What engines and converters of others return may lead to any error.
        except Exception as error:  # noqa: BLE001
            return records.crashed(job, "".join(traceback.format_exception_only(error)).strip())
        finally:
            if job.timed:
                took = time.perf_counter() - begin
                write_seconds(job.folder, job.place, examination=took)


class _Examination:
    """One robot, and what the steps on it share."""

    def __init__(self, job: Job, steps: Steps, folder: Path) -> None:
        self.job = job
        self.steps = steps
        self.folder = folder  # for temporary files
        self.names = records.robot_folders(job, folder)
        self.record = records.begun_record(job, self.names)  # what is known so far
        # as far as it was read
        self.source = Source(job.source.path, Format.URDF, job.packages)
        self.formats: tuple[str, str] | None = None  # that are compared, other than URDF and USD
        self.results: EngineResults | None = None  # of a USD; None if there is none
        self.refusal: str | None = None  # why the converter refused the robot, if it did
        self.is_read = True  # whether the source can be read, and be converted

    def examined(self) -> Examined:
        job = self.job
        try:
            record = self._descriptions(job.second) if job.second else self._robot()
        except d.SourceError as error:
            if job.usd:
                raise
            record = self._unreadable(error.diagnostics)
        except UncomparedError as error:
            found = self.source.diagnostics if error.diagnostics is None else error.diagnostics
            record = records.ended(self.record, error.verdict, error.reason, found)
            record = structs.replace(record, output=error.output or record.output)
            self.refusal = error.reason if error.refused else None
        record = records.portable_record(record, self.names)
        if job.source.case and self.is_read:
            expected = read_case(job.source.case.text).expected
            record = structs.replace(record, case=self._case(record, expected))
        if self.formats:
            record = records.of_formats(record, self.formats)
        parsed = self.source.parsed
        return Examined(
            record,
            self.source.inputs,
            tuple(references(parsed.robot)) if parsed else (),
            self.steps.crashed or record.verdict is Verdict.CRASHED,
        )

    def _know(self, **known: object) -> None:
        self.record = structs.replace(self.record, **known)

    def _need(
        self, step: str, what: str, function: Callable[..., _Result], *arguments: object
    ) -> _Result:
        """Call a function as a step, without which the robot cannot be compared."""
        result = self.steps.call(step, function, *arguments, raises=_EXPECTED)
        if isinstance(result, p.Crashed):
            raise UncomparedError(Verdict.CRASHED, f"{what} crashed: {result.reason}", ())
        return result

    def _read(self, source: RobotSource, second: bool = False) -> Source:
        """Read a description of the robot; a xacro file is expanded for engines."""
        job = structs.replace(self.job, source=source)
        arguments, expanded = job.arguments, expansion_path(job.folder, job.place)
        if job.usd:
            expanded = self.folder / f"{source.id}.urdf"
        if second:
            arguments, expanded = {}, self.folder / "second.urdf"
        given = str(source.path), job.packages, arguments, job.options.environment, expanded
        step = "read second" if second else "read"
        return self._need(step, "the URDF reader", descriptions.read_robot, *given)

    def _read_source(self) -> None:
        job, path = self.job, str(self.job.source.path)
        try:
            self.source = self._read(job.source)
        except (d.SourceError, UncomparedError):
            if hashed := input_files([path], None):
                # Of a xacro file, it is not known which others it includes.
                inputs = () if is_xacro(path) else hashed
                self.source = structs.replace(self.source, inputs=inputs)
                self._know(source=structs.replace(self.record.source, sha256=hashed[0].sha256))
            self._require_reads()
            raise
        self.record = records.begun_record(job, self.names, self.source.inputs)

    def _robot(self) -> RobotRecord:
        """Compare a USD with a URDF or MJCF; convert that before, unless there is a USD."""
        job, estimated = self.job, frozenset[str]()
        self._read_source()
        source = self.source
        if parsed := source.parsed:
            if job.own:
                self._know(ledger=records.coverage(parsed.robot))
            self._require_reads()
            found = self._need("lint", "lint", lint_parsed, parsed, str(job.source.path))
            issues = (one for one in found if one.rule in d.LINT_RULES)
            self._know(lint=records.diagnostic_records(issues))
            if job.required.inertia is InertiaOption.GEOMETRY:
                source = structs.replace(source, packages=source.found | job.packages)
                copy = self.folder / f"{job.source.id}-estimated.urdf"
                what, write = "the estimation of mass from shapes", source.write_estimated
                try:
                    estimated = self._need("estimate", what, write, job.required, copy)
                except p.UnsupportedError as error:
                    reason = f"mass cannot be computed from shapes: {' '.join(str(error).split())}"
                    raise UncomparedError(Verdict.NOT_COMPARABLE, reason) from error
                source = structs.replace(source, path=copy)
            chosen = self._planned(source)
        else:
            self.formats, self.is_read = (Format.MJCF.value, "usd"), False
            chosen = self._planned(source)
            self._require_reads()
            self.is_read = True
        return self._compared(source, chosen, estimated)

    def _require_reads(self) -> None:
        job, source = self.job, self.source.format
        if not (job.usd or job.candidate.reads(source)):
            reason = f"{job.candidate.name} does not convert {source.value.upper()}"
            if source is Format.MJCF:
                reason += ": --converter names others"
            raise UncomparedError(Verdict.NOT_AVAILABLE, reason)

    def _planned(self, source: Source) -> obs.Configurations:
        what = "MuJoCo" if source.format is Format.MJCF else "the URDF reader"
        return self._need("plan", what, source.sampling_plan)

    def _unreadable(self, diagnostics: tuple[d.Diagnostic, ...]) -> RobotRecord:
        """Record a file that our reader or MuJoCo refuses, and which engines read a URDF."""
        job, source = self.job, self.job.source
        if self.source.format is Format.MJCF:
            reason = diagnostics[0].message
            return records.ended(self.record, Verdict.UNREADABLE, reason, diagnostics)
        reason, verdict = converting.first_error(diagnostics), Verdict.UNREADABLE
        self.refusal, is_robot_part = reason, False
        results = EngineResults()
        if is_xacro(str(source.path)):
            rules = [found.rule for found in diagnostics]
            is_robot_part = source.searched and is_part(rules, included=source.included)
            if is_robot_part:
                verdict = Verdict.NOT_AVAILABLE
            elif "xacro-file-missing" in rules and (source.mirrored or source.searched):
                lack = "not in the mirror" if source.mirrored else "incomplete"
                verdict, reason = Verdict.NOT_AVAILABLE, f"{lack}: {reason}"
        else:
            results = self._observed({p.Side.URDF: source.path}, job.packages, _AT_REST)
            crash = results.outcomes.get(REFERENCE)
            if isinstance(crash, p.Crashed):
                verdict, reason = Verdict.CRASHED, f"{REFERENCE} crashed: {crash.reason}"
            elif observed := [name for name in results.outcomes if results.observation(name)]:
                reason += f"; {' and '.join(observed)} read it nevertheless"
        judgement = Judgement((), (), verdict, reason)
        record = records.judged(self.record, judgement, results, diagnostics)
        record = structs.replace(record, part=is_robot_part)
        if not source.case or job.own:
            return record
        # A case is about the converter, whatever our reader makes of it.
        self.refusal = None
        try:
            made = self._converted()
        except UncomparedError as error:
            record = structs.replace(record, output=error.output)
            if error.verdict is Verdict.CRASHED:
                return structs.replace(record, verdict=error.verdict, reason=error.reason)
            self.refusal = error.reason
            return record
        self.results = self._observed({p.Side.USD: made.root_layer}, job.packages, _AT_REST)
        return structs.replace(record, asset=made.asset, output=made.output)

    def _converted(self) -> Written:
        """Convert a robot by the converter of the job, and write how long that took."""
        job, source = self.job, self.source
        packages = source.found | job.packages
        given = job, source.parsed, source.path, packages
        made = self.steps.call("convert", converting.convert_robot, *given, raises=UncomparedError)
        if isinstance(made, p.Crashed):
            reason, output = f"the converter crashed: {made.reason}", made.output
            raise UncomparedError(Verdict.CRASHED, reason, output=None if job.own else output)
        if made.seconds is not None and (job.compared or job.timed):
            write_seconds(job.folder, job.place, seconds=made.seconds)
        return made

    def _composed(self, usd: Path) -> ComposedUsd:
        """Compose a USD before engines read it: of one that hangs, each would wait in turn."""
        layer = str(self.folder / "selection.usda")
        given = str(usd), layer, self.job
        composed = self.steps.call("compose", converting.compose, *given, raises=_EXPECTED)
        if not isinstance(composed, p.Crashed):
            return composed
        if limit := over_limits(usd, composed):
            raise UncomparedError(Verdict.NOT_COMPARABLE, limit.advice, (limit,))
        reason = f"the USD cannot be composed: {composed.reason}"
        raise UncomparedError(Verdict.CRASHED, reason, ())

    def _compared(
        self, source: Source, chosen: obs.Configurations, estimated: frozenset[str]
    ) -> RobotRecord:
        """Compare the USD with the source, as engines read it, at configurations.

        If there is no USD, one is made. The mass of the links ``estimated`` was computed from
        shapes.
        """
        job, steps = self.job, self.steps
        made = None if job.usd else self._converted()
        usd = made.root_layer if made else job.usd
        assert usd is not None  # noqa: S101  for mypy
        self._know(output=made.output if made else None)
        if job.own and made:
            composed, diagnostics = ComposedUsd(str(usd)), made.diagnostics
        else:
            composed = self._composed(usd)
            diagnostics = (*source.diagnostics, *composed.diagnostics)
        self._know(
            asset=made.asset if made else None,
            variants={f"{one.prim}:{one.variant_set}": one.variant for one in composed.variants},
        )
        files = {source.side: source.path, p.Side.USD: Path(composed.usd)}
        results = self._observed(files, source.packages, chosen)
        expected, actual = results.expected, results.observation(USD_ENGINE)
        of_mjcf = results.of_side(p.Side.MJCF)
        if of_mjcf and expected and actual:
            reading = steps.call("implied", descriptions.read_as_mjcf, expected, actual, chosen)
            if not isinstance(reading, p.Crashed):
                outcomes = {**results.outcomes, USD_ENGINE: p.Observed(reading)}
                results = structs.replace(results, outcomes=outcomes)
        self.results = results
        record = self._judged(results, diagnostics, estimated)
        unselected = [one.message for one in diagnostics if one.rule == _UNSELECTED]
        if unselected and not record.verdict.agrees:
            # If links or joints differ, that is the cause, and no check is reported.
            reason, wrong = "; ".join(unselected), {r.Grade.FAILS, r.Grade.NOT_COMPARABLE}
            grades = [check.grade for check in record.checks if check.id in _STRUCTURE]
            if wrong.isdisjoint(grades) and record.checks:
                record = structs.replace(record, reason=f"{reason}; {record.reason}")
            else:
                others = (one for one in diagnostics if one.rule != _UNSELECTED)
                missing = (d.Diagnostic("variant-required", each) for each in unselected)
                found = (*others, *missing)
                record = records.ended(self.record, Verdict.NOT_COMPARABLE, reason, found)
        if record.checks and len([*filter(results.observation, of_mjcf)]) == 1:
            reason = f"{record.reason}; one engine read the MJCF"
            record = structs.replace(record, reason=reason)
        if made or record.checks:
            self._draw(results, chosen)
        return record

    def _judged(
        self,
        results: EngineResults,
        diagnostics: Iterable[d.Diagnostic] = (),
        estimated: frozenset[str] = frozenset(),
    ) -> RobotRecord:
        """Compare the outcomes of engines, and record the judgement."""
        job, required, expected = self.job, self.job.required, results.expected
        description, rules = required.simulation, required.colliders
        links = expected.links if expected else ()
        requested = expected.simulation if expected and not job.second else None
        simulators = results.of_side(p.Side.USD).items()

        def compared() -> Judgement:
            nonlocal requested
            if description and expected and results.observation(USD_ENGINE):
                urdf, usd = (str(results.files[side]) for side in (p.Side.URDF, p.Side.USD))
                overlap = description.tables.filters.overlap
                solids = rest_shapes(usd, ())[1] if overlap else ()
                requested = expectations.requested_settings(description, urdf, expected, solids)
            return judge(
                results.of_side(p.Side.URDF) or results.of_side(p.Side.MJCF),
                results.outcomes[USD_ENGINE],
                simulators=tuple(one for name, one in simulators if name != USD_ENGINE),
                back=results.back,
                expected_base=_required_base(job, expected),
                requested=requested,
                estimated=estimated,
                # The requested colliders of each link that has a rule.
                colliders={
                    link.name: ColliderChoice(kind.value, rules.tolerance)
                    for link in links
                    if (kind := rules.kind_of(link.name))
                },
                decides=results.deciding,
                described=job.second is not None,
            )

        judgement = self.steps.call("compare", compared)
        if isinstance(judgement, p.Crashed):
            reason = f"the comparison crashed: {judgement.reason}"
            judgement = Judgement((), (), Verdict.CRASHED, reason)
        record = records.judged(self.record, judgement, results, diagnostics)
        if description is None:
            return record
        described = r.DescriptionRecord(
            file=Path(description.file).name,
            sha256=description.sha256,
            files={
                Path(name).name: hashlib.sha256(content).hexdigest()
                for name, content in description.attached
            },
            settings=requested.sources if requested else (),
        )
        return structs.replace(record, description=described)

    def _descriptions(self, other: RobotSource) -> RobotRecord:
        """Compare two descriptions of a robot; raise a SourceError if one of them is refused."""
        job = self.job
        self._read_source()
        first, second = self.source, self._read(other, second=True)
        self.formats = first.format.value, second.format.value
        chosen = self._planned(first)
        results = self._observed({first.side: first.path}, first.packages, chosen)
        if (expected := results.expected) is None:
            raise UncomparedError(Verdict.UNREADABLE, "no engine reads the first file", ())
        expected = first.described(expected)
        outcomes = {**results.outcomes, results.deciding: p.Observed(expected)}
        given = second, expected, chosen, job.mapped
        actual = self.steps.call("second", descriptions.observed_second, *given, raises=_EXPECTED)
        name = f"{DECIDING[second.side]} (second)"
        outcomes |= {name: actual, USD_ENGINE: actual}
        results = structs.replace(results, outcomes=outcomes)
        record = self._judged(results)
        read = InstalledEngine(name, second.side, p.Available(environment()[DISTRIBUTION]))
        uncompared = dict(expected.uncompared)
        if isinstance(actual, p.Observed):
            uncompared |= dict(actual.observation.uncompared)
            self._draw(results, chosen, second)
        return structs.replace(
            record,
            converter=other.reference,
            base=None,
            engines=(*record.engines, records.engine_record(read, actual)),
            uncompared=uncompared,
        )

    def _engines(self, side: p.Side, request: p.Request, purpose: str = "") -> dict[str, p.Outcome]:
        """Have every available engine of a side read a file, for a purpose that names the steps."""
        return {
            one.name: self.steps.call(f"{purpose or side} {one.name}", observe, one.name, request)
            for one in self.job.engines
            if one.side is side and one.is_available
        }

    def _observed(
        self, files: Mapping[p.Side, Path], packages: dict[str, str], chosen: obs.Configurations
    ) -> EngineResults:
        """Have all engines read the files of one side or of both.

        With both sides, the URDF is written back from the USD, and the engines that read
        the URDF read that one too. Where the USD has other names of links or joints than
        the URDF, its engines read it again with the names of the URDF.
        """
        job, steps = self.job, self.steps
        outcomes: dict[str, p.Outcome] = {}
        for side, file in files.items():
            request = p.Request(str(file), chosen, packages, bool(job.required.colliders.rules))
            outcomes |= self._engines(side, request)
        # Of an engine that could not be loaded, the side is not known.
        present = tuple(one for one in job.engines if one.side is None or one.side in files)
        results = EngineResults(present, outcomes, chosen.count, files)
        expected, actual = results.expected, results.observation(USD_ENGINE)
        if p.Side.USD not in files or expected is None:
            return results
        if actual:
            usd = files[p.Side.USD]
            kinds = (expected.links, actual.links), (expected.joints, actual.joints)
            if any({one.name for one in of} - {one.name for one in by} for of, by in kinds):
                labels = steps.call("names", label_robot, str(usd.absolute()), expected)
                if isinstance(labels, Labelled):
                    usd = self.folder / "labelled.usda"
                    usd.write_text(labels.text, encoding="utf-8")
                    again = self._engines(
                        p.Side.USD, structs.replace(request, path=str(usd)), "labelled"
                    )
                    outcomes |= {name: _relabelled(one, labels) for name, one in again.items()}
            results = structs.replace(results, files={**files, p.Side.USD: usd})
            links = (results.observation(USD_ENGINE) or actual).links
            given = str(usd), frozenset(link.name for link in links)
            shapes = steps.call("shapes at rest", rest_shapes, *given)
            if not isinstance(shapes, p.Crashed):
                drawings, solids = shapes
                found = steps.call("distances at rest", _touching, expected, solids)
                touching = None if isinstance(found, p.Crashed) else found
                results = structs.replace(results, drawings=drawings, touching=touching)
        if p.Side.URDF not in files:
            return results
        back = self._round_trip(results, expected, chosen)
        return structs.replace(results, back=back)

    def _round_trip(
        self, results: EngineResults, expected: obs.Observation, chosen: obs.Configurations
    ) -> RoundTripOutcomes | None:
        """Write the URDF back from the USD, and read it with the engines that read the URDF."""
        engines = [
            name
            for name in results.of_side(p.Side.URDF)
            if name != REFERENCE and results.observation(name)
        ]
        if not engines:
            return None
        links = tuple(link.name for link in expected.links)
        reversed_limits = tuple(
            joint.name
            for joint in expected.joints
            if joint.lower is not None and joint.upper is not None and joint.lower > joint.upper
        )
        usd, urdf = str(results.files[p.Side.USD]), self.folder / "back.urdf"
        usable = results.observation(USD_ENGINE) is not None
        text = self.steps.call("write back", write_back, usd, links, reversed_limits, usable)
        if not isinstance(text, bytes):
            return RoundTripOutcomes(failure=text.reason if isinstance(text, p.Crashed) else text)
        urdf.write_bytes(text)
        request, call = p.Request(str(urdf), chosen), self.steps.call
        return RoundTripOutcomes(
            {name: call(f"back {name}", observe, name, request) for name in engines}
        )

    def _draw(
        self,
        results: EngineResults,
        chosen: obs.Configurations,
        second: Source | None = None,
    ) -> None:
        """Draw both sides into a file, if there is to be one; there is none if that fails."""
        job = self.job
        target = job.scene if job.usd else scene_path(job.folder, job.place)
        if target:
            target.unlink(missing_ok=True)
        if not target or not results.expected:
            return
        sides = {p.Side.URDF.value: results.deciding, p.Side.USD.value: USD_ENGINE}
        seen = {one: results.observation(one) for one in results.outcomes}
        readings = {side: found for side, name in sides.items() if (found := seen.get(name))}
        frames = {name: found.frames for name, found in seen.items() if found and found.frames}

        def draw() -> None:
            drawn = second.draw() if second else results.drawings
            drawings = {p.Side.URDF.value: self.source.draw(), p.Side.USD.value: drawn}
            write_scene(draw_scene(drawings, readings, frames, chosen), target)

        self.steps.call("draw", draw)

    def _case(self, record: RobotRecord, expected: Expected) -> r.CaseRecord:
        job, steps, results = self.job, self.steps, self.results
        readings: tuple[r.CaseReadingRecord, ...] = ()
        if results is not None and not expected.refused:
            outcomes = results.of_side(p.Side.USD)
            if expected.poses:
                usd = str(results.files[p.Side.USD])
                request = p.Request(usd, expectations.configurations_of(expected), job.packages)
                outcomes = self._engines(p.Side.USD, request, "case")
            compared = steps.call("case", expectations.compare_readings, expected, outcomes)
            if isinstance(compared, p.Crashed):
                compared = (r.CaseReadingRecord(engine=USD_ENGINE, reason=compared.reason),)
            readings = compared
        ending = expectations.judge_case(
            expected,
            readings,
            refusal=self.refusal and records.portable(self.refusal, self.names),
            written=results is not None,
            crash=record.reason,
            rules=frozenset(one.rule for one in record.diagnostics) if job.own else None,
        )
        return records.case_record(job, ending, readings)


def input_paths(job: Job) -> frozenset[Path] | None:
    """Return the files of a URDF; None if not all are there."""
    given = job.packages, job.arguments, job.options.environment
    read = descriptions.read_robot(str(job.source.path), *given)
    if read.parsed is None or any(
        found.rule in MISSING | {"mesh-missing"} for found in read.diagnostics
    ):
        return None
    return frozenset(Path(file.path).resolve() for file in read.inputs)


def observe(engine: str, request: p.Request) -> p.Observed | p.Unsupported:
    """Have a registered engine read a file.

    Raises:
        TypeError: It returned no observation, or one with values of other types.
    """
    try:
        observation: object = p.engine(engine).observe(request)
    except p.UnsupportedError as refusal:
        reason = " ".join(str(refusal).split())
        return p.Unsupported(reason, isinstance(refusal, p.InvalidFileError))
    if not isinstance(observation, obs.Observation):
        kind = type(observation).__name__
        raise TypeError(f"the engine returned {kind} instead of an observation")
    # Those of this project are checked by mypy.
    if not p.target(engine).startswith("urdf_usd."):
        obs.require_types(observation)
    return p.Observed(observation)


def _relabelled(outcome: p.Outcome, labels: Labelled) -> p.Outcome:
    """Add notes on names that differ in the file."""
    if not isinstance(outcome, p.Observed):
        return outcome
    found = outcome.observation
    notes = [f"{what} is called {name!r}" for what, name in labels.spelled]
    return p.Observed(structs.replace(found, renamed=labels.inferred, notes=(*found.notes, *notes)))


def _touching(expected: obs.Observation, solids: Sequence[Solid]) -> tuple[OverlapRecord, ...]:
    """Return the links whose colliders touch or overlap at rest."""
    near = expectations.touching_links(expected, solids) if solids else {}
    return tuple(OverlapRecord(links=links, distance=one) for links, one in near.items())


def write_back(
    usd: str, links: Sequence[str], reversed_limits: Sequence[str] = (), usable: bool = False
) -> bytes | str:
    """Write the robot in a USD as URDF, without shapes; as text, why it cannot be written.

    The names of its links tell frames that the USD does not mark. Of joints with
    ``reversed_limits``, the lower limit is above the upper one. With ``usable``, an engine
    has read its values.
    """
    try:
        stage, given = open_stage(usd, checked=True).stage, reversed_limits
        reading = read_stage(stage, links, shapes=False, reversed_limits=given, usable=usable)
        return write(reading.robot)
    except d.ConversionError as error:
        errors = (each for each in error.diagnostics if each.severity == "error")
        return next(errors).message


def _required_base(job: Job, expected: obs.Observation | None) -> obs.Base | None:
    """Return the base that the USD has to have; None if the URDF decides.

    Our converter has to write a floating one by default.
    """
    if job.second or not (job.usd or job.own):
        return None
    option = job.required.base
    if option is not BaseOption.AUTO:
        return obs.Base(option.value)
    if job.usd or expected is None or expected.base is not None:
        return None
    moves = any(obs.COORDINATES[joint.type] for joint in expected.joints)
    weighs = any(link.mass and link.mass.mass for link in expected.links)
    return obs.Base.FLOATING if moves or weighs else obs.Base.STATIC
