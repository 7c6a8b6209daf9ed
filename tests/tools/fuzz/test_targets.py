"""Runs every fuzz target on small cases, including former findings."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.tools.fuzz.mutation import MUTATIONS
from tests.tools.fuzz.targets import TARGETS

CASES = Path(__file__).parents[2] / "data/fuzz"
_MUTANTS = 40


def _cases() -> list[tuple[str, str]]:
    return [
        (target, file.name) for target in TARGETS for file in sorted((CASES / target).iterdir())
    ]


@pytest.mark.parametrize(("target", "case"), _cases())
def test_readers_return_a_value_or_their_error_also_of_damaged_files(
    target: str, case: str
) -> None:
    data = (CASES / target / case).read_bytes()
    TARGETS[target](data)
    chance = random.Random(case)
    for _ in range(_MUTANTS):
        TARGETS[target](chance.choice(MUTATIONS[target])(data, chance))


def test_every_target_has_cases_and_mutations() -> None:
    assert set(TARGETS) == set(MUTATIONS) == {path.name for path in CASES.iterdir()}
