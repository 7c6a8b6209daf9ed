"""The page of one robot: findings first, then all measurements."""

from __future__ import annotations

from collections.abc import Iterator

from jinja2 import Environment
from markupsafe import Markup
from msgspec import Struct

from urdf_usd.reports import overview
from urdf_usd.reports.appearance import GRADES
from urdf_usd.reports.diagnosis import diagnose
from urdf_usd.reports.faults import independent_faults
from urdf_usd.reports.html.rendering import (
    URGENT,
    Script,
    island,
    script_policy,
    trusted_markup,
)
from urdf_usd.reports.html.tree import Limits, first_wrong, tree
from urdf_usd.reports.records.record import (
    CheckRecord,
    Grade,
    RobotRecord,
    Verdict,
)
from urdf_usd.reports.records.scene import (
    Agreement,
    LinkErrors,
    Scene,
    scene_text,
    unpack_scene,
)
from urdf_usd.reports.text import one_line

ROTATION_CHECK = "kinematics.rotation"
# Number of links whose errors are plotted, those with the largest ones.
_PLOTTED_LINKS = 40
_NAME_LIMIT = 80


class PageScripts(Struct, frozen=True):
    """The scripts of a page.

    Attributes:
        pages: For every page.
        viewer: The 3D view.
    """

    pages: Script
    viewer: Script


class View(Struct, frozen=True):
    """The 3D scene of a robot.

    Attributes:
        packed: The scene, encoded and compressed.
        scene: The scene, decoded.
    """

    packed: bytes
    scene: Scene

    @classmethod
    def of(cls, packed: bytes) -> View:
        """Decode a scene.

        Raises:
            SceneError: It is not one, or it is damaged.
        """
        return cls(packed, unpack_scene(packed))

    @property
    def text(self) -> Markup:
        """The packed scene as base64, which needs no escaping."""
        return trusted_markup(scene_text(self.packed))


def render_page(
    environment: Environment,
    robot: RobotRecord,
    scripts: PageScripts,
    view: View | None = None,
    index: str | None = None,
    command: str | None = None,
) -> str:
    """Return the page of one robot.

    Args:
        environment: Template environment.
        robot: The robot.
        scripts: Scripts of the page.
        view: 3D scene, if there is one.
        index: Address of the page of all robots, if there is one.
        command: Command that reproduces the page.
    """
    loaded = (scripts.viewer, scripts.pages) if view else (scripts.pages,)
    limits = {
        check: Limits.of(_check(robot, check), unit)
        for check, unit in ((overview.POSITION_CHECK, "m"), (ROTATION_CHECK, "rad"))
    }
    rows = tree(view.scene, *limits.values()) if view else ()
    errors = view.scene.errors if view else None
    return environment.get_template("robot.html.j2").render(
        robot=robot,
        index=index,
        selection=overview.selection(robot),
        engines=overview.engines((robot,)),
        checks_by_group=overview.checks_by_group(robot),
        diagnosis=diagnose(robot),
        faults=independent_faults(robot) if robot.verdict is Verdict.FAILS else (),
        versions=overview.observing(robot),
        file=overview.urdf_file(robot),
        urgent=_checks_with(robot, URGENT),
        tolerated=_checks_with(robot, (Grade.CLOSE,)),
        # Differences that a deviation of the engine explains, not a fault of the USD.
        deviations={(each.check, each.engine): each.id for each in robot.deviations},
        # Of an engine that is there twice, the first.
        differences={
            (check.id, one.engine): one
            for check in robot.checks
            for one in reversed(check.differences)
        },
        orders=overview.joint_orders(robot),
        units={check.id: check.unit for check in robot.checks},
        command=command,
        view=view,
        tree=rows,
        first_wrong=first_wrong(rows),
        agreement=_agreement(view.scene.agreements, limits) if view else None,
        errors=island(_plotted(errors, limits)) if errors else None,
        scripts=loaded,
        policy=script_policy(loaded),
    )


class AgreementTable(Struct, frozen=True):
    """Distances between the readings of every two engines.

    Attributes:
        engines: Names, in the order of rows and columns.
        cells: Agreement and its grade, by two names in either order.
    """

    engines: tuple[str, ...]
    cells: dict[tuple[str, str], tuple[Agreement, Grade]]


def _agreement(
    agreements: tuple[Agreement, ...], limits: dict[str, Limits]
) -> AgreementTable | None:
    if not agreements:
        return None
    allowed = limits[overview.POSITION_CHECK]
    cells = {}
    for each in agreements:
        graded = each, allowed.grade(each.position)
        cells[each.engines] = cells[each.engines[::-1]] = graded
    return AgreementTable(tuple(dict.fromkeys(name for pair in cells for name in pair)), cells)


def _plotted(errors: LinkErrors, limits: dict[str, Limits]) -> dict[str, object]:
    """Keep the links with the largest errors of position or rotation."""

    def size(link: int) -> float:
        values = [row[link] for rows in (errors.positions, errors.rotations) for row in rows]
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


def _checks_with(robot: RobotRecord, grades: tuple[Grade, ...]) -> tuple[CheckRecord, ...]:
    # Includes checks that fail without a finding, which show a reason.
    return tuple(
        check
        for check in sorted(robot.checks, key=lambda check: GRADES[check.grade].rank)
        if check.grade in grades or any(finding.grade in grades for finding in check.findings)
    )
