"""Where robots come from: references, and the sources that they lead to."""

from corpus.references import GRAMMAR, WHOLE_CORPORA, Reference, Scheme, parse_reference
from corpus.resolution import Resolved, resolve_corpora, resolve_robot, robot_names
from corpus.robots import (
    Announce,
    CorpusError,
    ReferenceSyntaxError,
    RobotSource,
    UnavailableError,
    UnavailableSource,
    UnknownRobotError,
)

__all__ = [
    "GRAMMAR",
    "WHOLE_CORPORA",
    "Announce",
    "CorpusError",
    "Reference",
    "ReferenceSyntaxError",
    "Resolved",
    "RobotSource",
    "Scheme",
    "UnavailableError",
    "UnavailableSource",
    "UnknownRobotError",
    "parse_reference",
    "resolve_corpora",
    "resolve_robot",
    "robot_names",
]
