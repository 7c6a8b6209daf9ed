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
    def _criteria(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        every = (("tag", self.tags), ("maker", self.makers), ("license", self.licenses))
        return tuple((noun, texts) for noun, texts in every if texts)

    @property
    def words(self) -> tuple[str, ...]:
        """One line for each attribute that is not empty."""
        return tuple(f"{noun} {' or '.join(texts)}" for noun, texts in self._criteria)

    def apply(self, robots: Sequence[Candidate], announce: Announce) -> tuple[Candidate, ...]:
        """Return the robots that match.

        Raises:
            CorpusError: A value matches no robot, no robot is left, or one that matches has a
                forbidden licence.
        """
        chosen = tuple(robots)
        for noun, texts in self._criteria if robots else ():
            known = sorted({value for robot in robots for value in _stated(robot, noun)})
            for text in texts:
                if not any(_matches(noun, text, value) for value in known):
                    close = difflib.get_close_matches(text, known, n=1)
                    hint = (
                        f"there are {', '.join(known)}" if known else f"no robot states its {noun}"
                    )
                    hint = f"did you mean {close[0]!r}?" if close else hint
                    raise CorpusError(f"no robot has the {noun} {text!r}; {hint}")
            unknown = [robot for robot in chosen if not _stated(robot, noun)]
            schemes = Counter(robot.reference.partition(":")[0] for robot in unknown)
            for scheme, count in sorted(schemes.items()):
                verb = "robot is" if count == 1 else "robots are"
                announce(f"{scheme}: {count} {verb} left out, whose {noun} is unknown")
            chosen = tuple(
                robot
                for robot in chosen
                if any(_matches(noun, text, own) for text in texts for own in _stated(robot, noun))
            )
            if not chosen:
                raise CorpusError("no robot matches all criteria")
        if self.forbidden:
            self._refuse_forbidden(chosen, announce)
        return chosen

    def _refuse_forbidden(self, robots: Sequence[Candidate], announce: Announce) -> None:
        forbidden = [
            f"{robot.reference} ({robot.origin.license})"
            for robot in robots
            if robot.origin.license and is_forbidden(robot.origin.license, self.forbidden)
        ]
        if forbidden:
            more = len(forbidden) - _SHOWN
            raise CorpusError(
                f"forbidden licence: {', '.join(forbidden[:_SHOWN])}"
                f"{f' and {more} more' if more > 0 else ''}; "
                "remove these robots, or select others with --license"
            )
        if unknown := sum(not robot.origin.license for robot in robots):
            announce(f"--forbid-license: the licence of {unknown} of {len(robots)} is unknown")


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
