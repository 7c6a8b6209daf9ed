"""Rules about USD files that are read or written."""

from __future__ import annotations

from urdf_usd.converter.diagnostics.rules.rule import Rule, Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

OUTPUT_RULES = (
    Rule(
        "value-range",
        _E,
        "A number is outside the range of float32.",
        "Use SI units of a plausible size.",
    ),
    Rule(
        "tree-depth",
        _E,
        "Links are nested too deeply for OpenUSD.",
        "Use --bodies flat, or split the robot.",
    ),
    Rule(
        "stage-unreadable",
        _E,
        "The USD cannot be opened.",
        "Check the path, and that every layer resolves.",
    ),
    Rule(
        "stage-limits",
        _E,
        "The USD cannot be composed and read within the limits of time and "
        "memory, or crashes OpenUSD.",
        "Remove references that multiply and prims nested too deeply; or raise "
        "--timeout and --memory.",
    ),
    Rule(
        "stage-value",
        _E,
        "A value is unusable: wrong type for its schema, not a number, infinite where "
        "the schema gives infinity no meaning, time samples without a default value, "
        "a unit that is not positive, an axis other than X, Y and Z, an up axis other "
        "than Y and Z, or a transform beyond the range of float32.",
        "Correct the value.",
    ),
    Rule(
        "stage-incomplete",
        _E,
        "A sublayer, reference or payload does not resolve, cannot be read or refers "
        "to itself; parts of the stage are missing.",
        "Supply the missing layer, or remove the reference to it.",
    ),
    Rule(
        "layer-not-regular",
        _E,
        "A layer or asset is a pipe, device, socket or folder; nothing is read.",
        "Name a regular file.",
    ),
    Rule(
        "layer-bounds",
        _E,
        "The USD refers to more than 10000 asset paths, or its layers are larger than 4 GiB.",
        "Export only the robot, with the layers that it needs.",
    ),
    Rule(
        "stage-structure",
        _E,
        "The stage does not contain exactly one robot that URDF can represent.",
        "See the message.",
    ),
    Rule(
        "metadata-missing",
        _W,
        "The profile requires metadata that neither options nor the source state.",
        "Add --metadata for each name in the message.",
    ),
    Rule(
        "mesh-required",
        _W,
        "The profile requires a mesh, and the robot has primitive shapes only.",
        "Add a mesh to a <visual>, or use another profile.",
    ),
    Rule(
        "body-required",
        _W,
        "The profile requires a rigid body, and nothing of the robot can move.",
        "Give a link mass and free the base (--base floating), or use another profile.",
    ),
    Rule(
        "normals-opposite",
        _N,
        "The normals of a mesh point against its faces, which the profile excludes.",
        "Make the normals of the mesh file agree with the order of its corners.",
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
        "The target exists and is not replaced.",
        "Choose another folder.",
    ),
)
