"""What can be wrong with a file, its XML, and the values in it."""

from __future__ import annotations

from urdf_usd.converter.diagnostics.rules.rule import Rule, Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

TEXT_RULES = (
    Rule("file-missing", _E, "The file does not exist.", "Check the path."),
    Rule("file-not-regular", _E, "The path is a folder.", "Name a .urdf file."),
    Rule("file-unreadable", _E, "The file cannot be read.", "Check permissions."),
    Rule("file-empty", _E, "The file is empty.", "Write a <robot> element."),
    Rule(
        "xml-syntax",
        _E,
        "The text is not well-formed XML, and more than one reading is possible.",
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
        "xml-encoding",
        _W,
        "The declared encoding does not exist, or bytes are not in it; another one is "
        "used, for single wrong bytes for these alone.",
        "Save the file as UTF-8, and declare that or nothing.",
    ),
    Rule(
        "xml-declaration",
        _W,
        "The XML declaration is malformed or not at the start of the file, or a "
        "document type is out of place; ignored.",
        "Make it the first line, without anything before it.",
    ),
    Rule(
        "xml-outside",
        _W,
        "There is something before or after <robot>; left out.",
        "Move it into <robot>, or remove it.",
    ),
    Rule(
        "xml-nesting",
        _W,
        "Tags do not match: a missing end tag is added before what the element cannot "
        "hold, an end tag without a start is dropped. Well-nested elements stay as "
        "they are; parts that no longer count are named, each with its line.",
        "Close every element where it ends.",
    ),
    Rule(
        "xml-attribute",
        _W,
        "An attribute is malformed; it is read if its value is clear, else ignored.",
        'Write name="value", and a space between attributes.',
    ),
    Rule(
        "attribute-repeated",
        _W,
        "An attribute is repeated; the first counts.",
        "Remove the others.",
    ),
    Rule(
        "xml-character",
        _W,
        "A character is not allowed there: '<' and ']]>' are kept in text, a control "
        "character is replaced, a blank after the '<' of a tag is skipped.",
        "Write '&lt;' and ']]&gt;', and remove control characters and the blank.",
    ),
    Rule(
        "xml-reference",
        _W,
        "An '&' begins no reference that XML knows; kept as it is.",
        "Write '&amp;'.",
    ),
    Rule(
        "xml-comment",
        _W,
        "A comment holds a double hyphen.",
        "Write single hyphens inside comments.",
    ),
    Rule(
        "xml-prefix",
        _W,
        "A namespace prefix is not declared; the name is used as it is written.",
        "Add xmlns:prefix=... to <robot>.",
    ),
    Rule(
        "root-element",
        _E,
        "The root element is not <robot>.",
        "Pass a URDF or xacro file.",
    ),
    Rule(
        "xacro-unexpanded",
        _E,
        "There is xacro in a file that is not called .xacro.",
        "Rename the file to .xacro, so that it is expanded.",
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
        "element-incomplete",
        _W,
        "An element lacks what it cannot do without; left out.",
        "Complete or remove it.",
    ),
    Rule(
        "element-version",
        _N,
        "Something belongs to a later URDF version than the file's; read all the same.",
        "State that version in <robot version=...>; urdfdom ignores or refuses it.",
    ),
    Rule(
        "text-ignored",
        _N,
        "There is text inside an element that holds none; ignored.",
        "Remove it, or make it a comment.",
    ),
    Rule(
        "element-unknown",
        _N,
        "An element or attribute is outside the URDF language; kept as custom data.",
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
