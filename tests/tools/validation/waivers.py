"""Issues of validators that do not apply to our assets, with reasons.

``docs/dev/validation.md`` has the same entries, which a test compares.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Waiver:
    """A rule, or one of its messages, that does not apply to our assets.

    Attributes:
        rule: Name of the validator's rule.
        says: Text that the message contains; any message if empty.
        after: Rule of a diagnostic that the conversion must have reported, if the URDF
            has to be at fault.
        reason: Why it does not apply.
    """

    rule: str
    says: str
    after: str | None
    reason: str

    @property
    def is_whole(self) -> bool:
        """Whether the rule can be switched off."""
        return not self.says and self.after is None


_IMPOSSIBLE = "inertia-implausible"
_KEPT = (
    "The URDF has a physically impossible inertia. It is kept with a diagnostic: a "
    "repair would hide the mistake."
)
WAIVERS = (
    Waiver(
        "NormalsExistChecker",
        "Either normals should be authored",
        None,
        "STL files, and other meshes without normals, are faceted, which is how "
        "OpenUSD shades polygons. Authored normals would be redundant, and enlarge "
        "the meshes of pybullet by 58 %, those of erd by 25 %.",
    ),
    Waiver(
        "ManifoldChecker",
        "",
        None,
        "Meshes are kept as in their file; a repair would be a guess. Colliders are "
        "convex hulls, to which it makes no difference.",
    ),
    Waiver(
        "NormalsWindingsChecker",
        "normals inconsistent with the face windings",
        None,
        "Meshes are kept as in their file: in three robots of erd, parts of a few OBJ "
        "files have winding opposite to their normals. Mirrored meshes flip both, "
        "which is tested.",
    ),
    Waiver(
        "WeldChecker",
        "",
        None,
        "Coincident points may be seams: merging them would make a surface that "
        "touches itself non-manifold.",
    ),
    Waiver(
        "ZeroAreaFaceChecker",
        "",
        None,
        "Meshes are kept as in their file. Faces without area are invisible, and "
        "materials and normals are indexed by face.",
    ),
    Waiver(
        "IndexedPrimvarChecker",
        "contains repeated values",
        None,
        "Normals and texture coordinates are stored as in the file. Merging equal "
        "ones would require sorting all corners, to save 3 % of the meshes of "
        "pybullet and 14 % of those of erd.",
    ),
    Waiver("InertiaInvalidValues", "elements must be positive", _IMPOSSIBLE, _KEPT),
    Waiver("RigidBodyChecker", "elements must be positive", _IMPOSSIBLE, _KEPT),
    Waiver("MassChecker", "must have positive values", _IMPOSSIBLE, _KEPT),
)


def waiver(rule: str, message: str, rules: frozenset[str]) -> Waiver | None:
    """Find the waiver of an issue.

    Args:
        rule: Name of the validator's rule.
        message: Its message.
        rules: Rules of the diagnostics of the conversion.
    """
    for candidate in WAIVERS:
        known = candidate.after is None or candidate.after in rules
        if candidate.rule == rule and candidate.says in message and known:
            return candidate
    return None
