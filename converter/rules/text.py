"""What can be wrong with a file, its XML, and the values in it."""

from __future__ import annotations

from converter.rules.rule import Rule, Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

TEXT_RULES = (
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
)
