"""Known and accepted failures, in a file under review.

The file is TOML: ``[[expected]]`` tables, sorted by robot, check and converter.
Rewriting it keeps reasons, owners and the comment at its beginning; comments further
down are lost.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from itertools import takewhile
from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Struct, structs

from urdf_usd.conformance.converters.candidates import OURS
from urdf_usd.corpus import CorpusError
from urdf_usd.corpus.toml_tables import Text, read_tables
from urdf_usd.reports.records.record import Grade, Verdict

# Robot, check, and name of the converter in the run.
Place: TypeAlias = tuple[str, str, str]
# Address of a web page.
Url: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^https?://\S+$")]

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
_PASSED = {Grade.EXACT, Grade.NOT_APPLICABLE}
_GRADES = tuple(grade.value for grade in Grade if grade not in _PASSED)
_VERDICTS = tuple(verdict.value for verdict in Verdict if not verdict.agrees)


class Expectation(Struct, frozen=True):
    """A failure that is known, as the file has it."""

    robot: Text
    check: Text  # or ``verdict``
    grade: Text  # of the check, or the verdict of a robot without checks
    reason: Text
    owner: Text  # person or team
    converter: Text = OURS
    url: Url | None = None  # where it is tracked
    expires: date | None = None  # last day on which it is accepted

    @property
    def place(self) -> Place:
        return self.robot, self.check, self.converter

    def has_expired(self, today: date | None = None) -> bool:
        """Whether its last day is past; today is by default the current day, in UTC."""
        return self.expires is not None and self.expires < (today or datetime.now(UTC).date())

    def __str__(self) -> str:
        """Format it for messages."""
        by = "" if self.converter == OURS else f" by {self.converter}"
        return f"{self.robot} {self.check}{by}"


class Baseline(Struct, frozen=True):
    """All known failures, sorted by robot, check and converter, each once."""

    expectations: tuple[Expectation, ...] = ()
    header: str = _HEADER
    unexplained: tuple[str, ...] = ()  # warnings about those without reason or owner

    def holding(self, expectations: Iterable[Expectation]) -> Baseline:
        ordered = sorted(expectations, key=lambda one: one.place)
        return structs.replace(self, expectations=tuple(ordered))

    def about(self, converters: Iterable[str]) -> dict[Place, Expectation]:
        """Return the expectations for some converters, by key."""
        meant = frozenset(converters)
        return {one.place: one for one in self.expectations if one.converter in meant}

    def as_toml(self) -> str:
        tables = ("".join(f"{line}\n" for line in _lines(one)) for one in self.expectations)
        return "\n".join((self.header, *tables))


def _lines(expectation: Expectation) -> Iterator[str]:
    yield f"[[{_TABLE}]]"
    for key in ("converter", "robot", "check", "grade", "reason", "owner", "url"):
        value = getattr(expectation, key)
        if value is not None and (key, value) != ("converter", OURS):
            # A TOML string requires one more escape than JSON.
            text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
            yield f"{key} = {text}"
    if expectation.expires:
        yield f"expires = {expectation.expires}"


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        CorpusError: The file is no baseline; the message lists all problems with the lines of
            their tables.
    """
    by_place: dict[Place, Expectation] = {}
    problems: list[str] = []
    warnings: list[str] = []
    for location, expectation in read_tables(path, _TABLE, Expectation):
        if problem := _problem(expectation):
            problems.append(f"{location}: {problem}")
        elif expectation.place in by_place:
            problems.append(f"{location}: {expectation} is expected twice")
        by_place[expectation.place] = expectation
        for key, placeholder in (("reason", REASON), ("owner", OWNER)):
            if getattr(expectation, key) == placeholder:
                warnings.append(f"{location}: warning: the {key} of {expectation} is missing")
    if problems:
        raise CorpusError("\n".join(problems))
    lines = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
    header = "".join(takewhile(lambda line: line.startswith("#"), lines))
    baseline = Baseline(header=header or _HEADER, unexplained=tuple(warnings))
    return baseline.holding(by_place.values())


def _problem(expectation: Expectation) -> str:
    # They import numpy, which the names of gates on the command line do not need.
    from urdf_usd.conformance.checks.catalogue import (
        CHECKS,
        ROUND_TRIP_CHECKS,
        SIMULATION_CHECKS,
    )

    known = [VERDICT, *(one.id for one in (*CHECKS, *SIMULATION_CHECKS, *ROUND_TRIP_CHECKS))]
    check, grade = expectation.check, expectation.grade
    if check not in known:
        close = difflib.get_close_matches(check, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        return f"there is no check {check!r}{hint}"
    grades = _VERDICTS if check == VERDICT else _GRADES
    return "" if grade in grades else f"{grade!r} is none of {', '.join(grades)}"
