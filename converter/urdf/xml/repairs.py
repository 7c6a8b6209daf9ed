"""The repairs of malformed XML.

Each repair cites a rule. A test checks for each that it does not change the robot.
"""

from __future__ import annotations

from enum import Enum

from urdf_usd.converter.diagnostics import Diagnostic, Location


class XmlRepair(Enum):
    """A repair, with its rule and its message.

    Attributes:
        rule: Identifier of the rule that is cited.
        message: Template of :meth:`str.format`.
    """

    VERSION = "xml-version", "XML version {version} does not exist; read as 1.0"
    ENCODING_NAME = "xml-encoding", "the encoding is not {declared}; read as {used}"
    ENCODING_BYTES = "xml-encoding", "the bytes are not {declared}; read as {used}"
    DECLARATION_LATE = (
        "xml-declaration",
        "the XML declaration is not at the start; ignored",
    )
    DECLARATION_MALFORMED = (
        "xml-declaration",
        "the XML declaration is malformed; ignored",
    )
    DOCUMENT_TYPE = (
        "xml-declaration",
        "a document type has its place before the root element, once; ignored",
    )
    INSTRUCTION = (
        "xml-character",
        "'<?' begins no processing instruction; ignored up to '?>'",
    )
    COMMENT = "xml-comment", "a comment holds a double hyphen"
    TAG_BLANK = (
        "xml-character",
        "there is a blank between '<' and {tag}; read as <{tag}>",
    )
    TAG_CHARACTER = "xml-character", "'<' begins no tag; kept"
    VALUE_CHARACTER = "xml-character", "'<' in {subject} should be '&lt;'; kept"
    SECTION_END = "xml-character", "']]>' in {subject} should be ']]&gt;'; kept"
    CHARACTER = (
        "xml-character",
        "a character in {subject} is not allowed in XML; {outcome}",
    )
    REFERENCE = (
        "xml-reference",
        "'&' in {subject} begins no reference; kept as it is",
    )
    ATTRIBUTE_STRAY = "xml-attribute", "{text} in <{tag}> is no attribute; ignored"
    ATTRIBUTE_NAME = "xml-attribute", "{subject} has no valid name; ignored"
    ATTRIBUTE_VALUE = "xml-attribute", "{subject} has no value; ignored"
    ATTRIBUTE_QUOTES = "xml-attribute", "the value of {subject} has no quotes"
    ATTRIBUTE_SPACE = "xml-attribute", "there is no space after {subject}"
    ATTRIBUTE_REPEATED = (
        "attribute-repeated",
        "{subject} is repeated; the first is used",
    )
    END_TAG = "xml-attribute", "</{tag}> holds more than its name; ignored"
    PREFIX = "xml-prefix", "namespace prefix {prefix} is not declared"
    OUTSIDE_ELEMENT = "xml-outside", "{element} lies outside <{root}>; left out{more}"
    OUTSIDE_TEXT = "xml-outside", "there is text outside <{root}>; left out"
    END_ADDED = "xml-nesting", "<{tag}> is not closed; ended before {before}"
    END_MISSPELT = "xml-nesting", "</{tag}> is read as the end of <{open_tag}>"
    END_DROPPED = "xml-nesting", "</{tag}> ends nothing; ignored"

    def __init__(self, rule: str, message: str) -> None:
        self.rule = rule
        self.message = message

    def at(self, place: Location, **words: str) -> Diagnostic:
        """Return the diagnostic of a repair.

        Args:
            place: Its location.
            words: Values of the message's fields.
        """
        return Diagnostic(self.rule, self.message.format(**words), place)
