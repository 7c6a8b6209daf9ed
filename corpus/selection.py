"""Selection of robots by tag, maker and licence."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from urdf_usd.corpus.robots import Announce, Candidate, CorpusError, Origin


class NothingSelectedError(CorpusError):
    """No robot matches the selection; probably a mistake."""


class Selection(Struct, frozen=True):
    """Criteria for robots; case is ignored.

    A robot must match one value of each attribute that is not empty.

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
        """One line for each attribute that is not empty."""
        return tuple(
            f"{criterion.noun} {' or '.join(getattr(self, criterion.attribute))}"
            for criterion in _CRITERIA
            if getattr(self, criterion.attribute)
        )

    def apply(self, robots: Sequence[Candidate], announce: Announce) -> tuple[Candidate, ...]:
        """Return the robots that match.

        Args:
            robots: All robots.
            announce: Called with the number of robots whose value is unknown.

        Raises:
            NothingSelectedError: A value matches no robot, or no robot is left.
        """
        chosen = tuple(robots)
        for criterion in _CRITERIA:
            texts: tuple[str, ...] = getattr(self, criterion.attribute)
            if texts and chosen:
                criterion.require(texts, robots)
                criterion.announce_unknown(chosen, announce)
                chosen = tuple(r for r in chosen if criterion.holds(texts, r.origin))
        if robots and not chosen:
            raise NothingSelectedError("no robot matches all criteria")
        return chosen


class _Criterion(Struct, frozen=True):
    """One attribute of a selection."""

    attribute: str
    noun: str
    partly: bool = False

    def values(self, origin: Origin) -> tuple[str, ...]:
        """Return the values of a robot that are known."""
        stated = {
            "tags": origin.tags,
            "makers": (origin.maker,),
            "licenses": (origin.license,),
        }
        return tuple(filter(None, stated[self.attribute]))

    def holds(self, texts: Sequence[str], origin: Origin) -> bool:
        """Return whether a robot matches one of the values."""
        return any(self._matches(one, value) for one in texts for value in self.values(origin))

    def _matches(self, text: str, value: str) -> bool:
        if self.partly:
            return text.casefold() in value.casefold()
        return text.casefold() == value.casefold()

    def require(self, texts: Sequence[str], robots: Sequence[Candidate]) -> None:
        """Raise an error for a value that matches no robot."""
        known = sorted({value for robot in robots for value in self.values(robot.origin)})
        for one in texts:
            if any(self._matches(one, value) for value in known):
                continue

            close = difflib.get_close_matches(one, known, n=1)
            hint = (
                f"did you mean {close[0]!r}?"
                if close
                else f"there are {', '.join(known)}"
                if known
                else f"no robot states its {self.noun}"
            )
            raise NothingSelectedError(f"no robot has the {self.noun} {one!r}; {hint}")

    def announce_unknown(self, robots: Sequence[Candidate], announce: Announce) -> None:
        """Announce how many robots are left out because the value is unknown."""
        unknown = Counter(
            robot.reference.partition(":")[0] for robot in robots if not self.values(robot.origin)
        )
        for scheme, count in sorted(unknown.items()):
            what = "robot is" if count == 1 else "robots are"
            announce(f"{scheme}: {count} {what} left out, whose {self.noun} is unknown")


_CRITERIA = (
    _Criterion("tags", "tag"),
    _Criterion("makers", "maker", partly=True),
    _Criterion("licenses", "license"),
)
