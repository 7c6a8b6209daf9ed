"""The cases of the feature suite, read."""

from __future__ import annotations

from dataclasses import dataclass

from urdf_usd.corpus import RobotSource, resolve_corpora
from urdf_usd.reports.records.suite_case import Case, read_case


@dataclass(frozen=True)
class SuiteRobot:
    name: str  # chapter and name
    source: RobotSource
    case: Case


def all_cases() -> tuple[SuiteRobot, ...]:
    found = []
    for source in resolve_corpora(["suite"]):
        assert isinstance(source, RobotSource)
        assert source.case is not None
        name = f"{source.case.chapter}/{source.case.name}"
        found.append(SuiteRobot(name, source, read_case(source.case.text)))
    return tuple(found)
