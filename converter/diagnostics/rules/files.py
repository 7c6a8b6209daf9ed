"""Rules about xacro, packages, and file references."""

from __future__ import annotations

from urdf_usd.converter.diagnostics.rules.rule import Rule, Severity

_E, _W = Severity.ERROR, Severity.WARNING

FILES_RULES = (
    Rule(
        "file-size",
        _E,
        "The file is larger than 64 MiB, has more than 500000 elements and "
        "attributes, or a value longer than 1048576 characters.",
        "Split the scene into robots.",
    ),
    Rule(
        "xacro-error",
        _E,
        "The xacro file cannot be expanded.",
        "Correct it; give arguments with --arg NAME:=VALUE and the folders of packages "
        "with --package NAME=PATH.",
    ),
    Rule(
        "xacro-file-missing",
        _E,
        "A file that the xacro file includes or loads does not exist.",
        "Add the file; give the folders of packages with --package NAME=PATH.",
    ),
    Rule(
        "xacro-part",
        _E,
        "The xacro file defines macros, properties or arguments, and no links: it is "
        "part of another file.",
        "Pass the file that includes it.",
    ),
    Rule(
        "xacro-warning",
        _W,
        "xacro issued a warning during expansion.",
        "See the message.",
    ),
    Rule(
        "xacro-environment",
        _E,
        "The xacro file reads an environment variable that is not allowed.",
        "Pass --env NAME if its value may become part of the robot.",
    ),
    Rule(
        "xacro-environment-default",
        _W,
        "The xacro file reads an environment variable that is not allowed; its default is used.",
        "Pass --env NAME if its value may become part of the robot.",
    ),
    Rule(
        "xacro-argument-unused",
        _W,
        "An argument is given that the xacro file never uses; ignored.",
        "Correct its name, or omit it.",
    ),
    Rule(
        "package-missing",
        _W,
        "A package is not found; $(find NAME) is replaced by package://NAME.",
        "Pass --package NAME=PATH.",
    ),
    Rule(
        "file-reference",
        _W,
        "A file reference is malformed: backslashes, or too many slashes.",
        "Write package://NAME/path or a path with forward slashes.",
    ),
    Rule(
        "file-letter-case",
        _W,
        "A file reference differs from the file name in upper and lower case; the file is used.",
        "Use the case of the file name: many file systems are case-sensitive.",
    ),
    Rule(
        "file-outside",
        _W,
        "A file is outside the robot's own folders; it is used.",
        "Move it into the robot's package, or pass its folder as --package NAME=PATH.",
    ),
)
