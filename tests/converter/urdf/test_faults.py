"""Repairs do not change robots: every fault on every well-formed robot."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.parsers import expat

import pybullet_data
import pytest
from msgspec import Struct

from tests.converter.urdf.element_faults import ELEMENT_FAULTS, NO_REPAIRS
from tests.converter.urdf.faults import FAULTS, Document, Pair
from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError
from urdf_usd.converter.diagnostics.rules import RULES, SUBJECTS, Severity
from urdf_usd.converter.robot.model import CustomAttribute
from urdf_usd.converter.urdf.markup import Markup
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.converter.urdf.parse import parse_markup as build
from urdf_usd.converter.urdf.xml.elements import Element
from urdf_usd.converter.urdf.xml.repairs import XmlRepair
from urdf_usd.converter.urdf.xml.source import parse_markup
from urdf_usd.corpus import RobotSource, resolve_corpora

_OURS = Path(__file__).parents[2] / "data/urdf"
_BULLET = Path(pybullet_data.getDataPath())
_SAMPLE = (
    *sorted(_OURS.glob("*.urdf")),
    *(
        _BULLET / name
        for name in (
            "r2d2.urdf",
            "racecar/racecar.urdf",
            "franka_panda/panda.urdf",
        )
    ),
)
# Folder with a copy of the repositories of robot_descriptions, if any.
_MIRROR = "URDF_USD_MIRROR"


def _plain(value: object) -> object:
    """Return a value without locations and namespace declarations."""
    if isinstance(value, Location):
        return None
    if isinstance(value, tuple):
        return tuple(_plain(one) for one in value if not _declares(one))
    if isinstance(value, Struct):
        parts = (getattr(value, name) for name in value.__struct_fields__)
        return (type(value).__name__, *map(_plain, parts))
    return value


def _declares(value: object) -> bool:
    return isinstance(value, CustomAttribute) and value.name.startswith("xmlns")


@dataclass(frozen=True)
class _Reading:
    """The result of reading bytes.

    Attributes:
        file: Path of the bytes.
        markup: Root element; None if there is none.
        diagnostics: Diagnostics of the markup.
    """

    file: Path
    markup: Element | None
    diagnostics: tuple[Diagnostic, ...]

    def robot(self) -> tuple[object, tuple[Diagnostic, ...]]:
        """Return the robot, or why it is refused; and the diagnostics."""
        if self.markup is None:
            return self.diagnostics, ()
        try:
            parsed = build(Markup(self.markup), self.file)
        except SourceError as error:
            return tuple((d.rule, d.message) for d in error.diagnostics), ()
        return _plain(parsed.robot), parsed.diagnostics

    def is_like(self, other: _Reading) -> bool:
        """Return whether the robots are equal; elements are compared first."""
        if self.markup and other.markup and self.markup.same_text(other.markup):
            return True
        return self.robot()[0] == other.robot()[0]


def _read(data: bytes, file: Path) -> _Reading:
    try:
        notes: list[Diagnostic] = []
        return _Reading(file, parse_markup(data, str(file), notes), tuple(notes))
    except SourceError as error:
        return _Reading(file, None, error.diagnostics)


def _well_formed(data: bytes) -> bool:
    try:
        expat.ParserCreate().Parse(data, True)
    except expat.ExpatError:
        return False
    return True


def _differences(file: Path, pairs: Iterator[Pair], rule: str, message: str = "") -> list[str]:
    """Return the faults of one kind that change the robot or are not reported."""
    found = []
    # The text of messages is not compared.
    reported_as = re.compile(".*".join(map(re.escape, re.split(r"\{\w+\}", message))))
    clean: tuple[bytes, _Reading] | None = None
    for number, pair in enumerate(pairs):
        if pair.blemished == pair.clean:
            continue
        if clean is None or pair.clean != clean[0]:
            clean = pair.clean, _read(pair.clean, file)
        reading = _read(pair.blemished, file)
        if not reading.is_like(clean[1]):
            found.append(f"{file}: {rule} ({message}), {number} changes the robot")
        reported = reading.diagnostics if message else reading.robot()[1]
        if not any(d.rule == rule and reported_as.match(d.message) for d in reported):
            found.append(f"{file}: {rule} ({message}), {number} is not reported")
    return found


def _read_whole(file: Path) -> tuple[Diagnostic, ...]:
    """Return all diagnostics of a file."""
    try:
        return parse(file).diagnostics
    except SourceError as error:
        return error.diagnostics


def _all_differences(file: Path) -> list[str]:
    document = Document(file.read_bytes())
    found = []
    for repair, fault in FAULTS.items():
        pairs = fault(document)
        found += _differences(file, pairs, repair.rule, repair.message)
    if any(d.severity is Severity.ERROR for d in _read_whole(file)):
        return found
    for rule, element_fault in ELEMENT_FAULTS.items():
        found += _differences(file, element_fault(document), rule)
    return found


@cache
def _corpus() -> tuple[Path, ...]:
    """Return the well-formed URDFs of all available corpora."""
    texts = ["pybullet", "erd"]
    if os.environ.get(_MIRROR):
        texts.append(f"dir:{os.environ[_MIRROR]}")
    robots = resolve_corpora(texts)
    files = {robot.path for robot in robots if isinstance(robot, RobotSource)}
    urdfs = sorted(file for file in files if file.suffix == ".urdf")
    return tuple(file for file in urdfs if _well_formed(file.read_bytes()))


def test_every_repair_of_xml_has_a_fault() -> None:
    """A new repair needs one."""
    assert set(FAULTS) == set(XmlRepair)


def test_every_rule_of_a_repair_has_a_fault_or_a_reason() -> None:
    """Warnings on text and on the robot's tree name the repair."""
    repairs = {
        rule.id
        for rule in (*SUBJECTS["Files, XML and values"], *SUBJECTS["Links, joints and the tree"])
        if rule.severity is Severity.WARNING
    }
    of_xml = {repair.rule for repair in XmlRepair}

    assert of_xml <= repairs
    assert of_xml.isdisjoint(ELEMENT_FAULTS)
    assert set(ELEMENT_FAULTS) | set(NO_REPAIRS) | of_xml == repairs
    assert set(ELEMENT_FAULTS).isdisjoint(NO_REPAIRS)
    assert all(NO_REPAIRS.values())


def test_rules_of_xml_are_used_through_the_table_only() -> None:
    """Otherwise the table would be incomplete."""
    of_xml = {repair.rule for repair in XmlRepair}
    folder = Path(__file__).parents[3] / "converter/urdf"
    citing = {
        (file.name, rule)
        for file in folder.rglob("*.py")
        for rule in of_xml
        if file != folder / "xml/repairs.py" and f'"{rule}"' in file.read_text("utf-8")
    }

    # Later diagnostics about the same elements are not repairs.
    assert citing == {("recovery.py", "xml-nesting")}
    assert of_xml <= set(RULES)


@pytest.mark.parametrize("file", _SAMPLE, ids=lambda file: file.stem)
def test_faults_do_not_change_a_robot(file: Path) -> None:
    """Links, joints, masses, shapes and custom data are equal."""
    assert _all_differences(file) == []


@pytest.mark.corpus
def test_faults_do_not_change_robots_of_the_corpora() -> None:
    """All well-formed files; those of the mirror if there is one."""
    found = [text for file in _corpus() for text in _all_differences(file)]

    assert found == []
    assert len(_corpus()) > 150
