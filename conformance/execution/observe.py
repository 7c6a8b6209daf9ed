"""What engines read of the files of a robot: one after the other, each as a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import structs

from urdf_usd.conformance.engines import protocol as p
from urdf_usd.conformance.engines.openusd.shapes import rest_shapes
from urdf_usd.conformance.execution.job import USD_ENGINE, EngineResults, InstalledEngine
from urdf_usd.conformance.execution.worker import Steps
from urdf_usd.conformance.expectations import touching_links
from urdf_usd.conformance.export.assets import read_stage
from urdf_usd.conformance.matching import Labelled, label_robot
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.shapes import Solid
from urdf_usd.conformance.verdict.judged import REFERENCE, RoundTripOutcomes
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.converter.urdf.write import write
from urdf_usd.converter.usd.loading import open_stage
from urdf_usd.reports.records.record import OverlapRecord

AT_REST = obs.Configurations((), (), ("zero",))


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


def observe_side(
    steps: Steps,
    engines: Sequence[InstalledEngine],
    side: p.Side,
    request: p.Request,
    purpose: str = "",
) -> dict[str, p.Outcome]:
    """Have every available engine of a side read a file, for a purpose that names the steps."""
    return {
        one.name: steps.call(f"{purpose or side.value} {one.name}", observe, one.name, request)
        for one in engines
        if one.side is side and one.is_available
    }


def observe_files(
    steps: Steps,
    engines: Sequence[InstalledEngine],
    files: Mapping[p.Side, Path],
    packages: Mapping[str, str],
    configurations: obs.Configurations,
    folder: Path,
    *,
    hulls: bool = False,
) -> EngineResults:
    """Have all engines read the files of one side or of both.

    With both sides, the URDF is written back from the USD, and the engines that read
    the URDF read that one too. Where the USD has other names of links or joints than
    the URDF, its engines read it again with the names of the URDF.
    """
    outcomes: dict[str, p.Outcome] = {}
    for side, file in files.items():
        request = p.Request(str(file), configurations, dict(packages), hulls)
        outcomes |= observe_side(steps, engines, side, request)
    # Of an engine that could not be loaded, the side is not known.
    present = tuple(one for one in engines if one.side is None or one.side in files)
    results = EngineResults(present, outcomes, configurations.count, files)
    expected, actual = results.expected, results.observation(USD_ENGINE)
    if p.Side.USD not in files or expected is None:
        return results
    if actual:
        usd = files[p.Side.USD]
        kinds = (expected.links, actual.links), (expected.joints, actual.joints)
        if any({one.name for one in of} - {one.name for one in by} for of, by in kinds):
            labels = steps.call("names", label_robot, str(usd.absolute()), expected)
            if isinstance(labels, Labelled):
                usd = folder / "labelled.usda"
                usd.write_text(labels.text, encoding="utf-8")
                request = structs.replace(request, path=str(usd))
                again = observe_side(steps, engines, p.Side.USD, request, "labelled")
                outcomes |= {name: _relabelled(one, labels) for name, one in again.items()}
        results = structs.replace(results, outcomes=outcomes, files={**files, p.Side.USD: usd})
        names = frozenset(link.name for link in (results.observation(USD_ENGINE) or actual).links)
        shapes = steps.call("shapes at rest", rest_shapes, str(usd), names)
        if not isinstance(shapes, p.Crashed):
            drawings, solids = shapes
            touching = steps.call("distances at rest", _touching, expected, solids)
            found = None if isinstance(touching, p.Crashed) else touching
            results = structs.replace(results, touching=found, drawings=drawings)
    if p.Side.URDF not in files:
        return results
    return structs.replace(results, back=_round_trip(steps, results, expected, request, folder))


def _relabelled(outcome: p.Outcome, labels: Labelled) -> p.Outcome:
    """Add notes on names that differ in the file."""
    if not isinstance(outcome, p.Observed):
        return outcome
    found = outcome.observation
    notes = [f"{what} is called {name!r}" for what, name in labels.spelled]
    return p.Observed(structs.replace(found, renamed=labels.inferred, notes=(*found.notes, *notes)))


def _touching(expected: obs.Observation, solids: Sequence[Solid]) -> tuple[OverlapRecord, ...]:
    """Return the links whose colliders touch or overlap at rest."""
    near = touching_links(expected, solids) if solids else {}
    return tuple(OverlapRecord(links=links, distance=one) for links, one in near.items())


def _round_trip(
    steps: Steps,
    results: EngineResults,
    expected: obs.Observation,
    request: p.Request,
    folder: Path,
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
    usd, urdf = str(results.files[p.Side.USD]), folder / "back.urdf"
    usable = results.observation(USD_ENGINE) is not None
    text = steps.call("write back", write_back, usd, links, reversed_limits, usable)
    if not isinstance(text, bytes):
        return RoundTripOutcomes(failure=text.reason if isinstance(text, p.Crashed) else text)
    urdf.write_bytes(text)
    request = p.Request(str(urdf), request.configurations)
    outcomes = {name: steps.call(f"back {name}", observe, name, request) for name in engines}
    return RoundTripOutcomes(outcomes)


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
    except ConversionError as error:
        errors = (each for each in error.diagnostics if each.severity == "error")
        return next(errors).message
