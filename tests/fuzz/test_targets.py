"""Small cases of every target, former findings among them, in every test run."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.fuzz.mutation import MUTATIONS
from tests.fuzz.targets import TARGETS

CASES = Path(__file__).parent.parent / "data/fuzz"
_MUTANTS = 40


def _cases() -> list[tuple[str, str]]:
    return [
        (target, file.name)
        for target in TARGETS
        for file in sorted((CASES / target).iterdir())
    ]


@pytest.mark.parametrize(("target", "case"), _cases())
def test_readers_keep_their_promises(target: str, case: str) -> None:
    """A value or the documented error; never anything else."""
    TARGETS[target]((CASES / target / case).read_bytes())


@pytest.mark.parametrize(("target", "case"), _cases())
def test_readers_keep_their_promises_about_damaged_files(
    target: str, case: str
) -> None:
    """A few mutants of each, the same in every run; campaigns try millions."""
    data = (CASES / target / case).read_bytes()
    chance = random.Random(case)  # noqa: S311  reproducible, not secret
    for _ in range(_MUTANTS):
        mutation = chance.choice(MUTATIONS[target])
        TARGETS[target](mutation(data, chance))


def test_every_target_has_cases_and_mutations() -> None:
    """A campaign starts from the cases."""
    assert set(TARGETS) == set(MUTATIONS) == {path.name for path in CASES.iterdir()}
