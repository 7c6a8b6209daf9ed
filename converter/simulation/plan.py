"""Simulation settings of one robot, in SI units, as they are written to USD."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JointDrive:
    """A drive with gains.

    The force is ``stiffness * (target_position - position) + damping *
    (target_velocity - velocity)``, within the effort limit of the URDF.

    Attributes:
        joint: Name of a revolute, continuous or prismatic joint.
        stiffness: [N m/rad or N/m].
        damping: [N m s/rad or N s/m].
        target_position: [rad or m].
        target_velocity: [rad/s or m/s].
    """

    joint: str
    stiffness: float
    damping: float
    target_position: float = 0.0
    target_velocity: float = 0.0


@dataclass(frozen=True, slots=True)
class LinkFriction:
    """Friction of the colliders of a link.

    Attributes:
        link: Name of the link.
        static: Coefficient of static friction.
        dynamic: Coefficient of dynamic friction.
    """

    link: str
    static: float
    dynamic: float


@dataclass(frozen=True, slots=True)
class Simulation:
    """All settings of a robot that do not come from its URDF alone.

    Attributes:
        drives: In the order of the robot's joints.
        armatures: Joints, and inertia of their motors [kg m^2 or kg].
        positions: Joints, and initial positions other than zero [rad or m].
        filtered_pairs: Links that do not collide, each pair and all pairs sorted.
        filter_overlaps: Whether bodies whose colliders overlap at the zero
            configuration do not collide either.
        self_collision: Whether links of the robot collide; None if simulators decide.
        frictions: Friction by link.
    """

    drives: tuple[JointDrive, ...] = ()
    armatures: tuple[tuple[str, float], ...] = ()
    positions: tuple[tuple[str, float], ...] = ()
    filtered_pairs: tuple[tuple[str, str], ...] = ()
    filter_overlaps: bool = False
    self_collision: bool | None = None
    frictions: tuple[LinkFriction, ...] = ()
