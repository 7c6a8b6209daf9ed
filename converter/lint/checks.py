"""Which function finds the breaches of which rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from urdf_usd.converter.lint import (
    appearance,
    frames,
    joints,
    limits,
    masses,
    meshes,
    names,
)
from urdf_usd.converter.lint.finding import Remarks
from urdf_usd.converter.lint.subject import Document, Specimen

DocumentCheck: TypeAlias = Callable[[Document], Remarks]
SpecimenCheck: TypeAlias = Callable[[Specimen], Remarks]

# Of the file as it is written: these speak even if no robot can be made of it.
DOCUMENT_CHECKS: Mapping[str, DocumentCheck] = {
    "inertia-zero": masses.zero_inertia,
    "joint-axis-unnormalised": joints.axis_not_normalised,
    "joint-axis-implicit": joints.axis_implicit,
    "joint-limit-unrated": limits.without_rating,
    "joint-effort-zero": limits.zero_effort,
    "joint-velocity-zero": limits.zero_velocity,
    "joint-rating-negative": limits.negative_rating,
    "joint-range-empty": limits.empty_range,
    "joint-zero-outside": limits.zero_outside,
    "joint-limit-degrees": limits.limits_in_degrees,
    "joint-limit-turns": limits.several_turns,
    "dynamics-negative": limits.negative_dynamics,
    "safety-incomplete": limits.incomplete_safety,
    "safety-outside": limits.soft_limit_outside,
    "mimic-multiplier-zero": joints.mimic_of_nothing,
    "origin-far": frames.far_away,
    "rotation-turns": frames.more_than_a_turn,
    "rotation-rounded": frames.askew,
    "quaternion-unnormalised": frames.quaternion_not_normalised,
    "path-absolute": appearance.absolute_path,
    "path-backslash": appearance.backslash,
    "material-unused": appearance.unused_material,
    "color-invisible": appearance.invisible_color,
    "name-not-portable": names.not_portable,
    "name-of-link-and-joint": names.link_and_joint,
    "name-repeated-shape": names.repeated_shape,
    "name-world": names.part_called_world,
    "reference-undefined": names.undefined_reference,
}
# Of the robot: what takes its tree, or the size of its parts.
SPECIMEN_CHECKS: Mapping[str, SpecimenCheck] = {
    "mass-none-moving": masses.moving_without_mass,
    "mass-none-collider": masses.colliders_without_mass,
    "mass-negligible": masses.negligible_mass,
    # What the file writes as zero is for the document.
    "inertia-zero": masses.inertia_of_rounding,
    "inertia-not-positive": masses.inertia_not_positive,
    "inertia-triangle": masses.inertia_breaks_triangle,
    "inertia-too-large": masses.inertia_too_large,
    "inertia-too-small": masses.inertia_too_small,
    "density-high": masses.density_too_high,
    "density-low": masses.density_too_low,
    "com-outside": masses.center_outside,
    "joint-travel-long": limits.long_travel,
    "mimic-range": joints.mimic_beyond_range,
    "mesh-millimetres": meshes.in_millimetres,
    "mesh-shrunk": meshes.shrunk,
    "mesh-mirrored": meshes.mirrored,
    "mesh-too-many-faces": meshes.too_many_faces,
    "collision-mesh-heavy": meshes.heavy_collision,
}
