"""Names of robots as file names."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.corpus.robots import distinct, identifier


@pytest.mark.parametrize(
    ("scheme", "target", "expected"),
    [
        ("pybullet", "kuka_iiwa/model.urdf", "pybullet--kuka_iiwa--model"),
        ("rd", "panda_description", "rd--panda_description"),
        ("erd", "alexander_v1.lowerBodyOnly", "erd--alexander_v1.lowerBodyOnly"),
        ("dir", "arm/arm.URDF", "dir--arm--arm"),
        ("file", "../../arm.urdf", "file--arm"),
    ],
)
def test_plain_reference_gives_a_readable_name(scheme: str, target: str, expected: str) -> None:
    assert identifier(scheme, target) == expected


def test_targets_that_are_equal_after_replacement_have_different_names() -> None:
    names = {identifier("dir", name) for name in ("a b.urdf", "a?b.urdf", "aüb.urdf")}

    assert len(names) == 3


@given(st.text(max_size=400))
def test_every_name_is_a_valid_file_name(target: str) -> None:
    """Letters, digits, dot, dash and underscore; short enough for a suffix."""
    name = identifier("dir", target)

    assert re.fullmatch(r"[A-Za-z0-9._-]+", name)
    assert len(name) <= 200


def test_names_that_differ_only_in_case_are_distinguished() -> None:
    ids = distinct(["dir--Arm", "dir--arm", "dir--leg"], ["Arm", "arm", "leg"])

    assert len({name.casefold() for name in ids}) == 3
    assert ids[2] == "dir--leg"
