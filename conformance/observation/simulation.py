"""What a simulation settings file states, not the URDF."""

from __future__ import annotations

from msgspec import Struct

USUAL_FRICTIONS = (0.5, 1.0)
"""Of PhysX and Newton for colliders without a contact material.

REP 158 requires contact materials, and a URDF implies none.
"""


class DriveObservation(Struct, frozen=True):
    """The drive of a joint with one axis."""

    joint: str  # URDF name
    stiffness: float  # [N m/rad or N/m]
    damping: float  # [N m s/rad or N s/m]
    target_position: float | None = None  # [rad or m]; None if the engine does not state it
    target_velocity: float | None = None  # [rad/s or m/s]; likewise
    acceleration: bool = False  # whether gains are divided by the inertia that the drive moves


class ContactMaterialObservation(Struct, frozen=True):
    """Coefficients of the contact material of colliders; None without a material."""

    link: str  # URDF name of the link, or of a prim that may be one
    static: float | None  # static friction
    dynamic: float | None  # dynamic friction
    restitution: float | None = 0.0  # restitution
    source: str = ""  # prim path of the collider; empty for all of the link


class SimulationObservation(Struct, frozen=True):
    """Settings of a simulation; None if not stated, NaN if simulators read them differently."""

    # drives, with or without gains, one per joint at most
    drives: tuple[DriveObservation, ...] | None = None
    # joints, and inertia of their motors [kg m^2 or kg]
    armatures: tuple[tuple[str, float], ...] | None = None
    # joints, and initial positions other than zero [rad or m]
    positions: tuple[tuple[str, float], ...] | None = None
    # pairs of links that do not collide, each sorted
    filtered_pairs: tuple[tuple[str, str], ...] | None = None
    # further pairs that may be filtered: colliders nearly touch
    tolerated_pairs: tuple[tuple[str, str], ...] = ()
    # whether links of the robot collide with each other; None also if the file leaves it to
    # simulators
    self_collision: bool | None = None
    # of links, or of each collider: one for each prim that may be its link, the nearest first
    contact_materials: tuple[ContactMaterialObservation, ...] | None = None
    # joints, and stiffness of the springs at their limits [N m/rad or N/m]
    limit_stiffnesses: tuple[tuple[str, float], ...] | None = None
    # joints, and damping of these springs [N m s/rad or N s/m]
    limit_dampings: tuple[tuple[str, float], ...] | None = None
    sources: tuple[str, ...] = ()  # what the settings come from, for the record; empty for engines
