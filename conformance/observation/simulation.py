"""Settings of a simulation that a robot description file states, not the URDF."""

from __future__ import annotations

from msgspec import Struct

USUAL_FRICTIONS = (0.5, 1.0)
"""Of PhysX and Newton for colliders without a contact material.

REP 158 requires contact materials, and a URDF implies none.
"""


class DriveObservation(Struct, frozen=True):
    """The drive of a joint with one axis.

    Attributes:
        joint: URDF name.
        stiffness: [N m/rad or N/m].
        damping: [N m s/rad or N s/m].
        target_position: [rad or m]; None if the engine does not state it.
        target_velocity: [rad/s or m/s]; likewise.
        acceleration: Whether gains are divided by the inertia that the drive moves.
    """

    joint: str
    stiffness: float
    damping: float
    target_position: float | None = None
    target_velocity: float | None = None
    acceleration: bool = False


class ContactMaterialObservation(Struct, frozen=True):
    """Coefficients of the contact material of colliders; None without a material.

    Attributes:
        link: URDF name of the link, or of a prim that may be one.
        static: Static friction.
        dynamic: Dynamic friction.
        restitution: Restitution.
        source: Prim path of the collider; empty for all of the link.
    """

    link: str
    static: float | None
    dynamic: float | None
    restitution: float | None = 0.0
    source: str = ""


class SimulationObservation(Struct, frozen=True):
    """Settings of a simulation; a field is None if an engine does not state it.

    NaN stands for a value that simulators read differently.

    Attributes:
        drives: Drives, with or without gains, one per joint at most.
        armatures: Joints, and inertia of their motors [kg m^2 or kg].
        limit_stiffnesses: Joints, and stiffness of the springs at their limits [N m/rad
            or N/m].
        limit_dampings: Joints, and damping of these springs [N m s/rad or N s/m].
        positions: Joints, and initial positions other than zero [rad or m].
        filtered_pairs: Pairs of links that do not collide, each sorted.
        tolerated_pairs: Further pairs that may be filtered: colliders nearly touch.
        self_collision: Whether links of the robot collide with each other; None also if
            the file leaves it to simulators.
        contact_materials: Of links, or of each collider: one for each prim that may be
            its link, the nearest first.
        sources: What the settings come from, for the record; empty for engines.
        repaired: Malformed files among these, which only the converter's repair reads.
    """

    drives: tuple[DriveObservation, ...] | None = None
    armatures: tuple[tuple[str, float], ...] | None = None
    positions: tuple[tuple[str, float], ...] | None = None
    filtered_pairs: tuple[tuple[str, str], ...] | None = None
    tolerated_pairs: tuple[tuple[str, str], ...] = ()
    self_collision: bool | None = None
    contact_materials: tuple[ContactMaterialObservation, ...] | None = None
    limit_stiffnesses: tuple[tuple[str, float], ...] | None = None
    limit_dampings: tuple[tuple[str, float], ...] | None = None
    sources: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
