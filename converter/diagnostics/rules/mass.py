"""What is said of masses and inertia, and of the links that have none."""

from __future__ import annotations

from urdf_usd.converter.diagnostics.rules.rule import Rule, Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

MASS_RULES = (
    Rule(
        "link-massless",
        _N,
        "A massless link becomes a frame of the body it is welded to.",
        "Nothing: this is how USD expresses a frame.",
    ),
    Rule(
        "link-lumped",
        _N,
        "A link is welded to a massless one; both are one body.",
        "Nothing: mass, centre and inertia of the group are kept.",
    ),
    Rule(
        "link-regularised",
        _W,
        "A massless link that moves received the smallest harmless mass.",
        "Give the link an <inertial>, or use --massless error.",
    ),
    Rule(
        "base-regularised",
        _N,
        "A fixed base without mass became a body of the smallest harmless mass.",
        "Nothing: the world holds it, so that its mass moves nothing.",
    ),
    Rule(
        "link-massless-moving",
        _E,
        "A link that moves has no mass.",
        "Give the link an <inertial>, or use --massless regularise.",
    ),
    Rule(
        "inertia-regularised",
        _W,
        "A massive link without inertia, about one axis or all, received some.",
        "Give the link an <inertia>.",
    ),
    Rule(
        "inertia-implausible",
        _W,
        "No rigid body has this inertia; it is kept as written.",
        "Correct <inertia>: positive definite, A + B >= C.",
    ),
    Rule("mass-negative", _E, "A mass is negative.", "Correct <mass>."),
    Rule(
        "mass-missing",
        _W,
        "An <inertial> has no <mass>; the link is read as massless.",
        "Add <mass>.",
    ),
    Rule(
        "inertia-missing",
        _W,
        "An <inertial> has no <inertia>; read as zero.",
        "Add <inertia>.",
    ),
    Rule(
        "base-floats",
        _W,
        "A base that is to be fixed is the world, where the robot floats freely.",
        "Make the floating joint fixed, or convert from its child with --root.",
    ),
    Rule(
        "robot-static",
        _N,
        "Nothing has mass and nothing moves: written as static scenery.",
        "Give a link an <inertial> if it should move.",
    ),
)
