"""The closed list of what a diagnostic can say: one rule, one id, one severity."""

from __future__ import annotations

from converter.rules.files import FILES_RULES
from converter.rules.mass import MASS_RULES
from converter.rules.output import OUTPUT_RULES
from converter.rules.robot import ROBOT_RULES
from converter.rules.rule import Rule, Severity
from converter.rules.shapes import SHAPES_RULES
from converter.rules.stage import STAGE_RULES
from converter.rules.text import TEXT_RULES

__all__ = ["RULES", "Rule", "Severity"]


def _table(*rules: Rule) -> dict[str, Rule]:
    table = {rule.id: rule for rule in rules}
    if len(table) != len(rules):
        raise ValueError("two rules share an id")
    return table


RULES = _table(
    *TEXT_RULES,
    *FILES_RULES,
    *ROBOT_RULES,
    *MASS_RULES,
    *SHAPES_RULES,
    *OUTPUT_RULES,
    *STAGE_RULES,
)
