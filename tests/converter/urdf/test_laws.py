"""Invariants of reading: order, spacing, arbitrary text, paths."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from urdf_usd.converter.diagnostics import Diagnostic, SourceError
from urdf_usd.converter.robot.model import Joint, Link, Robot
from urdf_usd.converter.urdf.parse import parse

_FILE = Path(__file__).parents[2] / "data/urdf/oblique.urdf"


def _parts(robot: Robot) -> tuple[str, frozenset[Link], frozenset[Joint]]:
    return robot.name, frozenset(robot.links), frozenset(robot.joints)


def _outcome(content: bytes) -> Robot | tuple[Diagnostic, ...]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "r.urdf")
        file.write_bytes(content)
        try:
            return parse(file).robot
        except SourceError as error:
            return error.diagnostics


def _markup() -> etree._Element:
    parser = etree.XMLParser(remove_comments=True, remove_blank_text=True)
    return etree.parse(_FILE, parser).getroot()


def _shuffled(element: etree._Element, random: Random) -> etree._Element:
    """Copy an element with attributes, children and spacing in random order."""
    attributes = list(element.items())
    random.shuffle(attributes)
    copy = etree.Element(element.tag, dict(attributes))
    children = list(element)
    random.shuffle(children)
    for child in children:
        if random.random() < 0.3:
            copy.append(etree.Comment(' <link name="not"/> '))
        copy.append(_shuffled(child, random))
        copy[-1].tail = random.choice(["", "\n", "\t \r\n"])
    return copy


@given(st.randoms(use_true_random=False))
def test_order_and_spacing_do_not_matter(random: Random) -> None:
    found = _outcome(etree.tostring(_shuffled(_markup(), random)))

    assert not isinstance(found, tuple)
    assert _parts(found) == _parts(parse(_FILE).robot)


@given(
    st.sampled_from(["xyz", "rpy", "value", "ixx", "lower", "effort", "size", "rgba"]),
    st.text(max_size=12),
)
def test_any_attribute_text_gives_a_robot_or_diagnostics(attribute: str, value: str) -> None:
    root = _markup()
    kept = "".join(c for c in value if c in "\t\n\r" or " " <= c <= "\ud7ff")
    for element in root.iter():
        if element.get(attribute) is not None:
            element.set(attribute, kept)

    found = _outcome(etree.tostring(root))

    if isinstance(found, tuple):
        assert all(diagnostic.location for diagnostic in found)
    else:
        assert len(found.links) == 4


@given(st.data())
def test_any_damage_gives_a_robot_or_diagnostics(data: st.DataObject) -> None:
    content = _FILE.read_bytes()
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, min(start + 40, len(content))))

    found = _outcome(content[:start] + data.draw(st.binary(max_size=8)) + content[end:])

    if isinstance(found, tuple):
        assert found
        assert all(diagnostic.location for diagnostic in found)


def test_reported_path_is_the_given_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(_FILE.parent)

    location = parse("oblique.urdf").robot.links[0].location

    assert str(location) == "oblique.urdf:5:3"
