"""Coverage of a URDF: what is converted, kept as custom data, or left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from urdf_usd.converter import Diagnostic
from urdf_usd.converter.diagnostics.rules import RULES
from urdf_usd.reports.records.record import CoverageStatus, LedgerRecord

# Records import this module, which need no model.
if TYPE_CHECKING:
    from urdf_usd.converter.robot.model import Custom, Robot

# Rules about something that is left out of the USD.
LOSSES = frozenset(
    {
        "attribute-version",
        "element-incomplete",
        "geometry-invalid",
        "geometry-unknown",
        "joint-dangling",
        "mesh-missing",
        "mesh-partial",
        "mesh-unreadable",
        "mimic-fixed",
        "mimic-loop",
        "mimic-target-missing",
        "text-ignored",
        "texture-dropped",
        "texture-missing",
        "texture-unnamed",
        "xml-outside",
    }
)
_CUSTOM = "custom data, as written, on the prim of its owner"


def converted_and_kept(robot: Robot) -> tuple[LedgerRecord, ...]:
    """List the kinds of parts of a robot, and where each is converted to or kept."""
    return (*_converted(robot), *_kept(robot))


def losses(diagnostics: Iterable[Diagnostic]) -> tuple[LedgerRecord, ...]:
    """List what is left out of the USD, and why."""
    lost = Counter(found.rule for found in diagnostics if found.rule in LOSSES)
    return tuple(
        LedgerRecord(
            part=rule,
            count=count,
            fate=CoverageStatus.LEFT_OUT,
            where=RULES[rule].summary,
        )
        for rule, count in sorted(lost.items())
    )


def _converted(robot: Robot) -> Iterator[LedgerRecord]:
    parts = {
        "link": (
            len(robot.links),
            "one prim each; a rigid body if it moves independently",
        ),
        "joint": (
            len(robot.joints),
            "one joint each, or none between links of one body",
        ),
        "inertial": (
            sum(link.inertial is not None for link in robot.links),
            "the mass of the link's body",
        ),
        "visual": (
            sum(len(link.visuals) for link in robot.links),
            "shapes below the link, except those left out below",
        ),
        "collision": (
            sum(len(link.collisions) for link in robot.links),
            "colliders below the link, except those left out below",
        ),
    }
    for part, (count, where) in parts.items():
        if count:
            yield LedgerRecord(part=part, count=count, fate=CoverageStatus.CONVERTED, where=where)


def _kept(robot: Robot) -> Iterator[LedgerRecord]:
    found: Counter[str] = Counter()
    for custom in _customs(robot):
        found.update(f"<{element.content.tag}>" for element in custom.elements)
        found.update(
            "/".join((*attribute.within, f"@{attribute.name}")) for attribute in custom.attributes
        )
    for part, count in sorted(found.items()):
        yield LedgerRecord(part=part, count=count, fate=CoverageStatus.KEPT, where=_CUSTOM)


def _customs(robot: Robot) -> Iterator[Custom]:
    yield robot.custom
    for link in robot.links:
        yield link.custom
        yield from (shape.custom for shape in link.shapes)
    yield from (joint.custom for joint in robot.joints)
