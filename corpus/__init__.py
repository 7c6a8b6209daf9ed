"""References to robots and corpora, and the sources that they are resolved from."""

from urdf_usd.corpus.resolution import (
    candidate,
    list_corpora,
    resolve_corpora,
    resolve_robot,
    robot_names,
)
from urdf_usd.corpus.robots import (
    WHOLE_CORPORA,
    Candidate,
    CorpusError,
    Download,
    ReferenceSyntaxError,
    Resolved,
    RobotSource,
    Selection,
    UnavailableError,
    UnavailableSource,
    UnknownRobotError,
    parse_reference,
)

__all__ = [
    "WHOLE_CORPORA",
    "Candidate",
    "CorpusError",
    "Download",
    "ReferenceSyntaxError",
    "Resolved",
    "RobotSource",
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
