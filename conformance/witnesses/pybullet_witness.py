"""What PyBullet reads in a URDF.

PyBullet reports poses and inertia in the *inertial* frame of each link; link frames are
worked out here in double precision, because its own link frames pass through float32.
It reads inertia from the file only if told to, keeps files it has read in a cache, and
prints why it refuses a file instead of saying so in the exception.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import math
import re
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.transform import Rotation

from conformance.observation import (
    COORDINATES,
    Frames,
    JointObservation,
    JointType,
    LinkObservation,
    MassProperties,
    Observation,
    Quantity,
)
from conformance.shapes import Role
from conformance.witness import (
    AbstentionError,
    Availability,
    Available,
    Side,
    Unavailable,
)
from conformance.witnesses.native_output import captured
from conformance.witnesses.pybullet_shapes import state_link
from conformance.witnesses.statements import (
    blocked_note,
    links_in_reach,
    tensor_along_link,
    unit,
    unreachable_joints,
    vec3,
)
from conformance.witnesses.urdf_shapes import prepare_shapes
from conformance.witnesses.urdf_text import (
    UrdfText,
    add_missing_limits,
    complete_inertials,
    name_robot,
    prepare,
    strip_shapes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from conformance.observation import Configurations
    from conformance.shapes import ShapeObservation
    from conformance.witness import Request

_STEPS = (strip_shapes, complete_inertials, name_robot, add_missing_limits)
_BASE = -1
# Neither of PyBullet's functions that set a joint has any effect on a planar one.
_IMMOVABLE = frozenset({JointType.PLANAR})
_STATES = frozenset(
    {
        Quantity.LINKS,
        Quantity.JOINTS,
        Quantity.JOINT_TYPES,
        Quantity.FRAMES,
        Quantity.MASS,
        Quantity.LIMITS,
        Quantity.EFFORT,
        Quantity.VELOCITY,
        Quantity.DYNAMICS,
    }
)
_SHAPES = {Quantity.COLLISION, Quantity.VISUAL}


@dataclass(frozen=True, slots=True)
class PybulletWitness:
    """Asks Bullet's URDF importer."""

    name: str = "pybullet"
    side: Side = Side.URDF

    def availability(self) -> Availability:
        """Say which version is installed."""
        try:
            return Available(importlib.metadata.version("pybullet"))
        except importlib.metadata.PackageNotFoundError:
            return Unavailable("pybullet is not installed", "pip install pybullet")

    def observe(self, request: Request) -> Observation:
        """Read the file and state what it says.

        Raises:
            AbstentionError: PyBullet refuses the file.
        """
        urdf = prepare(request.path, _STEPS)
        with _loaded(urdf) as body:
            joints = tuple(
                _joint(row, body, urdf.limits_unknown) for row in body.joint_rows
            )
            blocked = unreachable_joints(joints, request.configurations, _IMMOVABLE)
            reach = links_in_reach(body.links[0], joints, blocked)
            frames, silence = _frames(body, joints, reach, request.configurations)
            links = tuple(
                LinkObservation(name, _mass(body, index, urdf))
                for index, name in enumerate(body.links, start=_BASE)
            )
        massive = {link.name for link in links if link.mass is not None}
        states = _STATES if frames else _STATES - {Quantity.FRAMES}
        shapes = _shapes(request)
        return Observation(
            witness=self.name,
            robot=None if urdf.robot_unnamed else body.robot,
            root=body.links[0],
            states=states if shapes is None else states | _SHAPES,
            links=links,
            joints=joints,
            frames=frames,
            notes=(*urdf.notes, *blocked_note("PyBullet", blocked), *silence),
            invented=tuple(sorted(urdf.without_inertial & massive)),
            shapes=shapes or (),
        )


def _shapes(request: Request) -> tuple[ShapeObservation, ...] | None:
    """State shapes as PyBullet reads them in another copy; None if it refuses that."""
    text = prepare_shapes(request, frozenset(), name_robot)
    found = list(text.unread)
    try:
        with _loaded(text.urdf) as body:
            visuals = body.ask("getVisualShapeData")
            for index, link in enumerate(body.links, start=_BASE):
                colliders = body.ask("getCollisionShapeData", index)
                shown = tuple(row for row in visuals if row[1] == index)
                for role, rows in (Role.COLLISION, colliders), (Role.VISUAL, shown):
                    found += state_link(body.engine, link, role, rows)
    except AbstentionError:
        return None
    return tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Body:
    """One robot in a PyBullet world of its own.

    Attributes:
        engine: The ``pybullet`` module.
        client: Number of the world.
        index: Number of the robot in it.
        robot: Name of the robot.
        links: Names; PyBullet's link index is the position here minus one.
        joint_rows: What ``getJointInfo`` says, per joint.
    """

    engine: Any
    client: int
    index: int
    robot: str
    links: tuple[str, ...]
    joint_rows: tuple[tuple[Any, ...], ...]

    def ask(self, function: str, *arguments: object, **options: object) -> Any:  # noqa: ANN401
        """Call a function of PyBullet about this robot; its answers are untyped."""
        return getattr(self.engine, function)(
            self.index, *arguments, physicsClientId=self.client, **options
        )


@contextlib.contextmanager
def _loaded(urdf: UrdfText) -> Iterator[_Body]:
    """Load a prepared copy into a world that is empty again after the context.

    Raises:
        AbstentionError: PyBullet refuses the copy.
    """
    with (
        tempfile.TemporaryDirectory(prefix="pybullet-") as folder,
        captured() as printed,
    ):
        # Imported here because importing it prints to standard output.
        import pybullet  # noqa: PLC0415

        copy = Path(folder, "robot.urdf")
        copy.write_bytes(urdf.text)
        client = _world()
        try:
            # The cache goes by path alone and would serve a file that is long gone.
            pybullet.setPhysicsEngineParameter(
                enableFileCaching=0, physicsClientId=client
            )
            try:
                index = pybullet.loadURDF(
                    str(copy),
                    # Cylinders would be read as meshes, about which it says nothing.
                    flags=pybullet.URDF_USE_INERTIA_FROM_FILE
                    | pybullet.URDF_USE_IMPLICIT_CYLINDER,
                    physicsClientId=client,
                )
            except pybullet.error as error:
                raise AbstentionError(_reason(printed(), copy) or str(error)) from error
            yield _body(pybullet, client, index)
        finally:
            pybullet.resetSimulation(physicsClientId=client)


@lru_cache(maxsize=1)
def _world() -> int:
    """Return the number of a world, which takes longer to make than to empty."""
    import pybullet  # noqa: PLC0415  likewise

    return int(pybullet.connect(pybullet.DIRECT))


def _body(engine: Any, client: int, index: int) -> _Body:  # noqa: ANN401  untyped
    root, robot = engine.getBodyInfo(index, physicsClientId=client)
    rows = tuple(
        engine.getJointInfo(index, joint, physicsClientId=client)
        for joint in range(engine.getNumJoints(index, physicsClientId=client))
    )
    links = (root.decode(), *(row[12].decode() for row in rows))
    return _Body(engine, client, index, robot.decode(), links, rows)


def _reason(printed: str, copy: Path) -> str:
    """What PyBullet printed, without its source positions and the copy's path."""
    text = re.sub(r"b3(?:Error|Warning|Printf)\[[^\]]*\]:", "\n", printed)
    lines = (line.strip() for line in text.replace(str(copy), copy.name).splitlines())
    kept = (line for line in lines if line and "build time" not in line)
    return "; ".join(dict.fromkeys(kept))


def _joint(
    row: tuple[Any, ...], body: _Body, limits_unknown: frozenset[str]
) -> JointObservation:
    name, child, parent = row[1].decode(), row[12].decode(), body.links[row[16] + 1]
    kinds = {
        body.engine.JOINT_REVOLUTE: JointType.REVOLUTE,
        body.engine.JOINT_PRISMATIC: JointType.PRISMATIC,
        body.engine.JOINT_SPHERICAL: JointType.SPHERICAL,
        body.engine.JOINT_PLANAR: JointType.PLANAR,
        body.engine.JOINT_FIXED: JointType.FIXED,
    }
    kind = kinds[row[2]]
    if kind not in {JointType.REVOLUTE, JointType.PRISMATIC}:
        return JointObservation(name, kind, parent, child)
    # The axis is reported in the inertial frame, in the length that the file gives.
    to_link = _rotation(body.ask("getDynamicsInfo", row[0])[4])
    axis = unit(to_link.apply(row[13]))
    if name in limits_unknown:
        return JointObservation(
            name, kind, parent, child, axis=axis, note="The file has no <limit>."
        )
    lower, upper = float(row[8]), float(row[9])
    unlimited = lower > upper
    if unlimited:
        lower, upper = -math.inf, math.inf
        kind = JointType.CONTINUOUS if kind is JointType.REVOLUTE else kind
    return JointObservation(
        name,
        kind,
        parent,
        child,
        lower=lower,
        upper=upper,
        effort=float(row[10]),
        velocity=float(row[11]),
        damping=float(row[6]),
        friction=float(row[7]),
        axis=axis,
        note=_note(unlimited=unlimited, effort=row[10], velocity=row[11]),
    )


def _note(*, unlimited: bool, effort: float, velocity: float) -> str | None:
    notes = []
    if unlimited:
        notes.append(
            "PyBullet writes unlimited as a lower limit above the upper one, for"
            " revolute and continuous joints alike."
        )
    if not effort or not velocity:
        notes.append("PyBullet reads an absent effort or velocity as 0.")
    return " ".join(notes) or None


def _mass(body: _Body, index: int, urdf: UrdfText) -> MassProperties | None:
    answer = body.ask("getDynamicsInfo", index)
    mass, moments, center, quat_xyzw = answer[0], answer[2], answer[3], answer[4]
    link = body.links[index + 1]
    if link in urdf.mass_unknown or (mass == 0 and not any(moments)):
        return None
    return MassProperties(
        mass=float(mass),
        center=vec3(center),
        inertia=None
        if link in urdf.inertia_unknown
        else tensor_along_link(moments, _rotation(quat_xyzw).as_matrix()),
    )


def _rotation(quat_xyzw: object) -> Rotation:
    return Rotation.from_quat(np.asarray(quat_xyzw, dtype=np.float64))


def _frames(
    body: _Body,
    joints: tuple[JointObservation, ...],
    links: tuple[str, ...],
    configurations: Configurations,
) -> tuple[Frames | None, tuple[str, ...]]:
    """Poses relative to the root link; None, with a note, if there are none."""
    indices = [body.links.index(link) - 1 for link in links]
    positions = np.empty((configurations.count, len(links), 3))
    rotations = np.empty((configurations.count, len(links), 3, 3))
    for row in range(configurations.count):
        _set(body, joints, configurations, row)
        try:
            positions[row], rotations[row] = _poses(body, indices)
        except body.engine.error as error:
            reason = f"PyBullet states no poses of {len(body.links)} links: {error}"
            return None, (reason,)
    for array in (positions, rotations):
        array.flags.writeable = False
    return Frames(links, positions, rotations, configurations.labels), ()


def _set(
    body: _Body,
    joints: tuple[JointObservation, ...],
    configurations: Configurations,
    row: int,
) -> None:
    """Bring every joint that PyBullet can set to one configuration."""
    told = dict(zip(configurations.joints, configurations.positions, strict=True))
    for index, joint in enumerate(joints):
        if joint.name not in told:
            continue
        values = told[joint.name][row]
        if values.size != COORDINATES[joint.type]:
            continue
        match joint.type:
            case JointType.REVOLUTE | JointType.CONTINUOUS | JointType.PRISMATIC:
                body.ask("resetJointState", index, float(values[0]))
            case JointType.SPHERICAL:
                # PyBullet turns the link about the axes of its inertial frame.
                to_link = _rotation(body.ask("getDynamicsInfo", index)[4])
                turn = to_link.inv() * _rotation(np.roll(values, -1)) * to_link
                body.ask("resetJointStateMultiDof", index, turn.as_quat().tolist())


def _poses(
    body: _Body, indices: list[int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Link frames in the root link's frame, (L, 3) and (L, 3, 3)."""
    base_inertial = body.ask("getDynamicsInfo", _BASE)[3:5]
    stated = {_BASE: (*body.ask("getBasePositionAndOrientation"), *base_inertial)}
    moving = [index for index in indices if index != _BASE]
    if moving:
        # 1 computes forward kinematics; without it the poses are those of the last step
        states = body.ask("getLinkStates", moving, computeForwardKinematics=1)
        stated |= dict(zip(moving, states, strict=True))
    rows = [stated[index] for index in indices]
    in_world = _rotation([row[1] for row in rows])
    to_inertial = _rotation([row[3] for row in rows]).inv()
    rotation = in_world * to_inertial
    offset = rotation.apply(np.array([row[2] for row in rows]))
    position = np.array([row[0] for row in rows]) - offset
    root = indices.index(_BASE)
    to_root = rotation[root].inv()
    return to_root.apply(position - position[root]), (to_root * rotation).as_matrix()
