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
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import structs

from urdf_usd.conformance import descriptions
from urdf_usd.conformance.descriptions import Reading, Source
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
from urdf_usd.conformance.execution.observe import AT_REST, observe_files, observe_side
from urdf_usd.conformance.execution.worker import Steps, is_limit, over_limits, own_folder
from urdf_usd.conformance.expectations import (
    compare_readings,
    configurations_of,
    judge_case,
    requested_settings,
)
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.robot import SimulationObservation
from urdf_usd.conformance.observation.shapes import Drawing
from urdf_usd.conformance.verdict.judged import DECIDING, REFERENCE, ColliderChoice, Judgement
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter import diagnostics as d
from urdf_usd.converter.file_content import InputFile
from urdf_usd.converter.inputs import input_files, references
from urdf_usd.converter.lint.linting import lint_parsed
from urdf_usd.converter.meshes.read import cached_meshes
from urdf_usd.converter.options import InertiaOption
from urdf_usd.converter.robot.model import BaseOption
from urdf_usd.converter.urdf.parse import Parsed
from urdf_usd.converter.urdf.xacro import is_part, is_xacro
from urdf_usd.corpus import RobotSource
from urdf_usd.corpus.files import Format, robot_format
from urdf_usd.installation import DISTRIBUTION, environment
from urdf_usd.reports.records import record as r
from urdf_usd.reports.records.record import RobotRecord, Verdict
from urdf_usd.reports.records.results import write_seconds
from urdf_usd.reports.records.scene import scene_path, write_scene
from urdf_usd.reports.records.suite_case import read_case

_Result = TypeVar("_Result")


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
        self.begun = records.begun_record(job, self.names)
        self.inputs: tuple[InputFile, ...] = ()
        self.references: tuple[tuple[str, str | None], ...] = ()
        self.diagnostics: tuple[d.Diagnostic, ...] = ()  # of the source
        self.formats: tuple[str, str] | None = None  # that are compared, other than URDF and USD
        self.results: EngineResults | None = None  # of a USD; None if there is none
        self.refusal: str | None = None  # why the converter refused the robot, if it did
        self.is_read = True  # whether the source can be read, and be converted

    def examined(self) -> Examined:
        job = self.job
        try:
            if job.second:
                record = self._descriptions(job.second)
            elif robot_format(job.source.path) is Format.MJCF:
                record = self._mjcf()
            else:
                record = self._urdf()
        except UncomparedError as error:
            found = self.diagnostics if error.diagnostics is None else error.diagnostics
            record = records.ended(self.begun, error.verdict, error.reason, found)
            record = structs.replace(record, output=error.output)
            self.refusal = error.reason if error.refused else None
        record = records.portable_record(record, self.names)
        if job.source.case and self.is_read:
            record = structs.replace(record, case=self._case(record))
        if self.formats:
            record = records.of_formats(record, self.formats)
        crashed = self.steps.crashed or record.verdict is Verdict.CRASHED
        return Examined(record, self.inputs, self.references, crashed)

    def _need(
        self, step: str, what: str, function: Callable[..., _Result], *arguments: object
    ) -> _Result:
        """Call a function as a step, without which the robot cannot be compared."""
        result = self.steps.call(step, function, *arguments)
        if isinstance(result, p.Crashed):
            raise UncomparedError(Verdict.CRASHED, f"{what} crashed: {result.reason}", ())
        return result

    def _begin(self, inputs: tuple[InputFile, ...]) -> None:
        self.inputs = inputs
        self.begun = records.begun_record(self.job, self.names, inputs)

    def _observe(self, files: Mapping[p.Side, Path]) -> EngineResults:
        job = self.job
        return observe_files(self.steps, job.engines, files, job.packages, AT_REST, self.folder)

    def _urdf(self) -> RobotRecord:
        job, path = self.job, self.job.source.path
        given = job.packages, job.arguments, job.options.environment
        reading = self.steps.call("read", descriptions.read_robot, str(path), *given)
        if isinstance(reading, Reading):
            parsed = reading.parsed
            self._begin(reading.inputs)
            self.references = tuple(references(parsed.robot))
            self.diagnostics = parsed.diagnostics
            if job.own:
                self.begun = structs.replace(self.begun, ledger=records.coverage(parsed.robot))
        elif hashed := input_files([str(path)], None):
            # Of a xacro file, it is not known which others it includes.
            self.inputs = () if is_xacro(str(path)) else hashed
            stated = structs.replace(self.begun.source, sha256=hashed[0].sha256)
            self.begun = structs.replace(self.begun, source=stated)
        self._require_reads(Format.URDF)
        if isinstance(reading, p.Crashed):
            reason = f"the URDF reader crashed: {reading.reason}"
            raise UncomparedError(Verdict.CRASHED, reason)
        if isinstance(reading, d.SourceError):
            if job.usd:
                raise reading
            return self._unreadable(reading.diagnostics)

        found = self._need("lint", "lint", lint_parsed, parsed, str(path))
        issues = records.diagnostic_records(one for one in found if one.rule in d.LINT_RULES)
        self.begun = structs.replace(self.begun, lint=issues)
        # The URDF for engines: as it is, expanded, or with estimated mass.
        if reading.expanded is not None:
            path = self.folder / f"{job.source.id}.urdf"
            if job.usd is None:
                path = expansion_path(job.folder, job.place)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(reading.expanded)
        named, estimated = reading.packages | job.packages, frozenset[str]()
        convert = partial(self._converted, parsed, path, named)
        source = Source(path, Format.URDF, job.packages)
        if job.required.inertia is InertiaOption.GEOMETRY:
            copy = self.folder / f"{job.source.id}-estimated.urdf"
            what = "the estimation of mass from shapes"
            source, read = Source(copy, Format.URDF, named), structs.replace(source, packages=named)
            made = self._need(
                "estimate", what, descriptions.write_estimated, read, job.required, copy
            )
            if isinstance(made, str):
                reason = f"mass cannot be computed from shapes: {made}"
                raise UncomparedError(Verdict.NOT_COMPARABLE, reason)
            estimated = made
        return self._compared(source, self._planned(source), convert, estimated)

    def _require_reads(self, source: Format) -> None:
        job = self.job
        if not (job.usd or job.candidate.reads(source)):
            reason = f"{job.candidate.name} does not convert {source.value.upper()}"
            if source is Format.MJCF:
                reason += ": --converter names others"
            raise UncomparedError(Verdict.NOT_AVAILABLE, reason)

    def _planned(self, source: Source) -> obs.Configurations:
        """Choose the configurations of a robot, or raise if its engine refuses it."""
        what = "MuJoCo" if source.format is Format.MJCF else "the URDF reader"
        chosen = self._need("plan", what, source.sampling_plan)
        if isinstance(chosen, p.Unsupported):
            refused = _refused(source.path, chosen.reason)
            if self.job.usd:
                raise d.SourceError((refused,))
            raise UncomparedError(Verdict.UNREADABLE, chosen.reason, (refused,))
        return chosen

    def _unreadable(self, diagnostics: Sequence[d.Diagnostic]) -> RobotRecord:
        """Record a URDF that our reader refuses, and which engines read it."""
        job, source = self.job, self.job.source
        reason, verdict = converting.first_error(diagnostics), Verdict.UNREADABLE
        self.refusal = reason
        if is_xacro(str(source.path)):
            rules = [found.rule for found in diagnostics]
            is_robot_part = source.searched and is_part(rules, included=source.included)
            if is_robot_part:
                verdict = Verdict.NOT_AVAILABLE
            elif "xacro-file-missing" in rules and (source.mirrored or source.searched):
                lack = "not in the mirror" if source.mirrored else "incomplete"
                verdict, reason = Verdict.NOT_AVAILABLE, f"{lack}: {reason}"
            record = records.ended(self.begun, verdict, reason, diagnostics)
            record = structs.replace(record, part=is_robot_part)
        else:
            results = self._observe({p.Side.URDF: source.path})
            crash = results.outcomes.get(REFERENCE)
            if isinstance(crash, p.Crashed):
                verdict, reason = Verdict.CRASHED, f"{REFERENCE} crashed: {crash.reason}"
            elif observed := [name for name in results.outcomes if results.observation(name)]:
                reason += f"; {' and '.join(observed)} read it nevertheless"
            judgement = Judgement((), (), verdict, reason)
            record = records.judged(self.begun, judgement, results, diagnostics)
        if not source.case or job.own:
            return record
        # A case is about the converter, whatever our reader makes of it.
        self.refusal = None
        try:
            made = self._converted(None, source.path, job.packages)
        except UncomparedError as error:
            record = structs.replace(record, output=error.output)
            if error.verdict is Verdict.CRASHED:
                return structs.replace(record, verdict=error.verdict, reason=error.reason)
            self.refusal = error.reason
            return record
        self.results = self._observe({p.Side.USD: made.root_layer})
        return structs.replace(record, asset=made.asset, output=made.output)

    def _mjcf(self) -> RobotRecord:
        """Compare a USD with an MJCF, or have a converter of others make one and compare that."""
        job, file = self.job, self.job.source.path
        self.formats, self.is_read = (Format.MJCF.value, "usd"), False
        self._begin(descriptions.mjcf_inputs(file))
        source = Source(file, Format.MJCF, {})
        chosen = self._planned(source)
        self._require_reads(Format.MJCF)
        self.is_read = True
        return self._compared(source, chosen, partial(self._converted, None, file, job.packages))

    def _converted(self, parsed: Parsed | None, urdf: Path, packages: Mapping[str, str]) -> Written:
        """Convert a robot by the converter of the job, and write how long that took."""
        job = self.job
        made = self.steps.call("convert", converting.convert_robot, job, parsed, urdf, packages)
        if isinstance(made, p.Crashed):
            reason, output = f"the converter crashed: {made.reason}", made.output
            raise UncomparedError(Verdict.CRASHED, reason, output=None if job.own else output)
        if isinstance(made, UncomparedError):
            raise made
        if made.seconds is not None and (job.compared or job.timed):
            write_seconds(job.folder, job.place, seconds=made.seconds)
        return made

    def _composed(self, usd: Path, output: str | None) -> ComposedUsd:
        """Compose a USD before engines read it: of one that hangs, each would wait in turn."""
        job, optional = self.job, self.job.usd is None
        function = partial(converting.compose, optional=optional, strict=job.strict, root=job.root)
        layer = str(self.folder / "selection.usda")
        composed = self.steps.call("compose", function, str(usd), layer, job.variants)
        if isinstance(composed, p.Crashed):
            if not is_limit(composed):
                reason = f"the USD cannot be composed: {composed.reason}"
                raise UncomparedError(Verdict.CRASHED, reason, (), output)
            composed = ComposedUsd(str(usd), refused=(over_limits(usd, composed),))
        refused = composed.refused
        if not optional and any(each.rule in converting.MISTAKES for each in refused):
            raise d.StageError(refused)
        if refused:
            raise UncomparedError(Verdict.NOT_COMPARABLE, refused[0].advice, refused, output)
        return composed

    def _compared(
        self,
        source: Source,
        chosen: obs.Configurations,
        convert: Callable[[], Written],
        estimated: frozenset[str] = frozenset(),
    ) -> RobotRecord:
        """Compare the USD with the source, as engines read it, at configurations.

        If there is no USD, ``convert`` makes one. The mass of the links ``estimated`` was
        computed from shapes.
        """
        job, steps = self.job, self.steps
        if job.usd:
            made, usd, output = None, job.usd, None
        else:
            made = convert()
            usd, output = made.root_layer, made.output
        if job.own and made:
            composed, diagnostics = ComposedUsd(str(usd)), made.diagnostics
        else:
            composed = self._composed(usd, output)
            diagnostics = (*self.diagnostics, *composed.diagnostics)
        files = {source.side: source.path, p.Side.USD: Path(composed.usd)}
        read = files, source.packages, chosen, self.folder
        hulls = bool(job.required.colliders.rules)
        results = observe_files(steps, job.engines, *read, hulls=hulls)
        expected, actual = results.expected, results.observation(USD_ENGINE)
        of_mjcf = results.of_side(p.Side.MJCF)
        if of_mjcf and expected and actual:
            reading = steps.call("implied", descriptions.read_as_mjcf, expected, actual, chosen)
            if not isinstance(reading, p.Crashed):
                outcomes = {**results.outcomes, USD_ENGINE: p.Observed(reading)}
                results = structs.replace(results, outcomes=outcomes)
        self.results = results
        record = self._with_variants(self._judged(results, diagnostics, estimated), composed)
        if record.checks and len([*filter(results.observation, of_mjcf)]) == 1:
            reason = f"{record.reason}; one engine read the MJCF"
            record = structs.replace(record, reason=reason)
        if made:
            record = structs.replace(record, asset=made.asset, output=output)
        if made or record.checks:
            scene = job.scene if job.usd else scene_path(job.folder, job.place)
            self._draw(source, lambda: results.drawings, results, chosen, scene)
        return record

    def _judged(
        self, results: EngineResults, diagnostics: Sequence[d.Diagnostic], estimated: frozenset[str]
    ) -> RobotRecord:
        """Compare the outcomes of engines, and record the judgement."""
        job, expected = self.job, results.expected
        description, rules = job.required.simulation, job.required.colliders
        usd = results.of_side(p.Side.USD)
        settings: SimulationObservation | p.Crashed | None = (
            expected.simulation if expected else None
        )
        if description and expected and results.observation(USD_ENGINE):
            urdf, usd_file = (str(results.files[side]) for side in (p.Side.URDF, p.Side.USD))

            def requested() -> SimulationObservation:
                overlap = description.tables.filters.overlap
                solids = rest_shapes(usd_file, ())[1] if overlap else ()
                return requested_settings(description, urdf, expected, solids)

            settings = self.steps.call("description", requested)
        links = expected.links if expected else ()
        function = partial(
            judge,
            results.of_side(p.Side.URDF) or results.of_side(p.Side.MJCF),
            usd[USD_ENGINE],
            simulators=tuple(one for name, one in usd.items() if name != USD_ENGINE),
            back=results.back,
            expected_base=_required_base(job, expected),
            requested=None if isinstance(settings, p.Crashed) else settings,
            estimated=estimated,
            # The requested colliders of each link that has a rule.
            colliders={
                link.name: ColliderChoice(kind.value, rules.tolerance)
                for link in links
                if (kind := rules.kind_of(link.name))
            },
            decides=results.deciding,
        )
        crash = settings if isinstance(settings, p.Crashed) else None
        record = self._judgement(crash, function, results, diagnostics)
        if description is None:
            return record
        described = r.DescriptionRecord(
            file=Path(description.file).name,
            sha256=description.sha256,
            files={
                Path(name).name: hashlib.sha256(content).hexdigest()
                for name, content in description.attached
            },
            settings=settings.sources if isinstance(settings, SimulationObservation) else (),
        )
        return structs.replace(record, description=described)

    def _judgement(
        self,
        crash: p.Crashed | None,
        function: Callable[[], Judgement],
        results: EngineResults,
        diagnostics: Iterable[d.Diagnostic] = (),
    ) -> RobotRecord:
        """Record the judgement of a function, unless there was a crash before."""
        judgement = crash if crash else self.steps.call("compare", function)
        if isinstance(judgement, p.Crashed):
            reason = f"the comparison crashed: {judgement.reason}"
            judgement = Judgement((), (), Verdict.CRASHED, reason)
        return records.judged(self.begun, judgement, results, diagnostics)

    def _with_variants(self, record: RobotRecord, composed: ComposedUsd) -> RobotRecord:
        """Add the selected variants to a record.

        If links or joints differ and a variant set has no selection, that is the cause: the
        USD is not comparable, and no check is reported.
        """
        rule, structure = "variant-unselected", {"structure.links", "structure.joints"}
        unselected = [each.message for each in composed.diagnostics if each.rule == rule]
        if unselected and not record.verdict.agrees:
            reason = "; ".join(unselected)
            if record.checks and not any(
                check.id in structure and check.grade in {r.Grade.FAILS, r.Grade.NOT_COMPARABLE}
                for check in record.checks
            ):
                record = structs.replace(record, reason=f"{reason}; {record.reason}")
            else:
                others = (each for each in composed.diagnostics if each.rule != rule)
                missing = (d.Diagnostic("variant-required", each) for each in unselected)
                found = (*self.diagnostics, *others, *missing)
                record = records.ended(self.begun, Verdict.NOT_COMPARABLE, reason, found)
        selection = {f"{one.prim}:{one.variant_set}": one.variant for one in composed.variants}
        return structs.replace(record, variants=selection)

    def _descriptions(self, other: RobotSource) -> RobotRecord:
        """Compare two descriptions of a robot.

        Raises:
            SourceError: One of them is invalid or unsupported.
        """
        job, steps = self.job, self.steps
        first, second = self._source(job.source, 0), self._source(other, 1)
        self.formats = first.format.value, second.format.value
        self._begin(self.inputs)
        chosen = self._planned(first)
        decides, request = DECIDING[first.side], p.Request(str(first.path), chosen, first.packages)
        outcomes = observe_side(steps, job.engines, first.side, request)
        if isinstance(own := outcomes.get(decides), p.Observed):
            outcomes[decides] = p.Observed(first.described(own.observation))
        engines = tuple(one for one in job.engines if one.side is first.side)
        results = EngineResults(engines, outcomes, chosen.count, {first.side: first.path})
        expected = results.expected
        if expected is None:
            raise UncomparedError(Verdict.UNREADABLE, "no engine reads the first file")
        function = partial(descriptions.observed_second, second, expected, chosen, job.mapped)
        actual = steps.call("second", function)
        if isinstance(actual, p.Unsupported):
            raise d.SourceError((_refused(second.path, actual.reason),))
        name = f"{DECIDING[second.side]} (second)"
        read = InstalledEngine(name, second.side, p.Available(environment()[DISTRIBUTION]))
        seen = {**outcomes, name: actual}
        results = structs.replace(results, engines=(*engines, read), outcomes=seen)
        crash = actual if isinstance(actual, p.Crashed) else None
        compare = partial(judge, outcomes, actual, decides=decides, described=True)
        record = self._judgement(crash, compare, results)
        uncompared = dict(expected.uncompared)
        if isinstance(actual, p.Observed):
            uncompared |= dict(actual.observation.uncompared)
            drawn = structs.replace(results, outcomes={**seen, USD_ENGINE: actual})
            self._draw(first, second.draw, drawn, chosen, job.scene)
        return structs.replace(record, converter=other.reference, uncompared=uncompared)

    def _source(self, source: RobotSource, number: int) -> Source:
        job, path = self.job, source.path
        if robot_format(path) is Format.MJCF:
            self.inputs = self.inputs or descriptions.mjcf_inputs(path)
            return Source(path, Format.MJCF, {})
        packages = {name: str(folder) for name, folder in source.packages}
        packages |= dict(job.options.packages)
        given = packages, {} if number else job.arguments, job.options.environment
        read = descriptions.read_robot
        reading = self._need(f"read {number}", "the URDF reader", read, str(path), *given)
        if isinstance(reading, d.SourceError):
            raise reading
        if reading.expanded is not None:
            path = self.folder / f"{number}.urdf"
            path.write_bytes(reading.expanded)
        self.inputs = self.inputs or reading.inputs
        return Source(path, Format.URDF, packages)

    def _draw(
        self,
        source: Source,
        draw_usd: Callable[[], Sequence[Drawing]],
        results: EngineResults,
        chosen: obs.Configurations,
        target: Path | None,
    ) -> None:
        """Draw both sides into a file, if there is to be one; there is none if that fails."""
        if target is None:
            return
        target.unlink(missing_ok=True)
        if not results.expected:
            return
        sides = {p.Side.URDF.value: results.deciding, p.Side.USD.value: USD_ENGINE}
        seen = {one: results.observation(one) for one in results.outcomes}
        readings = {side: found for side, name in sides.items() if (found := seen.get(name))}
        frames = {name: found.frames for name, found in seen.items() if found and found.frames}

        def draw() -> None:
            drawings = {p.Side.URDF.value: source.draw(), p.Side.USD.value: draw_usd()}
            write_scene(draw_scene(drawings, readings, frames, chosen), target)

        self.steps.call("draw", draw)

    def _case(self, record: RobotRecord) -> r.CaseRecord:
        job, steps, results = self.job, self.steps, self.results
        assert job.source.case is not None  # noqa: S101  # as the caller knows
        expected = read_case(job.source.case.text).expected
        readings: tuple[r.CaseReadingRecord, ...] = ()
        if results is not None and not expected.refused:
            outcomes = results.of_side(p.Side.USD)
            if expected.poses:
                usd = str(results.files[p.Side.USD])
                request = p.Request(usd, configurations_of(expected), job.packages)
                outcomes = observe_side(steps, results.engines, p.Side.USD, request, "case")
            compared = steps.call("case", compare_readings, expected, outcomes)
            if isinstance(compared, p.Crashed):
                compared = (r.CaseReadingRecord(engine=USD_ENGINE, reason=compared.reason),)
            readings = compared
        ending = judge_case(
            expected,
            readings,
            refusal=self.refusal and records.portable(self.refusal, self.names),
            written=results is not None,
            crash=record.reason,
            rules=frozenset(one.rule for one in record.diagnostics) if job.own else None,
        )
        return records.case_record(job, ending, readings)


def input_paths(job: Job) -> frozenset[Path] | None:
    """Return the files of a robot; None if not all are there."""
    given = job.packages, job.arguments, job.options.environment
    reading = descriptions.read_robot(str(job.source.path), *given)
    if not isinstance(reading, Reading) or any(
        found.rule in MISSING | {"mesh-missing"} for found in reading.parsed.diagnostics
    ):
        return None
    return frozenset(Path(file.path).resolve() for file in reading.inputs)


def _refused(path: Path, reason: str) -> d.Diagnostic:
    return d.Diagnostic("mjcf-refused", reason, d.Location(str(path), 1, 1))


def _required_base(job: Job, expected: obs.Observation | None) -> obs.Base | None:
    """Return the base that the USD has to have; None if the URDF decides.

    Our converter has to write a floating one by default.
    """
    if not (job.usd or job.own):
        return None
    option = job.required.base
    if option is not BaseOption.AUTO:
        return obs.Base(option.value)
    if job.usd or expected is None or expected.base is not None:
        return None
    moves = any(obs.COORDINATES[joint.type] for joint in expected.joints)
    weighs = any(link.mass and link.mass.mass for link in expected.links)
    return obs.Base.FLOATING if moves or weighs else obs.Base.STATIC
