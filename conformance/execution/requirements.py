"""What options require of a USD, besides its URDF."""

from __future__ import annotations

from msgspec import Struct

from urdf_usd.converter.options import (
    NO_COLLIDER_RULES,
    ColliderRules,
    ConvertOptions,
    InertiaOption,
)
from urdf_usd.converter.robot.body_options import BaseOption
from urdf_usd.converter.simulation.description import Description


class Requirements(Struct, frozen=True):
    """What a USD has to have, besides what its URDF says.

    Attributes:
        base: Its base; ``auto`` if the URDF decides.
        density: Of links without mass, if missing mass properties are to be those of
            shapes [kg/m^3]; None if the USD has to have those of the URDF.
        colliders: Colliders instead of the URDF's.
        description: Robot description file with settings that the USD has to have.
    """

    base: BaseOption = BaseOption.AUTO
    density: float | None = None
    colliders: ColliderRules = NO_COLLIDER_RULES
    description: Description | None = None


URDF_ALONE = Requirements()


def required_of_conversion(options: ConvertOptions, *, own: bool) -> Requirements:
    """Return what a conversion with some options requires.

    Args:
        options: Options of the conversion.
        own: Whether our converter makes the USD: others know the base alone.
    """
    if not own:
        return Requirements(options.base)
    estimates = options.inertia is InertiaOption.GEOMETRY
    return Requirements(
        options.base,
        options.mass_density if estimates else None,
        options.colliders,
        options.simulation,
    )
