"""Where robots come from: references, and the sources that they lead to."""

from corpus.references import GRAMMAR, Reference, parse_reference
from corpus.resolution import Resolved, resolve_corpora, resolve_robot
from corpus.robots import (
    Announce,
    CorpusError,
    ReferenceSyntaxError,
    RobotSource,
    UnavailableError,
    UnavailableSource,
)

__all__ = [
    "GRAMMAR",
    "Announce",
    "CorpusError",
    "Reference",
    "ReferenceSyntaxError",
    "Resolved",
    "RobotSource",
    "UnavailableError",
    "UnavailableSource",
    "parse_reference",
    "resolve_corpora",
    "resolve_robot",
]
