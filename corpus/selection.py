"""Which robots of a corpus are meant, by what their source says about them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from urdf_usd.corpus.robots import CorpusError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from urdf_usd.corpus.robots import Announce, Candidate, Origin


class NothingSelectedError(CorpusError):
    """No robot has what was asked for; most likely a mistake."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What robots have to have; letter case does not matter.

    Of each attribute one value is enough; attributes that are empty ask for nothing.

    Attributes:
        tags: Whole tags, such as ``quadruped``.
        makers: Parts of a maker's name, such as ``unitree``.
        licenses: Whole SPDX identifiers.
    """

    tags: tuple[str, ...] = ()
    makers: tuple[str, ...] = ()
    licenses: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """Say what is asked for, one line for each attribute."""
        return tuple(
            f"{criterion.noun} {' or '.join(getattr(self, criterion.attribute))}"
            for criterion in _CRITERIA
            if getattr(self, criterion.attribute)
        )

    def apply(
        self, robots: Sequence[Candidate], announce: Announce
    ) -> tuple[Candidate, ...]:
        """Return the robots that have what is asked for.

        Args:
            robots: All of them.
            announce: Told how many are left out because nothing is known of them.

        Raises:
            NothingSelectedError: None of them has one of the values.
        """
        chosen = tuple(robots)
        for criterion in _CRITERIA:
            wanted: tuple[str, ...] = getattr(self, criterion.attribute)
            if wanted and chosen:
                criterion.require(wanted, robots)
                criterion.tell(chosen, announce)
                chosen = tuple(r for r in chosen if criterion.holds(wanted, r.origin))
        if robots and not chosen:
            raise NothingSelectedError("no robot has all that is asked for")
        return chosen


@dataclass(frozen=True, slots=True)
class _Criterion:
    """One attribute of a selection."""

    attribute: str
    noun: str
    partly: bool = False

    def values(self, origin: Origin) -> tuple[str, ...]:
        """Return what is known of a robot."""
        stated = {
            "tags": origin.tags,
            "makers": (origin.maker,),
            "licenses": (origin.license,),
        }
        return tuple(filter(None, stated[self.attribute]))

    def holds(self, wanted: Sequence[str], origin: Origin) -> bool:
        """Say whether a robot has one of the values."""
        return any(
            self._matches(one, value) for one in wanted for value in self.values(origin)
        )

    def _matches(self, wanted: str, value: str) -> bool:
        if self.partly:
            return wanted.casefold() in value.casefold()
        return wanted.casefold() == value.casefold()

    def require(self, wanted: Sequence[str], robots: Sequence[Candidate]) -> None:
        """Refuse a value that no robot has."""
        known = sorted(
            {value for robot in robots for value in self.values(robot.origin)}
        )
        for one in wanted:
            if any(self._matches(one, value) for value in known):
                continue
            import difflib  # noqa: PLC0415  only mistakes need it

            close = difflib.get_close_matches(one, known, n=1)
            hint = (
                f"did you mean {close[0]!r}?"
                if close
                else f"there are {', '.join(known)}"
                if known
                else "nothing is known of them"
            )
            raise NothingSelectedError(f"no robot has the {self.noun} {one!r}; {hint}")

    def tell(self, robots: Sequence[Candidate], announce: Announce) -> None:
        """Say how many robots are left out because nothing is known of them."""
        silent = Counter(
            robot.reference.partition(":")[0]
            for robot in robots
            if not self.values(robot.origin)
        )
        for scheme, count in sorted(silent.items()):
            what = "robot is" if count == 1 else "robots are"
            announce(f"{scheme}: {count} {what} left out, whose {self.noun} is unknown")


_CRITERIA = (
    _Criterion("tags", "tag"),
    _Criterion("makers", "maker", partly=True),
    _Criterion("licenses", "license"),
)
