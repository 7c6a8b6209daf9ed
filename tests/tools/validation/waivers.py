"""Issues of validators that do not apply to our assets: a table of docs/dev/validation.md."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from msgspec import Struct

_PAGE = Path(__file__).parents[3] / "docs/dev/validation.md"


class Waiver(Struct, frozen=True):
    """A rule, or one of its messages, that does not apply to our assets."""

    rule: str  # of the validator
    says: str  # text that the message contains; any message if empty
    after: str | None  # rule that the conversion must have reported, if the URDF is at fault
    reason: str

    @property
    def is_whole(self) -> bool:
        """Whether the rule can be switched off."""
        return not self.says and self.after is None


@cache
def waivers() -> tuple[Waiver, ...]:
    lines = _PAGE.read_text(encoding="utf-8").splitlines()
    rows = [line.strip("|").split("|") for line in lines if line.startswith("| `")]
    return tuple(
        Waiver(
            rule.strip("` "),
            "" if says.strip() == "anything" else says.strip(),
            None if after.strip() == "always" else after.strip("` "),
            reason.strip(),
        )
        for rule, says, after, reason, _ in rows
    )


def waiver(rule: str, message: str, rules: frozenset[str]) -> Waiver | None:
    """Find the waiver of an issue; ``rules`` are those of diagnostics of the conversion."""
    for one in waivers():
        known = one.after is None or one.after in rules
        if one.rule == rule and one.says in message and known:
            return one
    return None
