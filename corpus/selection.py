"""Selection of robots by tag, maker and licence."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

from urdf_usd.corpus.robots import Announce, Candidate, CorpusError, Origin


class NothingSelectedError(CorpusError):
    """No robot matches the selection; probably a mistake."""


class Selection(Struct, frozen=True):
    """Criteria for robots; case is ignored.

    A robot must match one value of each attribute that is not empty.
    """

    tags: tuple[str, ...] = ()  # whole tags, such as "quadruped"
    makers: tuple[str, ...] = ()  # parts of a maker's name, such as "unitree"
    licenses: tuple[str, ...] = ()  # whole SPDX identifiers

    @property
    def words(self) -> tuple[str, ...]:
        """One line for each attribute that is not empty."""
        return tuple(f"{noun} {' or '.join(texts)}" for noun, texts, _ in self._criteria)

    @property
    def _criteria(self) -> tuple[_Criterion, ...]:
        criteria: tuple[_Criterion, ...] = (
            ("tag", self.tags, lambda origin: origin.tags),
            ("maker", self.makers, lambda origin: (origin.maker,)),
            ("license", self.licenses, lambda origin: (origin.license,)),
        )
        return tuple(criterion for criterion in criteria if criterion[1])

    def apply(self, robots: Sequence[Candidate], announce: Announce) -> tuple[Candidate, ...]:
        """Return the robots that match.

        Args:
            robots: All robots.
            announce: Called with the number of robots whose value is unknown.

        Raises:
            NothingSelectedError: A value matches no robot, or no robot is left.
        """
        chosen = tuple(robots)
        for criterion in self._criteria if robots else ():
            chosen = _chosen(criterion, chosen, robots, announce)
            if not chosen:
                raise NothingSelectedError("no robot matches all criteria")
        return chosen


# Noun, texts of the user, and what an origin states.
_Criterion = tuple[str, tuple[str, ...], Callable[[Origin], tuple[str | None, ...]]]


def _chosen(
    criterion: _Criterion,
    chosen: Sequence[Candidate],
    robots: Sequence[Candidate],
    announce: Announce,
) -> tuple[Candidate, ...]:
    noun, texts, stated = criterion

    def matches(text: str, value: str) -> bool:
        wanted, own = text.casefold(), value.casefold()
        return wanted in own if noun == "maker" else wanted == own

    def values(robot: Candidate) -> list[str]:
        return [value for value in stated(robot.origin) if value]

    known = sorted({value for robot in robots for value in values(robot)})
    for text in texts:
        if not any(matches(text, value) for value in known):
            close = difflib.get_close_matches(text, known, n=1)
            hint = f"there are {', '.join(known)}" if known else f"no robot states its {noun}"
            hint = f"did you mean {close[0]!r}?" if close else hint
            raise NothingSelectedError(f"no robot has the {noun} {text!r}; {hint}")
    unknown = Counter(robot.reference.partition(":")[0] for robot in chosen if not values(robot))
    for scheme, count in sorted(unknown.items()):
        verb = "robot is" if count == 1 else "robots are"
        announce(f"{scheme}: {count} {verb} left out, whose {noun} is unknown")
    return tuple(
        robot
        for robot in chosen
        if any(matches(text, value) for text in texts for value in values(robot))
    )
