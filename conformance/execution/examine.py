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
    Available,
    Crashed,
    Observed,
    Request,
    Side,
    Unsupported,
    UnsupportedError,
)
from urdf_usd.conformance.engines.reference import (
    forget_readings,
    observe_robot,
    read_kept,
    structure,
)
from urdf_usd.conformance.execution.converting import (
    UncomparedError,
    Written,
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
    ended,
    folder_names,
    judged,
    portable,
    portable_record,
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
from urdf_usd.conformance.observation.shapes import Drawing
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
from urdf_usd.converter.options import ConvertOptions, InertiaOption
from urdf_usd.converter.robot.model import BaseOption, Robot
from urdf_usd.converter.simulation.settings import SettingsFile
from urdf_usd.converter.urdf.parse import Parsed, relocatable_urdf
from urdf_usd.converter.urdf.xacro import expand, is_part, is_xacro
from urdf_usd.corpus.formats import Format, robot_format
from urdf_usd.reports.records.environment import DISTRIBUTION
from urdf_usd.reports.records.environment import environment as versions
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
    """Examine robots in workers, several at once; yield them with results as they finish.

    A crash becomes part of the record. Results are those of :func:`examine`.
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
    record = portable_record(ended(begun_record(job, names), Verdict.CRASHED, reason), names)
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

    ``crashes`` are the steps that have ended the process of a worker, and how. In a check,
    an error says why the URDF cannot be read, or which variant of the USD does not exist.
    """
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="robot-", dir=own_folder()) as folder, cached_meshes():
        try:
            if job.second:
                return _examined_sources(job, Steps(crashes), Path(folder))
            if robot_format(job.source.path) is Format.MJCF:
                return _examined_mjcf(job, Steps(crashes), Path(folder))
            return _examined(job, Steps(crashes), Path(folder))
        except (SourceError, StageError) as error:
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


def _examined(job: Job, steps: Steps, folder: Path) -> Examined:
    """Examine a robot, with a folder for temporary files.

    Raises:
        SourceError: In a check, the URDF cannot be read.
        StageError: In a check, a variant or prim of the USD does not exist.
    """
    names = _names(job, folder)
    source, file = job.source, str(job.source.path)
    environment = job.options.environment
    reading = steps.call("read", read_robot, file, job.packages, job.arguments, environment)
    results: EngineResults | None = None
    refusal: str | None = None
    unconverted = None
    if not (job.usd or job.candidate.reads(Format.URDF)):
        unconverted = f"{job.candidate.name} does not convert URDF"
    if isinstance(reading, Reading):
        inputs = reading.inputs
        files = tuple(references(reading.parsed.robot))
        begun = begun_record(job, names, inputs)
        if job.own:
            begun = structs.replace(begun, ledger=coverage(reading.parsed.robot))
        record = begun
        try:
            if unconverted:
                raise UncomparedError(Verdict.NOT_AVAILABLE, unconverted)
            found = _need(steps, "lint", "lint crashed", lint_parsed, reading.parsed, file)
            issues = [issue for issue in found if issue.rule in LINT_RULES]
            begun = structs.replace(begun, lint=diagnostic_records(issues))
            record, results = _compared(job, steps, folder, begun, reading)
        except UncomparedError as error:
            diagnostics = error.diagnostics
            if diagnostics is None:
                diagnostics = reading.parsed.diagnostics
            record = ended(begun, error.verdict, error.reason, diagnostics)
            record = structs.replace(record, output=error.output)
            refusal = error.reason if error.refused else None
    else:
        files = ()
        hashed = steps.call("hash", _unread_files, job)
        inputs = () if isinstance(hashed, Crashed) else hashed
        begun = begun_record(job, names)
        if inputs:
            stated = structs.replace(begun.source, sha256=inputs[0].sha256)
            begun = structs.replace(begun, source=stated)
        if unconverted:
            record = ended(begun, Verdict.NOT_AVAILABLE, unconverted)
        elif isinstance(reading, Crashed):
            reason = f"the URDF reader crashed: {reading.reason}"
            record = ended(begun, Verdict.CRASHED, reason)
        elif job.usd:
            raise reading
        else:
            refusal = first_error(reading.diagnostics)
            record = _unreadable(job, steps, folder, begun, reading.diagnostics)
            if source.case and not job.own:
                # A case is about the converter, whatever our reader makes of it.
                record, results, refusal = _converted_unread(job, steps, folder, record)
    record = portable_record(record, names)
    if source.case is not None:
        refusal = refusal and portable(refusal, names)
        record = structs.replace(
            record, case=_compared_with_case(job, steps, record, results, refusal)
        )
    crashed = steps.crashed or record.verdict is Verdict.CRASHED
    return Examined(record, inputs, files, crashed)


def _examined_mjcf(job: Job, steps: Steps, folder: Path) -> Examined:
    """Compare a USD with an MJCF, or have a converter of others make one and compare that."""
    names, file = _names(job, folder), str(job.source.path)
    inputs = mjcf_inputs(job.source.path)
    begun = begun_record(job, names, inputs)
    chosen = steps.call("read", mjcf_questions, file)
    results, refusal = None, None
    try:
        if isinstance(chosen, Refusal):
            refused = _refused(job.source.path, chosen.reason)
            if job.usd:
                raise SourceError((refused,))
            raise UncomparedError(Verdict.UNREADABLE, chosen.reason, (refused,))
        if isinstance(chosen, Crashed):
            raise UncomparedError(Verdict.CRASHED, f"MuJoCo crashed: {chosen.reason}", ())
        record, results = _compared_with_mjcf(job, steps, folder, begun, chosen)
    except UncomparedError as error:
        record = ended(begun, error.verdict, error.reason, error.diagnostics or ())
        record = structs.replace(record, output=error.output)
        refusal = error.reason if error.refused else None
    record = portable_record(record, names)
    unread = isinstance(chosen, Refusal) or record.verdict is Verdict.NOT_AVAILABLE
    if job.source.case is not None and not unread:
        refusal = refusal and portable(refusal, names)
        record = structs.replace(
            record, case=_compared_with_case(job, steps, record, results, refusal)
        )
    record = of_formats(record, _MJCF)
    crashed = steps.crashed or record.verdict is Verdict.CRASHED
    return Examined(record, inputs, (), crashed)


def _compared_with_mjcf(
    job: Job, steps: Steps, folder: Path, begun: RobotRecord, chosen: Configurations
) -> tuple[RobotRecord, EngineResults]:
    if not (job.usd or job.candidate.reads(Format.MJCF)):
        reason = f"{job.candidate.name} does not convert MJCF: --converter names others"
        raise UncomparedError(Verdict.NOT_AVAILABLE, reason)
    made = None if job.usd else _converted(job, steps, None, job.source.path, job.packages)
    usd = made.root_layer if made else job.usd
    assert usd is not None  # noqa: S101  # one of them is there
    composed = _composed(job, steps, folder, usd, made)
    files = {Side.MJCF: job.source.path, Side.USD: Path(composed.usd)}
    results = observe_files(steps, job.engines, files, {}, chosen, folder)
    expected, actual = results.expected, results.observation(USD_ENGINE)
    if expected and actual:
        reading = steps.call("implied", read_as_mjcf, expected, actual, chosen)
        if not isinstance(reading, Crashed):
            outcomes = {**results.outcomes, USD_ENGINE: Observed(reading)}
            results = structs.replace(results, outcomes=outcomes)
    record = _judged(job, steps, begun, results, frozenset(), composed.diagnostics)
    record = _with_variants(record, begun, composed, ())
    if (
        record.checks
        and sum(results.observation(n) is not None for n in results.of_side(Side.MJCF)) == 1
    ):
        record = structs.replace(record, reason=f"{record.reason}; one engine read the MJCF")
    read = partial(draw_mjcf, str(job.source.path))
    return _with_asset(job, steps, record, made, results, chosen, read), results


def _examined_sources(job: Job, steps: Steps, folder: Path) -> Examined:
    """Compare two descriptions of a robot.

    Raises:
        SourceError: One of them is invalid or unsupported.
    """
    names = _names(job, folder)
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
        file, environment = str(source.path), job.options.environment
        step = f"read {number}"
        reading = steps.call(step, read_robot, file, packages, arguments, environment)
        if isinstance(reading, SourceError):
            raise reading
        if isinstance(reading, Crashed):
            return _crashed(job, f"the URDF reader crashed: {reading.reason}")
        path = source.path
        if reading.expanded is not None:
            path = folder / f"{number}.urdf"
            path.write_bytes(reading.expanded)
        found.append(Source(path, Format.URDF, packages))
        inputs = inputs or reading.inputs
    first, second = found
    chosen = _questions_of(steps, first)
    request = Request(str(first.path), chosen, dict(first.packages))
    outcomes = observe_side(steps, job.engines, first.side, request)
    if isinstance(own := outcomes.get(DECIDING[first.side]), Observed):
        outcomes[DECIDING[first.side]] = Observed(first.described(own.observation))
    engines = tuple(one for one in job.engines if one.side is first.side)
    results = EngineResults(engines, outcomes, chosen.count, {first.side: first.path})
    begun = begun_record(job, names, inputs)
    expected = results.expected
    if expected is None:
        record = ended(begun, Verdict.UNREADABLE, "no engine reads the first file")
        return Examined(portable_record(record, names), inputs)
    actual = steps.call("second", observed_second, second, expected, chosen, job.mapped)
    if isinstance(actual, Unsupported):
        raise SourceError((_refused(second.path, actual.reason),))
    judgement: Judgement | Crashed = actual  # type: ignore[assignment]  # of a crash
    if isinstance(actual, Observed):
        function = partial(judge, decides=results.deciding, described=True)
        judgement = steps.call("compare", function, outcomes, actual)
    if isinstance(judgement, Crashed):
        reason = f"the comparison crashed: {judgement.reason}"
        judgement = Judgement((), (), Verdict.CRASHED, reason)
    other = f"{DECIDING[second.side]} (second)"
    read = InstalledEngine(other, second.side, Available(versions()[DISTRIBUTION]))
    seen = {**outcomes, other: actual}
    results = structs.replace(results, engines=(*engines, read), outcomes=seen)
    record = judged(begun, judgement, results)
    parts = dict(expected.uncompared)
    if isinstance(actual, Observed):
        parts |= dict(actual.observation.uncompared)
        if job.scene:
            job.scene.unlink(missing_ok=True)
            drawn = structs.replace(results, outcomes={**seen, USD_ENGINE: actual})
            steps.call("draw", _draw, first.draw, second.draw, drawn, chosen, job.scene)
    record = structs.replace(record, converter=job.second.reference, uncompared=parts)
    formats = first.format.value, second.format.value
    return Examined(of_formats(portable_record(record, names), formats), inputs, (), steps.crashed)


def _questions_of(steps: Steps, source: Source) -> Configurations:
    """Choose the configurations of a description."""
    path = str(source.path)
    if source.format is Format.URDF:
        parsed = read_kept(path, source.packages).robot
        return _need(steps, "plan", "the URDF reader crashed", questions, parsed)
    chosen = _need(steps, "plan", "MuJoCo crashed", mjcf_questions, path)
    if isinstance(chosen, Refusal):
        raise SourceError((_refused(source.path, chosen.reason),))
    return chosen


def _refused(path: Path, reason: str) -> Diagnostic:
    return Diagnostic("mjcf-refused", reason, Location(str(path), 1, 1))


def _need(
    steps: Steps, step: str, what: str, function: Callable[..., _Result], *arguments: object
) -> _Result:
    """Call a function as a step, without which the robot cannot be compared."""
    result = steps.call(step, function, *arguments)
    if isinstance(result, Crashed):
        raise UncomparedError(Verdict.CRASHED, f"{what}: {result.reason}", ())
    return result


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


def _compared(
    job: Job, steps: Steps, folder: Path, begun: RobotRecord, reading: Reading
) -> tuple[RobotRecord, EngineResults]:
    """Convert a robot, and compare the USD with it.

    Raises:
        UncomparedError: That is not possible.
        StageError: In a check, a variant or prim of the USD does not exist.
    """
    # The URDF for engines: as it is, expanded, or with estimated mass.
    urdf, packages = job.source.path, job.packages
    if reading.expanded is not None:
        urdf = folder / f"{job.source.id}.urdf"
        if job.usd is None:
            urdf = expansion_path(job.folder, job.place)
        urdf.parent.mkdir(parents=True, exist_ok=True)
        urdf.write_bytes(reading.expanded)
    plain, estimated = urdf, frozenset[str]()
    if job.required.inertia is InertiaOption.GEOMETRY:
        packages = reading.packages | packages
        urdf = folder / f"{job.source.id}-estimated.urdf"
        what = "the estimation of mass from shapes crashed"
        arguments = plain, packages, job.required, urdf
        found = _need(steps, "estimate", what, _estimated, *arguments)
        if isinstance(found, str):
            reason = f"mass cannot be computed from shapes: {found}"
            raise UncomparedError(Verdict.NOT_COMPARABLE, reason)
        estimated, chosen = found
    else:
        what = "the URDF reader crashed"
        chosen = _need(steps, "plan", what, questions, reading.parsed.robot)

    made: Written | None = None
    diagnostics = reading.parsed.diagnostics
    if job.usd is None:
        made = _converted(job, steps, reading.parsed, plain, reading.packages | packages)
    usd = made.root_layer if made else job.usd
    assert usd is not None  # noqa: S101  # one of them is there
    composed = ComposedUsd(str(usd))
    if job.own and made:
        diagnostics = made.diagnostics
    else:
        composed = _composed(job, steps, folder, usd, made)
        diagnostics = (*diagnostics, *composed.diagnostics)

    files = {Side.URDF: urdf, Side.USD: Path(composed.usd)}
    results = observe_files(steps, job.engines, files, packages, chosen, folder)
    record = _judged(job, steps, begun, results, estimated, diagnostics)
    record = _with_variants(record, begun, composed, reading.parsed.diagnostics)
    read = partial(_read_robot_again, str(urdf), packages)
    return _with_asset(job, steps, record, made, results, chosen, read), results


def _read_robot_again(urdf: str, packages: Mapping[str, str]) -> Robot:
    return read_kept(urdf, packages).robot


def _with_asset(
    job: Job,
    steps: Steps,
    record: RobotRecord,
    made: Written | None,
    results: EngineResults,
    chosen: Configurations,
    read: Callable[[], Robot | Sequence[Drawing]],
) -> RobotRecord:
    """Add the asset to a record, and draw the robot; there is no drawing if that fails."""
    if made:
        record = structs.replace(record, asset=made.asset, output=made.output)
    scene = job.scene if job.usd else scene_path(job.folder, job.place)
    if scene and (made or record.checks):
        scene.unlink(missing_ok=True)
        if results.expected:
            usd = partial(str, results.files[Side.USD])
            steps.call("draw", _draw, read, usd, results, chosen, scene)
    return record


def _estimated(
    urdf: Path, packages: Mapping[str, str], required: ConvertOptions, copy: Path
) -> tuple[frozenset[str], Configurations] | str:
    """Write a copy with mass properties of shapes; return their links, or why there are none."""
    try:
        made = estimate_urdf(str(urdf), packages, required.base.value, required.mass_density)
        copy.write_bytes(made.text)
        return made.links, questions(read_kept(str(copy), packages).robot)
    except UnsupportedError as refusal:
        return " ".join(str(refusal).split())
    except SourceError as error:
        return error.diagnostics[0].message


def questions(robot: Robot) -> Configurations:
    """Choose the configurations of a robot, and plan its rollout.

    Raises:
        SourceError: The robot is not a tree.
    """
    chosen = configurations(structure(robot))
    expected = observe_robot(robot, chosen, shapes=False)
    scale = derive_tolerance_model(expected, Tolerance()).motion
    rollout = plan_rollout(expected, scale.inertia_defaulted if scale else None)
    return structs.replace(chosen, rollout=rollout, root=expected.root)


def _converted(
    job: Job, steps: Steps, parsed: Parsed | None, urdf: Path, packages: Mapping[str, str]
) -> Written:
    """Convert a robot by the converter of the job, and write how long that took."""
    made = steps.call("convert", convert_robot, job, parsed, urdf, packages)
    if isinstance(made, Crashed):
        reason, output = f"the converter crashed: {made.reason}", made.output
        raise UncomparedError(Verdict.CRASHED, reason, output=None if job.own else output)
    if isinstance(made, UncomparedError):
        raise made
    if made.seconds is not None and (job.compared or job.timed):
        write_seconds(job.folder, job.place, made.seconds)
    return made


def _composed(job: Job, steps: Steps, folder: Path, usd: Path, made: Written | None) -> ComposedUsd:
    """Compose a USD before engines read it: of one that hangs, each would wait in turn.

    Raises:
        UncomparedError: Engines should not read it.
        StageError: In a check, a variant or prim does not exist.
    """
    output = made.output if made else None
    optional = job.usd is None
    function = partial(compose, optional=optional, strict=job.strict, root=job.root)
    layer = str(folder / "selection.usda")
    composed = steps.call("compose", function, str(usd), layer, job.variants)
    if isinstance(composed, Crashed):
        if not is_limit(composed):
            reason = f"the USD cannot be composed: {composed.reason}"
            raise UncomparedError(Verdict.CRASHED, reason, (), output)
        composed = ComposedUsd(str(usd), refused=(over_limits(usd, composed),))
    refused = composed.refused
    if not refused:
        return composed
    if not optional and any(each.rule in MISTAKES for each in refused):
        raise StageError(refused)
    raise UncomparedError(Verdict.NOT_COMPARABLE, refused[0].advice, refused, output)


def _judged(
    job: Job,
    steps: Steps,
    begun: RobotRecord,
    results: EngineResults,
    estimated: frozenset[str],
    diagnostics: Sequence[Diagnostic],
) -> RobotRecord:
    """Compare the outcomes of engines, and record the judgement."""
    expected = results.expected
    description, rules = job.required.simulation, job.required.colliders
    usd = results.of_side(Side.USD)
    settings: SimulationObservation | Crashed | None = expected.simulation if expected else None
    if description and expected and results.observation(USD_ENGINE):
        settings = steps.call("description", _requested_settings, description, results, expected)
    if isinstance(settings, Crashed):
        judgement: Judgement | Crashed = settings
    else:
        function = partial(
            judge,
            simulators=tuple(one for name, one in usd.items() if name != USD_ENGINE),
            back=results.back,
            expected_base=_required_base(job, expected),
            requested=settings,
            estimated=estimated,
            # The requested colliders of each link that has a rule.
            colliders={
                link.name: ColliderChoice(
                    kind.value, rules.tolerance.length, rules.tolerance.fraction
                )
                for link in (expected.links if expected else ())
                if (kind := rules.kind_of(link.name))
            },
            decides=results.deciding,
        )
        expected_side = results.of_side(Side.URDF) or results.of_side(Side.MJCF)
        judgement = steps.call("compare", function, expected_side, usd[USD_ENGINE])
    if isinstance(judgement, Crashed):
        reason = f"the comparison crashed: {judgement.reason}"
        judgement = Judgement((), (), Verdict.CRASHED, reason)
    record = judged(begun, judgement, results, diagnostics)
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
        settings=settings.sources if isinstance(settings, SimulationObservation) else (),
    )
    return structs.replace(record, description=described)


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


def _with_variants(
    record: RobotRecord,
    begun: RobotRecord,
    composed: ComposedUsd,
    diagnostics: Sequence[Diagnostic],
) -> RobotRecord:
    """Add the selected variants to a record.

    If links or joints differ and a variant set has no selection, that is the cause: the
    USD is not comparable, and no check is reported.
    """
    unselected = [
        each.message for each in composed.diagnostics if each.rule == "variant-unselected"
    ]
    if unselected and not record.verdict.agrees:
        reason = "; ".join(unselected)
        if record.checks and not any(
            check.id in {"structure.links", "structure.joints"}
            and check.grade in {Grade.FAILS, Grade.NOT_COMPARABLE}
            for check in record.checks
        ):
            record = structs.replace(record, reason=f"{reason}; {record.reason}")
        else:
            others = (e for e in composed.diagnostics if e.rule != "variant-unselected")
            missing = (Diagnostic("variant-required", each) for each in unselected)
            found = (*diagnostics, *others, *missing)
            record = ended(begun, Verdict.NOT_COMPARABLE, reason, found)
    selection = {f"{one.prim}:{one.variant_set}": one.variant for one in composed.variants}
    return structs.replace(record, variants=selection)


def _draw(
    read: Callable[[], Robot | Sequence[Drawing]],
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


def _unreadable(
    job: Job, steps: Steps, folder: Path, begun: RobotRecord, diagnostics: Sequence[Diagnostic]
) -> RobotRecord:
    """Record a URDF that our reader refuses, and which engines read it."""
    source = job.source
    reason = first_error(diagnostics)
    verdict = Verdict.UNREADABLE
    if is_xacro(str(source.path)):
        rules = [found.rule for found in diagnostics]
        if source.searched and is_part(rules, included=source.included):
            record = ended(begun, Verdict.NOT_AVAILABLE, reason, diagnostics)
            return structs.replace(record, part=True)
        if "xacro-file-missing" in rules and (source.mirrored or source.searched):
            lack = "not in the mirror" if source.mirrored else "incomplete"
            verdict, reason = Verdict.NOT_AVAILABLE, f"{lack}: {reason}"
        return ended(begun, verdict, reason, diagnostics)
    files = {Side.URDF: source.path}
    results = observe_files(steps, job.engines, files, job.packages, AT_REST, folder)
    crash = results.outcomes.get(REFERENCE)
    if isinstance(crash, Crashed):
        verdict, reason = Verdict.CRASHED, f"{REFERENCE} crashed: {crash.reason}"
    elif observed := [name for name in results.outcomes if results.observation(name)]:
        reason += f"; {' and '.join(observed)} read it nevertheless"
    return judged(begun, Judgement((), (), verdict, reason), results, diagnostics)


def _converted_unread(
    job: Job, steps: Steps, folder: Path, record: RobotRecord
) -> tuple[RobotRecord, EngineResults | None, str | None]:
    """Convert a case that our reader refuses with another converter; say why there is no USD."""
    try:
        made = _converted(job, steps, None, job.source.path, job.packages)
    except UncomparedError as error:
        record = structs.replace(record, output=error.output)
        if error.verdict is Verdict.CRASHED:
            return structs.replace(record, verdict=error.verdict, reason=error.reason), None, None
        return record, None, error.reason
    record = structs.replace(record, asset=made.asset, output=made.output)
    files = {Side.USD: made.root_layer}
    results = observe_files(steps, job.engines, files, job.packages, AT_REST, folder)
    return record, results, None


def _compared_with_case(
    job: Job,
    steps: Steps,
    record: RobotRecord,
    results: EngineResults | None,
    refusal: str | None,
) -> CaseRecord:
    """Compare a case of the feature suite with what became of it.

    Without results there is no USD; ``refusal`` says why, if the URDF was refused.
    """
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
            readings = (CaseReadingRecord(engine=USD_ENGINE, reason=compared.reason),)
        else:
            readings = compared
    ending = judge_case(
        expected,
        readings,
        refusal=refusal,
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
