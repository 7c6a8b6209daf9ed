"""What validators may say of an asset without failing it, and why.

``docs/validation.md`` argues every entry; a test holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Waiver:
    """A rule, or one of its messages, that does not apply to our assets.

    Attributes:
        rule: Name of the validator's rule.
        says: Text that the message holds; everything the rule says if empty.
        after: Rule of a diagnostic that the conversion must have given: what the URDF
            says is at fault. None if no URDF needs to be.
        reason: Why it does not apply.
    """

    rule: str
    says: str
    after: str | None
    reason: str

    @property
    def is_whole(self) -> bool:
        """Whether the rule need not be asked at all."""
        return not self.says and self.after is None


_IMPOSSIBLE = "inertia-implausible"
_KEPT = (
    "The URDF states an inertia that no body has. It is kept, and the conversion says "
    "so: a repair would hide the mistake."
)
WAIVERS = (
    Waiver(
        "NormalsExistChecker",
        "Either normals should be authored",
        None,
        "STL files, and meshes without normals, are facets; OpenUSD shades polygons "
        "so. Written out, normals would say nothing new, and add 58 % to the meshes of "
        "pybullet, 25 % to those of erd.",
    ),
    Waiver(
        "ManifoldChecker",
        "",
        None,
        "A mesh is what its file says. A repair would guess what its author meant; "
        "colliders are convex hulls, to which it makes no difference.",
    ),
    Waiver(
        "NormalsWindingsChecker",
        "normals inconsistent with the face windings",
        None,
        "A mesh is what its file says: in three robots of erd, parts of a few OBJ "
        "files are wound against their normals. Mirrored meshes turn both, which is "
        "tested.",
    ),
    Waiver(
        "WeldChecker",
        "",
        None,
        "Points that coincide are seams as often as waste: a surface that touches "
        "itself would become one that branches.",
    ),
    Waiver(
        "ZeroAreaFaceChecker",
        "",
        None,
        "A mesh is what its file says. Faces without area show nothing, and materials "
        "and normals are counted by face.",
    ),
    Waiver(
        "IndexedPrimvarChecker",
        "contains repeated values",
        None,
        "Normals and texture coordinates are stored as the file lists them. Merging "
        "equal ones would take a sort of all corners, to save 3 % of the meshes of "
        "pybullet and 14 % of those of erd.",
    ),
    Waiver("InertiaInvalidValues", "elements must be positive", _IMPOSSIBLE, _KEPT),
    Waiver("RigidBodyChecker", "elements must be positive", _IMPOSSIBLE, _KEPT),
    Waiver("MassChecker", "must have positive values", _IMPOSSIBLE, _KEPT),
)


def waiver(rule: str, message: str, said: frozenset[str]) -> Waiver | None:
    """Find the waiver of an issue.

    Args:
        rule: Name of the validator's rule.
        message: What it said.
        said: Rules that the diagnostics of the conversion cite.
    """
    for candidate in WAIVERS:
        known = candidate.after is None or candidate.after in said
        if candidate.rule == rule and candidate.says in message and known:
            return candidate
    return None
