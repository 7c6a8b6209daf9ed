"""The grammar of references to robots and corpora.

Parsing accesses no file, package or network, so that an invalid reference is refused
before any work starts.
"""

from __future__ import annotations

import difflib
import re
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from urdf_usd.corpus.robots import ReferenceSyntaxError

GRAMMAR = """\
A robot is
  robot.urdf, path/to/robot.xacro  a file (file:<path> for any other suffix)
  -                                a URDF on standard input
  rd:<module>                      robot_descriptions, e.g. rd:panda_description
  erd:<name>                       example-robot-data, e.g. erd:panda
  pybullet:<path>                  pybullet_data, e.g. pybullet:kuka_iiwa/model.urdf
  suite:<chapter>/<case>           the feature suite, e.g. suite:joints/axis-oblique
A corpus is a robot, or
  pybullet, rd, erd                all robots of that source
  suite:, suite:<chapter>          cases of the feature suite, see docs/suite.md
  dir:<folder>                     every .urdf and .xacro below a folder
  list:<file.toml>                 the robots listed in a file, see docs/corpora.md"""


class Scheme(StrEnum):
    """Kind of source."""

    FILE = "file"
    FOLDER = "dir"
    LIST = "list"
    PYBULLET = "pybullet"
    DESCRIPTIONS = "rd"
    EXAMPLES = "erd"
    SUITE = "suite"


_OF_MANY = frozenset({Scheme.FOLDER, Scheme.LIST})
# The target is a path, which may be absolute.
_OF_PATHS = _OF_MANY | {Scheme.FILE}
WHOLE_CORPORA = (Scheme.PYBULLET, Scheme.DESCRIPTIONS, Scheme.EXAMPLES, Scheme.SUITE)

# Versions of the feature suite.
_VERSION = re.compile(r"\d{4}\.\d{2}")
# At least two characters: one letter before a colon is a Windows drive.
_PREFIX = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+._-]+):(?P<target>.*)", re.DOTALL)


class Reference(Struct, frozen=True):
    """A parsed reference; ``target`` is None for all robots of a source."""

    scheme: Scheme
    target: str | None

    @property
    def whole(self) -> bool:
        """Whether it is a corpus rather than one robot."""
        if self.target is None or self.scheme in _OF_MANY:
            return True
        if self.scheme is not Scheme.SUITE:
            return False
        _, chapter, case = suite_parts(self.target)
        return not (chapter and case)

    @property
    def portable(self) -> str:
        """The reference for records: only the last part of an absolute path."""
        if self.scheme not in _OF_PATHS or self.target is None:
            return str(self)
        return f"{self.scheme}:{portable_path(self.target)}"

    def __str__(self) -> str:
        return self.scheme if self.target is None else f"{self.scheme}:{self.target}"


def suite_parts(target: str) -> tuple[str | None, str, str]:
    """Split a target of the feature suite into version, chapter and case.

    Parts that it does not state are None, or empty.
    """
    version: str | None = None
    first, _, rest = target.strip().strip("/").partition("/")
    if _VERSION.fullmatch(first):
        version = first
        first, _, rest = rest.partition("/")
    return version, first, rest


def portable_path(target: str) -> str:
    """Return a path for records: only the last part of an absolute path."""
    path = Path(target)
    return path.name if path.is_absolute() else path.as_posix()


def parse_reference(text: str) -> Reference:
    """Parse a reference to a robot or a corpus.

    Raises:
        ReferenceSyntaxError: It has none of the known forms; the message lists them.
    """
    if text in WHOLE_CORPORA:
        return Reference(Scheme(text), None)
    match = _PREFIX.fullmatch(text)
    if match is None:
        return _parse_path(text)
    scheme, target = match["scheme"], match["target"]
    if scheme not in tuple(Scheme):
        raise _syntax_error(text, f"{scheme!r} is not a source", _guess(scheme))
    if target.strip():
        return Reference(Scheme(scheme), target)
    if scheme == Scheme.SUITE:
        return Reference(Scheme.SUITE, None)
    hint = f"write {scheme!r} for all of it" if scheme in WHOLE_CORPORA else None
    raise _syntax_error(text, "nothing follows the colon", hint)


def _parse_path(text: str) -> Reference:
    """Parse a path, which must have a suffix or a separator."""
    if not text.strip():
        raise _syntax_error(text, "it is empty", None)
    name = re.split(r"[/\\]", text)[-1]
    if text != "-" and name == text and "." not in name.strip("."):
        raise _syntax_error(text, "it is neither a file nor a corpus", _guess(text))
    if name.lower().endswith(".toml"):
        raise _syntax_error(text, "a TOML file is no robot", f"write 'list:{text}'")
    return Reference(Scheme.FILE, text)


def _guess(word: str) -> str | None:
    close = difflib.get_close_matches(word.lower(), [str(s) for s in Scheme], n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else None


def _syntax_error(text: str, problem: str, hint: str | None) -> ReferenceSyntaxError:
    reason = f"{problem}; {hint}" if hint else f"{problem}."
    return ReferenceSyntaxError(f"cannot resolve {text!r}: {reason}\n{GRAMMAR}")
