"""What a robot does that is left to itself."""

from __future__ import annotations

from dataclasses import dataclass

from urdf_usd.conformance.observation.pickling import Carried


@dataclass(frozen=True, slots=True)
class RolloutPlan:
    """How the robot shall move on its own: gravity, damping, friction, mimic couplings.

    The root link is held, joints start at rest, and nothing collides; joint limits are
    off.

    Attributes:
        configuration: Index of the configuration in which it starts.
        held: Joints that are held as well, because what they carry has no inertia.
        step: Time step [s].
        moments: Numbers of steps after which it is asked where it is.
    """

    configuration: int
    held: tuple[str, ...] = ()
    step: float = 1e-3
    moments: tuple[int, ...] = (50, 100, 200, 500, 1000)


@dataclass(frozen=True, slots=True)
class Moment(Carried):
    """Where a robot is that moves on its own.

    Attributes:
        time: Since it started [s].
        positions: Per joint, in the form of :data:`COORDINATES`.
        velocities: Per joint, in the form of :data:`VELOCITIES`.
    """

    time: float
    positions: tuple[tuple[float, ...], ...]
    velocities: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Rollout:
    """How the robot moves on its own.

    Attributes:
        joints: Moving joints.
        moments: Those of the plan, up to where the engine gives up.
        neighbours: The same if all numbers of the robot are changed by parts in a
            million, at random; empty if that was not tried.
    """

    joints: tuple[str, ...]
    moments: tuple[Moment, ...]
    neighbours: tuple[tuple[Moment, ...], ...] = ()
