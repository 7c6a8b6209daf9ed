"""How each check compares two observations, by check identifier."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from urdf_usd.conformance.checks import (
    appearance,
    dynamics,
    kinematics,
    limits,
    mass,
    names,
    rigid_groups,
    shapes,
    structure,
)
from urdf_usd.conformance.observation.shapes import Role
from urdf_usd.conformance.tolerance.comparison import Incomparable

if TYPE_CHECKING:
    from urdf_usd.conformance.checks.catalogue import Check
    from urdf_usd.conformance.observation.robot import Observation
    from urdf_usd.conformance.tolerance.comparison import (
        Comparer,
        Comparison,
        ToleranceModel,
    )

COMPARERS: dict[str, Comparer] = {
    "structure.links": names.links,
    "structure.joints": names.joints,
    "structure.types": structure.types,
    "structure.parents": structure.parents,
    "structure.mimic": structure.mimic,
    "structure.articulation": structure.articulation,
    "structure.world": structure.world,
    "structure.bodies": structure.bodies,
    "structure.base": structure.base,
    "kinematics.position": kinematics.positions,
    "kinematics.rotation": kinematics.rotations,
    "kinematics.up": kinematics.up,
    "kinematics.assembly.position": kinematics.assembly_positions,
    "kinematics.assembly.rotation": kinematics.assembly_rotations,
    "mass.stated": mass.stated,
    "mass.link.mass": mass.link_masses,
    "mass.link.center": mass.link_centers,
    "mass.link.inertia": mass.link_inertias,
    "mass.link.agreement": mass.agreement,
    "mass.group.mass": rigid_groups.masses,
    "mass.group.center": rigid_groups.centers,
    "mass.group.inertia": rigid_groups.inertias,
    "mass.total": mass.total,
    "limits.lower": limits.lower,
    "limits.upper": limits.upper,
    "limits.effort": limits.effort,
    "limits.velocity": limits.velocity,
    "dynamics.damping": limits.damping,
    "dynamics.friction": limits.friction,
    "dynamics.inertia_matrix": dynamics.inertia_matrices,
    "dynamics.bias": dynamics.bias_forces,
    "dynamics.rollout": dynamics.rollout_states,
    "collision.shapes": partial(shapes.present, Role.COLLISION),
    "collision.support": partial(shapes.support, Role.COLLISION),
    "collision.area": partial(shapes.area, Role.COLLISION),
    "collision.volume": partial(shapes.volume, Role.COLLISION),
    "collision.triangles": partial(shapes.triangles, Role.COLLISION),
    "visual.shapes": partial(shapes.present, Role.VISUAL),
    "visual.support": partial(shapes.support, Role.VISUAL),
    "visual.area": partial(shapes.area, Role.VISUAL),
    "visual.volume": partial(shapes.volume, Role.VISUAL),
    "visual.triangles": partial(shapes.triangles, Role.VISUAL),
    "visual.colour": appearance.colors,
    "visual.opacity": appearance.opacities,
    "visual.texture": appearance.textures,
}


def compare(
    check: Check,
    expected: Observation,
    actual: Observation,
    model: ToleranceModel,
) -> Comparison:
    """Compare the quantity of a check, if both observations state it."""
    for side in (expected, actual):
        if check.quantity not in side.states:
            return Incomparable(f"{side.engine} does not state {check.quantity}")
    return COMPARERS[check.direct or check.id](expected, actual, model)
