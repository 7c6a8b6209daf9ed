"""Functions that workers run: read, lint, convert, observe, judge, write back, draw.

Errors in the user's file are returned; what is raised here is recorded as a crash.
Each function imports what it needs: the process that requests its result refers to it,
and has no use for engines, OpenUSD and readers.
"""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from msgspec import Struct, structs

from urdf_usd.conformance.drawing.scenery import draw_scene
from urdf_usd.conformance.engines import registry
from urdf_usd.conformance.engines.openusd.shapes import rest_solids
from urdf_usd.conformance.engines.prepared_urdf.estimates import estimate_urdf
from urdf_usd.conformance.engines.protocol import (
    Abstained,
    AbstentionError,
    Availability,
    Available,
    Crashed,
    InvalidFileError,
    Observed,
    Outcome,
    Request,
    Side,
    Unavailable,
)
from urdf_usd.conformance.engines.reference.engine import (
    forget_readings,
    observe_robot,
    read_kept,
    structure,
)
from urdf_usd.conformance.execution.coverage import converted_and_kept
from urdf_usd.conformance.execution.workers.serving import Completed, attempt
from urdf_usd.conformance.expectations import compare_readings
from urdf_usd.conformance.export.reading import read_stage
from urdf_usd.conformance.matching import label_robot
from urdf_usd.conformance.observation.robot import (
    Base,
    Configurations,
    Frames,
    Observation,
)
from urdf_usd.conformance.observation.simulation import SimulationObservation
from urdf_usd.conformance.observation.solids import Solid
from urdf_usd.conformance.observation.value_types import require_types
from urdf_usd.conformance.requested_settings import read_requested_settings, touching_links
from urdf_usd.conformance.tolerance.bounds import Tolerance
from urdf_usd.conformance.tolerance.comparison import derive_tolerance_model
from urdf_usd.conformance.tolerance.rollout import plan_rollout
from urdf_usd.conformance.tolerance.sampling import configurations
from urdf_usd.conformance.verdict.judged import (
    ColliderChoice,
    Judgement,
    RoundTripOutcomes,
)
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter.conversion import convert, convert_parsed
from urdf_usd.converter.diagnostics import ConversionError, Diagnostic, SourceError
from urdf_usd.converter.diagnostics.rules import LINT_RULES
from urdf_usd.converter.inputs import input_files, named_packages
from urdf_usd.converter.lint.linting import lint_parsed
from urdf_usd.converter.meshes.read import cached_meshes
from urdf_usd.converter.urdf.parse import parse, relocatable_urdf
from urdf_usd.converter.urdf.write import write
from urdf_usd.converter.urdf.xml import parse_markup
from urdf_usd.converter.usd.loading.opening import open_stage
from urdf_usd.reports.records.record import LedgerRecord
from urdf_usd.reports.records.scene import write_scene
from urdf_usd.reports.records.suite_case import CaseReadingRecord, Expected

if TYPE_CHECKING:
    from urdf_usd.conformance.matching import Labelled
    from urdf_usd.converter import ConvertOptions
    from urdf_usd.converter.file_content import InputFile
    from urdf_usd.converter.robot.body_options import BaseOption
    from urdf_usd.converter.robot.model import Robot
    from urdf_usd.converter.urdf.parse import Parsed
    from urdf_usd.converter.urdf.xml import Element

# Begin of entry points of this project's engines.
_OURS = "urdf_usd."


class Reading(Struct, frozen=True, eq=False):
    """What was read of a URDF.

    Attributes:
        diagnostics: Of the reader.
        expanded: The URDF that a xacro file expands to; None if the file is URDF.
        inputs: The files of the robot, the URDF or xacro file first.
        packages: Folder of each package in which files were found, by name.
        ledger: Which parts our converter converts, keeps or drops.
    """

    diagnostics: tuple[Diagnostic, ...]
    expanded: bytes | None = None
    inputs: tuple[InputFile, ...] = ()
    packages: tuple[tuple[str, str], ...] = ()
    ledger: tuple[LedgerRecord, ...] = ()


class InstalledEngine(Struct, frozen=True):
    """An engine that is installed, and whether it is available here.

    Attributes:
        name: The name under which it is registered.
        side: The kind of file that it reads; None if it cannot be loaded.
        availability: As the engine states it; how loading it ended, if it crashed.
    """

    name: str
    side: Side | None
    availability: Availability | Crashed


def observe(engine: str, request: Request) -> Observed | Abstained:
    """Have a registered engine read a file.

    Raises:
        TypeError: It returned no observation, or one with values of other types.
    """
    try:
        observation: object = registry.engine(engine).observe(request)
    except AbstentionError as abstention:
        reason = " ".join(str(abstention).split())
        return Abstained(reason, isinstance(abstention, InvalidFileError))
    if not isinstance(observation, Observation):
        kind = type(observation).__name__
        raise TypeError(f"the engine returned {kind} instead of an observation")
    # Those of this project are checked by mypy.
    if not registry.target(engine).startswith(_OURS):
        require_types(observation)
    return Observed(observation)


# Meshes that several calls of this process read.
_CACHED = ExitStack()
atexit.register(_CACHED.close)


def cache_meshes() -> None:
    """Cache meshes for the further calls of this process; drop those of before."""
    _CACHED.close()
    _CACHED.enter_context(cached_meshes())


def file_digest(path: str) -> str | None:
    """Return the SHA-256 of a file; None if it is no regular file."""
    if not Path(path).is_file():
        return None
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_robot(
    path: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    environment: tuple[str, ...] = (),
) -> Reading | SourceError:
    """Read a URDF; :func:`plan_comparison` continues in the same process."""
    try:
        forget_readings()
        parsed = read_kept(path, packages, arguments, environment)
    except SourceError as error:
        return error
    reading = _reading_of(parsed, path, packages)
    return structs.replace(reading, ledger=converted_and_kept(parsed.robot))


def _reading_of(parsed: Parsed, path: str, packages: Mapping[str, str]) -> Reading:
    """Return what was read of a URDF, without the ledger."""
    expansion, expanded = parsed.markup.expansion, None
    if expansion:
        expanded = relocatable_urdf(expansion, path, packages)
    files = expansion.files if expansion else ()
    return Reading(
        diagnostics=parsed.diagnostics,
        expanded=expanded,
        inputs=input_files((path, *files), parsed.robot),
        packages=named_packages(parsed.robot),
    )


class ReadRequest(Struct, frozen=True, eq=False):
    """A robot to be read; see :func:`read_robot`.

    Attributes:
        path: The URDF.
        packages: Folder of each ROS package, by name.
        arguments: Value of each argument of a xacro file, by name.
        environment: Names of environment variables that xacro may read.
    """

    path: str
    packages: Mapping[str, str]
    arguments: Mapping[str, str]
    environment: tuple[str, ...]


class FormerInputs(Struct, frozen=True, eq=False):
    """What is read of a robot to compare it with that of a former result.

    Attributes:
        reading: As :func:`read_robot` returns it, without the ledger.
        digest: SHA-256 of its file, if that is refused.
    """

    reading: Reading | SourceError
    digest: str | None = None


def read_former_inputs(
    requests: Sequence[ReadRequest],
) -> tuple[FormerInputs | None, ...]:
    """Read several robots in one process; None for those whose reader raises."""
    return tuple(map(_former_inputs, requests))


def _former_inputs(request: ReadRequest) -> FormerInputs | None:
    ending = attempt(_read_former, request)
    if isinstance(ending, Crashed):
        return None
    if isinstance(ending.value, Reading):
        return FormerInputs(ending.value)
    digest = attempt(file_digest, request.path)
    if isinstance(digest, Crashed):
        return None
    return FormerInputs(ending.value, digest.value)


def _read_former(request: ReadRequest) -> Reading | SourceError:
    # The reference engine, which keeps what it reads, takes long to import.

    try:
        parsed = parse(
            request.path,
            packages=request.packages,
            arguments=request.arguments,
            environment=request.environment,
        )
    except SourceError as error:
        return error
    return _reading_of(parsed, request.path, request.packages)


def plan_comparison(
    path: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    environment: tuple[str, ...] = (),
) -> Configurations:
    """Choose the configurations at which a robot that can be read is compared.

    Results that are kept need none, and reading takes less time than this.

    Raises:
        SourceError: The robot is not a tree.
    """
    return questions(read_kept(path, packages, arguments, environment).robot)


class Estimation(Struct, frozen=True):
    """How mass properties are computed from shapes.

    Attributes:
        base: Requested base.
        density: Of links without mass [kg/m^3].
    """

    base: BaseOption
    density: float


class Estimated(Struct, frozen=True, eq=False):
    """A copy of a URDF with mass properties computed from shapes.

    Attributes:
        configurations: Where its robot is compared.
        links: Links whose mass properties were computed.
    """

    configurations: Configurations
    links: frozenset[str]


def estimate_robot(
    path: str, packages: Mapping[str, str], estimation: Estimation, target: str
) -> Estimated | str:
    """Write a copy of a URDF with mass properties computed from shapes.

    Args:
        path: The URDF.
        packages: Folder of each ROS package, by name.
        estimation: How they are computed.
        target: File of the copy.

    Returns:
        What the engines need of it; as text, why there is none.
    """
    try:
        copy = estimate_urdf(path, packages, estimation.base.value, estimation.density)
        Path(target).write_bytes(copy.text)
        robot = read_kept(target, packages).robot
    except AbstentionError as abstention:
        return " ".join(str(abstention).split())
    except SourceError as error:
        return error.diagnostics[0].message
    return Estimated(questions(robot), copy.links)


def lint_robot(
    path: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    environment: tuple[str, ...] = (),
) -> tuple[Diagnostic, ...]:
    """Return the findings of lint, without the diagnostics of the reader.

    Raises:
        SourceError: The URDF is invalid or unsupported.
    """
    parsed = read_kept(path, packages, arguments, environment)
    found = lint_parsed(parsed, path)
    return tuple(each for each in found if each.rule in LINT_RULES)


def questions(robot: Robot) -> Configurations:
    """Choose the configurations of a robot, and plan its rollout.

    Raises:
        SourceError: The robot is not a tree.
    """
    chosen = configurations(structure(robot))
    spec = observe_robot(robot, chosen, shapes=False)
    rollout = plan_rollout(spec, derive_tolerance_model(spec, Tolerance()).motion)
    return structs.replace(chosen, rollout=rollout, root=spec.root)


class Converted(Struct, frozen=True):
    """What our converter wrote.

    Attributes:
        root_layer: The file that consumers open.
        diagnostics: Of the converter.
    """

    root_layer: Path
    diagnostics: tuple[Diagnostic, ...]


def convert_robot(
    path: str, directory: str, options: ConvertOptions
) -> Converted | ConversionError:
    """Convert a URDF with our own converter."""
    try:
        if options.root is not None:
            written = convert(path, directory, options)
        else:
            packages, arguments = dict(options.packages), dict(options.arguments)
            parsed = read_kept(path, packages, arguments, options.environment)
            written = convert_parsed(parsed, directory, options)
    except ConversionError as error:
        return error
    return Converted(written.root_layer, written.diagnostics)


def write_back(usd: str, links: Sequence[str], reversed_limits: Sequence[str] = ()) -> bytes | str:
    """Write the robot in a USD as URDF, without shapes, which are not compared.

    Args:
        usd: Root layer. Its files are not checked here: a USD of another converter was
            composed before engines read it.
        links: Names of the robot's links, for frames that the USD does not mark.
        reversed_limits: Names of joints whose lower limit is above the upper one in the
            URDF, where that does not fix them.

    Returns:
        URDF; as text, why it cannot be written.
    """
    try:
        stage = open_stage(usd, checked=True).stage
        reading = read_stage(stage, links, shapes=False, reversed_limits=reversed_limits)
        return write(reading.robot)
    except ConversionError as error:
        errors = (each for each in error.diagnostics if each.severity == "error")
        return next(errors).message


def label_prims(usd: str, spec: Observation) -> Labelled | None:
    """Write a layer that gives the prims of a USD the names of the URDF.

    Args:
        usd: Root layer.
        spec: Observation of the URDF; link frames at zero are enough.

    Returns:
        None if that would change nothing.
    """
    return label_robot(usd, spec)


def find_solids(usd: str) -> tuple[Solid, ...]:
    """Return the colliders of a USD at rest; see :func:`rest_solids`."""
    return rest_solids(usd)


def find_touching(spec: Observation, solids: Sequence[Solid]) -> dict[tuple[str, str], float]:
    """Return links that touch at rest; see :func:`touching_links`."""
    return touching_links(spec, solids)


def read_description(
    text: str,
    spec: Observation,
    attached: Mapping[str, bytes],
    solids: Sequence[Solid],
    urdf: str,
) -> SimulationObservation:
    """Return what a settings file requests; see :func:`read_requested_settings`."""
    return read_requested_settings(text, spec, attached, solids, urdf, _repaired_xml)


def _repaired_xml(data: bytes) -> ElementTree.Element:
    """Read a malformed URDF or SRDF with the converter's repair."""
    return _plain_element(parse_markup(data, "the file", []))


def _plain_element(element: Element) -> ElementTree.Element:
    plain = ElementTree.Element(element.tag, dict(element.attributes))
    plain.text = element.text
    plain.extend(map(_plain_element, element.children))
    return plain


def judge_usd(
    urdf: Mapping[str, Outcome],
    usd: Outcome,
    *,
    simulators: Sequence[Outcome],
    back: RoundTripOutcomes | None,
    expected_base: Base | None,
    promise: SimulationObservation | None,
    estimated: frozenset[str],
    colliders: Mapping[str, ColliderChoice],
) -> Judgement:
    """Judge a USD; see :func:`urdf_usd.conformance.verdict.judgement.judge`."""
    return judge(
        urdf,
        usd,
        simulators=simulators,
        back=back,
        expected_base=expected_base,
        promise=promise,
        estimated=estimated,
        colliders=colliders,
    )


def compare_with_case(
    expected: Expected, outcomes: Mapping[str, Outcome]
) -> tuple[CaseReadingRecord, ...]:
    """Compare engines with the expected values of a case of the feature suite."""
    return compare_readings(expected, outcomes)


def draw_robot(  # a call from another module's step
    path: str,
    packages: Mapping[str, str],
    usd: str,
    readings: Mapping[str, Observation],
    frames: Mapping[str, Frames],
    configurations: Configurations,
    target: str,
) -> None:
    """Draw a robot from its files, and write the scene.

    Raises:
        SourceError: The URDF cannot be read.
        OSError: The scene cannot be written.
    """
    parsed = read_kept(path, packages)
    scene = draw_scene(parsed.robot, usd, readings, frames, configurations)
    write_scene(scene, Path(target))


def installed_engines() -> tuple[InstalledEngine, ...]:
    """Load all engines; return them sorted by name.

    One that raises is listed as crashed; one that ends the process ends this call.
    """
    return tuple(listed_engine(name, attempt(installed_engine, name)) for name in registry.names())


def installed_engine(name: str) -> InstalledEngine:
    """Load an engine, and return whether it is available.

    Raises:
        TypeError: It is not an engine as the protocol defines it.
    """
    loaded = registry.engine(name)
    side: object = loaded.side
    if not isinstance(side, Side):
        raise TypeError(f"its side is {side!r} instead of a Side")
    availability: object = loaded.availability()
    if not isinstance(availability, Available | Unavailable):
        kind = type(availability).__name__
        raise TypeError(f"availability() returned {kind}, no Available or Unavailable")
    return InstalledEngine(name, side, availability)


def listed_engine(name: str, ending: Completed[InstalledEngine] | Crashed) -> InstalledEngine:
    """Return the entry of an engine, also of one that crashed when it was loaded."""
    if isinstance(ending, Crashed):
        reason = f"it cannot be loaded: {ending.reason}"
        return InstalledEngine(name, None, Crashed(reason, ending.output))
    return ending.value
