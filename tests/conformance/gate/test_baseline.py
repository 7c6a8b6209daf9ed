"""Files of known failures."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.conformance.gate.baseline import (
    OWNER,
    REASON,
    Baseline,
    Expectation,
    read_baseline,
)
from urdf_usd.corpus import CorpusError

_ENTRY = """[[expected]]
robot = "arm"
check = "mass.link.mass"
grade = "fails"
reason = "upstream says grams"
owner = "ada"
"""


def _read(tmp_path: Path, text: str) -> Baseline:
    file = tmp_path / "known.toml"
    file.write_text(text, encoding="utf-8")
    return read_baseline(file)


def test_baseline_is_read_and_written(tmp_path: Path) -> None:
    entry = f'{_ENTRY}url = "https://example.org/1"\nexpires = 2026-12-31\n'
    baseline = _read(tmp_path, f"# Ours.\n# Reviewed.\n\n{entry}")

    words = "arm", "mass.link.mass", "fails", "upstream says grams", "ada"
    (expectation,) = baseline.expectations
    assert expectation == Expectation(
        *words, url="https://example.org/1", expires=date(2026, 12, 31)
    )
    assert baseline.header == "# Ours.\n# Reviewed.\n"
    assert baseline.unexplained == ()
    assert baseline.as_toml().endswith(entry)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            'reason = "upstream says grams"\n',
            "",
            "known.toml:1: Object missing required field `reason`",
        ),
        ('owner = "ada"\n', "", "known.toml:1: Object missing required field `owner`"),
        ("upstream says grams", " ", "known.toml:1: Expected `str` matching"),
        (
            "mass.link.mass",
            "mass.link.mas",
            "known.toml:1: there is no check 'mass.link.mas'; did",
        ),
        ('"fails"', '"exact"', "known.toml:1: 'exact' is none of close, fails"),
        ('"fails"', '"crashed"', "known.toml:1: 'crashed' is none of"),
        ("robot", "robots", "known.toml:1: 'robots' is not known here; close to it: robot"),
        ("[[expected]]", "[[expect]]", "known.toml: it has 'expect'"),
        ('"ada"', '"ada"\nexpires = "soon"', "known.toml:1: Invalid RFC3339"),
        ('"ada"', '"ada"\nexpires = 2026-12-31T10:00:00Z', "known.toml:1: Expected `date | null`"),
        (
            '"ada"',
            '"ada"\nurl = "javascript:alert(1)"',
            "known.toml:1: Expected `str` matching regex",
        ),
        (_ENTRY, f"{_ENTRY}\n{_ENTRY}", "known.toml:8: arm mass.link.mass is expected twice"),
        ('"ada"', "ada", "known.toml: Invalid value (at line 6, column 9)"),
    ],
)
def test_invalid_baseline_is_refused_with_its_line(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    with pytest.raises(CorpusError) as refusal:
        _read(tmp_path, _ENTRY.replace(before, after))

    assert message in str(refusal.value)


def test_entry_without_a_converter_applies_to_the_default(tmp_path: Path) -> None:
    """Entries of two converters for the same failure are no duplicates."""
    theirs = _ENTRY.replace("[[expected]]", '[[expected]]\nconverter = "peer"')

    baseline = _read(tmp_path, f"{theirs}\n{_ENTRY}")

    assert [one.converter for one in baseline.expectations] == ["peer", "urdf-usd"]
    written = baseline.as_toml().partition("\n\n")[2]
    assert written == f"{theirs}\n{_ENTRY}"
    assert list(baseline.about(["peer"])) == [("arm", "mass.link.mass", "peer")]


def test_entry_with_a_placeholder_reason_gives_a_warning(tmp_path: Path) -> None:
    baseline = Baseline().holding([Expectation("arm", "verdict", "crashed", REASON, OWNER)])

    read = _read(tmp_path, baseline.as_toml())

    assert read.expectations == baseline.expectations
    assert [warning.partition("known.toml:")[2] for warning in read.unexplained] == [
        "4: warning: the reason of arm verdict is missing",
        "4: warning: the owner of arm verdict is missing",
    ]


_texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
    str.strip
)


@given(st.lists(st.tuples(_texts, _texts), max_size=4, unique_by=lambda pair: pair[0]))
def test_written_baseline_reads_back_equal(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, str]]
) -> None:
    written = Baseline().holding(
        Expectation(robot, "mass.link.mass", "fails", reason, "ada") for robot, reason in entries
    )
    file = tmp_path_factory.mktemp("b") / "known.toml"
    file.write_bytes(written.as_toml().encode())

    read = read_baseline(file)

    assert read.expectations == written.expectations
    assert read.header == written.header
    robots = [expectation.robot for expectation in read.expectations]
    assert robots == sorted(robots)
    assert read.as_toml() == written.as_toml()
