"""Descriptions of robots: how a URDF or MJCF is read, and how two of them are compared.

Of two descriptions, the second is read by the engine that decides on its format,
with its links and joints renamed as those of the first: as ``--map`` says, else as prims are
matched. Its frames are placed on those of the first at one link, the root of the first if both have
it. Checks that concern a USD alone, and quantities that one of the formats does not have, are left
out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from urdf_usd.conformance.engines.reference import draw_shapes
from urdf_usd.conformance.engines.statements import read_only, transforms
from urdf_usd.conformance.matching import match_names
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.sampling import configurations, plan_rollout
from urdf_usd.conformance.observation.shapes import Drawing
from urdf_usd.conformance.tolerance import Tolerance, derive_tolerance_model
from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.file_content import InputFile
from urdf_usd.converter.inputs import input_files, named_packages
from urdf_usd.converter.options import ConvertOptions
from urdf_usd.converter.robot.model import Robot
from urdf_usd.converter.urdf.parse import Parsed, relocatable_urdf
from urdf_usd.corpus.files import Format, robot_format

# Elements of an MJCF with files, and the attributes of the compiler with their folders.
_ASSETS = ("mesh", "skin", "texture", "hfield")
_DIRS = ("meshdir", "texturedir", "assetdir")
Array = NDArray[np.float64]
Names = Mapping[str, str]
"""Names in the first description by those in the second."""


def _planned(
    joints: Sequence[obs.JointObservation], observe: Callable[[obs.Configurations], obs.Observation]
) -> obs.Configurations:
    chosen = configurations(joints)
    expected = observe(chosen)
    scale = derive_tolerance_model(expected, Tolerance()).motion
    rollout = plan_rollout(expected, scale.inertia_defaulted if scale else None)
    return structs.replace(chosen, rollout=rollout, root=expected.root)


def sampling_plan(robot: Robot) -> obs.Configurations:
    """Choose the configurations of a robot that is a tree, and plan its rollout."""
    observe = partial(reference.observe_robot, robot, shapes=False)
    return _planned(reference.structure(robot), observe)


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


class Source(Struct, frozen=True, eq=False):
    """A description of a robot, and what was read of a URDF."""

    path: Path  # of the URDF that a xacro file expands to, or of what was read
    format: Format
    packages: dict[str, str] = {}
    inputs: tuple[InputFile, ...] = ()  # itself, the xacro file, first
    parsed: Parsed | None = None
    found: dict[str, str] = {}  # folder of each package in which files were found, by name

    @property
    def side(self) -> p.Side:
        return p.Side(self.format.value)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.parsed.diagnostics if self.parsed else ()

    def _robot(self) -> Robot:
        return reference.read_kept(str(self.path), self.packages).robot

    @contextlib.contextmanager
    def _refused(self) -> Iterator[None]:
        """Raise a :class:`SourceError` if an engine refuses it."""
        try:
            yield
        except p.UnsupportedError as error:
            place = Location(str(self.path), 1, 1)
            raise SourceError((Diagnostic("mjcf-refused", str(error), place),)) from error

    def sampling_plan(self) -> obs.Configurations:
        """Choose the configurations, and plan the rollout; raise a SourceError if it is refused."""
        if self.format is Format.URDF:
            return sampling_plan(self._robot())
        with self._refused():
            return _planned(self.joints(), partial(observe_mjcf, str(self.path), shapes=False))

    def write_estimated(self, required: ConvertOptions, copy: Path) -> frozenset[str]:
        """Write a copy with mass properties of shapes, and return their links.

        Raises:
            UnsupportedError: There are none.
        """
        try:
            base, density = required.base.value, required.mass_density
            made = estimate_urdf(str(self.path), self.packages, base, density)
        except SourceError as error:
            raise p.UnsupportedError(error.diagnostics[0].message) from error
        copy.write_bytes(made.text)
        return made.links

    def joints(self) -> tuple[obs.JointObservation, ...]:
        """State the joints, or raise :class:`UnsupportedError`."""
        if self.format is Format.URDF:
            return reference.structure(self._robot())
        return mjcf_joints(str(self.path))

    def observe(self, chosen: obs.Configurations) -> obs.Observation:
        """Read it by the engine that decides on its format.

        Raises:
            UnsupportedError: It is refused.
        """
        if self.format is Format.URDF:
            request = p.Request(str(self.path), chosen, self.packages)
            return reference.ReferenceEngine().observe(request)
        return self.described(observe_mjcf(str(self.path), chosen))

    def described(self, reading: obs.Observation) -> obs.Observation:
        """Complete what an MJCF states by the efforts of its actuators; it has no velocities."""
        if self.format is Format.URDF:
            return reading
        efforts = mjcf_efforts(str(self.path))
        joints = tuple(
            structs.replace(one, effort=efforts.get(one.name, one.effort)) for one in reading.joints
        )
        states = reading.states - {obs.Quantity.VELOCITY}
        return structs.replace(reading, joints=joints, states=states)

    def draw(self) -> tuple[Drawing, ...]:
        if self.format is Format.URDF:
            return draw_shapes(self._robot())
        return draw_mjcf(str(self.path))


def read_robot(
    path: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    environment: tuple[str, ...] = (),
    expanded: Path | None = None,
) -> Source:
    """Read a URDF, which the reference engine of the process finds read; list files of an MJCF.

    The URDF that a xacro file expands to is written to ``expanded``, for engines.

    Raises:
        SourceError: The URDF is invalid or unsupported.
    """
    if robot_format(Path(path)) is Format.MJCF:
        return Source(Path(path), Format.MJCF, inputs=mjcf_inputs(Path(path)))
    reference.forget_readings()
    parsed = reference.read_kept(path, packages, arguments, environment)
    expansion = parsed.markup.expansion
    files = expansion.files if expansion else ()
    if expansion and expanded:
        expanded.parent.mkdir(parents=True, exist_ok=True)
        expanded.write_bytes(relocatable_urdf(expansion, path, packages))
    return Source(
        expanded if expansion and expanded else Path(path),
        Format.URDF,
        dict(packages),
        input_files((path, *files), parsed.robot),
        parsed,
        dict(named_packages(parsed.robot)),
    )


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
) -> p.Observed:
    """Read the second description in the terms of the first, at configurations of its joints.

    Raises:
        SourceError: It is refused.
    """
    with second._refused():
        rest = configurations(second.joints())
        links, joints, inferred = _matches(second.observe(rest), expected, mapped)
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

    def called(name: str) -> str:
        return stated.get(name, name)

    # The path of a prim is its kind and name.
    prims = obs.NamedPrims(
        links=tuple(
            obs.NamedPrim(f"link {one.name}", called(one.name), is_body=True)
            for one in actual.links
        ),
        joints=tuple(
            obs.NamedJoint(
                f"joint {one.name}",
                called(one.name),
                (f"link {one.parent}", f"link {one.child}"),
                one.type,
            )
            for one in actual.joints
        ),
    )
    spelled, by_parents = match_names(expected, prims)
    new = {**spelled, **by_parents}
    links = {one.name: new.get(f"link {one.name}", called(one.name)) for one in actual.links}
    joints = {one.name: new.get(f"joint {one.name}", called(one.name)) for one in actual.joints}
    inferred = [
        (f"{kind} {first}", own)
        for path, first in by_parents.items()
        for kind, _, own in [path.partition(" ")]
        if path not in actual.made_up
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
    moved = transforms(frames.rotations, frames.positions)
    target = transforms(others.rotations[:, to], others.positions[:, to])
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


def _frames(links: tuple[str, ...], made: Array, labels: tuple[str, ...]) -> obs.Frames:
    positions, rotations = np.array(made[..., :3, 3]), np.array(made[..., :3, :3])
    return obs.Frames(links, read_only(positions), read_only(rotations), labels)
