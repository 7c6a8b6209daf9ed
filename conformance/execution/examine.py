"""One robot from its source to its record: read, lint, convert, observe, judge, draw.

:func:`examine` runs in a worker. Everything that a library or a hostile file could crash
is a step: if it ends the process, the robot is examined again without it.
"""

from __future__ import annotations

import hashlib
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import structs

from urdf_usd.conformance.drawing.scene import draw_scene
from urdf_usd.conformance.engines.mjcf import draw_mjcf
from urdf_usd.conformance.engines.openusd.shapes import rest_solids
from urdf_usd.conformance.engines.protocol import (
    Available,
    Crashed,
    Observed,
    Request,
    Side,
    Unsupported,
)
from urdf_usd.conformance.engines.reference import read_kept
from urdf_usd.conformance.execution import record as records
from urdf_usd.conformance.execution import sources
from urdf_usd.conformance.execution.converting import (
    MISTAKES,
    ComposedUsd,
    UncomparedError,
    Written,
    compose,
    convert_robot,
    first_error,
)
from urdf_usd.conformance.execution.engines import (
    AT_REST,
    observe_files,
    observe_side,
)
from urdf_usd.conformance.execution.folder import expansion_path
from urdf_usd.conformance.execution.job import (
    USD_ENGINE,
    EngineResults,
    Examined,
    InstalledEngine,
    Job,
)
from urdf_usd.conformance.execution.mjcf import (
    mjcf_inputs,
    mjcf_questions,
    of_formats,
    read_as_mjcf,
)
from urdf_usd.conformance.execution.worker import Steps, is_limit, over_limits, own_folder
from urdf_usd.conformance.expectations import compare_readings, configurations_of, judge_case
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    Base,
    Configurations,
    Observation,
)
from urdf_usd.conformance.observation.shapes import Drawing
from urdf_usd.conformance.observation.simulation import SimulationObservation
from urdf_usd.conformance.requested_settings import requested_settings
from urdf_usd.conformance.verdict.judged import DECIDING, REFERENCE, ColliderChoice, Judgement
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter.diagnostics import (
    LINT_RULES,
    Diagnostic,
    Location,
    SourceError,
    StageError,
)
from urdf_usd.converter.file_content import InputFile
from urdf_usd.converter.inputs import references
from urdf_usd.converter.lint.linting import lint_parsed
from urdf_usd.converter.meshes.read import cached_meshes
from urdf_usd.converter.options import InertiaOption
from urdf_usd.converter.robot.model import BaseOption, Robot
from urdf_usd.converter.simulation.settings import SettingsFile
from urdf_usd.converter.urdf.parse import Parsed
from urdf_usd.converter.urdf.xacro import is_part, is_xacro
from urdf_usd.corpus import RobotSource
from urdf_usd.corpus.files import Format, robot_format
from urdf_usd.reports.records.environment import DISTRIBUTION, environment
from urdf_usd.reports.records.record import (
    CaseReadingRecord,
    CaseRecord,
    DescriptionRecord,
    Grade,
    RobotRecord,
    Verdict,
)
from urdf_usd.reports.records.results import write_seconds
from urdf_usd.reports.records.scene import scene_path, write_scene
from urdf_usd.reports.records.suite_case import read_case

_Result = TypeVar("_Result")
_Shapes = Robot | Sequence[Drawing]


def examine(job: Job, crashes: Mapping[str, Crashed] | None = None) -> Examined:
    """Examine a robot: convert it, and compare the USD with it.

    ``crashes`` are the steps that have ended the process of a worker, and how. In a check,
    an error says why the URDF cannot be read, or which variant of the USD does not exist.
    """
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="robot-", dir=own_folder()) as folder, cached_meshes():
        try:
            return _Examination(job, Steps(crashes), Path(folder)).examined()
        except (SourceError, StageError, MemoryError):
            raise
        # What engines and converters of others return may lead to any error.
        except Exception as error:  # noqa: BLE001
            return records.crashed(job, "".join(traceback.format_exception_only(error)).strip())
        finally:
            if job.timed:
                took = time.perf_counter() - begin
                write_seconds(job.folder, job.place, examination=took)


class _Examination:
    """One robot, and what the steps on it share.

    Args:
        job: The robot.
        steps: Runs the steps.
        folder: For temporary files.
    """

    def __init__(self, job: Job, steps: Steps, folder: Path) -> None:
        self.job = job
        self.steps = steps
        self.folder = folder
        self.names = records.robot_folders(job, folder)
        self.begun = records.begun_record(job, self.names)
        self.inputs: tuple[InputFile, ...] = ()
        self.references: tuple[tuple[str, str | None], ...] = ()
        self.diagnostics: tuple[Diagnostic, ...] = ()  # of the source
        self.formats: tuple[str, str] | None = None  # that are compared, other than URDF and USD
        self.results: EngineResults | None = None  # of a USD; None if there is none
        self.refusal: str | None = None  # why the converter refused the robot, if it did
        self.is_read = True  # whether the source can be read, and be converted

    def examined(self) -> Examined:
        """Examine the robot.

        Raises:
            SourceError: In a check, the source cannot be read.
            StageError: In a check, a variant or prim of the USD does not exist.
        """
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
            record = of_formats(record, self.formats)
        crashed = self.steps.crashed or record.verdict is Verdict.CRASHED
        return Examined(record, self.inputs, self.references, crashed)

    def _need(
        self, step: str, what: str, function: Callable[..., _Result], *arguments: object
    ) -> _Result:
        """Call a function as a step, without which the robot cannot be compared."""
        result = self.steps.call(step, function, *arguments)
        if isinstance(result, Crashed):
            raise UncomparedError(Verdict.CRASHED, f"{what}: {result.reason}", ())
        return result

    def _urdf(self) -> RobotRecord:
        """Convert a URDF, unless there is a USD, and compare that with it."""
        job, file = self.job, str(self.job.source.path)
        given = job.packages, job.arguments, job.options.environment
        reading = self.steps.call("read", sources.read_robot, file, *given)
        unconverted = None
        if not (job.usd or job.candidate.reads(Format.URDF)):
            unconverted = f"{job.candidate.name} does not convert URDF"
        if not isinstance(reading, sources.Reading):
            hashed = self.steps.call("hash", sources.unread_files, file, *given)
            if hashed and not isinstance(hashed, Crashed):
                self.inputs = hashed
                stated = structs.replace(self.begun.source, sha256=hashed[0].sha256)
                self.begun = structs.replace(self.begun, source=stated)
            if unconverted:
                raise UncomparedError(Verdict.NOT_AVAILABLE, unconverted)
            if isinstance(reading, Crashed):
                reason = f"the URDF reader crashed: {reading.reason}"
                raise UncomparedError(Verdict.CRASHED, reason)
            if job.usd:
                raise reading
            return self._unreadable(reading.diagnostics)

        parsed = reading.parsed
        self.inputs, self.references = reading.inputs, tuple(references(parsed.robot))
        self.diagnostics = parsed.diagnostics
        self.begun = records.begun_record(job, self.names, self.inputs)
        if job.own:
            self.begun = structs.replace(self.begun, ledger=records.coverage(parsed.robot))
        if unconverted:
            raise UncomparedError(Verdict.NOT_AVAILABLE, unconverted)
        found = self._need("lint", "lint crashed", lint_parsed, parsed, file)
        issues = records.diagnostic_records(one for one in found if one.rule in LINT_RULES)
        self.begun = structs.replace(self.begun, lint=issues)
        # The URDF for engines: as it is, expanded, or with estimated mass.
        urdf, packages, estimated = job.source.path, job.packages, frozenset[str]()
        if reading.expanded is not None:
            urdf = self.folder / f"{job.source.id}.urdf"
            if job.usd is None:
                urdf = expansion_path(job.folder, job.place)
            urdf.parent.mkdir(parents=True, exist_ok=True)
            urdf.write_bytes(reading.expanded)
        named = reading.packages | packages
        convert = partial(self._converted, parsed, urdf, named)
        if job.required.inertia is InertiaOption.GEOMETRY:
            packages, copy = named, self.folder / f"{job.source.id}-estimated.urdf"
            what = "the estimation of mass from shapes crashed"
            arguments = urdf, packages, job.required, copy
            made = self._need("estimate", what, sources.estimated, *arguments)
            if isinstance(made, str):
                reason = f"mass cannot be computed from shapes: {made}"
                raise UncomparedError(Verdict.NOT_COMPARABLE, reason)
            (estimated, chosen), urdf = made, copy
        else:
            what = "the URDF reader crashed"
            chosen = self._need("plan", what, sources.questions, parsed.robot)

        def read() -> Robot:
            return read_kept(str(urdf), packages).robot

        return self._compared(Side.URDF, urdf, packages, chosen, convert, read, estimated)

    def _unreadable(self, diagnostics: Sequence[Diagnostic]) -> RobotRecord:
        """Record a URDF that our reader refuses, and which engines read it."""
        job, source = self.job, self.job.source
        reason, verdict = first_error(diagnostics), Verdict.UNREADABLE
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
            files = {Side.URDF: source.path}
            results = observe_files(
                self.steps, job.engines, files, job.packages, AT_REST, self.folder
            )
            crash = results.outcomes.get(REFERENCE)
            if isinstance(crash, Crashed):
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
        files = {Side.USD: made.root_layer}
        self.results = observe_files(
            self.steps, job.engines, files, job.packages, AT_REST, self.folder
        )
        return structs.replace(record, asset=made.asset, output=made.output)

    def _mjcf(self) -> RobotRecord:
        """Compare a USD with an MJCF, or have a converter of others make one and compare that."""
        job, file = self.job, self.job.source.path
        self.formats, self.is_read = (Format.MJCF.value, "usd"), False
        self.inputs = mjcf_inputs(file)
        self.begun = records.begun_record(job, self.names, self.inputs)
        chosen = self._need("read", "MuJoCo crashed", mjcf_questions, str(file))
        if isinstance(chosen, Unsupported):
            refused = _refused(file, chosen.reason)
            if job.usd:
                raise SourceError((refused,))
            raise UncomparedError(Verdict.UNREADABLE, chosen.reason, (refused,))
        if not (job.usd or job.candidate.reads(Format.MJCF)):
            reason = f"{job.candidate.name} does not convert MJCF: --converter names others"
            raise UncomparedError(Verdict.NOT_AVAILABLE, reason)
        self.is_read = True
        convert = partial(self._converted, None, file, job.packages)
        return self._compared(Side.MJCF, file, {}, chosen, convert, partial(draw_mjcf, str(file)))

    def _converted(self, parsed: Parsed | None, urdf: Path, packages: Mapping[str, str]) -> Written:
        """Convert a robot by the converter of the job, and write how long that took."""
        job = self.job
        made = self.steps.call("convert", convert_robot, job, parsed, urdf, packages)
        if isinstance(made, Crashed):
            reason, output = f"the converter crashed: {made.reason}", made.output
            raise UncomparedError(Verdict.CRASHED, reason, output=None if job.own else output)
        if isinstance(made, UncomparedError):
            raise made
        if made.seconds is not None and (job.compared or job.timed):
            write_seconds(job.folder, job.place, seconds=made.seconds)
        return made

    def _composed(self, usd: Path, made: Written | None) -> ComposedUsd:
        """Compose a USD before engines read it: of one that hangs, each would wait in turn."""
        job, optional = self.job, self.job.usd is None
        output = made.output if made else None
        function = partial(compose, optional=optional, strict=job.strict, root=job.root)
        layer = str(self.folder / "selection.usda")
        composed = self.steps.call("compose", function, str(usd), layer, job.variants)
        if isinstance(composed, Crashed):
            if not is_limit(composed):
                reason = f"the USD cannot be composed: {composed.reason}"
                raise UncomparedError(Verdict.CRASHED, reason, (), output)
            composed = ComposedUsd(str(usd), refused=(over_limits(usd, composed),))
        refused = composed.refused
        if not optional and any(each.rule in MISTAKES for each in refused):
            raise StageError(refused)
        if refused:
            raise UncomparedError(Verdict.NOT_COMPARABLE, refused[0].advice, refused, output)
        return composed

    def _compared(
        self,
        side: Side,
        file: Path,
        packages: Mapping[str, str],
        chosen: Configurations,
        convert: Callable[[], Written],
        read: Callable[[], _Shapes],
        estimated: frozenset[str] = frozenset(),
    ) -> RobotRecord:
        """Compare the USD with the source.

        Args:
            side: Format of the source.
            file: The source, as engines read it.
            packages: Folder of each ROS package that it names.
            chosen: Configurations.
            convert: Makes the USD, if there is none.
            read: Returns the robot, or its shapes, to be drawn.
            estimated: Links whose mass was computed from shapes.
        """
        job, steps = self.job, self.steps
        made = None if job.usd else convert()
        usd = made.root_layer if made else job.usd
        assert usd is not None  # noqa: S101  # one of them is there
        if job.own and made:
            composed, diagnostics = ComposedUsd(str(usd)), made.diagnostics
        else:
            composed = self._composed(usd, made)
            diagnostics = (*self.diagnostics, *composed.diagnostics)
        files = {side: file, Side.USD: Path(composed.usd)}
        results = observe_files(steps, job.engines, files, packages, chosen, self.folder)
        expected, actual = results.expected, results.observation(USD_ENGINE)
        if side is Side.MJCF and expected and actual:
            reading = steps.call("implied", read_as_mjcf, expected, actual, chosen)
            if not isinstance(reading, Crashed):
                outcomes = {**results.outcomes, USD_ENGINE: Observed(reading)}
                results = structs.replace(results, outcomes=outcomes)
        self.results = results
        record = self._judged(results, diagnostics, estimated)
        record = self._with_variants(record, composed)
        observed = sum(results.observation(name) is not None for name in results.of_side(side))
        if side is Side.MJCF and record.checks and observed == 1:
            record = structs.replace(record, reason=f"{record.reason}; one engine read the MJCF")
        if made:
            record = structs.replace(record, asset=made.asset, output=made.output)
        scene = job.scene if job.usd else scene_path(job.folder, job.place)
        if scene and (made or record.checks):
            scene.unlink(missing_ok=True)
            if expected:
                shapes = partial(str, results.files[Side.USD])
                # There is no drawing if that fails.
                steps.call("draw", _draw, read, shapes, results, chosen, scene)
        return record

    def _judged(
        self, results: EngineResults, diagnostics: Sequence[Diagnostic], estimated: frozenset[str]
    ) -> RobotRecord:
        """Compare the outcomes of engines, and record the judgement."""
        job, expected = self.job, results.expected
        description, rules = job.required.simulation, job.required.colliders
        usd = results.of_side(Side.USD)
        settings: SimulationObservation | Crashed | None = expected.simulation if expected else None
        if description and expected and results.observation(USD_ENGINE):
            settings = self.steps.call(
                "description", _requested_settings, description, results, expected
            )
        function = partial(
            judge,
            results.of_side(Side.URDF) or results.of_side(Side.MJCF),
            usd[USD_ENGINE],
            simulators=tuple(one for name, one in usd.items() if name != USD_ENGINE),
            back=results.back,
            expected_base=_required_base(job, expected),
            requested=None if isinstance(settings, Crashed) else settings,
            estimated=estimated,
            # The requested colliders of each link that has a rule.
            colliders={
                link.name: ColliderChoice(kind.value, rules.tolerance)
                for link in (expected.links if expected else ())
                if (kind := rules.kind_of(link.name))
            },
            decides=results.deciding,
        )
        crash = settings if isinstance(settings, Crashed) else None
        record = self._judgement(crash, function, results, diagnostics)
        if description is None:
            return record
        described = DescriptionRecord(
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
        crash: Crashed | None,
        function: Callable[[], Judgement],
        results: EngineResults,
        diagnostics: Sequence[Diagnostic] = (),
    ) -> RobotRecord:
        """Record the judgement of a function, unless there was a crash before."""
        judgement: Judgement | Crashed | None = crash
        if judgement is None:
            judgement = self.steps.call("compare", function)
        if isinstance(judgement, Crashed):
            reason = f"the comparison crashed: {judgement.reason}"
            judgement = Judgement((), (), Verdict.CRASHED, reason)
        return records.judged(self.begun, judgement, results, diagnostics)

    def _with_variants(self, record: RobotRecord, composed: ComposedUsd) -> RobotRecord:
        """Add the selected variants to a record.

        If links or joints differ and a variant set has no selection, that is the cause: the
        USD is not comparable, and no check is reported.
        """
        rule = "variant-unselected"
        unselected = [each.message for each in composed.diagnostics if each.rule == rule]
        if unselected and not record.verdict.agrees:
            reason = "; ".join(unselected)
            if record.checks and not any(
                check.id in {"structure.links", "structure.joints"}
                and check.grade in {Grade.FAILS, Grade.NOT_COMPARABLE}
                for check in record.checks
            ):
                record = structs.replace(record, reason=f"{reason}; {record.reason}")
            else:
                others = (each for each in composed.diagnostics if each.rule != rule)
                missing = (Diagnostic("variant-required", each) for each in unselected)
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
        self.begun = records.begun_record(job, self.names, self.inputs)
        what = "MuJoCo crashed" if first.format is Format.MJCF else "the URDF reader crashed"
        chosen = self._need("plan", what, first.questions)
        if isinstance(chosen, Unsupported):
            raise SourceError((_refused(first.path, chosen.reason),))
        decides, request = DECIDING[first.side], Request(str(first.path), chosen, first.packages)
        outcomes = observe_side(steps, job.engines, first.side, request)
        if isinstance(own := outcomes.get(decides), Observed):
            outcomes[decides] = Observed(first.described(own.observation))
        engines = tuple(one for one in job.engines if one.side is first.side)
        results = EngineResults(engines, outcomes, chosen.count, {first.side: first.path})
        expected = results.expected
        if expected is None:
            raise UncomparedError(Verdict.UNREADABLE, "no engine reads the first file")
        function = partial(sources.observed_second, second, expected, chosen, job.mapped)
        actual = steps.call("second", function)
        if isinstance(actual, Unsupported):
            raise SourceError((_refused(second.path, actual.reason),))
        name = f"{DECIDING[second.side]} (second)"
        read = InstalledEngine(name, second.side, Available(environment()[DISTRIBUTION]))
        seen = {**outcomes, name: actual}
        results = structs.replace(results, engines=(*engines, read), outcomes=seen)
        crash = actual if isinstance(actual, Crashed) else None
        compare = partial(judge, outcomes, actual, decides=decides, described=True)
        record = self._judgement(crash, compare, results)
        uncompared = dict(expected.uncompared)
        if isinstance(actual, Observed):
            uncompared |= dict(actual.observation.uncompared)
            if job.scene:
                job.scene.unlink(missing_ok=True)
                drawn = structs.replace(results, outcomes={**seen, USD_ENGINE: actual})
                steps.call("draw", _draw, first.draw, second.draw, drawn, chosen, job.scene)
        return structs.replace(record, converter=other.reference, uncompared=uncompared)

    def _source(self, source: RobotSource, number: int) -> sources.Source:
        """Read one of two descriptions; a xacro file is expanded."""
        job, path = self.job, source.path
        if robot_format(path) is Format.MJCF:
            self.inputs = self.inputs or mjcf_inputs(path)
            return sources.Source(path, Format.MJCF, {})
        packages = {name: str(folder) for name, folder in source.packages}
        packages |= dict(job.options.packages)
        given = packages, {} if number else job.arguments, job.options.environment
        what = "the URDF reader crashed"
        reading = self._need(f"read {number}", what, sources.read_robot, str(path), *given)
        if isinstance(reading, SourceError):
            raise reading
        if reading.expanded is not None:
            path = self.folder / f"{number}.urdf"
            path.write_bytes(reading.expanded)
        self.inputs = self.inputs or reading.inputs
        return sources.Source(path, Format.URDF, packages)

    def _case(self, record: RobotRecord) -> CaseRecord:
        """Compare a case of the feature suite with what became of it."""
        job, steps, results = self.job, self.steps, self.results
        assert job.source.case is not None  # noqa: S101  # as the caller knows
        expected = read_case(job.source.case.text).expected
        readings: tuple[CaseReadingRecord, ...] = ()
        if results is not None and not expected.refused:
            outcomes = results.of_side(Side.USD)
            if expected.poses:
                usd = str(results.files[Side.USD])
                request = Request(usd, configurations_of(expected), job.packages)
                outcomes = observe_side(steps, results.engines, Side.USD, request, "case")
            compared = steps.call("case", compare_readings, expected, outcomes)
            if isinstance(compared, Crashed):
                compared = (CaseReadingRecord(engine=USD_ENGINE, reason=compared.reason),)
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


def _refused(path: Path, reason: str) -> Diagnostic:
    return Diagnostic("mjcf-refused", reason, Location(str(path), 1, 1))


def _requested_settings(
    description: SettingsFile, results: EngineResults, expected: Observation
) -> SimulationObservation:
    """Resolve what a simulation settings file requests of a robot."""
    overlap = description.tables.filters.overlap
    solids = rest_solids(str(results.files[Side.USD])) if overlap else ()
    return requested_settings(description, str(results.files[Side.URDF]), expected, solids)


def _required_base(job: Job, expected: Observation | None) -> Base | None:
    """Return the base that the USD has to have; None if the URDF decides.

    Our converter has to write a floating one by default.
    """
    if not (job.usd or job.own):
        return None
    option = job.required.base
    if option is not BaseOption.AUTO:
        return Base(option.value)
    if job.usd or expected is None or expected.base is not None:
        return None
    moves = any(COORDINATES[joint.type] for joint in expected.joints)
    weighs = any(link.mass and link.mass.mass for link in expected.links)
    return Base.FLOATING if moves or weighs else Base.STATIC


def _draw(
    read: Callable[[], _Shapes],
    read_usd: Callable[[], str | Sequence[Drawing]],
    results: EngineResults,
    chosen: Configurations,
    target: Path,
) -> None:
    sides = {Side.URDF.value: results.deciding, Side.USD.value: USD_ENGINE}
    readings = {side: found for side, name in sides.items() if (found := results.observation(name))}
    frames = {
        engine.name: reading.frames
        for engine in results.engines
        if (reading := results.observation(engine.name)) and reading.frames
    }
    write_scene(draw_scene(read(), read_usd(), readings, frames, chosen), target)
