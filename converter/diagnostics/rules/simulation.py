"""Rules about robot description files and what they add to a robot."""

from __future__ import annotations

from urdf_usd.converter.diagnostics.rules.rule import Rule, Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

SIMULATION_RULES = (
    Rule(
        "description-unreadable",
        _E,
        "A robot description file or SRDF cannot be read.",
        "Check the path and permissions.",
    ),
    Rule(
        "description-syntax",
        _E,
        "A robot description file is not TOML.",
        "Correct the syntax, see https://toml.io.",
    ),
    Rule(
        "description-key",
        _E,
        "A robot description file has an unknown table or key.",
        "Correct the name; see `urdf-usd schema description`.",
    ),
    Rule(
        "description-value",
        _E,
        "A value of a robot description file has another type, is out of range, or "
        "contradicts another one.",
        "Correct the value; see docs/simulation.md.",
    ),
    Rule(
        "description-unmatched",
        _W,
        "A pattern or name of a robot description file matches nothing in the robot.",
        "Correct the name, or remove it.",
    ),
    Rule(
        "description-gains",
        _W,
        "A joint has position or velocity control without the gain that it needs; no "
        "drive is written.",
        "State stiffness, damping or a natural frequency in [[joints]].",
    ),
    Rule(
        "description-limit",
        _W,
        "An initial position or a target is outside the limits of its joint, or the "
        "effort limit of a joint with a drive is zero.",
        "Choose a position within the limits; correct the effort in the URDF.",
    ),
    Rule(
        "description-coupled",
        _N,
        "A setting of a mimic joint has no effect, because it follows another joint.",
        "State it for the joint that is followed.",
    ),
    Rule(
        "srdf-invalid",
        _E,
        "A file is no SRDF, or has a position that is no number.",
        "Name an SRDF, or correct the position.",
    ),
    Rule(
        "collision-overlap",
        _N,
        "Colliders of links overlap at the zero configuration; the links do not "
        "collide, as the robot description file states.",
        "Shrink the colliders if the links have to collide.",
    ),
    Rule(
        "collision-touch",
        _N,
        "Colliders of links touch at the zero configuration.",
        "Filter the pair if contacts disturb a simulation.",
    ),
    Rule(
        "description-lost",
        _W,
        "A setting of a robot description file has no representation in the schemas "
        "of the profile; it is left out.",
        "Choose another profile.",
    ),
    Rule(
        "description-variants",
        _W,
        "A setting of a robot description file is in physics variants, all of which "
        "are disabled, as SimReady requires.",
        "Select a variant, also to check the asset: --variant Newton=Enabled.",
    ),
)
