"""The source of a comparison: a URDF as it is read, and two descriptions of one robot.

Of two descriptions, each URDF or MJCF, the second is read by the engine that decides on its format,
with its links and joints renamed as those of the first: as ``--map`` says, else as prims are
matched. Its frames are placed on those of the first at one link, the root of the first if both have
it. Checks that concern a USD alone, and quantities that one of the formats does not have, are left
out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines.estimated_urdf import estimate_urdf
from urdf_usd.conformance.engines.mjcf import draw_mjcf, mjcf_efforts, mjcf_joints, observe_mjcf
from urdf_usd.conformance.engines.mujoco_models import with_motion
from urdf_usd.conformance.engines.protocol import (
    Observed,
    Request,
    Side,
    Unsupported,
    UnsupportedError,
)
from urdf_usd.conformance.engines.reference import (
    ReferenceEngine,
    forget_readings,
    observe_robot,
    read_kept,
    structure,
)
from urdf_usd.conformance.engines.reference_shapes import draw_shapes
from urdf_usd.conformance.engines.statements import read_only
from urdf_usd.conformance.execution.folder import MISSING
from urdf_usd.conformance.execution.job import Job
from urdf_usd.conformance.execution.mjcf import mjcf_questions, planned
from urdf_usd.conformance.matching import match_names
from urdf_usd.conformance.observation.robot import (
    Configurations,
    Frames,
    JointObservation,
    JointType,
    LinkObservation,
    NamedJoint,
    NamedPrim,
    NamedPrims,
    Observation,
    Quantity,
)
from urdf_usd.conformance.observation.sampling import configurations
from urdf_usd.conformance.observation.shapes import Drawing
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.file_content import InputFile
from urdf_usd.converter.inputs import input_files, named_packages
from urdf_usd.converter.options import ConvertOptions
from urdf_usd.converter.robot.model import Robot
from urdf_usd.converter.urdf.parse import Parsed, relocatable_urdf
from urdf_usd.converter.urdf.xacro import expand, is_xacro
from urdf_usd.corpus.files import Format

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


def input_paths(job: Job) -> frozenset[Path] | None:
    """Return the files of a robot; None if not all are there."""
    reading = read_robot(str(job.source.path), job.packages, job.arguments, job.options.environment)
    if not isinstance(reading, Reading) or any(
        found.rule in MISSING | {"mesh-missing"} for found in reading.parsed.diagnostics
    ):
        return None
    return frozenset(Path(file.path).resolve() for file in reading.inputs)


def unread_files(
    path: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    environment: tuple[str, ...],
) -> tuple[InputFile, ...]:
    """Return the files of a robot that cannot be read; of missing ones only the first."""
    files = [path]
    if is_xacro(path):
        with contextlib.suppress(SourceError):
            files += expand(path, packages, arguments, environment=environment).files
    return input_files(files, None)


def questions(robot: Robot) -> Configurations:
    """Choose the configurations of a robot, and plan its rollout.

    Raises:
        SourceError: The robot is not a tree.
    """
    return planned(structure(robot), partial(observe_robot, robot, shapes=False))


def estimated(
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


class Source(Struct, frozen=True):
    """A description that engines can read: a xacro file is expanded."""

    path: Path
    format: Format
    packages: dict[str, str]

    @property
    def side(self) -> Side:
        """What an engine of its format reads."""
        return Side(self.format.value)

    def questions(self) -> Configurations | Unsupported:
        """Choose the configurations, and plan the rollout."""
        if self.format is Format.MJCF:
            return mjcf_questions(str(self.path))
        return questions(read_kept(str(self.path), self.packages).robot)

    def joints(self) -> tuple[JointObservation, ...]:
        """State the joints.

        Raises:
            UnsupportedError: It is refused.
        """
        if self.format is Format.MJCF:
            return mjcf_joints(str(self.path))
        return structure(read_kept(str(self.path), self.packages).robot)

    def observe(self, chosen: Configurations) -> Observation:
        """Read it by the engine that decides on its format.

        Raises:
            UnsupportedError: It is refused.
        """
        if self.format is Format.URDF:
            return ReferenceEngine().observe(Request(str(self.path), chosen, self.packages))
        return self.described(observe_mjcf(str(self.path), chosen))

    def described(self, reading: Observation) -> Observation:
        """Complete what an MJCF states by the efforts of its actuators; it has no velocities."""
        if self.format is Format.URDF:
            return reading
        efforts = mjcf_efforts(str(self.path))
        joints = tuple(
            structs.replace(one, effort=efforts.get(one.name, one.effort)) for one in reading.joints
        )
        return structs.replace(reading, joints=joints, states=reading.states - {Quantity.VELOCITY})

    def draw(self) -> tuple[Drawing, ...]:
        """Return its shapes for drawing."""
        if self.format is Format.MJCF:
            return draw_mjcf(str(self.path))
        return draw_shapes(read_kept(str(self.path), self.packages).robot)


def observed_second(
    second: Source,
    expected: Observation,
    chosen: Configurations,
    mapped: Sequence[tuple[str, str]],
) -> Observed | Unsupported:
    """Read the second description in the terms of the first.

    Args:
        second: The description.
        expected: What the first one states at the configurations.
        chosen: Configurations, by the joints of the first.
        mapped: Names of links and joints in the first, and in the second.
    """
    try:
        rest = configurations(second.joints())
        links, joints, inferred = _matches(second.observe(rest), expected, mapped)
    except UnsupportedError as error:
        return Unsupported(str(error))
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
    return Observed(_placed(actual, expected, chosen))


def _matches(
    actual: Observation, expected: Observation, mapped: Sequence[tuple[str, str]]
) -> tuple[dict[str, str], dict[str, str], list[tuple[str, str]]]:
    """Match links and joints; return the names in the first, and those that were inferred."""
    stated = {second: first for first, second in mapped}
    made_up = {*actual.made_up}
    paths = {link.name: f"/link{i}" for i, link in enumerate(actual.links)}
    prims = NamedPrims(
        links=tuple(
            NamedPrim(path, stated.get(name, name), is_body=True) for name, path in paths.items()
        ),
        joints=tuple(
            NamedJoint(
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


def _renamed(seen: Observation, links: Names, joints: Names) -> Observation:
    """Rename links and joints."""

    def joint(one: JointObservation) -> JointObservation:
        mimic = one.mimic and structs.replace(one.mimic, leader=joints[one.mimic.leader])
        ends = links[one.parent], links[one.child]
        name = joints[one.name]
        return structs.replace(one, name=name, parent=ends[0], child=ends[1], mimic=mimic)

    def link(one: LinkObservation) -> LinkObservation:
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


def _placed(actual: Observation, expected: Observation, chosen: Configurations) -> Observation:
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
        held = JointObservation("", JointType.FIXED, expected.root, actual.root)
        rooted = structs.replace(
            rooted,
            links=(LinkObservation(expected.root), *placed.links),
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


def _transforms(frames: Frames) -> Array:
    made = np.tile(np.eye(4), (*frames.positions.shape[:2], 1, 1))
    made[..., :3, :3], made[..., :3, 3] = frames.rotations, frames.positions
    return made


def _frames(links: tuple[str, ...], made: Array, labels: tuple[str, ...]) -> Frames:
    positions, rotations = np.array(made[..., :3, 3]), np.array(made[..., :3, :3])
    return Frames(links, read_only(positions), read_only(rotations), labels)
