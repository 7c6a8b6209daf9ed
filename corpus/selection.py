"""Selection of robots by tag, maker and licence."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from urdf_usd.corpus.robots import Announce, Candidate, CorpusError

COPYLEFT = "copyleft"
# Identifiers of SPDX, and the words of package.xml and of licence files.
_COPYLEFT = re.compile(
    r"(?i)\b(?:[AL]?GPL|MPL|EUPL|EPL|CDDL|OSL|ODbL|CC-BY-(?:NC-)?SA|CERN-OHL-[SW])"
    r"|GNU (?:Affero |Lesser |Library )?General Public"
)
_SHOWN = 5


class Selection(Struct, frozen=True):
    """Criteria for robots; case is ignored.

    A robot must match one value of each attribute that is not empty.
    """

    tags: tuple[str, ...] = ()  # whole tags, such as "quadruped"
    makers: tuple[str, ...] = ()  # parts of a maker's name, such as "unitree"
    licenses: tuple[str, ...] = ()  # whole SPDX identifiers
    forbidden: tuple[str, ...] = ()  # SPDX identifiers that no robot may have, or COPYLEFT

    @property
    def _criteria(self) -> dict[str, tuple[str, ...]]:
        every = {"tag": self.tags, "maker": self.makers, "license": self.licenses}
        return {noun: texts for noun, texts in every.items() if texts}

    @property
    def words(self) -> tuple[str, ...]:
        """One line for each attribute that is not empty."""
        return tuple(f"{noun} {' or '.join(texts)}" for noun, texts in self._criteria.items())

    def apply(self, robots: Sequence[Candidate], announce: Announce) -> tuple[Candidate, ...]:
        """Return the robots that match.

        Raises:
            CorpusError: A value matches no robot, no robot is left, or one that matches has a
                forbidden licence.
        """
        chosen = tuple(robots)
        for noun, texts in self._criteria.items() if robots else ():
            stated = {id(robot): _stated(robot, noun) for robot in robots}
            known = sorted({value for values in stated.values() for value in values})
            for text in texts:
                if not any(_matches(noun, text, value) for value in known):
                    hint = (
                        f"there are {', '.join(known)}" if known else f"no robot states its {noun}"
                    )
                    if close := difflib.get_close_matches(text, known, n=1):
                        hint = f"did you mean {close[0]!r}?"
                    raise CorpusError(f"no robot has the {noun} {text!r}; {hint}")
            unknown = (one.reference.partition(":")[0] for one in chosen if not stated[id(one)])
            for scheme, count in sorted(Counter(unknown).items()):
                verb = "robot is" if count == 1 else "robots are"
                announce(f"{scheme}: {count} {verb} left out, whose {noun} is unknown")
            chosen = tuple(
                robot
                for robot in chosen
                if any(_matches(noun, text, own) for text in texts for own in stated[id(robot)])
            )
            if not chosen:
                raise CorpusError("no robot matches all criteria")
        if self.forbidden:
            licensed = [(one.reference, one.origin.license) for one in chosen if one.origin.license]
            refused = [
                f"{one} ({own})" for one, own in licensed if is_forbidden(own, self.forbidden)
            ]
            if refused:
                more = f" and {len(refused) - _SHOWN} more" if len(refused) > _SHOWN else ""
                raise CorpusError(
                    f"forbidden licence: {', '.join(refused[:_SHOWN])}{more}; "
                    "remove these robots, or select others with --license"
                )
            if unlicensed := len(chosen) - len(licensed):
                announce(
                    f"--forbid-license: the licence of {unlicensed} of {len(chosen)} is unknown"
                )
        return chosen


def _stated(robot: Candidate, noun: str) -> tuple[str, ...]:
    if noun == "tag":
        return robot.origin.tags
    value = robot.origin.maker if noun == "maker" else robot.origin.license
    return (value,) if value else ()


def _matches(noun: str, text: str, value: str) -> bool:
    wanted, own = text.casefold(), value.casefold()
    return wanted in own if noun == "maker" else wanted == own


def is_forbidden(license_text: str, forbidden: Sequence[str]) -> bool:
    """Return whether a part of every alternative of an SPDX expression is forbidden.

    A robot under ``MIT OR GPL-3.0-only`` can be used under MIT. Identifiers may be without what
    follows a hyphen: ``GPL``, ``GPL-3.0``.
    """

    def matches(part: str) -> bool:
        identifier = part.strip(" ()").casefold()
        plain = re.sub(r"-(?:only|or-later)$|\+$", "", identifier)
        return any(
            bool(_COPYLEFT.search(part))
            if name.casefold() == COPYLEFT
            else name.casefold() in {identifier, plain} or plain.startswith(f"{name.casefold()}-")
            for name in forbidden
        )

    alternatives = re.split(r"(?i)\s+OR\s+", license_text)
    return all(any(map(matches, re.split(r"(?i)\s+(?:AND|WITH)\s+", one))) for one in alternatives)
