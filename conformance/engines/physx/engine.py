"""The PhysX engine: what PhysX simulates from a USD, in single precision.

PhysX knows links and joints by the paths of their prims. Which prim stands for which
link, what the root is, and the joints that PhysX cannot list because they have no
degree of freedom are OpenUSD's reading.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.openusd.joint_attributes import (
    SchemaFamily,
    used_families,
)
from urdf_usd.conformance.engines.openusd.links import find_links
from urdf_usd.conformance.engines.openusd.stage import (
    Units,
    WorldTransforms,
    captured_diagnostics,
    read_physics,
    urdf_name,
)
from urdf_usd.conformance.engines.optional_engine import optional_engine
from urdf_usd.conformance.engines.protocol import (
    AbstentionError,
    Availability,
    Request,
    Side,
)
from urdf_usd.conformance.engines.statements import (
    blocked_note,
    build_frames,
    reachable_links,
    unreachable_joints,
    vec3,
    vec6,
)
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    SINGLE_PRECISION,
    Base,
    Configurations,
    Dynamics,
    JointObservation,
    JointType,
    LinkObservation,
    MassProperties,
    Observation,
    Quantity,
)

_PROGRAM = Path(__file__).with_name("program.py")
# Of bodies in no articulation.
_OF_BODIES = frozenset({Quantity.FRAMES, Quantity.MASS})
_STATES = _OF_BODIES | {
    Quantity.JOINT_TYPES,
    Quantity.BASE,
    Quantity.LIMITS,
    Quantity.MOTION,
}
# Stated only if the asset uses schemas that PhysX reads.
_BY_SCHEMA = frozenset({Quantity.EFFORT, Quantity.VELOCITY})
_FAMILIES = frozenset({SchemaFamily.NEWTON, SchemaFamily.PHYSX})
_ANGULAR = frozenset({JointType.REVOLUTE, JointType.CONTINUOUS})
_ONE_AXIS = _ANGULAR | {JointType.PRISMATIC}
_SEVERAL_AXES = frozenset(JointType) - _ONE_AXIS - {JointType.FIXED}
# PhysX reports the largest float where there is no limit.
_UNLIMITED = float(np.finfo(np.float32).max) * (1 - 1e-6)
_SI = Units(1.0, 1.0)
_AT_REST = Configurations((), (), ("zero",))
_ROOT_VELOCITIES = 6

_Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Answer:
    """What PhysX reports, in the units of :mod:`.program`.

    Attributes:
        paths: Prim paths by name: ``links``, ``joints``, ``dofs``, ``articulations``.
        numbers: Arrays by name; their rows are in the order of the paths.
    """

    paths: Mapping[str, tuple[str, ...]]
    numbers: Mapping[str, _Array]


@dataclass(frozen=True, slots=True)
class PhysxEngine:
    """PhysX through ovphysx, on the CPU, in a process of its own."""

    name: str = "physx"
    side: Side = Side.USD

    def availability(self) -> Availability:
        """Return the version that is installed, if any."""
        return optional_engine("ovphysx", "ovphysx", "physx")

    def observe(self, request: Request) -> Observation:
        """Load the stage into PhysX and report the articulation.

        Raises:
            AbstentionError: PhysX or OpenUSD refuses the stage, it is not in SI units,
                or PhysX finds no body or several articulations.
        """
        names = OpenusdEngine().observe(Request(request.path, _AT_REST))
        with captured_diagnostics():
            physics = read_physics(request.path)
            links = find_links(physics)
            joints = {
                urdf_name(physics.stage.GetPrimAtPath(path)): path
                for path in physics.joints
            }
            by_schema = bool(_FAMILIES & used_families(physics))
            root = links.by_name.get(names.root)
            outside = WorldTransforms(physics).rigid(root.path) if root else None
        if physics.units != _SI:
            raise AbstentionError("only stages in metres and kilograms are compared")
        types = {joint.name: joint.type for joint in names.joints}
        movable = [
            name for name, kind in types.items() if kind in _ONE_AXIS and name in joints
        ]
        answer = _ask(request, {name: joints[name] for name in movable}, types)
        count = len(answer.paths["articulations"])
        if count > 1:
            raise AbstentionError(f"PhysX makes {count} articulations of the stage")
        rows = {
            links.by_path[path].name: row
            for row, path in enumerate(answer.paths["links"])
            if path in links.by_path
        }
        reported = _joints(answer, names.joints, joints, by_schema=by_schema)
        blocked = unreachable_joints(reported, request.configurations, _SEVERAL_AXES)
        reach = reachable_links(names.root, reported, blocked)
        framed = [link for link in reach if link in rows or link == names.root]

        def place(row: int) -> tuple[_Array, _Array]:
            return _placed(answer, row, [rows.get(link) for link in framed], outside)

        if not rows:
            raise AbstentionError("PhysX finds no body")
        fixed = bool(np.any(answer.numbers["fixed"]))
        return Observation(
            engine=self.name,
            robot=names.robot,
            root=names.root,
            states=(_STATES if count else _OF_BODIES)
            | (_BY_SCHEMA if by_schema else frozenset()),
            links=tuple(
                LinkObservation(link.name, _mass(answer, rows[link.name]), link.name)
                if link.name in rows
                else replace(link, mass=None)
                for link in names.links
            ),
            joints=reported,
            joint_order=_joint_order(answer, joints),
            frames=build_frames(framed, request.configurations, place),
            base=(Base.FIXED if fixed else Base.FLOATING) if count else None,
            articulation_roots=count,
            notes=blocked_note("PhysX", blocked),
            # They depend on the positions of all joints.
            dynamics=(
                None
                if blocked
                else _dynamics(
                    answer,
                    {path: name for name, path in joints.items()},
                    request,
                    fixed,
                )
            ),
            precision=SINGLE_PRECISION,
        )


def _ask(
    request: Request, paths: Mapping[str, str], types: Mapping[str, JointType]
) -> _Answer:
    """Run the program on the configurations of joints, given by URDF name."""
    configurations = request.configurations
    asked = [name for name in configurations.joints if name in paths]

    def columns(
        values: tuple[NDArray[np.float64], ...], count: int
    ) -> list[list[float]]:
        by_name = dict(zip(configurations.joints, values, strict=False))
        table = np.zeros((count, len(asked)))
        for column, name in enumerate(asked):
            own = by_name.get(name)
            if own is not None and own.shape[1] == COORDINATES[types[name]]:
                angular = types[name] in _ANGULAR
                table[:, column] = np.degrees(own[:, 0]) if angular else own[:, 0]
        rows: list[list[float]] = table.tolist()
        return rows

    moving = configurations.for_motion
    with tempfile.TemporaryDirectory(prefix="urdf-usd-") as folder:
        question, answer = Path(folder, "request.json"), Path(folder, "answer.npz")
        question.write_text(
            json.dumps(
                {
                    "usd": str(Path(request.path).absolute()),
                    "joints": [paths[name] for name in asked],
                    "positions": columns(
                        configurations.positions, configurations.count
                    ),
                    "velocities": columns(moving.velocities, moving.count),
                }
            ),
            encoding="utf-8",
        )
        done = subprocess.run(  # noqa: S603  our own program
            [sys.executable, str(_PROGRAM), str(question), str(answer)],
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
        if done.returncode < 0:
            raise RuntimeError(f"PhysX ended with signal {-done.returncode}")
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["no message"]
            raise AbstentionError(f"PhysX: {' '.join(lines[-1].split())}")
        with np.load(answer) as stored:
            arrays = dict(stored)
    is_path = {name: values.dtype.kind == "U" for name, values in arrays.items()}
    return _Answer(
        paths={n: tuple(v.tolist()) for n, v in arrays.items() if is_path[n]},
        numbers={n: v.astype(np.float64) for n, v in arrays.items() if not is_path[n]},
    )


def _mass(answer: _Answer, row: int) -> MassProperties | None:
    """Mass properties of a link in its frame; None if it has no mass."""
    mass = float(answer.numbers["link_mass"][row, 0])
    if mass == 0:
        return None
    return MassProperties(
        mass=mass,
        center=vec3(answer.numbers["link_center"][row]),
        # ovphysx 0.7 returns it about the centre of mass along the axes of the link,
        # not along those of the mass frame, as its documentation has it.
        inertia=vec6(answer.numbers["link_inertia"][row].reshape(3, 3)),
    )


def _joint_order(answer: _Answer, paths: Mapping[str, str]) -> tuple[str, ...]:
    """Return joints as PhysX numbers their degrees of freedom."""
    names = {path: name for name, path in paths.items()}
    dofs = answer.paths["dofs"]
    return tuple(dict.fromkeys(names[path] for path in dofs if path in names))


def _joints(
    answer: _Answer,
    known: tuple[JointObservation, ...],
    paths: Mapping[str, str],
    *,
    by_schema: bool,
) -> tuple[JointObservation, ...]:
    """Joints with the type that their degrees of freedom give them.

    A joint with an axis that is no degree of freedom in PhysX is fixed.
    """
    rows = {path: row for row, path in enumerate(answer.paths["joints"])}
    found = []
    for joint in known:
        plain = JointObservation(joint.name, joint.type, joint.parent, joint.child)
        if joint.type not in _ONE_AXIS:
            found.append(plain)
            continue
        row = rows.get(paths.get(joint.name, ""))
        if row is None or not answer.numbers["joint_axes"][row]:
            found.append(replace(plain, type=JointType.FIXED))
            continue
        angular = joint.type in _ANGULAR
        lower, upper = (_limit(v, angular) for v in answer.numbers["joint_limit"][row])
        kind = joint.type
        if angular:
            free = (lower, upper) == (-math.inf, math.inf)
            kind = JointType.CONTINUOUS if free else JointType.REVOLUTE
        driven = by_schema and bool(answer.numbers["joint_drive"][row, 0])
        effort = _limit(answer.numbers["joint_effort"][row, 0], angular=False)
        velocity = _limit(answer.numbers["joint_velocity"][row, 0], angular)
        found.append(
            replace(
                plain,
                type=kind,
                lower=lower,
                upper=upper,
                effort=effort if driven and math.isfinite(effort) else None,
                velocity=velocity if math.isfinite(velocity) else None,
            )
        )
    return tuple(found)


def _limit(value: float, angular: bool) -> float:  # noqa: FBT001  of two kinds of unit
    """Return a limit in SI units; infinity where PhysX has none."""
    value = float(value)
    if abs(value) >= _UNLIMITED:
        return math.copysign(math.inf, value)
    return math.radians(value) if angular else value


def _placed(
    answer: _Answer,
    row: int,
    indices: list[int | None],
    outside: _Array | None,
) -> tuple[_Array, _Array]:
    """World poses of links at one configuration.

    Args:
        answer: What PhysX reports.
        row: Number of the configuration.
        indices: Row of each link; None for the root where it is no link of PhysX.
        outside: (4, 4) pose of the root in that case.
    """
    origins = np.empty((len(indices), 3))
    turns = np.empty((len(indices), 3, 3))
    for place, index in enumerate(indices):
        if index is None:
            assert outside is not None  # noqa: S101  the root has a prim
            origins[place], turns[place] = outside[:3, 3], outside[:3, :3]
        else:
            origins[place] = answer.numbers["positions"][row, index]
            quat_xyzw = answer.numbers["orientations"][row, index]
            turns[place] = Rotation.from_quat(quat_xyzw).as_matrix()
    return origins, turns


def _dynamics(
    answer: _Answer,
    names: Mapping[str, str],
    request: Request,
    fixed: bool,  # noqa: FBT001  a property of the robot
) -> Dynamics | None:
    """Equations of motion of the joints; the root's own velocities are left out."""
    joints = tuple(names.get(path, path) for path in answer.paths["dofs"])
    moving = request.configurations.for_motion
    if not joints or not moving.velocities or not len(answer.numbers["mass_matrix"]):
        return None
    first = 0 if fixed else _ROOT_VELOCITIES
    size = first + len(joints)
    count = moving.count
    inertia = answer.numbers["mass_matrix"].reshape(count, size, size)
    bias = answer.numbers["gravity"] + answer.numbers["coriolis"]
    told = dict(zip(moving.joints, moving.velocities, strict=True))
    velocities = np.column_stack([told[name][:, 0] for name in joints])
    arrays = inertia[:, first:, first:], bias[:, first:], velocities
    for array in arrays:
        array.flags.writeable = False
    return Dynamics(joints, *arrays)
