"""Known and accepted failures, in a file under review.

The file is TOML: ``[[expected]]`` tables, sorted by robot, check and converter.
Rewriting it keeps reasons, owners and the comment at its beginning; comments further
down are lost.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Struct, structs

from urdf_usd.conformance.converters.candidates import OURS
from urdf_usd.corpus.toml_tables import Table, TableError, Text, read_tables
from urdf_usd.reports.records.record import Grade, Verdict

# Robot, check, and name of the converter in the run.
Place: TypeAlias = tuple[str, str, str]

# In place of a check, for a robot without checks.
VERDICT = "verdict"
# Placeholders in a rewritten file.
REASON = "to be explained"
OWNER = "to be named"
_TABLE = "expected"
_HEADER = """\
# Known failures, each with its reason and owner.
# `urdf-usd run --baseline THIS --update-baseline` rewrites all below this comment.
"""


Url: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^https?://\S+$")]
"""Address of a web page."""


class _Row(msgspec.Struct, frozen=True):
    robot: Text
    check: Text
    grade: Text
    reason: Text
    owner: Text
    converter: Text = OURS
    url: Url | None = None
    expires: date | None = None


_PASSED = {Grade.EXACT, Grade.NOT_APPLICABLE}
_GRADES = tuple(g.value for g in Grade if g not in _PASSED)
_VERDICTS = tuple(verdict.value for verdict in Verdict if not verdict.agrees)


class Expectation(Struct, frozen=True):
    """A failure that is known.

    Attributes:
        robot: Identifier of the robot.
        check: Identifier of the check, or ``verdict``.
        grade: Grade of the check, or the verdict of a robot without checks.
        reason: Why it is accepted.
        owner: Person or team responsible for it.
        converter: Name of the converter in the run.
        url: Where it is tracked, such as an issue.
        expires: Last day on which it is accepted; None for no end.
    """

    robot: str
    check: str
    grade: str
    reason: str
    owner: str
    converter: str = OURS
    url: str | None = None
    expires: date | None = None

    @property
    def place(self) -> Place:
        """Its key."""
        return self.robot, self.check, self.converter

    def has_expired(self, today: date | None = None) -> bool:
        """Whether its last day is past.

        Args:
            today: By default the current day, in UTC.
        """
        today = today or datetime.now(UTC).date()
        return self.expires is not None and self.expires < today

    def __str__(self) -> str:
        """Format it for messages."""
        by = "" if self.converter == OURS else f" by {self.converter}"
        return f"{self.robot} {self.check}{by}"

    @classmethod
    def of(cls, place: Place, grade: str, known: Mapping[Place, Expectation]) -> Expectation:
        """Make an expectation, with the reason and owner of an earlier one."""
        former = known.get(place)
        if former is None:
            robot, check, converter = place
            return cls(robot, check, grade, REASON, OWNER, converter)
        return structs.replace(former, grade=grade)


class Baseline(Struct, frozen=True):
    """All known failures.

    Attributes:
        expectations: Sorted by robot, check and converter, each once.
        header: Comment at the beginning of the file.
        unexplained: ``file:line: warning`` of those without reason or owner.
    """

    expectations: tuple[Expectation, ...] = ()
    header: str = _HEADER
    unexplained: tuple[str, ...] = ()

    def holding(self, expectations: Iterable[Expectation]) -> Baseline:
        """Return a baseline with other expectations."""
        return structs.replace(
            self, expectations=tuple(sorted(expectations, key=lambda one: one.place))
        )

    def about(self, converters: Iterable[str]) -> dict[Place, Expectation]:
        """Return the expectations for some converters, by key."""
        meant = frozenset(converters)
        return {one.place: one for one in self.expectations if one.converter in meant}

    def as_toml(self) -> str:
        """Return the text of the file."""
        tables = (
            f"[[{_TABLE}]]\n"
            f"{_converter(one)}"
            f"robot = {_quoted(one.robot)}\n"
            f"check = {_quoted(one.check)}\n"
            f"grade = {_quoted(one.grade)}\n"
            f"reason = {_quoted(one.reason)}\n"
            f"owner = {_quoted(one.owner)}\n"
            f"{_optional(one)}"
            for one in self.expectations
        )
        return "\n".join((self.header, *tables))


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        TableError: The file is no baseline; the message lists all problems with their
            lines.
    """
    by_place: dict[Place, Expectation] = {}
    problems: list[str] = []
    warnings: list[str] = []
    for table in read_tables(path, _TABLE, _Row):
        expectation = Expectation(*msgspec.structs.astuple(table.values))
        problem = _problem(expectation)
        if problem:
            key, message = problem
            problems.append(f"{table.location(key)}: {message}")
        elif expectation.place in by_place:
            problems.append(f"{table.location()}: {expectation} is expected twice")
        by_place[expectation.place] = expectation
        warnings += _unexplained(expectation, table)
    if problems:
        raise TableError("\n".join(problems))
    header = _leading_comment(path.read_text(encoding="utf-8-sig"))
    baseline = Baseline(header=header or _HEADER, unexplained=tuple(warnings))
    return baseline.holding(by_place.values())


def _problem(expectation: Expectation) -> tuple[str, str] | None:
    """Return which key is wrong, and why."""
    # They import numpy, which the names of gates on the command line do not need.
    from urdf_usd.conformance.checks.catalogue import (
        CHECKS,
        ROUND_TRIP_CHECKS,
        SIMULATION_CHECKS,
    )

    known = [
        VERDICT,
        *(check.id for check in (*CHECKS, *SIMULATION_CHECKS, *ROUND_TRIP_CHECKS)),
    ]
    check, grade = expectation.check, expectation.grade
    if check not in known:
        close = difflib.get_close_matches(check, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        return "check", f"there is no check {check!r}{hint}"
    grades = _VERDICTS if check == VERDICT else _GRADES
    if grade not in grades:
        return "grade", f"{grade!r} is none of {', '.join(grades)}"
    return None


def _unexplained(expectation: Expectation, table: Table[_Row]) -> Iterable[str]:
    for key, value, placeholder in (
        ("reason", expectation.reason, REASON),
        ("owner", expectation.owner, OWNER),
    ):
        if value == placeholder:
            message = f"the {key} of {expectation} is missing"
            yield f"{table.location(key)}: warning: {message}"


def _leading_comment(text: str) -> str:
    lines = text.splitlines()
    count = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return "".join(f"{line}\n" for line in lines[:count])


def _converter(expectation: Expectation) -> str:
    """Name the converter unless it is ours."""
    name = expectation.converter
    return "" if name == OURS else f"converter = {_quoted(name)}\n"


def _optional(expectation: Expectation) -> str:
    url, expires = expectation.url, expectation.expires
    return (f"url = {_quoted(url)}\n" if url else "") + (
        f"expires = {expires}\n" if expires else ""
    )


def _quoted(text: str) -> str:
    """Write a basic string; TOML requires one more escape than JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
