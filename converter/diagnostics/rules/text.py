"""Rules about files, their XML, and the values of attributes."""

from __future__ import annotations

from urdf_usd.converter.diagnostics.rules.rule import Rule, Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

TEXT_RULES = (
    Rule("file-missing", _E, "The file does not exist.", "Check the path."),
    Rule("file-not-regular", _E, "The path is a folder.", "Name a .urdf file."),
    Rule("file-unreadable", _E, "The file cannot be read.", "Check permissions."),
    Rule("file-empty", _E, "The file is empty.", "Write a <robot> element."),
    Rule(
        "file-format",
        _E,
        "The file has another format than URDF, recognised by its first bytes.",
        "Pass a URDF or xacro file; `urdf-usd export` reads USD.",
    ),
    Rule(
        "xml-syntax",
        _E,
        "The text is not well-formed XML and cannot be repaired unambiguously.",
        "Repair the XML at the given position.",
    ),
    Rule(
        "xml-entity",
        _E,
        "The document declares entities.",
        "Remove the entity declarations, and write the text instead.",
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
        "The declared encoding does not exist, or bytes are invalid in it; "
        "another encoding is used, for single invalid bytes only for these.",
        "Save the file as UTF-8, and declare UTF-8 or nothing.",
    ),
    Rule(
        "xml-declaration",
        _W,
        "The XML declaration is malformed or not at the start of the file, or a "
        "document type is misplaced; ignored.",
        "Make it the first line of the file.",
    ),
    Rule(
        "xml-outside",
        _W,
        "There is content before or after <robot>; omitted.",
        "Move it into <robot>, or remove it.",
    ),
    Rule(
        "xml-nesting",
        _W,
        "Tags do not match: a missing end tag is added before the first element "
        "that cannot be nested there; an end tag without a start tag is dropped. "
        "Elements that are thereby misplaced are listed with their lines.",
        "Close every element where it ends.",
    ),
    Rule(
        "xml-attribute",
        _W,
        "An attribute is malformed; it is used if its value is unambiguous, otherwise ignored.",
        'Write name="value", and a space between attributes.',
    ),
    Rule(
        "attribute-repeated",
        _W,
        "An attribute is repeated; the first is used.",
        "Remove the others.",
    ),
    Rule(
        "xml-character",
        _W,
        "A character is not allowed: '<' and ']]>' in text are kept, a control "
        "character is replaced, a space after the '<' of a tag is skipped.",
        "Write '&lt;' and ']]&gt;', and remove control characters and the space.",
    ),
    Rule(
        "xml-reference",
        _W,
        "An '&' does not start a valid reference; kept as it is.",
        "Write '&amp;'.",
    ),
    Rule(
        "xml-comment",
        _W,
        "A comment contains a double hyphen.",
        "Write single hyphens inside comments.",
    ),
    Rule(
        "xml-prefix",
        _W,
        "A namespace prefix is not declared; the name is used as written.",
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
        "A name or a number depends on xacro that cannot be expanded, or there is "
        "nothing else in the file.",
        "Provide the files and macros that the message before names, or pass the expanded URDF.",
    ),
    Rule(
        "xacro-ignored",
        _W,
        "The file contains xacro that cannot be expanded; its elements are ignored, as "
        "by other URDF parsers.",
        "Provide what is missing, or pass the expanded URDF.",
    ),
    Rule(
        "xacro-in-urdf",
        _W,
        "The file contains xacro although its name does not end in .xacro; it is "
        "expanded. Other URDF parsers ignore xacro.",
        "Rename the file to .xacro.",
    ),
    Rule(
        "urdf-version",
        _W,
        "The URDF version is unknown.",
        'Write <robot version="1.0">, or omit the version.',
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
        "An attribute requires a later URDF version than the file's; ignored.",
        "Set that version in <robot version=...>.",
    ),
    Rule("element-missing", _E, "A required element is missing.", "Add the element."),
    Rule(
        "element-repeated",
        _W,
        "An element that may occur once is repeated; the first is used.",
        "Remove the others.",
    ),
    Rule(
        "element-incomplete",
        _W,
        "An element lacks a required attribute or child; omitted.",
        "Complete or remove it.",
    ),
    Rule(
        "element-version",
        _N,
        "An element requires a later URDF version than the file's; used nevertheless.",
        "Set that version in <robot version=...>; urdfdom ignores or refuses it.",
    ),
    Rule(
        "text-ignored",
        _N,
        "There is text in an element that has no text content; ignored.",
        "Remove it, or make it a comment.",
    ),
    Rule(
        "element-unknown",
        _N,
        "An element or attribute is not part of URDF; kept as custom data.",
        "Nothing, if it is meant for another tool.",
    ),
    Rule(
        "number-invalid",
        _W,
        "A value that should be a number is not; the default is used.",
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
        "A value that should be a number is not, and there is no default.",
        "Write a plain decimal number.",
    ),
    Rule(
        "number-nonfinite",
        _E,
        "A number is not finite where a finite one is required.",
        "Write a finite number.",
    ),
    Rule(
        "vector-length",
        _W,
        "A vector has too many numbers; the first ones are used.",
        "Write the expected number of values.",
    ),
    Rule(
        "vector-completed",
        _W,
        "A vector is too short but unambiguous: uniform scale, opaque colour.",
        "Write the expected number of values.",
    ),
)
