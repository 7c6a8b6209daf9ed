"""How each check compares two observations, by check identifier."""

from __future__ import annotations

from functools import partial

from urdf_usd.conformance.checks import (
    appearance,
    dynamics,
    kinematics,
    limits,
    mass,
    names,
    rigid_groups,
    settings,
    shapes,
    structure,
)
from urdf_usd.conformance.checks.catalogue import Check
from urdf_usd.conformance.observation.robot import Observation, SettingKind
from urdf_usd.conformance.observation.shapes import Role
from urdf_usd.conformance.tolerance.comparison import (
    Comparer,
    Comparison,
    Incomparable,
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
    "structure.scene": settings.scene,
    "structure.initial": partial(settings.of_links, SettingKind.INITIAL_STATE),
    "structure.animation": partial(settings.of_everything, SettingKind.ANIMATION),
    "structure.values": partial(settings.of_everything, SettingKind.VALUES),
    "structure.words": names.words,
    "structure.base": structure.base,
    "kinematics.position": partial(kinematics.frames, "position"),
    "kinematics.rotation": partial(kinematics.frames, "rotation"),
    "kinematics.up": kinematics.up,
    "kinematics.assembly.position": partial(kinematics.assembly, "position"),
    "kinematics.assembly.rotation": partial(kinematics.assembly, "rotation"),
    "mass.stated": mass.stated,
    "mass.link.mass": mass.link_masses,
    "mass.link.center": mass.link_centers,
    "mass.link.inertia": mass.link_inertias,
    "mass.link.agreement": mass.agreement,
    "mass.group.mass": rigid_groups.masses,
    "mass.group.center": rigid_groups.centers,
    "mass.group.inertia": rigid_groups.inertias,
    "mass.total": mass.total,
    "limits.lower": partial(limits.positions, "lower"),
    "limits.upper": partial(limits.positions, "upper"),
    "limits.effort": partial(limits.ratios, "effort", None),
    "limits.velocity": partial(limits.ratios, "velocity", None),
    "dynamics.damping": partial(limits.ratios, "damping", 0.0),
    "dynamics.friction": partial(limits.ratios, "friction", 0.0),
    "dynamics.drives": partial(settings.of_joints, SettingKind.DRIVE),
    "dynamics.joints": partial(settings.of_joints, SettingKind.JOINT),
    "dynamics.bodies": partial(settings.of_links, SettingKind.BODY),
    "dynamics.inertia_matrix": dynamics.inertia_matrices,
    "dynamics.bias": dynamics.bias_forces,
    "dynamics.rollout": dynamics.rollout_states,
    "collision.shapes": partial(shapes.present, Role.COLLISION),
    "collision.support": partial(shapes.measured, shapes.support, Role.COLLISION),
    "collision.area": partial(shapes.measured, shapes.area, Role.COLLISION),
    "collision.volume": partial(shapes.measured, shapes.volume, Role.COLLISION),
    "collision.triangles": partial(shapes.measured, shapes.triangles, Role.COLLISION),
    "collision.filters": partial(settings.of_shapes, SettingKind.FILTER),
    "collision.approximation": partial(settings.of_shapes, SettingKind.APPROXIMATION),
    "collision.materials": partial(settings.of_shapes, SettingKind.MATERIAL),
    "visual.shapes": partial(shapes.present, Role.VISUAL),
    "visual.support": partial(shapes.measured, shapes.support, Role.VISUAL),
    "visual.area": partial(shapes.measured, shapes.area, Role.VISUAL),
    "visual.volume": partial(shapes.measured, shapes.volume, Role.VISUAL),
    "visual.triangles": partial(shapes.measured, shapes.triangles, Role.VISUAL),
    "visual.colour": partial(appearance.compare_visuals, appearance.color),
    "visual.opacity": partial(appearance.compare_visuals, appearance.opacity),
    "visual.texture": partial(appearance.compare_visuals, appearance.texture),
    "visual.normals": appearance.normals,
    "visual.mapping": partial(
        appearance.compare_visuals, appearance.mapping, note=appearance.NO_IMAGE
    ),
    "visual.material": partial(appearance.compare_visuals, appearance.properties),
    "visual.geometry": partial(settings.of_shapes, SettingKind.GEOMETRY),
    "visual.subdivision": partial(settings.of_shapes, SettingKind.SUBDIVISION),
    "simulation.gains": partial(settings.drives, "gains"),
    "simulation.targets": partial(settings.drives, "targets"),
    "simulation.armature": settings.armatures,
    "simulation.limits": settings.limit_springs,
    "simulation.positions": settings.positions,
    "simulation.filters": settings.filters,
    "simulation.contacts": settings.contacts,
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
