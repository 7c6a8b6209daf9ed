"""The page of one robot: what is wrong first, then all that was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from urdf_usd.conformance.records.record import Grade
from urdf_usd.conformance.records.scene import scene_text, unpack_scene
from urdf_usd.reports import overview
from urdf_usd.reports.appearance import GRADES
from urdf_usd.reports.diagnosis import diagnose
from urdf_usd.reports.html.rendering import URGENT, Script, island, script_policy
from urdf_usd.reports.html.tree import Limits, beginnings, tree
from urdf_usd.reports.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jinja2 import Environment

    from urdf_usd.conformance.records.record import CheckRecord, RobotRecord
    from urdf_usd.conformance.records.scene import Agreement, LinkErrors, Scene

ROTATION_CHECK = "kinematics.rotation"
# Links whose errors are plotted: the worst.
_PLOTTED_LINKS = 40
_NAME_LIMIT = 80


@dataclass(frozen=True, slots=True)
class PageScripts:
    """The scripts of a page.

    Attributes:
        pages: What every page does.
        viewer: What draws in 3D.
    """

    pages: Script
    viewer: Script


@dataclass(frozen=True, slots=True)
class View:
    """What a page needs to draw a robot.

    Attributes:
        packed: The scene, as it travels.
        scene: The scene itself.
    """

    packed: bytes
    scene: Scene

    @classmethod
    def of(cls, packed: bytes) -> View:
        """Unpack a scene once."""
        return cls(packed, unpack_scene(packed))

    @property
    def text(self) -> Markup:
        """The scene as text; base64 means nothing in a page."""
        return Markup(scene_text(self.packed))  # noqa: S704


def render_page(  # noqa: PLR0913, PLR0917  # what a page shows, and where it stands
    environment: Environment,
    robot: RobotRecord,
    scripts: PageScripts,
    view: View | None = None,
    index: str | None = None,
    command: str | None = None,
) -> str:
    """Return the page of one robot.

    Args:
        environment: What renders it.
        robot: The robot.
        scripts: What it does.
        view: What can be drawn of it.
        index: Address of the page of all robots, if there is one.
        command: What makes this page again.
    """
    loaded = (scripts.viewer, scripts.pages) if view else (scripts.pages,)
    limits = {
        check: Limits.of(_check(robot, check), unit)
        for check, unit in ((overview.POSITION_CHECK, "m"), (ROTATION_CHECK, "rad"))
    }
    branches = tree(view.scene, *limits.values()) if view else ()
    errors = view.scene.errors if view else None
    return environment.get_template("robot.html.j2").render(
        robot=robot,
        index=index,
        urdf_engines=tuple(
            dict.fromkeys(
                difference.engine
                for check in robot.checks
                for difference in check.differences
            )
        ),
        checks_by_group=overview.checks_by_group(robot),
        diagnosis=diagnose(robot),
        urgent=_checks_with(robot, URGENT),
        tolerated=_checks_with(robot, (Grade.CLOSE,)),
        # Where an engine departs from the URDF, a difference is not the USD's fault.
        deviations={(each.check, each.engine): each.id for each in robot.deviations},
        units={check.id: check.unit for check in robot.checks},
        command=command,
        view=view,
        branches=branches,
        beginnings=beginnings(branches),
        heat=_heat(view.scene.agreements, limits) if view else None,
        errors=island(_plotted(errors, limits)) if errors else None,
        scripts=loaded,
        policy=script_policy(loaded),
    )


@dataclass(frozen=True, slots=True)
class Heat:
    """Every engine against every other.

    Attributes:
        engines: Names, in the order of rows and columns.
        cells: Agreement and its grade by two names, either way round.
    """

    engines: tuple[str, ...]
    cells: dict[tuple[str, str], tuple[Agreement, Grade]]


def _heat(agreements: tuple[Agreement, ...], limits: dict[str, Limits]) -> Heat | None:
    if not agreements:
        return None
    allowed = limits[overview.POSITION_CHECK]
    cells = {}
    for each in agreements:
        graded = each, allowed.grade(each.position)
        cells[each.engines] = cells[each.engines[::-1]] = graded
    return Heat(tuple(dict.fromkeys(name for pair in cells for name in pair)), cells)


def _plotted(errors: LinkErrors, limits: dict[str, Limits]) -> dict[str, object]:
    """Keep the links that are worst, by the larger of their two errors."""

    def size(link: int) -> float:
        values = [
            row[link] for rows in (errors.positions, errors.rotations) for row in rows
        ]
        return max((value or 0.0 for value in values), default=0.0)

    links = sorted(range(len(errors.links)), key=size, reverse=True)[:_PLOTTED_LINKS]

    def rows(
        values: tuple[tuple[float | None, ...], ...],
    ) -> Iterator[list[float | None]]:
        for row in values:
            yield [row[link] for link in links]

    position, rotation = limits.values()
    return {
        "links": [one_line(errors.links[link], _NAME_LIMIT) for link in links],
        "configurations": list(errors.configurations),
        "positions": list(rows(errors.positions)),
        "rotations": list(rows(errors.rotations)),
        "position": _shown(position),
        "rotation": _shown(rotation),
    }


def _shown(limits: Limits) -> dict[str, object]:
    return {
        "unit": limits.unit,
        "bound": limits.bound,
        "tolerance": limits.tolerance,
    }


def _check(robot: RobotRecord, identifier: str) -> CheckRecord | None:
    return next((check for check in robot.checks if check.id == identifier), None)


def _checks_with(
    robot: RobotRecord, grades: tuple[Grade, ...]
) -> tuple[CheckRecord, ...]:
    # A check that fails without a finding is shown too, with its reason.
    return tuple(
        check
        for check in sorted(robot.checks, key=lambda check: GRADES[check.grade].rank)
        if check.grade in grades
        or any(finding.grade in grades for finding in check.findings)
    )
