"""Rules about mass and inertia, and links without them."""

from __future__ import annotations

from urdf_usd.converter.diagnostics.rules.rule import Rule, Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

MASS_RULES = (
    Rule(
        "link-massless",
        _N,
        "A massless link becomes a frame of the body that it is fixed to.",
        "Nothing: USD represents a frame in this way.",
    ),
    Rule(
        "link-lumped",
        _N,
        "A link is fixed to a massless link; both become one body.",
        "Nothing: mass, centre of mass and inertia of the group are kept.",
    ),
    Rule(
        "link-regularised",
        _W,
        "A moving massless link received a very small mass.",
        "Give the link an <inertial>, or use --inertia geometry or --massless error.",
    ),
    Rule(
        "base-regularised",
        _N,
        "A fixed base without mass became a body with a very small mass.",
        "Nothing: the base cannot move, so that the mass has no effect.",
    ),
    Rule(
        "link-massless-moving",
        _E,
        "A moving link has no mass.",
        "Give the link an <inertial>, or use --massless regularise.",
    ),
    Rule(
        "inertia-regularised",
        _W,
        "A link with mass has no inertia about one or all axes; it received a small inertia.",
        "Give the link an <inertia>, or use --inertia geometry.",
    ),
    Rule(
        "inertia-implausible",
        _W,
        "The inertia is physically impossible; it is kept as written.",
        "Correct <inertia>: positive definite, A + B >= C for the principal moments; "
        "or use --inertia geometry.",
    ),
    Rule(
        "body-negligible",
        _W,
        "Moving bodies with shapes have only the small mass or inertia that was added: "
        "they cannot be simulated.",
        "Use --inertia geometry, or give the links an <inertial>.",
    ),
    Rule(
        "mass-estimated",
        _N,
        "A link without mass received mass and inertia of its shapes.",
        "Check the mass; --mass-density sets the density.",
    ),
    Rule(
        "inertia-estimated",
        _N,
        "A link with missing or impossible inertia received that of its shapes.",
        "Give the link a correct <inertia> if it is known.",
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
        "The base to be fixed is the world, and the robot is connected to it by "
        "floating joints only.",
        "Make the floating joint fixed, or convert from its child with --root.",
    ),
    Rule(
        "robot-static",
        _N,
        "No link has mass and no joint moves: written as static geometry.",
        "Give a link an <inertial> if it should move.",
    ),
)
