"""What engines read of the files of a robot, in its worker: one after the other, each as a step."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import structs

from urdf_usd.conformance.engines import registry
from urdf_usd.conformance.engines.openusd.shapes import rest_solids
from urdf_usd.conformance.engines.protocol import (
    Crashed,
    InvalidFileError,
    Observed,
    Outcome,
    Request,
    Side,
    Unsupported,
    UnsupportedError,
)
from urdf_usd.conformance.execution.job import USD_ENGINE, EngineResults, InstalledEngine
from urdf_usd.conformance.execution.worker import Steps
from urdf_usd.conformance.export.reading import read_stage
from urdf_usd.conformance.matching import Labelled, label_robot
from urdf_usd.conformance.observation.robot import Configurations, Observation, require_types
from urdf_usd.conformance.requested_settings import touching_links
from urdf_usd.conformance.verdict.judged import REFERENCE, RoundTripOutcomes
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.converter.urdf.write import write
from urdf_usd.converter.usd.loading import open_stage
from urdf_usd.reports.records.record import OverlapRecord

AT_REST = Configurations((), (), ("zero",))
# Begin of entry points of this project's engines.
_OURS = "urdf_usd."
# Of an engine of another package [bytes].
_LARGEST_ANSWER = 128 * 1024 * 1024


def observe(engine: str, request: Request) -> Observed | Unsupported:
    """Have a registered engine read a file.

    An engine of another package has a copy of the request, and its answer is copied, so
    that nothing is shared with it.

    Raises:
        TypeError: It returned no observation, or one with values of other types.
        ValueError: Its answer is too large.
    """
    # Those of this project are checked by mypy.
    ours = registry.target(engine).startswith(_OURS)
    if not ours:
        request = pickle.loads(pickle.dumps(request))  # noqa: S301  pickled here
    try:
        observation: object = registry.engine(engine).observe(request)
    except UnsupportedError as refusal:
        reason = " ".join(str(refusal).split())
        return Unsupported(reason, isinstance(refusal, InvalidFileError))
    if not isinstance(observation, Observation):
        kind = type(observation).__name__
        raise TypeError(f"the engine returned {kind} instead of an observation")
    if not ours:
        require_types(observation)
        answer = pickle.dumps(observation)
        if len(answer) > _LARGEST_ANSWER:
            raise ValueError(f"the answer is larger than {_LARGEST_ANSWER >> 20} MiB")
        observation = pickle.loads(answer)  # noqa: S301  the engine has run here already
        assert isinstance(observation, Observation)  # noqa: S101  it was one
    return Observed(observation)


def observe_side(
    steps: Steps,
    engines: Sequence[InstalledEngine],
    side: Side,
    request: Request,
    purpose: str = "",
) -> dict[str, Outcome]:
    """Have every available engine of a side read a file.

    ``purpose`` distinguishes further readings by the same engines.
    """
    return {
        one.name: steps.call(f"{purpose or side.value} {one.name}", observe, one.name, request)
        for one in engines
        if one.side is side and one.is_available
    }


def observe_files(
    steps: Steps,
    engines: Sequence[InstalledEngine],
    files: Mapping[Side, Path],
    packages: Mapping[str, str],
    configurations: Configurations,
    folder: Path,
) -> EngineResults:
    """Have all engines read the files of one side or of both.

    With both sides, the URDF is written back from the USD, and the engines that read
    the URDF read that one too. Where the USD has other names of links or joints than
    the URDF, its engines read it again with the names of the URDF.
    """
    # Of an engine that could not be loaded, the side is not known.
    present = tuple(one for one in engines if one.side is None or one.side in files)
    outcomes: dict[str, Outcome] = {}
    for side, file in files.items():
        request = Request(str(file), configurations, dict(packages))
        outcomes |= observe_side(steps, engines, side, request)
    results = EngineResults(present, outcomes, configurations.count, files)
    expected, actual = results.expected, results.observation(USD_ENGINE)
    if Side.USD not in files or expected is None:
        return results
    usd = files[Side.USD]
    touching = None
    if actual is not None:
        links, joints = ({one.name for one in many} for many in (actual.links, actual.joints))
        if not (
            all(one.name in links for one in expected.links)
            and all(one.name in joints for one in expected.joints)
        ):
            labels = steps.call("names", label_robot, str(usd.absolute()), expected)
            if isinstance(labels, Labelled):
                usd = folder / "labelled.usda"
                usd.write_text(labels.text, encoding="utf-8")
                request = Request(str(usd), configurations, dict(packages))
                again = observe_side(steps, engines, Side.USD, request, "labelled")
                outcomes |= {name: _relabelled(one, labels) for name, one in again.items()}
        found = steps.call("distances at rest", _touching, expected, str(usd))
        touching = None if isinstance(found, Crashed) else found
    files = {**files, Side.USD: usd}
    results = structs.replace(results, outcomes=outcomes, files=files, touching=touching)
    if Side.URDF not in files:
        return results
    return structs.replace(results, back=_round_trip(steps, results, expected, request, folder))


def _relabelled(outcome: Outcome, labels: Labelled) -> Outcome:
    """Add notes on names that differ in the file."""
    if not isinstance(outcome, Observed):
        return outcome
    found = outcome.observation
    notes = [f"{what} is called {name!r}" for what, name in labels.spelled]
    return Observed(structs.replace(found, renamed=labels.inferred, notes=(*found.notes, *notes)))


def _touching(expected: Observation, usd: str) -> tuple[OverlapRecord, ...]:
    """Return the links whose colliders touch or overlap at rest."""
    near = touching_links(expected, solids) if (solids := rest_solids(usd)) else {}
    return tuple(OverlapRecord(links=links, distance=one) for links, one in near.items())


def _round_trip(
    steps: Steps, results: EngineResults, expected: Observation, request: Request, folder: Path
) -> RoundTripOutcomes | None:
    """Write the URDF back from the USD, and read it with the engines that read the URDF."""
    engines = [
        name
        for name in results.of_side(Side.URDF)
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
    usd = str(results.files[Side.USD])
    text = steps.call("write back", write_back, usd, links, reversed_limits)
    if not isinstance(text, bytes):
        return RoundTripOutcomes(failure=text.reason if isinstance(text, Crashed) else text)
    urdf = folder / "back.urdf"
    urdf.write_bytes(text)
    request = Request(str(urdf), request.configurations)
    return RoundTripOutcomes(
        {name: steps.call(f"back {name}", observe, name, request) for name in engines}
    )


def write_back(usd: str, links: Sequence[str], reversed_limits: Sequence[str] = ()) -> bytes | str:
    """Write the robot in a USD as URDF, without shapes; as text, why it cannot be written.

    Args:
        usd: Root layer. Its files are not checked here: a USD of another converter was
            composed before engines read it.
        links: Names of the robot's links, for frames that the USD does not mark.
        reversed_limits: Joints whose lower limit is above the upper one in the URDF.
    """
    try:
        stage = open_stage(usd, checked=True).stage
        reading = read_stage(stage, links, shapes=False, reversed_limits=reversed_limits)
        return write(reading.robot)
    except ConversionError as error:
        errors = (each for each in error.diagnostics if each.severity == "error")
        return next(errors).message
