"""URDF engine: Newton, in single precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, structs

from urdf_usd.conformance.engines.newton_model import (
    NewtonModel,
    build,
    joint_of,
    mass_of,
    poses,
)
from urdf_usd.conformance.engines.prepared_urdf import (
    UrdfText,
    complete_inertials,
    keep_first_inertial,
    leave_out_idle_couplings,
    name_robot,
    prepare,
    strip_shapes,
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
    JointObservation,
    LinkObservation,
    MassProperties,
    Observation,
    Quantity,
)

if TYPE_CHECKING:
    import newton


_STEPS = (
    strip_shapes,
    keep_first_inertial,
    complete_inertials,
    name_robot,
    leave_out_idle_couplings,
)
_STATES = frozenset(
    {
        Quantity.LINKS,
        Quantity.JOINTS,
        Quantity.JOINT_TYPES,
        Quantity.MIMIC,
        Quantity.FRAMES,
        Quantity.MASS,
        Quantity.LIMITS,
        Quantity.EFFORT,
        Quantity.VELOCITY,
        Quantity.DYNAMICS,
    }
)


class NewtonEngine(Struct, frozen=True):
    """Reads a URDF with Newton's importer."""

    name: str = "newton"
    side: Side = Side.URDF

    def availability(self) -> Availability:
        """Return the installed version, if any."""
        return optional_engine("newton", "newton", "newton")

    def observe(self, request: Request) -> Observation:
        """Read the file and state its quantities.

        Raises:
            AbstentionError: Newton refuses the file.
        """
        urdf = prepare(request.path, _STEPS)
        robot = _read(urdf)
        joints = _joints(robot)
        blocked = unreachable_joints(joints, request.configurations)
        root = next(iter(robot.bodies))
        reach = reachable_links(root, joints, blocked)
        return Observation(
            engine=self.name,
            robot=None if urdf.robot_unnamed else _robot_name(robot.builder),
            root=root,
            states=_STATES,
            links=tuple(LinkObservation(link, _mass(robot, link, urdf)) for link in robot.bodies),
            joints=joints,
            joint_order=moving_joints(joints),
            frames=poses(robot, joints, reach, request.configurations),
            unread_masses=urdf.unread_masses,
            notes=(*urdf.notes, *robot.warnings, *blocked_note("Newton", blocked)),
            precision=SINGLE_PRECISION,
        )


def _read(urdf: UrdfText) -> NewtonModel:
    def read(builder: newton.ModelBuilder) -> None:
        try:
            builder.add_urdf(urdf.text.decode(), floating=False)
        # Newton has no exception type of its own for invalid files.
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise AbstentionError(f"Newton: {reason}") from error

    return build(read, _names)


def _robot_name(builder: newton.ModelBuilder) -> str:
    return str(builder.articulation_label[0])


def _names(builder: newton.ModelBuilder) -> tuple[dict[str, int], dict[str, int]]:
    """Return bodies, the root first, and joints without the one of the root."""
    prefix = f"{_robot_name(builder)}/"
    root = builder.joint_child[0]
    bodies = {label.removeprefix(prefix): index for index, label in enumerate(builder.body_label)}
    return (
        dict(sorted(bodies.items(), key=lambda item: item[1] != root)),
        {
            label.removeprefix(prefix): index
            for index, label in enumerate(builder.joint_label)
            if builder.joint_parent[index] >= 0
        },
    )


def _joints(robot: NewtonModel) -> tuple[JointObservation, ...]:
    stated = []
    for name in robot.joints:
        joint = joint_of(robot, name)
        if joint is None:
            raise AbstentionError(f"Newton reads joint {name} as a type that URDF lacks")
        stated.append(joint)
    return tuple(stated)


def _mass(robot: NewtonModel, link: str, urdf: UrdfText) -> MassProperties | None:
    mass = mass_of(robot, link)
    if mass is None or link in urdf.mass_unknown:
        return None
    return structs.replace(mass, inertia=None) if link in urdf.inertia_unknown else mass
