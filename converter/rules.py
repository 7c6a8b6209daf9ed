"""The closed list of what a diagnostic can say: one rule, one id, one severity."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How much a diagnostic matters."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of the closed list of things a diagnostic can say.

    Attributes:
        id: Stable identifier, never reused.
        severity: Severity of every diagnostic that cites the rule.
        summary: What is wrong, in one line.
        remedy: What the author of the file can do about it.
    """

    id: str
    severity: Severity
    summary: str
    remedy: str


def _rules(*rules: Rule) -> dict[str, Rule]:
    table = {rule.id: rule for rule in rules}
    if len(table) != len(rules):
        raise ValueError("two rules share an id")
    return table


_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

RULES = _rules(
    Rule("file-missing", _E, "The file does not exist.", "Check the path."),
    Rule("file-not-regular", _E, "The path is a folder.", "Name a .urdf file."),
    Rule("file-unreadable", _E, "The file cannot be read.", "Check permissions."),
    Rule("file-empty", _E, "The file is empty.", "Write a <robot> element."),
    Rule(
        "xml-syntax",
        _E,
        "The text is not well-formed XML.",
        "Repair the XML at the given position.",
    ),
    Rule(
        "xml-entity",
        _E,
        "The document declares entities.",
        "Remove the entity declarations; write the text out.",
    ),
    Rule(
        "xml-version",
        _W,
        "The XML declaration names an unknown version; read as 1.0.",
        'Write <?xml version="1.0"?>.',
    ),
    Rule(
        "root-element",
        _E,
        "The root element is not <robot>.",
        "Pass a URDF file; expand xacro first.",
    ),
    Rule(
        "xacro-unexpanded",
        _E,
        "The file is xacro that has not been expanded.",
        "Expand it with xacro and convert the result.",
    ),
    Rule(
        "robot-unnamed",
        _W,
        "The robot has no name; the file's stem is used.",
        "Write <robot name=...>.",
    ),
    Rule(
        "urdf-version",
        _W,
        "The URDF version is unknown.",
        'Write <robot version="1.0">, or leave the version out.',
    ),
    Rule(
        "attribute-missing",
        _E,
        "A required attribute is missing.",
        "Add the attribute.",
    ),
    Rule(
        "attribute-version",
        _W,
        "An attribute belongs to a later URDF version than the file's; ignored.",
        "State that version in <robot version=...>.",
    ),
    Rule(
        "rotation-conflict",
        _W,
        "An origin has both rpy and quat_xyzw; rpy counts.",
        "Keep one of the two.",
    ),
    Rule("element-missing", _E, "A required element is missing.", "Add the element."),
    Rule(
        "element-repeated",
        _W,
        "An element that may occur once is repeated; the first counts.",
        "Remove the others.",
    ),
    Rule(
        "element-unknown",
        _N,
        "An element is outside the URDF language and is not converted.",
        "Nothing, if the element is meant for another tool.",
    ),
    Rule(
        "number-invalid",
        _W,
        "Text that should be a number is not; the default is used.",
        "Write a plain decimal number.",
    ),
    Rule(
        "number-punctuation",
        _W,
        "Stray punctuation in a number is dropped.",
        "Write a plain decimal number.",
    ),
    Rule(
        "flag-invalid",
        _W,
        "Text that should be true or false is neither; the default is used.",
        "Write true or false.",
    ),
    Rule(
        "number-required",
        _E,
        "Text that should be a number is not, and there is no default.",
        "Write a plain decimal number.",
    ),
    Rule(
        "number-nonfinite",
        _E,
        "A number is not finite where only a finite one has a meaning.",
        "Write a finite number.",
    ),
    Rule(
        "vector-length",
        _W,
        "A vector has too many numbers; the first ones are used.",
        "Write exactly the expected count.",
    ),
    Rule(
        "vector-completed",
        _W,
        "A vector is too short, but has one meaning: uniform scale, opaque colour.",
        "Write exactly the expected count.",
    ),
    Rule("joint-type", _E, "The joint type is unknown.", "Use a URDF joint type."),
    Rule(
        "joint-type-extension",
        _W,
        "The joint type is an extension of URDF.",
        "Expect other readers to refuse the file.",
    ),
    Rule(
        "joint-axis-zero",
        _E,
        "A moving joint has a zero axis.",
        "Write a non-zero axis.",
    ),
    Rule(
        "joint-limit-missing",
        _W,
        "A revolute or prismatic joint has no <limit>; read as unlimited.",
        "Add <limit>, or use a continuous joint.",
    ),
    Rule(
        "joint-limit-reversed",
        _W,
        "The lower limit is above the upper one, which USD reads as locked.",
        "Exchange the limits.",
    ),
    Rule(
        "joint-limit-incomplete",
        _W,
        "A <limit> lacks a bound, which is read as 0; many readers differ.",
        "Write lower and upper.",
    ),
    Rule(
        "joint-limit-ignored",
        _N,
        "A joint has bounds that its type does not use.",
        "Remove lower and upper, or change the type.",
    ),
    Rule("name-duplicate", _E, "A name occurs twice.", "Rename one of the two."),
    Rule(
        "link-undefined",
        _E,
        "A joint names a link that is not defined.",
        "Define the link or correct the name.",
    ),
    Rule("robot-empty", _E, "The robot has no links.", "Define at least one link."),
    Rule(
        "tree-roots",
        _E,
        "The robot has several root links.",
        "Connect the trees with joints.",
    ),
    Rule(
        "tree-parents",
        _E,
        "A link is the child of several joints.",
        "Give every link one parent.",
    ),
    Rule("tree-loop", _E, "The joints form a loop.", "Open the loop."),
    Rule(
        "mimic-target-missing",
        _W,
        "A joint mimics a joint that does not exist; the coupling is dropped.",
        "Correct the name.",
    ),
    Rule(
        "mimic-fixed",
        _W,
        "A mimic coupling on or of a joint without one axis is dropped.",
        "Remove <mimic>.",
    ),
    Rule(
        "mimic-loop",
        _W,
        "Mimic couplings form a loop; the coupling that closes it is dropped.",
        "Let one joint lead.",
    ),
    Rule(
        "material-undefined",
        _W,
        "A material is named but nowhere defined.",
        "Define it at robot level.",
    ),
    Rule(
        "material-redefined",
        _W,
        "A material has different definitions; a visual's own counts, else the first.",
        "Give each appearance a name of its own.",
    ),
    Rule(
        "color-range",
        _W,
        "A colour has a component outside [0, 1], which is clamped.",
        "Write components between 0 and 1.",
    ),
    Rule(
        "mesh-missing",
        _W,
        "A mesh file cannot be found; the shape is left out.",
        "Pass --package NAME=PATH, or restore the file.",
    ),
    Rule(
        "mesh-unreadable",
        _W,
        "A mesh file cannot be read; the shape is left out.",
        "Export the mesh again as STL, OBJ or DAE.",
    ),
    Rule(
        "mesh-up-axis",
        _N,
        "A COLLADA file is not Z-up; its axes are used as they are, as rviz does.",
        "Export with Z up.",
    ),
    Rule(
        "mesh-partial",
        _W,
        "A part of a mesh file cannot be used.",
        "Export the mesh again as STL, OBJ or DAE.",
    ),
    Rule(
        "geometry-invalid",
        _W,
        "A shape has a size that is not positive; it is left out.",
        "Give positive sizes.",
    ),
    Rule(
        "geometry-unknown",
        _W,
        "A visual or collision has no shape of the URDF language; it is left out.",
        "Use box, cylinder, capsule, sphere or mesh.",
    ),
    Rule(
        "texture-dropped",
        _W,
        "A texture is not converted.",
        "Bind the texture in USD.",
    ),
    Rule(
        "texture-missing",
        _W,
        "A texture file cannot be found.",
        "Pass --package NAME=PATH, or restore the file.",
    ),
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
        "link-massless-moving",
        _E,
        "A link that moves has no mass.",
        "Give the link an <inertial>, or use --massless regularise.",
    ),
    Rule(
        "inertia-regularised",
        _W,
        "A massive link with zero inertia received the smallest harmless one.",
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
        "robot-static",
        _N,
        "Nothing has mass and nothing moves: written as static scenery.",
        "Give a link an <inertial> if it should move.",
    ),
    Rule(
        "value-range",
        _E,
        "A number lies outside what float32 can store.",
        "Use SI units of a plausible size.",
    ),
    Rule(
        "stage-unreadable",
        _E,
        "The USD cannot be opened.",
        "Check the path and that every layer resolves.",
    ),
    Rule(
        "stage-units",
        _E,
        "The stage is not in metres, kilograms and Z up.",
        "Convert the stage first.",
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
