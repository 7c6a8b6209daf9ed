"""USD engine: Newton, in single precision.

A further USD engine, compared with the one that is judged. Newton names bodies and
joints by the paths of their prims. The links of prims, and the root link and its pose
if it is no body, are taken from the OpenUSD engine.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, structs

from urdf_usd.conformance.engines.newton_model import (
    NewtonModel,
    Placed,
    build,
    equations_of_motion,
    joint_of,
    loose_joints,
    mass_of,
    poses,
    simulation_of,
)
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.openusd.joint_attributes import (
    SchemaFamily,
    refusal,
    used_families,
)
from urdf_usd.conformance.engines.openusd.links import LinkPrims, find_links
from urdf_usd.conformance.engines.openusd.stage import (
    Physics,
    Units,
    WorldTransforms,
    captured_diagnostics,
    read_physics,
    urdf_name,
)
from urdf_usd.conformance.engines.protocol import (
    AbstentionError,
    Availability,
    Request,
    Side,
    optional_engine,
)
from urdf_usd.conformance.engines.statements import (
    blocked_note,
    moving_joints,
    reachable_links,
    unreachable_joints,
)
from urdf_usd.conformance.observation.robot import (
    SINGLE_PRECISION,
    Configurations,
    LinkObservation,
    Observation,
    Quantity,
)

if TYPE_CHECKING:
    import newton


# Names are those of prims.
_STATES = frozenset(
    {
        Quantity.JOINT_TYPES,
        Quantity.FRAMES,
        Quantity.MASS,
        Quantity.LIMITS,
        Quantity.MOTION,
        Quantity.SIMULATION,
    }
)
# Stated only if the asset uses Newton's schemas.
_BY_SCHEMA = frozenset(
    {
        Quantity.MIMIC,
        Quantity.EFFORT,
        Quantity.VELOCITY,
        Quantity.DYNAMICS,
    }
)
_NO_SCHEMA = (
    "Newton states no efforts, speeds, damping, friction and couplings: no joint uses its schemas."
)
_NO_SPEED = "Newton states no speeds: MuJoCo's schemas have none."
_SI = Units(1.0, 1.0)
_FAMILIES = frozenset({SchemaFamily.NEWTON, SchemaFamily.MUJOCO})
_AT_REST = Configurations((), (), ("zero",))


class NewtonUsdEngine(Struct, frozen=True):
    """Reads a USD with Newton's importer."""

    name: str = "newton-usd"
    side: Side = Side.USD

    def availability(self) -> Availability:
        """Return the installed version, if any."""
        return optional_engine("newton", "newton", "newton")

    def observe(self, request: Request) -> Observation:
        """Read the stage and state its quantities.

        Raises:
            AbstentionError: OpenUSD refuses the stage, or it is not in SI units, which
                Newton ignores.
            InvalidFileError: Newton refuses a stage that is made for it.
        """
        names = OpenusdEngine().observe(Request(request.path, _AT_REST))
        with captured_diagnostics():
            physics = read_physics(request.path)
            if physics.units != _SI:
                raise AbstentionError("Newton reads all numbers as SI units")
            links = find_links(physics)
            families = used_families(physics)
            try:
                robot = _read(request.path, physics, links)
            except AbstentionError as error:
                raise refusal(str(error), families, _FAMILIES) from error
            if not robot.bodies:
                reason = "Newton finds no body"
                if physics.bodies:
                    raise refusal(reason, families, _FAMILIES)
                raise AbstentionError(reason)
            root = _place_outside(physics, links, robot, names.root)
        by_schema, notes = _stated_by_schema(families)
        stated = (joint_of(robot, name) for name in robot.joints)
        joints = tuple(joint for joint in stated if joint)
        blocked = unreachable_joints(
            [joint for joint in joints if joint.name not in loose_joints(robot)],
            request.configurations,
        )
        reach = reachable_links(names.root, names.joints, blocked)
        dynamics = None if blocked else equations_of_motion(robot, joints, request.configurations)
        return Observation(
            engine=self.name,
            robot=names.robot,
            root=names.root,
            states=_STATES | by_schema,
            links=tuple(
                LinkObservation(link.name, mass_of(robot, link.name), link.name)
                if link.name in robot.bodies
                else structs.replace(link, mass=None)
                for link in names.links
            ),
            joints=joints,
            joint_order=moving_joints(joints),
            frames=poses(
                robot,
                joints,
                [link for link in reach if link in robot.bodies or link == names.root],
                request.configurations,
                still=root,
            ),
            notes=(
                *robot.warnings,
                *blocked_note("Newton", blocked),
                *notes,
            ),
            dynamics=dynamics,
            simulation=simulation_of(robot, joints),
            precision=SINGLE_PRECISION,
        )


def _stated_by_schema(
    families: Collection[SchemaFamily],
) -> tuple[frozenset[Quantity], tuple[str, ...]]:
    """Return what an asset states by its schemas, and a note on what it does not."""
    if SchemaFamily.NEWTON in families:
        return _BY_SCHEMA, ()
    if SchemaFamily.MUJOCO in families:
        return _BY_SCHEMA - {Quantity.VELOCITY}, (_NO_SPEED,)
    return frozenset(), (_NO_SCHEMA,)


def _read(path: str, physics: Physics, links: LinkPrims) -> NewtonModel:
    has_mujoco = SchemaFamily.MUJOCO in used_families(physics)

    def read(builder: newton.ModelBuilder) -> None:
        try:
            schemas = _mujoco_schemas(builder) if has_mujoco else {}
            # Without rotation to Newton's own up axis, and without massless sites.
            builder.add_usd(
                path,
                apply_up_axis_from_stage=True,
                load_visual_shapes=False,
                load_sites=False,
                **schemas,
            )
        # Newton has no exception type of its own for invalid stages.
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise AbstentionError(f"Newton: {reason}") from error

    def names(builder: newton.ModelBuilder) -> tuple[dict[str, int], dict[str, int]]:
        return (
            {
                links.by_path[path].name: index
                for index, path in enumerate(builder.body_label)
                if path in links.by_path
            },
            {
                urdf_name(physics.stage.GetPrimAtPath(path)): index
                for index, path in enumerate(builder.joint_label)
                if path in physics.joints
            },
        )

    return build(read, names)


def _mujoco_schemas(builder: newton.ModelBuilder) -> dict[str, Any]:
    """Return arguments of the importer for which it reads MuJoCo's schemas first."""
    # Imported here because it need not be installed.
    import newton

    # Required by the resolver.
    newton.solvers.SolverMuJoCo.register_custom_attributes(builder)
    resolvers = [newton.usd.SchemaResolverMjc(), newton.usd.SchemaResolverNewton()]
    return {"schema_resolvers": resolvers}


def _place_outside(
    physics: Physics, links: LinkPrims, robot: NewtonModel, link: str
) -> Placed | None:
    """Return the pose of a link that is no body, as a stack of one; None for a body."""
    if link in robot.bodies:
        return None
    placed = WorldTransforms(physics).rigid(links.by_name[link].path)
    return placed[np.newaxis, :3, 3], placed[np.newaxis, :3, :3]
