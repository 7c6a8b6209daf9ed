"""What can be wrong with a USD stage, or with the place where one is written."""

from __future__ import annotations

from urdf_usd.converter.diagnostics.rules.rule import Rule, Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

OUTPUT_RULES = (
    Rule(
        "value-range",
        _E,
        "A number lies outside what float32 can store.",
        "Use SI units of a plausible size.",
    ),
    Rule(
        "tree-depth",
        _E,
        "The links lie deeper in each other than OpenUSD can hold.",
        "Use --bodies flat, or split the robot.",
    ),
    Rule(
        "stage-unreadable",
        _E,
        "The USD cannot be opened.",
        "Check the path and that every layer resolves.",
    ),
    Rule(
        "stage-limits",
        _E,
        "The USD cannot be composed and read within the limits of time and memory, or "
        "ends OpenUSD's process.",
        "Break references that multiply and prims nested too deep; or raise --timeout "
        "and --memory.",
    ),
    Rule(
        "stage-value",
        _E,
        "A value that the robot depends on cannot be used: it is of another type than "
        "its schema says, a unit is not positive, the up axis is neither Y nor Z, or a "
        "transform or joint frame is not finite.",
        "Correct the value.",
    ),
    Rule(
        "layer-not-regular",
        _E,
        "A layer or asset is a pipe, a device, a socket or a folder; nothing is read.",
        "Name a regular file.",
    ),
    Rule(
        "layer-bounds",
        _E,
        "The USD names more than 10000 asset paths, or its layers are more than 4 GiB.",
        "Export the robot alone, with the layers that it needs.",
    ),
    Rule(
        "stage-structure",
        _E,
        "The stage does not hold one readable robot.",
        "See the message.",
    ),
    Rule(
        "target-unwritable",
        _E,
        "The target cannot be written.",
        "Check permissions and free space, or choose another folder.",
    ),
    Rule(
        "target-exists",
        _E,
        "The target is in the way.",
        "Choose another folder.",
    ),
)
