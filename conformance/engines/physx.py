"""The PhysX engine: what PhysX simulates from a USD, in single precision.

PhysX identifies links and joints by the paths of their prims. Which prim is which link,
what the root is, and the joints that PhysX cannot list because they have no degree of
freedom are OpenUSD's reading.
"""

from __future__ import annotations

import atexit
import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct, structs
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines import protocol, statements
from urdf_usd.conformance.engines.openusd import reading as stages
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.process import Simulator
from urdf_usd.conformance.engines.statements import Array, matrices_of_xyzw, quats_wxyz
from urdf_usd.conformance.observation import robot as obs

# Attributes of a link or a joint, by PhysX's name.
Attributes: TypeAlias = Mapping[str, Sequence[float]]

# Of bodies in no articulation.
_OF_BODIES = frozenset({obs.Quantity.FRAMES, obs.Quantity.MASS})
_OF_ARTICULATION = _OF_BODIES | {
    *(obs.Quantity.JOINT_TYPES, obs.Quantity.BASE, obs.Quantity.LIMITS),
    *(obs.Quantity.MOTION, obs.Quantity.SIMULATION),
}
# Stated only if the asset uses schemas that PhysX reads.
_BY_SCHEMA = frozenset(
    {obs.Quantity.EFFORT, obs.Quantity.VELOCITY, obs.Quantity.DYNAMICS, obs.Quantity.MIMIC}
)
_FAMILIES = frozenset({stages.SchemaFamily.NEWTON, stages.SchemaFamily.PHYSX})
_ANGULAR = frozenset({obs.JointType.REVOLUTE, obs.JointType.CONTINUOUS})
_ONE_AXIS = _ANGULAR | {obs.JointType.PRISMATIC}
_SEVERAL_AXES = frozenset(obs.JointType) - _ONE_AXIS - {obs.JointType.FIXED}
# Type of a drive with gains per inertia.
_ACCELERATION = 2
# PhysX reports the largest float where there is no limit.
_UNLIMITED = float(np.finfo(np.float32).max) * (1 - 1e-6)
_SI = stages.Units(1.0, 1.0)
_NOT_SI = "only stages in metres and kilograms are compared"
# Position [rad or m] up to which couplings are measured.
_REACH = 0.3
# Of articulations, while couplings are measured: a coupling needs several iterations of the solver.
_ARTICULATION = (
    ("physxArticulation:enabledSelfCollisions", Sdf.ValueTypeNames.Bool, False),
    ("physxArticulation:sleepThreshold", Sdf.ValueTypeNames.Float, 0.0),
    ("physxArticulation:stabilizationThreshold", Sdf.ValueTypeNames.Float, 0.0),
    ("physxArticulation:solverPositionIterationCount", Sdf.ValueTypeNames.Int, 32),
)
_AT_REST = obs.Configurations((), (), ("zero",))
_ROOT_VELOCITIES = 6


class PhysxEngine(Struct, frozen=True):
    """PhysX through ovphysx, on the CPU, in a process of its own, which is kept."""

    name: str = "physx"
    side: protocol.Side = protocol.Side.USD

    def availability(self) -> protocol.Availability:
        return protocol.optional_engine("ovphysx", "ovphysx", "physx")

    def observe(self, request: protocol.Request) -> obs.Observation:
        names = OpenusdEngine().observe(protocol.Request(request.path, _AT_REST))
        with stages.captured_diagnostics():
            reading = stages.open_reading(request.path)
            paths = {stages.urdf_name(reading.prim(path)): path for path in reading.joints}
            families = reading.families
            by_schema = bool(_FAMILIES & families)
            root = reading.links.get(names.root)
            outside = reading.rigid(root.path) if root else np.eye(4)
        if reading.units != _SI:
            raise protocol.UnsupportedError(_NOT_SI)
        # Joints with an axis, all of which have a prim.
        movable = [joint for joint in names.joints if joint.type in _ONE_AXIS]
        movable = [joint for joint in movable if joint.name in paths]
        with tempfile.TemporaryDirectory(prefix="urdf-usd-") as folder:
            usd, passive = Path(folder, "passive.usda"), None
            if by_schema and movable:
                free = root.path if root and names.base is obs.Base.FLOATING else None
                with stages.captured_diagnostics():
                    _author_passive(reading, usd, free if free in reading.bodies else None)
                stated = {joint.name: joint.mimic for joint in names.joints}
                heads = [obs.head_coupling(joint.name, stated.get) for joint in movable]
                leaders = dict.fromkeys(head.leader for head in heads if head)
                own = {joint.name: paths[joint.name] for joint in movable}
                passive = {
                    "usd": str(usd),
                    "joints": list(own.values()),
                    "ranges": [_REACH / _unit(joint) for joint in movable],
                    "heads": [own[name] for name in leaders if name in own],
                }
            try:
                chosen = [x for x in movable if x.name in request.configurations.joints]
                answer = _answered(
                    {
                        "usd": str(Path(request.path).absolute()),
                        "passive": passive,
                        "joints": [paths[joint.name] for joint in chosen],
                        **_coordinates(request.configurations, chosen),
                    }
                )
            except protocol.UnsupportedError as error:
                raise stages.refusal(str(error), families, _FAMILIES) from error
        count = len(answer["fixed"])
        if count > 1:
            raise protocol.UnsupportedError(f"PhysX makes {count} articulations of the stage")
        by_path = reading.links_by_path
        rows = {by_path[x].name: i for i, x in enumerate(answer["links"]) if x in by_path}
        bodies = {by_path[x].name: own for x, own in answer["links"].items() if x in by_path}
        if not rows:
            reason = "PhysX finds no body"
            refusal = stages.refusal(reason, families, _FAMILIES)
            raise refusal if reading.bodies else protocol.UnsupportedError(reason)
        name_of = {path: name for name, path in paths.items()}
        dofs = [name_of.get(path, path) for path in answer["dofs"]]
        found = {name_of.get(path): own for path, own in answer["joints"].items()}
        mimics, joint_at = {}, {paths[joint.name]: joint for joint in movable}
        for follower, head, multiplier, offset in answer["couplings"]:
            unit, leader = _unit(joint_at[follower]), joint_at[head]
            mimics[joint_at[follower].name] = obs.MimicObservation(
                leader.name, multiplier * unit / _unit(leader), offset * unit
            )
        joints = tuple(
            _joint(found.get(joint.name), joint, mimics.get(joint.name), by_schema=by_schema)
            for joint in names.joints
        )
        blocked = statements.unreachable_joints(joints, request.configurations, _SEVERAL_AXES)
        reach = statements.reachable_links(names.root, joints, blocked)
        framed = [link for link in reach if link in rows or link == names.root]

        warnings = [f"PhysX: {message}" for message in answer["warnings"]]
        # The root may be no link of PhysX, and is last then.
        numbers = [rows.get(link, -1) for link in framed]

        def place(row: int) -> tuple[Array, Array]:
            origins = np.array([*answer["positions"][row], outside[:3, 3]])
            turns = [*matrices_of_xyzw(answer["orientations"][row]), outside[:3, :3]]
            return origins[numbers], np.array(turns)[numbers]

        fixed, states = any(answer["fixed"]), _OF_ARTICULATION if count else _OF_BODIES
        states |= _BY_SCHEMA if count and by_schema else frozenset()
        return obs.Observation(
            engine=self.name,
            robot=names.robot,
            root=names.root,
            states=states,
            links=tuple(
                obs.LinkObservation(link.name, _mass(bodies[link.name]), link.name)
                if link.name in rows
                else structs.replace(link, mass=None)
                for link in names.links
            ),
            joints=joints,
            joint_order=tuple(dict.fromkeys(name for name in dofs if name in paths)),
            frames=statements.build_frames(framed, request.configurations, place),
            base=(obs.Base.FIXED if fixed else obs.Base.FLOATING) if count else None,
            articulation_roots=count,
            notes=(*warnings, *statements.blocked_note("PhysX", blocked)),
            # They depend on the positions of all joints.
            dynamics=None if blocked else _dynamics(answer, dofs, request, fixed=fixed),
            simulation=_simulation(movable, found) if count else None,
            precision=obs.SINGLE_PRECISION,
        )


def _unit(joint: obs.JointObservation) -> float:
    """SI value of PhysX's unit of position."""
    return math.radians(1.0) if joint.type in _ANGULAR else 1.0


def _coordinates(
    chosen: obs.Configurations, joints: Sequence[obs.JointObservation]
) -> dict[str, list[list[float]]]:
    """Return positions and velocities of joints with an axis, in PhysX's units."""
    moving, tables = chosen.for_motion, {}
    for name, values, count in (
        ("positions", chosen.positions, chosen.count),
        ("velocities", moving.velocities, moving.count),
    ):
        of_joint = dict(zip(chosen.joints, values, strict=False))
        rows = np.zeros((count, len(joints)))
        for column, joint in enumerate(joints):
            own = of_joint.get(joint.name)
            if own is not None and own.shape[1] == 1:
                rows[:, column] = own[:, 0] / _unit(joint)
        tables[name] = rows.tolist()
    return tables


def _author_passive(reading: stages.Reading, path: Path, root: str | None) -> None:
    """Write a layer over a stage in which PhysX can measure couplings.

    Collisions of the robot with itself and sleeping are off. A floating root is fixed.
    """
    layer = Sdf.Layer.CreateNew(str(path))
    layer.subLayerPaths.append(reading.stage.GetRootLayer().realPath)
    stage = Usd.Stage.Open(layer)
    # Not composed from sublayers.
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.GetStageUpAxis(reading.stage))
    stage.SetDefaultPrim(stage.GetPrimAtPath(reading.robot.GetPath()))
    roots = [stage.GetPrimAtPath(found) for found in reading.articulations]
    if root is not None:
        pose = reading.rigid(root)
        w, x, y, z = quats_wxyz(pose[:3, :3]).tolist()
        place = reading.robot.GetPath().AppendChild("passive_root")
        joint = UsdPhysics.FixedJoint.Define(stage, place)
        joint.CreateBody1Rel().SetTargets([Sdf.Path(root)])
        joint.CreateLocalPos0Attr(Gf.Vec3f(*pose[:3, 3].tolist()))
        joint.CreateLocalRot0Attr(Gf.Quatf(w, x, y, z))
        # A body that is the root of an articulation stays free despite a joint.
        for prim in roots:
            prim.RemoveAPI(UsdPhysics.ArticulationRootAPI)
        roots = [joint.GetPrim()]
        UsdPhysics.ArticulationRootAPI.Apply(roots[0])
    for prim in roots:
        prim.AddAppliedSchema("PhysxArticulationAPI")
        for name, kind, value in _ARTICULATION:
            prim.CreateAttribute(name, kind, custom=False).Set(value)
    layer.Save()


@lru_cache(maxsize=1)
def _program() -> Simulator:
    program = Simulator("PhysX", f"{__package__}.physx_program")
    atexit.register(program.stop)
    return program


def _answered(request: Mapping[str, object]) -> dict[str, Any]:
    program, answer = _program(), dict[str, Any]()
    for _ in range(2):
        answer = program.observe(request)
        if "error" not in answer:
            return answer
        # The stages before must not be the reason of an error.
        program.stop()
    if answer.get("status") is not None:
        raise RuntimeError(f"PhysX {answer['error']}")
    raise protocol.UnsupportedError(f"PhysX: {' '.join(answer['error'].split())}")


def _mass(found: Attributes) -> obs.MassProperties | None:
    """Mass properties of a link in its frame; None if it has no mass."""
    if not (mass := found["mass"][0]):
        return None
    # ovphysx 0.7 returns the inertia about the centre of mass along the axes of the link,
    # not along those of the mass frame, as its documentation has it.
    tensor = np.reshape(found["inertia"], (3, 3))
    return statements.mass_properties(mass, found["centerOfMassPosition"], tensor)


def _joint(
    found: Attributes | None,
    known: obs.JointObservation,
    mimic: obs.MimicObservation | None,
    *,
    by_schema: bool,
) -> obs.JointObservation:
    """State a joint with the type that its degrees of freedom give it.

    One with an axis that is no degree of freedom in PhysX is fixed.
    """
    plain = obs.JointObservation(known.name, known.type, known.parent, known.child)
    if known.type not in _ONE_AXIS:
        return plain
    if found is None or not found["freedoms"][0]:
        return structs.replace(plain, type=obs.JointType.FIXED)
    unit = _unit(known)
    lower, upper = (_limit(value) * unit for value in found["jointLimit"])
    kind = known.type
    if kind in _ANGULAR:
        free = (lower, upper) == (-math.inf, math.inf)
        kind = obs.JointType.CONTINUOUS if free else obs.JointType.REVOLUTE
    effort = _limit(found["jointMaxForce"][0])
    velocity = _limit(found["jointMaxVelocity"][0]) * unit
    stated = structs.replace(plain, type=kind, lower=lower, upper=upper)
    if math.isfinite(velocity):
        stated = structs.replace(stated, velocity=velocity)
    if not by_schema:
        return stated
    return structs.replace(
        stated,
        effort=effort if found["jointDriveType"][0] and math.isfinite(effort) else None,
        damping=found["jointViscousFriction"][0] / unit,
        friction=found["jointDynamicFriction"][0],
        mimic=mimic,
    )


def _limit(value: float) -> float:
    return math.copysign(math.inf, value) if abs(value) >= _UNLIMITED else value


def _simulation(
    movable: Iterable[obs.JointObservation], found: Mapping[str | None, Attributes]
) -> obs.SimulationObservation:
    drives, armatures, positions = [], [], []
    for joint in movable:
        if (own := found.get(joint.name)) is None:
            continue
        name, unit = joint.name, _unit(joint)
        if kind := own["jointDriveType"][0]:
            drive = obs.DriveObservation(
                name,
                own["jointStiffness"][0] / unit,
                own["jointDamping"][0] / unit,
                own["jointPositionTarget"][0] * unit,
                own["jointVelocityTarget"][0] * unit,
                acceleration=kind == _ACCELERATION,
            )
            drives.append(drive)
        armatures.append((name, own["jointArmature"][0]))
        if start := own["jointPosition"][0] * unit:
            positions.append((name, start))
    return obs.SimulationObservation(tuple(drives), tuple(armatures), tuple(positions))


def _dynamics(
    answer: Mapping[str, Any], joints: Sequence[str], request: protocol.Request, *, fixed: bool
) -> obs.Dynamics | None:
    """Equations of motion of the joints; the root's own velocities are left out."""
    moving = request.configurations.for_motion
    if not joints or not moving.velocities or not answer["massMatrix"]:
        return None
    first = 0 if fixed else _ROOT_VELOCITIES
    size = first + len(joints)
    inertia = np.reshape(answer["massMatrix"], (moving.count, size, size))[:, first:, first:]
    bias = np.add(answer["gravityForce"], answer["coriolisForce"])[:, first:]
    given = dict(zip(moving.joints, moving.velocities, strict=True))
    velocities = np.column_stack([given[name][:, 0] for name in joints])
    return obs.Dynamics(tuple(joints), *map(statements.read_only, (inertia, bias, velocities)))
