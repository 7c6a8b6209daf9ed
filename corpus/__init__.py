"""References to robots and corpora, and the sources that they are resolved from."""

from urdf_usd.corpus.resolution import (
    candidate,
    list_corpora,
    resolve_corpora,
    resolve_robot,
    robot_names,
)
from urdf_usd.corpus.robots import (
    GRAMMAR,
    WHOLE_CORPORA,
    Announce,
    Candidate,
    CorpusError,
    Download,
    Origin,
    Reference,
    ReferenceSyntaxError,
    Resolved,
    RobotSource,
    Scheme,
    UnavailableError,
    UnavailableSource,
    UnknownRobotError,
    parse_reference,
)
from urdf_usd.corpus.selection import Selection

__all__ = [
    "GRAMMAR",
    "WHOLE_CORPORA",
    "Announce",
    "Candidate",
    "CorpusError",
    "Download",
    "Origin",
    "Reference",
    "ReferenceSyntaxError",
    "Resolved",
    "RobotSource",
    "Scheme",
    "Selection",
    "UnavailableError",
    "UnavailableSource",
    "UnknownRobotError",
    "candidate",
    "list_corpora",
    "parse_reference",
    "resolve_corpora",
    "resolve_robot",
    "robot_names",
]
