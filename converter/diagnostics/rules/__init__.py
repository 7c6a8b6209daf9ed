"""The rules that diagnostics cite, each with a stable id and a severity."""

from __future__ import annotations

from urdf_usd.converter.diagnostics.rules.files import FILES_RULES
from urdf_usd.converter.diagnostics.rules.mass import MASS_RULES
from urdf_usd.converter.diagnostics.rules.output import OUTPUT_RULES
from urdf_usd.converter.diagnostics.rules.robot import ROBOT_RULES
from urdf_usd.converter.diagnostics.rules.rule import Rule, Severity
from urdf_usd.converter.diagnostics.rules.shapes import SHAPES_RULES
from urdf_usd.converter.diagnostics.rules.simulation import SIMULATION_RULES
from urdf_usd.converter.diagnostics.rules.stage import STAGE_RULES
from urdf_usd.converter.diagnostics.rules.text import TEXT_RULES

__all__ = ["RULES", "SUBJECTS", "Rule", "Severity"]

# By subject, in the order in which a robot is read and written.
SUBJECTS: dict[str, tuple[Rule, ...]] = {
    "Files, XML and values": TEXT_RULES,
    "Xacro, packages and file references": FILES_RULES,
    "Links, joints and the tree": ROBOT_RULES,
    "Mass and inertia": MASS_RULES,
    "Shapes and materials": SHAPES_RULES,
    "Robot description files": SIMULATION_RULES,
    "USD that is written": OUTPUT_RULES,
    "USD that is read": STAGE_RULES,
}


def _table(*rules: Rule) -> dict[str, Rule]:
    table = {rule.id: rule for rule in rules}
    if len(table) != len(rules):
        raise ValueError("two rules share an id")
    return table


RULES = _table(*(rule for rules in SUBJECTS.values() for rule in rules))
