"""The source of a comparison: a URDF as it is read, and two descriptions of one robot.

Of two descriptions, each URDF or MJCF, the second is read by the engine that decides on its format,
with its links and joints renamed as those of the first: as ``--map`` says, else as prims are
matched. Its frames are placed on those of the first at one link, the root of the first if both have
it. Checks that concern a USD alone, and quantities that one of the formats does not have, are left
out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from lxml import etree
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines import protocol as p
from urdf_usd.conformance.engines import reference
from urdf_usd.conformance.engines.estimated_urdf import estimate_urdf
from urdf_usd.conformance.engines.mjcf import draw_mjcf, mjcf_efforts, mjcf_joints, observe_mjcf
from urdf_usd.conformance.engines.mujoco_models import with_motion
from urdf_usd.conformance.engines.openusd.shapes import rest_solids
from urdf_usd.conformance.engines.reference import draw_shapes
from urdf_usd.conformance.engines.statements import read_only
from urdf_usd.conformance.execution.folder import MISSING
from urdf_usd.conformance.execution.job import USD_ENGINE, EngineResults, InstalledEngine, Job
from urdf_usd.conformance.execution.worker import Steps
from urdf_usd.conformance.expectations import touching_links
from urdf_usd.conformance.export.reading import read_stage
from urdf_usd.conformance.matching import Labelled, label_robot, match_names
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.sampling import configurations, plan_rollout
from urdf_usd.conformance.observation.shapes import Drawing
from urdf_usd.conformance.tolerance import Tolerance, derive_tolerance_model
from urdf_usd.conformance.verdict.judged import REFERENCE, RoundTripOutcomes
from urdf_usd.converter.diagnostics import ConversionError, SourceError
from urdf_usd.converter.file_content import InputFile
from urdf_usd.converter.inputs import input_files, named_packages
from urdf_usd.converter.options import ConvertOptions
from urdf_usd.converter.robot.model import Robot
from urdf_usd.converter.urdf.parse import Parsed, relocatable_urdf
from urdf_usd.converter.urdf.write import write
from urdf_usd.converter.usd.loading import open_stage
from urdf_usd.corpus.files import Format
from urdf_usd.reports.records.record import OverlapRecord

# Elements of an MJCF with files, and the attributes of the compiler with their folders.
_ASSETS = ("mesh", "skin", "texture", "hfield")
_DIRS = ("meshdir", "texturedir", "assetdir")
AT_REST = obs.Configurations((), (), ("zero",))
Array = NDArray[np.float64]
Names = Mapping[str, str]
"""Names in the first description by those in the second."""


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
    reference.forget_readings()
    try:
        parsed = reference.read_kept(path, packages, arguments, environment)
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


def input_paths(job: Job) -> frozenset[Path] | None:
    """Return the files of a robot; None if not all are there."""
    reading = read_robot(str(job.source.path), job.packages, job.arguments, job.options.environment)
    if not isinstance(reading, Reading) or any(
        found.rule in MISSING | {"mesh-missing"} for found in reading.parsed.diagnostics
    ):
        return None
    return frozenset(Path(file.path).resolve() for file in reading.inputs)


def questions(robot: Robot) -> obs.Configurations:
    """Choose the configurations of a robot that is a tree, and plan its rollout."""
    return planned(
        reference.structure(robot), partial(reference.observe_robot, robot, shapes=False)
    )


def estimated(
    urdf: Path, packages: Mapping[str, str], required: ConvertOptions, copy: Path
) -> tuple[frozenset[str], obs.Configurations] | str:
    """Write a copy with mass properties of shapes; return their links, or why there are none."""
    try:
        made = estimate_urdf(str(urdf), packages, required.base.value, required.mass_density)
        copy.write_bytes(made.text)
        return made.links, questions(reference.read_kept(str(copy), packages).robot)
    except p.UnsupportedError as refusal:
        return " ".join(str(refusal).split())
    except SourceError as error:
        return error.diagnostics[0].message


def mjcf_inputs(path: Path) -> tuple[InputFile, ...]:
    """List the files of an MJCF, itself first: includes, models, meshes and textures.

    Files that cannot be read are left out: MuJoCo reports them.
    """
    documents: dict[Path, etree._Element] = {}
    waiting = [path]
    while waiting:
        file = waiting.pop(0)
        with contextlib.suppress(OSError, etree.XMLSyntaxError):
            if file not in documents:
                parser = etree.XMLParser(resolve_entities=False)
                documents[file] = root = etree.parse(file, parser).getroot()
                names = [one.get("file") for one in root.iter("include", "model")]
                waiting[:0] = [path.parent / name for name in names if name]
    roots = documents.values()
    folders = {one.get(name) for root in roots for one in root.iter("compiler") for name in _DIRS}
    assets = [
        path.parent / folder / value
        for root in roots
        for element in root.iter(*_ASSETS)
        for name, value in element.attrib.items()
        if name.startswith("file")
        for folder in ("", *sorted(filter(None, folders)))
    ]
    return input_files(map(str, (*documents, *assets)), None)


def planned(
    joints: Sequence[obs.JointObservation], observe: Callable[[obs.Configurations], obs.Observation]
) -> obs.Configurations:
    """Choose the configurations of a robot, and plan its rollout by what is observed there."""
    chosen = configurations(joints)
    expected = observe(chosen)
    scale = derive_tolerance_model(expected, Tolerance()).motion
    rollout = plan_rollout(expected, scale.inertia_defaulted if scale else None)
    return structs.replace(chosen, rollout=rollout, root=expected.root)


class Source(Struct, frozen=True):
    """A description that engines can read: a xacro file is expanded."""

    path: Path
    format: Format
    packages: dict[str, str]

    @property
    def side(self) -> p.Side:
        return p.Side(self.format.value)

    def questions(self) -> obs.Configurations | p.Unsupported:
        """Choose the configurations, and plan the rollout."""
        if self.format is Format.MJCF:
            try:
                joints = mjcf_joints(str(self.path))
                return planned(joints, partial(observe_mjcf, str(self.path), shapes=False))
            except p.UnsupportedError as error:
                return p.Unsupported(str(error))
        return questions(reference.read_kept(str(self.path), self.packages).robot)

    def joints(self) -> tuple[obs.JointObservation, ...]:
        """State the joints, or raise :class:`UnsupportedError`."""
        if self.format is Format.MJCF:
            return mjcf_joints(str(self.path))
        return reference.structure(reference.read_kept(str(self.path), self.packages).robot)

    def observe(self, chosen: obs.Configurations) -> obs.Observation:
        """Read it by the engine that decides on its format.

        Raises:
            UnsupportedError: It is refused.
        """
        if self.format is Format.URDF:
            return reference.ReferenceEngine().observe(
                p.Request(str(self.path), chosen, self.packages)
            )
        return self.described(observe_mjcf(str(self.path), chosen))

    def described(self, reading: obs.Observation) -> obs.Observation:
        """Complete what an MJCF states by the efforts of its actuators; it has no velocities."""
        if self.format is Format.URDF:
            return reading
        efforts = mjcf_efforts(str(self.path))
        joints = tuple(
            structs.replace(one, effort=efforts.get(one.name, one.effort)) for one in reading.joints
        )
        return structs.replace(
            reading, joints=joints, states=reading.states - {obs.Quantity.VELOCITY}
        )

    def draw(self) -> tuple[Drawing, ...]:
        if self.format is Format.MJCF:
            return draw_mjcf(str(self.path))
        return draw_shapes(reference.read_kept(str(self.path), self.packages).robot)


def read_as_mjcf(
    expected: obs.Observation, actual: obs.Observation, chosen: obs.Configurations
) -> obs.Observation:
    """Leave out of the reading of a USD what its MJCF implies.

    These are settings and joints that close loops, which an MJCF states and nothing compares,
    other names of what has none in the MJCF, and its mocap bodies. A mass that follows from
    density is stated: that of an MJCF does as well, and effective masses are compared.
    """

    def is_implied(setting: obs.UnexpectedSetting) -> bool:
        return any(
            one.kind in (None, setting.kind)
            and one.subject in ("", setting.subject)
            and (one.words in setting.attribute or one.words in setting.message)
            and setting.attribute not in one.besides
            for one in expected.implied
        )

    massive = {link.name for link in expected.links if link.mass}
    joints = [joint for joint in actual.joints if "it closes a loop" not in (joint.note or "")]
    looped = len(joints) < len(actual.joints)
    reading = structs.replace(
        actual,
        joints=tuple(joints),
        unexpected=tuple(one for one in actual.unexpected or () if not is_implied(one)),
        defaulted=tuple(one for one in actual.defaulted if one not in massive),
        nondynamic=tuple(one for one in actual.nondynamic if one not in expected.nondynamic),
        renamed=tuple(one for one in actual.renamed if one[0] not in expected.made_up),
    )
    return with_motion(reading, chosen, perturbed=False) if looped else reading


def observed_second(
    second: Source,
    expected: obs.Observation,
    chosen: obs.Configurations,
    mapped: Sequence[tuple[str, str]],
) -> p.Observed | p.Unsupported:
    """Read the second description in the terms of the first, at configurations of its joints."""
    try:
        rest = configurations(second.joints())
        links, joints, inferred = _matches(second.observe(rest), expected, mapped)
    except p.UnsupportedError as error:
        return p.Unsupported(str(error))
    given = dict(zip(chosen.joints, chosen.positions, strict=True))

    def positions(name: str, own: Array) -> Array:
        """Return those of the first, or zero for a joint that it does not have likewise."""
        zero = np.tile(own[0], (chosen.count, 1))
        stated = given.get(joints[name], zero)
        return stated if stated.shape == zero.shape else zero

    own = structs.replace(
        chosen,
        joints=rest.joints,
        positions=tuple(map(positions, rest.joints, rest.positions)),
        velocities=(),
        rollout=None,
        root=None,
    )
    actual = _renamed(second.observe(own), links, joints)
    actual = structs.replace(
        actual,
        renamed=tuple((what, name) for what, name in inferred if what not in expected.made_up),
    )
    return p.Observed(_placed(actual, expected, chosen))


def _matches(
    actual: obs.Observation, expected: obs.Observation, mapped: Sequence[tuple[str, str]]
) -> tuple[dict[str, str], dict[str, str], list[tuple[str, str]]]:
    """Match links and joints; return the names in the first, and those that were inferred."""
    stated = {second: first for first, second in mapped}
    made_up = {*actual.made_up}
    paths = {link.name: f"/link{i}" for i, link in enumerate(actual.links)}
    prims = obs.NamedPrims(
        links=tuple(
            obs.NamedPrim(path, stated.get(name, name), is_body=True)
            for name, path in paths.items()
        ),
        joints=tuple(
            obs.NamedJoint(
                f"/joint{i}",
                stated.get(one.name, one.name),
                (paths[one.parent], paths[one.child]),
                one.type,
            )
            for i, one in enumerate(actual.joints)
        ),
    )
    spelled, by_parents = match_names(expected, prims)
    new = {**spelled, **by_parents}
    own = {path: name for name, path in paths.items()}
    own |= {f"/joint{i}": one.name for i, one in enumerate(actual.joints)}
    links, joints = (
        {name: new.get(path, stated.get(name, name)) for path, name in own.items() if kind in path}
        for kind in ("/link", "/joint")
    )
    inferred = [
        (f"{kind} {first}", own[path])
        for path, first in by_parents.items()
        for kind in [path.strip("/0123456789")]
        if f"{kind} {own[path]}" not in made_up
    ]
    return links, joints, inferred


def _renamed(seen: obs.Observation, links: Names, joints: Names) -> obs.Observation:

    def joint(one: obs.JointObservation) -> obs.JointObservation:
        mimic = one.mimic and structs.replace(one.mimic, leader=joints[one.mimic.leader])
        ends = links[one.parent], links[one.child]
        name = joints[one.name]
        return structs.replace(one, name=name, parent=ends[0], child=ends[1], mimic=mimic)

    def link(one: obs.LinkObservation) -> obs.LinkObservation:
        body = one.body and links.get(one.body, one.body)
        return structs.replace(one, name=links[one.name], body=body)

    frames = seen.frames
    return structs.replace(
        seen,
        root=links[seen.root],
        links=tuple(map(link, seen.links)),
        joints=tuple(map(joint, seen.joints)),
        frames=frames
        and structs.replace(frames, links=tuple(links[name] for name in frames.links)),
        shapes=tuple(structs.replace(one, link=links[one.link]) for one in seen.shapes),
        joint_order=tuple(joints[name] for name in seen.joint_order),
        # Of other joints than the first has; computed anew.
        dynamics=None,
        rollout=None,
        simulation=None,
    )


def _placed(
    actual: obs.Observation, expected: obs.Observation, chosen: obs.Configurations
) -> obs.Observation:
    """Place the frames on those of the first, and compute motion about its root."""
    frames, others = actual.frames, expected.frames
    if frames is None or others is None:
        return actual
    shared = [name for name in (expected.root, *others.links) if name in frames.links]
    if not shared:
        return actual
    at, to = frames.links.index(shared[0]), others.links.index(shared[0])
    moved, target = _transforms(frames), _transforms(others)[:, to]
    moved = (target @ np.linalg.inv(moved[:, at]))[:, np.newaxis] @ moved
    placed = structs.replace(actual, frames=_frames(frames.links, moved, frames.labels))
    if shared[0] != expected.root:
        note = f"its frames are placed at link {shared[0]}, as it has no {expected.root}"
        placed = structs.replace(placed, notes=(*placed.notes, note))
    rooted = structs.replace(placed, root=expected.root)
    if expected.root not in frames.links:
        base = np.tile(np.eye(4), (len(moved), 1, 1, 1))
        held = obs.JointObservation("", obs.JointType.FIXED, expected.root, actual.root)
        rooted = structs.replace(
            rooted,
            links=(obs.LinkObservation(expected.root), *placed.links),
            joints=(held, *placed.joints),
            frames=_frames((expected.root, *frames.links), np.hstack([base, moved]), frames.labels),
        )
    moving = with_motion(rooted, chosen, perturbed=False)
    return structs.replace(
        placed,
        root=expected.root if expected.root in frames.links else placed.root,
        dynamics=moving.dynamics,
        rollout=moving.rollout,
        notes=tuple(dict.fromkeys((*placed.notes, *moving.notes))),
    )


def _transforms(frames: obs.Frames) -> Array:
    made = np.tile(np.eye(4), (*frames.positions.shape[:2], 1, 1))
    made[..., :3, :3], made[..., :3, 3] = frames.rotations, frames.positions
    return made


def _frames(links: tuple[str, ...], made: Array, labels: tuple[str, ...]) -> obs.Frames:
    positions, rotations = np.array(made[..., :3, 3]), np.array(made[..., :3, :3])
    return obs.Frames(links, read_only(positions), read_only(rotations), labels)


# What engines read of the files of a robot: one after the other, each as a step.


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
) -> EngineResults:
    """Have all engines read the files of one side or of both.

    With both sides, the URDF is written back from the USD, and the engines that read
    the URDF read that one too. Where the USD has other names of links or joints than
    the URDF, its engines read it again with the names of the URDF.
    """
    # Of an engine that could not be loaded, the side is not known.
    present = tuple(one for one in engines if one.side is None or one.side in files)
    outcomes: dict[str, p.Outcome] = {}
    for side, file in files.items():
        request = p.Request(str(file), configurations, dict(packages))
        outcomes |= observe_side(steps, engines, side, request)
    results = EngineResults(present, outcomes, configurations.count, files)
    expected, actual = results.expected, results.observation(USD_ENGINE)
    if p.Side.USD not in files or expected is None:
        return results
    usd = files[p.Side.USD]
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
                request = p.Request(str(usd), configurations, dict(packages))
                again = observe_side(steps, engines, p.Side.USD, request, "labelled")
                outcomes |= {name: _relabelled(one, labels) for name, one in again.items()}
        found = steps.call("distances at rest", _touching, expected, str(usd))
        touching = None if isinstance(found, p.Crashed) else found
    files = {**files, p.Side.USD: usd}
    results = structs.replace(results, outcomes=outcomes, files=files, touching=touching)
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


def _touching(expected: obs.Observation, usd: str) -> tuple[OverlapRecord, ...]:
    """Return the links whose colliders touch or overlap at rest."""
    near = touching_links(expected, solids) if (solids := rest_solids(usd)) else {}
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
    usd = str(results.files[p.Side.USD])
    text = steps.call("write back", write_back, usd, links, reversed_limits)
    if not isinstance(text, bytes):
        return RoundTripOutcomes(failure=text.reason if isinstance(text, p.Crashed) else text)
    urdf = folder / "back.urdf"
    urdf.write_bytes(text)
    request = p.Request(str(urdf), request.configurations)
    return RoundTripOutcomes(
        {name: steps.call(f"back {name}", observe, name, request) for name in engines}
    )


def write_back(usd: str, links: Sequence[str], reversed_limits: Sequence[str] = ()) -> bytes | str:
    """Write the robot in a USD as URDF, without shapes; as text, why it cannot be written.

    The names of its links tell frames that the USD does not mark. Of joints with
    ``reversed_limits``, the lower limit is above the upper one.
    """
    try:
        stage = open_stage(usd, checked=True).stage
        reading = read_stage(stage, links, shapes=False, reversed_limits=reversed_limits)
        return write(reading.robot)
    except ConversionError as error:
        errors = (each for each in error.diagnostics if each.severity == "error")
        return next(errors).message
