"""What can be wrong with xacro, packages, and the place of files."""

from __future__ import annotations

from urdf_usd.converter.diagnostics.rules.rule import Rule, Severity

_E, _W = Severity.ERROR, Severity.WARNING

FILES_RULES = (
    Rule(
        "file-size",
        _E,
        "The file is larger than any robot needs: more than 64 MiB, than 500000 "
        "elements and attributes, or than 1048576 characters in one value.",
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
        "A file that the xacro file includes or loads is not there.",
        "Put it there; give the folders of packages with --package NAME=PATH.",
    ),
    Rule(
        "xacro-warning",
        _W,
        "xacro warned while it expanded the file.",
        "See the message.",
    ),
    Rule(
        "xacro-argument-unused",
        _W,
        "An argument is given that the xacro file never asks for; ignored.",
        "Correct its name, or leave it out.",
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
        "A reference to a file is malformed, with a backslash or a slash too many.",
        "Write package://NAME/path or a path with forward slashes.",
    ),
    Rule(
        "file-letter-case",
        _W,
        "A file is called like its reference but for upper and lower case; it is used.",
        "Write the name as the file has it: many systems tell the cases apart.",
    ),
    Rule(
        "file-outside",
        _W,
        "A file lies outside the robot's own folders; it is used.",
        "Keep it in the robot's package, or pass its folder as --package NAME=PATH.",
    ),
)
