"""One robot from its source to its record: read, lint, convert, observe, judge, draw.

:func:`examine` runs in a worker. Everything that a library or a hostile file could crash
is a step: if it ends the process, the robot is examined again without it.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, structs

from urdf_usd.conformance.drawing.scene import draw_scene
from urdf_usd.conformance.engines.estimated_urdf import estimate_urdf
from urdf_usd.conformance.engines.mjcf import draw_mjcf
from urdf_usd.conformance.engines.openusd.shapes import rest_solids
from urdf_usd.conformance.engines.protocol import (
    Abstained,
    AbstentionError,
    Available,
    Crashed,
    Observed,
    Side,
)
from urdf_usd.conformance.engines.reference import (
    forget_readings,
    observe_robot,
    read_kept,
    structure,
)
from urdf_usd.conformance.execution.converting import (
    Order,
    UncomparedError,
    Written,
    convert_by_other,
    convert_robot,
    first_error,
)
from urdf_usd.conformance.execution.engines import (
    AT_REST,
    USD_ENGINE,
    EngineResults,
    InstalledEngine,
    observe_files,
    observe_side,
)
from urdf_usd.conformance.execution.folder import expansion_path, hash_file
from urdf_usd.conformance.execution.job import Job
from urdf_usd.conformance.execution.mjcf import (
    Refusal,
    mjcf_inputs,
    mjcf_questions,
    of_formats,
    read_as_mjcf,
)
from urdf_usd.conformance.execution.record import (
    FolderNames,
    begun_record,
    coverage,
    diagnostic_records,
    folder_names,
    judged,
    portable,
    unread,
)
from urdf_usd.conformance.execution.sources import Source, observed_second
from urdf_usd.conformance.execution.usd_reading import (
    MISTAKES,
    ComposedUsd,
    compose,
    is_limit,
    over_limits,
)
from urdf_usd.conformance.execution.worker import Steps, Workers, own_folder
from urdf_usd.conformance.expectations import compare_readings, configurations_of, judge_case
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    Base,
    Configurations,
    Observation,
)
from urdf_usd.conformance.observation.sampling import configurations, plan_rollout
from urdf_usd.conformance.observation.shapes import Drawing, Solid
from urdf_usd.conformance.observation.simulation import SimulationObservation
from urdf_usd.conformance.requested_settings import requested_settings
from urdf_usd.conformance.tolerance.bounds import Tolerance
from urdf_usd.conformance.tolerance.model import derive_tolerance_model
from urdf_usd.conformance.verdict.judged import DECIDING, REFERENCE, ColliderChoice, Judgement
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter.diagnostics import (
    ConversionError,
    Diagnostic,
    Location,
    SourceError,
    StageError,
)
from urdf_usd.converter.diagnostics.rules import LINT_RULES
from urdf_usd.converter.file_content import InputFile
from urdf_usd.converter.inputs import input_files, named_packages, references
from urdf_usd.converter.lint.linting import lint_parsed
from urdf_usd.converter.meshes.read import cached_meshes
from urdf_usd.converter.options import ColliderRules
from urdf_usd.converter.robot.model import BaseOption, Robot
from urdf_usd.converter.simulation.description import Description
from urdf_usd.converter.urdf.parse import Parsed, relocatable_urdf
from urdf_usd.converter.urdf.xacro import expand, is_part, is_xacro
from urdf_usd.corpus.formats import Format, robot_format
from urdf_usd.reports.records.environment import DISTRIBUTION, environment
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
from urdf_usd.reports.records.suite_case import read_case

_Result = TypeVar("_Result")
_MJCF = (Format.MJCF.value, "usd")


class Examined(Struct, frozen=True, eq=False):
    """The result of a robot, and what it depends on."""

    record: RobotRecord
    inputs: tuple[InputFile, ...] = ()  # files of the robot, the URDF first
    # references of the URDF to files, and where these are
    references: tuple[tuple[str, str | None], ...] = ()
    crashed: bool = False  # whether a step crashed


def examine_in_workers(
    workers: Workers, jobs: Iterable[Job], at_once: int = 1
) -> Generator[tuple[Job, Examined | ConversionError]]:
    """Examine robots in workers; yield them with results as they finish.

    A crash becomes part of the record. Results are those of :func:`examine`.

    Args:
        workers: The workers.
        jobs: The robots.
        at_once: Robots at work at the same time.

    Raises:
        CancelledError: The workers were closed meanwhile.
    """
    jobs = tuple(jobs)
    for number, result in workers.examine_all(examine, ((job,) for job in jobs), at_once):
        job = jobs[number]
        yield job, _crashed(job, result.reason) if isinstance(result, Crashed) else result


def examine_in_worker(workers: Workers, job: Job) -> RobotRecord:
    """Examine one robot in a worker.

    Raises:
        ConversionError: In a check, the URDF cannot be read, or a variant of the USD does
            not exist.
    """
    ((_, result),) = examine_in_workers(workers, [job])
    if isinstance(result, ConversionError):
        raise result
    return result.record


def _crashed(job: Job, reason: str) -> Examined:
    names = _names(job)
    record = unread(begun_record(job, names), names, Verdict.CRASHED, reason)
    if job.source.case:
        record = structs.replace(record, case=_case_record(job, (CaseOutcome.CRASHED, reason)))
    return Examined(record, crashed=True)


def _names(job: Job, temporary: Path | None = None) -> FolderNames:
    """Return what stands for folders in the record of a robot."""
    above = job.source.path.absolute().parents
    # Meshes are more often in a sibling of the URDF's folder than in it.
    folders = dict(zip(("", "..", "../.."), above, strict=False))
    folders["<usd>"] = job.asset
    if temporary:
        folders["<temporary>"] = temporary
    packages = {f"package://{name}": Path(folder) for name, folder in job.packages.items()}
    return folder_names(folders | packages)


def examine(job: Job, crashes: Mapping[str, Crashed]) -> Examined | ConversionError:
    """Examine a robot: convert it, and compare the USD with it.

    Args:
        job: The robot.
        crashes: Steps that have ended the process of a worker, and how.

    Returns:
        The result; in a check, why the URDF cannot be read, or which variant of the USD
        does not exist.
    """
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="robot-", dir=own_folder()) as name, cached_meshes():
        folder = Path(name)
        robot = _Robot(job, Steps(crashes), folder, _names(job, folder))
        try:
            if job.second:
                return _examined_sources(robot)
            if robot_format(job.source.path) is Format.MJCF:
                return _examined_mjcf(robot)
            return _examined(robot)
        except StageError as error:
            return error
        except MemoryError:
            raise
        # What engines and converters of others return may lead to any error.
        except Exception as error:  # noqa: BLE001
            return _crashed(job, "".join(traceback.format_exception_only(error)).strip())
        finally:
            if job.timed:
                took = time.perf_counter() - begin
                write_seconds(job.folder, job.place, examination=took)


class _Robot(Struct, frozen=True, eq=False):
    """A robot that is examined."""

    job: Job
    steps: Steps
    folder: Path  # for temporary files
    names: FolderNames  # of folders in its record

    def need(
        self, step: str, what: str, function: Callable[..., _Result], *arguments: object
    ) -> _Result:
        """Call a function as a step, without which the robot cannot be compared."""
        result = self.steps.call(step, function, *arguments)
        if isinstance(result, Crashed):
            raise UncomparedError(Verdict.CRASHED, f"{what}: {result.reason}", ())
        return result


def _examined(robot: _Robot) -> Examined | SourceError:
    job, steps, names = robot.job, robot.steps, robot.names
    file = str(job.source.path)
    reading = steps.call(
        "read", read_robot, file, job.packages, job.arguments, job.options.environment
    )
    if isinstance(reading, Reading):
        inputs = reading.inputs
        begun = begun_record(job, names, inputs)
        if job.own:
            begun = structs.replace(begun, ledger=coverage(reading.parsed.robot))
    else:
        hashed = steps.call("hash", _unread_files, job)
        inputs = () if isinstance(hashed, Crashed) else hashed
        begun = begun_record(job, names, digest=inputs[0].sha256 if inputs else None)
    refusal: str | None = None
    results: EngineResults | None = None
    try:
        if not (job.usd or job.candidate.reads(Format.URDF)):
            reason = f"{job.candidate.name} does not convert URDF"
            raise UncomparedError(Verdict.NOT_AVAILABLE, reason)
        if isinstance(reading, Crashed):
            reason = f"the URDF reader crashed: {reading.reason}"
            raise UncomparedError(Verdict.CRASHED, reason, ())
        if isinstance(reading, Reading):
            plain = _plain_urdf(robot, reading)
            planned = _planned(robot, reading, plain)
            parsed = reading.parsed
            found = robot.need("lint", "lint crashed", lint_parsed, parsed, file)
            issues = [issue for issue in found if issue.rule in LINT_RULES]
            begun = structs.replace(begun, lint=diagnostic_records(issues, names))
            record, results = _compared(robot, begun, reading, plain, planned)
        elif job.usd:
            return reading
        else:
            refusal = first_error(reading.diagnostics)
            record = _unreadable(robot, begun, reading.diagnostics)
            if job.source.case and not job.own:
                # A case is about the converter, whatever our reader makes of it.
                record, results, refusal = _converted_unread(robot, record)
    except UncomparedError as error:
        diagnostics = error.diagnostics
        if diagnostics is None:
            diagnostics = reading.parsed.diagnostics if isinstance(reading, Reading) else ()
        record = unread(begun, names, error.verdict, error.reason, diagnostics)
        record = structs.replace(record, output=_portable(error.output, names))
        refusal = error.reason if error.refused else None
    if job.source.case is not None:
        record = structs.replace(record, case=_compared_with_case(robot, record, results, refusal))
    files = tuple(references(reading.parsed.robot)) if isinstance(reading, Reading) else ()
    crashed = steps.crashed or record.verdict is Verdict.CRASHED
    return Examined(record, inputs, files, crashed)


def _examined_mjcf(robot: _Robot) -> Examined | SourceError:
    """Compare a USD with an MJCF, or have a converter of others make one and compare that."""
    job, steps, names = robot.job, robot.steps, robot.names
    inputs = mjcf_inputs(job.source.path)
    begun = begun_record(job, names, inputs)
    chosen = steps.call("read", mjcf_questions, str(job.source.path))
    if isinstance(chosen, Refusal):
        refused = _refused(job.source.path, chosen.reason)
        if job.usd:
            return SourceError((refused,))
        record = unread(begun, names, Verdict.UNREADABLE, chosen.reason, (refused,))
        return Examined(of_formats(record, _MJCF), inputs)
    results, refusal = None, None
    try:
        if isinstance(chosen, Crashed):
            raise UncomparedError(Verdict.CRASHED, f"MuJoCo crashed: {chosen.reason}", ())
        record, results = _compared_with_mjcf(robot, begun, chosen)
    except UncomparedError as error:
        record = unread(begun, names, error.verdict, error.reason, error.diagnostics or ())
        record = structs.replace(record, output=_portable(error.output, names))
        refusal = error.reason if error.refused else None
    if job.source.case is not None and record.verdict is not Verdict.NOT_AVAILABLE:
        record = structs.replace(record, case=_compared_with_case(robot, record, results, refusal))
    crashed = steps.crashed or record.verdict is Verdict.CRASHED
    return Examined(of_formats(record, _MJCF), inputs, (), crashed)


def _compared_with_mjcf(
    robot: _Robot, begun: RobotRecord, chosen: Configurations
) -> tuple[RobotRecord, EngineResults]:
    job, steps, names = robot.job, robot.steps, robot.names
    if not (job.usd or job.candidate.reads(Format.MJCF)):
        reason = f"{job.candidate.name} does not convert MJCF: --converter names others"
        raise UncomparedError(Verdict.NOT_AVAILABLE, reason)
    made = None if job.usd else _converted(robot, None, job.source.path, job.packages)
    usd = made.root_layer if made else job.usd
    assert usd is not None  # noqa: S101  # one of them is there
    composed = _composed(robot, usd, made)
    files = {Side.MJCF: job.source.path, Side.USD: Path(composed.usd)}
    results = observe_files(steps, job.engines, files, {}, chosen, robot.folder)
    expected, actual = results.expected, results.observation(USD_ENGINE)
    if expected and actual:
        reading = steps.call("implied", read_as_mjcf, expected, actual, chosen)
        if not isinstance(reading, Crashed):
            outcomes = {**results.outcomes, USD_ENGINE: Observed(reading)}
            results = structs.replace(results, outcomes=outcomes)
    record = _judged(robot, begun, results, frozenset(), composed.diagnostics)
    record = _with_variants(record, begun, names, composed, ())
    if made:
        output = _portable(made.output, names)
        record = structs.replace(record, asset=made.asset, output=output)
    if (
        record.checks
        and sum(results.observation(n) is not None for n in results.of_side(Side.MJCF)) == 1
    ):
        record = structs.replace(record, reason=f"{record.reason}; one engine read the MJCF")
    scene = job.scene if job.usd else scene_path(job.folder, job.place)
    if scene and (made or record.checks):
        file, layer = str(job.source.path), str(results.files[Side.USD])
        _draw(robot, lambda: (draw_mjcf(file), layer), chosen, results, scene)
    return record, results


def _examined_sources(robot: _Robot) -> Examined | SourceError:
    """Compare two descriptions of a robot."""
    job, steps, names = robot.job, robot.steps, robot.names
    assert job.second  # noqa: S101  as the caller knows
    found: list[Source] = []
    inputs: tuple[InputFile, ...] = ()
    for number, source in enumerate((job.source, job.second)):
        if robot_format(source.path) is Format.MJCF:
            found.append(Source(source.path, Format.MJCF, {}))
            inputs = inputs or mjcf_inputs(source.path)
            continue
        packages = {name: str(folder) for name, folder in source.packages}
        packages |= dict(job.options.packages)
        arguments = {} if number else job.arguments
        file = str(source.path)
        reading = steps.call(
            f"read {number}", read_robot, file, packages, arguments, job.options.environment
        )
        if isinstance(reading, SourceError):
            return reading
        if isinstance(reading, Crashed):
            return _crashed(job, f"the URDF reader crashed: {reading.reason}")
        path = source.path
        if reading.expanded is not None:
            path = robot.folder / f"{number}.urdf"
            path.write_bytes(reading.expanded)
        found.append(Source(path, Format.URDF, packages))
        inputs = inputs or reading.inputs
    first, second = found
    chosen = _questions_of(robot, first)
    if isinstance(chosen, SourceError):
        return chosen
    outcomes = observe_side(steps, job.engines, first.side, first.path, first.packages, chosen)
    if isinstance(own := outcomes.get(DECIDING[first.side]), Observed):
        outcomes[DECIDING[first.side]] = Observed(first.described(own.observation))
    engines = tuple(one for one in job.engines if one.side is first.side)
    results = EngineResults(engines, outcomes, chosen.count, {first.side: first.path})
    begun = begun_record(job, names, inputs)
    expected = results.expected
    if expected is None:
        record = unread(begun, names, Verdict.UNREADABLE, "no engine reads the first file")
        return Examined(record, inputs)
    actual = steps.call("second", observed_second, second, expected, chosen, job.mapped)
    if isinstance(actual, Abstained):
        return SourceError((_refused(second.path, actual.reason),))
    other = f"{DECIDING[second.side]} (second)"
    judgement: Judgement | Crashed = (
        actual
        if isinstance(actual, Crashed)
        else steps.call(
            "compare",
            partial(judge, outcomes, actual, decides=results.deciding, described=True),
        )
    )
    if isinstance(judgement, Crashed):
        reason = f"the comparison crashed: {judgement.reason}"
        judgement = Judgement((), (), Verdict.CRASHED, reason)
    read = InstalledEngine(other, second.side, Available(environment()[DISTRIBUTION]))
    seen = {**outcomes, other: actual}
    results = structs.replace(results, engines=(*engines, read), outcomes=seen)
    record = judged(begun, names, judgement, results)
    if isinstance(actual, Observed) and job.scene:
        drawn = structs.replace(
            results, outcomes={**seen, USD_ENGINE: actual}, files={**results.files}
        )
        _draw(robot, lambda: (first.draw(), second.draw()), chosen, drawn, job.scene)
    parts = {**dict(expected.uncompared)}
    if isinstance(actual, Observed):
        parts |= dict(actual.observation.uncompared)
    record = structs.replace(record, converter=job.second.reference, uncompared=parts)
    formats = first.format.value, second.format.value
    return Examined(of_formats(record, formats), inputs, (), steps.crashed)


def _questions_of(robot: _Robot, source: Source) -> Configurations | SourceError:
    """Choose the configurations of a description."""
    path = str(source.path)
    if source.format is Format.URDF:
        parsed = read_kept(path, source.packages).robot
        return robot.need("plan", "the URDF reader crashed", questions, parsed)
    chosen = robot.need("plan", "MuJoCo crashed", mjcf_questions, path)
    if isinstance(chosen, Refusal):
        return SourceError((_refused(source.path, chosen.reason),))
    return chosen


def _refused(path: Path, reason: str) -> Diagnostic:
    return Diagnostic("mjcf-refused", reason, Location(str(path), 1, 1))


def _portable(output: str | None, names: FolderNames) -> str | None:
    return None if output is None else portable(output, names)


class Reading(Struct, frozen=True, eq=False):
    """What was read of a URDF."""

    parsed: Parsed
    inputs: tuple[InputFile, ...]  # the URDF or xacro file first
    packages: dict[str, str]  # folder of each package in which files were found, by name
    expanded: bytes | None  # the URDF that a xacro file expands to; None if the file is URDF


def read_robot(
    path: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    environment: tuple[str, ...] = (),
) -> Reading | SourceError:
    """Read a URDF; the reference engine of the process finds it read."""
    forget_readings()
    try:
        parsed = read_kept(path, packages, arguments, environment)
    except SourceError as error:
        return error
    expansion = parsed.markup.expansion
    files = expansion.files if expansion else ()
    return Reading(
        parsed,
        input_files((path, *files), parsed.robot),
        dict(named_packages(parsed.robot)),
        relocatable_urdf(expansion, path, packages) if expansion else None,
    )


def _unread_files(job: Job) -> tuple[InputFile, ...]:
    """Return the files of a robot that cannot be read; of missing ones only the first."""
    files = [str(job.source.path)]
    if is_xacro(files[0]):
        with contextlib.suppress(SourceError):
            variables = job.options.environment
            files += expand(files[0], job.packages, job.arguments, environment=variables).files
    return tuple(
        InputFile(file, hash_file(Path(file)), Path(file).stat().st_size)
        for file in dict.fromkeys(files)
        if Path(file).is_file()
    )


def _compared(
    robot: _Robot, begun: RobotRecord, reading: Reading, plain: Path, planned: _Planned
) -> tuple[RobotRecord, EngineResults]:
    """Convert a robot, and compare the USD with it."""
    job, steps, names = robot.job, robot.steps, robot.names
    made: Written | None = None
    if job.usd is None:
        packages = reading.packages | planned.packages
        made = _converted(robot, reading.parsed, plain, packages)
    usd = made.root_layer if made else job.usd
    assert usd is not None  # noqa: S101  # one of them is there
    composed = ComposedUsd(str(usd))
    diagnostics = reading.parsed.diagnostics
    if job.own and made:
        diagnostics = made.diagnostics
    else:
        composed = _composed(robot, usd, made)
        diagnostics = (*diagnostics, *composed.diagnostics)
    files = {Side.URDF: planned.file, Side.USD: Path(composed.usd)}
    results = observe_files(
        steps, job.engines, files, planned.packages, planned.configurations, robot.folder
    )
    record = _judged(robot, begun, results, planned.estimated, diagnostics)
    record = _with_variants(record, begun, names, composed, reading.parsed.diagnostics)
    if made:
        output = _portable(made.output, names)
        record = structs.replace(record, asset=made.asset, output=output)
    scene = job.scene if job.usd else scene_path(job.folder, job.place)
    if scene and (made or record.checks):
        parsed = partial(read_kept, str(planned.file), planned.packages)
        usd_file = str(results.files[Side.USD])
        _draw(robot, lambda: (parsed().robot, usd_file), planned.configurations, results, scene)
    return record, results


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
    """The URDF that engines read, and where."""

    file: Path
    packages: dict[str, str]  # folder of each ROS package, by name
    configurations: Configurations  # where the robot is compared
    estimated: frozenset[str] = frozenset()  # links with mass properties from shapes


def _planned(robot: _Robot, reading: Reading, plain: Path) -> _Planned:
    """Return the URDF that engines read: as it is, or a copy with estimated mass."""
    job, required = robot.job, robot.job.requirements
    density = required.density
    if density is None:
        parsed = reading.parsed.robot
        chosen = robot.need("plan", "the URDF reader crashed", questions, parsed)
        return _Planned(plain, job.packages, chosen)
    packages = reading.packages | job.packages
    copy = robot.folder / f"{job.source.id}-estimated.urdf"

    def estimate() -> _Planned | str:
        try:
            estimated = estimate_urdf(str(plain), packages, required.base.value, density)
            copy.write_bytes(estimated.text)
            chosen = questions(read_kept(str(copy), packages).robot)
        except AbstentionError as abstention:
            return " ".join(str(abstention).split())
        except SourceError as error:
            return error.diagnostics[0].message
        return _Planned(copy, packages, chosen, estimated.links)

    planned = robot.need("estimate", "the estimation of mass from shapes crashed", estimate)
    if isinstance(planned, str):
        reason = f"mass cannot be computed from shapes: {planned}"
        raise UncomparedError(Verdict.NOT_COMPARABLE, reason)
    return planned


def questions(robot: Robot) -> Configurations:
    """Choose the configurations of a robot, and plan its rollout.

    Raises:
        SourceError: The robot is not a tree.
    """
    chosen = configurations(structure(robot))
    expected = observe_robot(robot, chosen, shapes=False)
    scale = derive_tolerance_model(expected, Tolerance()).motion
    rollout = plan_rollout(expected, scale.inertia_invented if scale else None)
    return structs.replace(chosen, rollout=rollout, root=expected.root)


def _converted(
    robot: _Robot, parsed: Parsed | None, plain: Path, packages: Mapping[str, str]
) -> Written:
    """Convert a robot by the converter of the job, and write how long that took."""
    job = robot.job
    if job.own and parsed:
        made = convert_robot(robot.steps, job.source.path, parsed, job.asset, job.conversion)
    else:
        order = Order(plain, job.asset, packages, job.names)
        made = convert_by_other(robot.steps, job.candidate, order, job.limits)
    if made.seconds is not None and (job.compared or job.timed):
        write_seconds(job.folder, job.place, made.seconds)
    return made


def _composed(robot: _Robot, usd: Path, made: Written | None) -> ComposedUsd:
    """Compose a USD before engines read it: of one that hangs, each would wait in turn.

    Raises:
        UncomparedError: Engines should not read it.
        StageError: In a check, a variant or prim does not exist.
    """
    job, output = robot.job, made.output if made else None
    layer = str(robot.folder / "selection.usda")
    composed = robot.steps.call("compose", compose, str(usd), job.reading, layer)
    if isinstance(composed, Crashed):
        if not is_limit(composed):
            reason = f"the USD cannot be composed: {composed.reason}"
            raise UncomparedError(Verdict.CRASHED, reason, (), output)
        refused: tuple[Diagnostic, ...] = (over_limits(usd, composed),)
    elif not composed.refused:
        return composed
    else:
        refused = composed.refused
    if not job.reading.optional and any(each.rule in MISTAKES for each in refused):
        raise StageError(refused)
    raise UncomparedError(Verdict.NOT_COMPARABLE, refused[0].advice, refused, output)


def _judged(
    robot: _Robot,
    begun: RobotRecord,
    results: EngineResults,
    estimated: frozenset[str],
    diagnostics: Sequence[Diagnostic],
) -> RobotRecord:
    """Compare the outcomes of engines, and record the judgement."""
    job = robot.job
    expected = results.expected
    description, rules = job.requirements.description, job.requirements.colliders
    settings: SimulationObservation | Crashed | None = expected.simulation if expected else None
    if description and expected and results.observation(USD_ENGINE):
        settings = _requested_settings(robot, description, results, expected)
    judgement: Judgement | Crashed
    if isinstance(settings, Crashed):
        judgement, settings = settings, None
    else:
        usd = results.of_side(Side.USD)
        judgement = robot.steps.call(
            "compare",
            partial(
                judge,
                results.of_side(Side.URDF) or results.of_side(Side.MJCF),
                usd[USD_ENGINE],
                simulators=tuple(one for name, one in usd.items() if name != USD_ENGINE),
                back=results.back,
                expected_base=_required_base(job, expected),
                requested=settings,
                estimated=estimated,
                colliders=_collider_choices(expected, rules),
                decides=results.deciding,
            ),
        )
    if isinstance(judgement, Crashed):
        reason = f"the comparison crashed: {judgement.reason}"
        judgement = Judgement((), (), Verdict.CRASHED, reason)
    record = judged(begun, robot.names, judgement, results, diagnostics)
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
) -> SimulationObservation | Crashed:
    """Resolve what a simulation settings file requests of a robot."""
    solids: tuple[Solid, ...] | Crashed = ()
    if description.tables.filters.overlap:
        solids = robot.steps.call("colliders of filters", rest_solids, str(results.files[Side.USD]))
        if isinstance(solids, Crashed):
            return solids
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
    begun: RobotRecord,
    names: FolderNames,
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
            record = unread(begun, names, Verdict.NOT_COMPARABLE, reason, found)
        else:
            reason = f"{portable(reason, names)}; {record.reason}"
            record = structs.replace(record, reason=reason)
    return structs.replace(record, variants=composed.selection)


def _draw(
    robot: _Robot,
    read: Callable[[], tuple[Robot | Sequence[Drawing], str | Sequence[Drawing]]],
    chosen: Configurations,
    results: EngineResults,
    target: Path,
) -> None:
    """Draw the robot; there is no drawing if that fails."""
    sides = {Side.URDF.value: results.deciding, Side.USD.value: USD_ENGINE}
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
        write_scene(draw_scene(*read(), readings, frames, chosen), target)

    robot.steps.call("draw", draw)


def _unreadable(
    robot: _Robot, begun: RobotRecord, diagnostics: Sequence[Diagnostic]
) -> RobotRecord:
    """Record a URDF that our reader refuses, and which engines read it."""
    job, source, names = robot.job, robot.job.source, robot.names
    reason = first_error(diagnostics)
    verdict = Verdict.UNREADABLE
    if is_xacro(str(source.path)):
        rules = [found.rule for found in diagnostics]
        if source.searched and is_part(rules, included=source.included):
            record = unread(begun, names, Verdict.NOT_AVAILABLE, reason, diagnostics)
            return structs.replace(record, part=True)
        if source.mirrored and "xacro-file-missing" in rules:
            verdict, reason = Verdict.NOT_AVAILABLE, f"not in the mirror: {reason}"
        elif source.searched and "xacro-file-missing" in rules:
            verdict, reason = Verdict.NOT_AVAILABLE, f"incomplete: {reason}"
        return unread(begun, names, verdict, reason, diagnostics)
    results = observe_files(
        robot.steps,
        job.engines,
        {Side.URDF: source.path},
        job.packages,
        AT_REST,
        robot.folder,
    )
    crash = results.outcomes.get(REFERENCE)
    if isinstance(crash, Crashed):
        verdict, reason = Verdict.CRASHED, f"{REFERENCE} crashed: {crash.reason}"
    elif results.observed:
        reason += f"; {' and '.join(results.observed)} read it nevertheless"
    return judged(begun, names, Judgement((), (), verdict, reason), results, diagnostics)


def _converted_unread(
    robot: _Robot, record: RobotRecord
) -> tuple[RobotRecord, EngineResults | None, str | None]:
    """Convert a case that our reader refuses with another converter.

    Returns:
        Its record; what engines make of the USD; why there is none.
    """
    job, names = robot.job, robot.names
    try:
        made = _converted(robot, None, job.source.path, job.packages)
    except UncomparedError as error:
        record = structs.replace(record, output=_portable(error.output, names))
        if error.verdict is Verdict.CRASHED:
            reason = portable(error.reason, names)
            return structs.replace(record, verdict=error.verdict, reason=reason), None, None
        return record, None, error.reason
    output = _portable(made.output, names)
    record = structs.replace(record, asset=made.asset, output=output)
    files = {Side.USD: made.root_layer}
    results = observe_files(robot.steps, job.engines, files, job.packages, AT_REST, robot.folder)
    return record, results, None


def _compared_with_case(
    robot: _Robot, record: RobotRecord, results: EngineResults | None, refusal: str | None
) -> CaseRecord:
    """Compare a case of the feature suite with what became of it.

    Args:
        robot: The case.
        record: Its record.
        results: Outcomes of engines, if there is a USD.
        refusal: Why there is none, if the URDF was refused.
    """
    job, steps = robot.job, robot.steps
    assert job.source.case is not None  # noqa: S101  # as the caller knows
    expected = read_case(job.source.case.text).expected
    readings: tuple[CaseReadingRecord, ...] = ()
    if results is not None and not expected.refused:
        outcomes = results.of_side(Side.USD)
        if expected.poses:
            usd, poses = results.files[Side.USD], configurations_of(expected)
            outcomes = observe_side(
                steps, results.engines, Side.USD, usd, job.packages, poses, "case"
            )
        compared = steps.call("case", compare_readings, expected, outcomes)
        if isinstance(compared, Crashed):
            readings = (CaseReadingRecord(engine=USD_ENGINE, reason=compared.reason),)
        else:
            readings = compared
    ending = judge_case(
        expected,
        readings,
        refusal=refusal and portable(refusal, robot.names),
        written=results is not None,
        crash=record.reason,
        rules=frozenset(one.rule for one in record.diagnostics) if job.own else None,
    )
    return _case_record(job, ending, readings)


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
