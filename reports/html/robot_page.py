"""The page of one robot: findings first, then all measurements."""

from __future__ import annotations

from markupsafe import Markup
from msgspec import Struct

from urdf_usd.reports import summary
from urdf_usd.reports.appearance import GRADES
from urdf_usd.reports.diagnosis import diagnose, independent_faults
from urdf_usd.reports.html.rendering import Script, island, script_policy, trusted_markup
from urdf_usd.reports.html.tree import Limits, tree
from urdf_usd.reports.records.record import (
    CheckRecord,
    EngineStatus,
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
    """Scripts: for every page, and the 3D view."""

    pages: Script
    viewer: Script


class View(Struct, frozen=True):
    """The 3D scene of a robot, compressed and decoded."""

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


class AgreementTable(Struct, frozen=True):
    """Distances between the readings of every two engines."""

    engines: tuple[str, ...]  # in the order of rows and columns
    cells: dict[tuple[str, str], tuple[Agreement, Grade]]  # by two names in either order


def page_content(
    robot: RobotRecord,
    scripts: PageScripts,
    view: View | None = None,
    index: str | None = None,
    command: str | None = None,
) -> dict[str, object]:
    """Return what the template of the page shows.

    Args:
        robot: The robot.
        scripts: Scripts of the page.
        view: 3D scene, if there is one.
        index: Address of the page of all robots, if there is one.
        command: Command that reproduces the page.
    """
    loaded = (scripts.viewer, scripts.pages) if view else (scripts.pages,)
    by_id = {check.id: check for check in robot.checks}
    position = Limits.of(by_id.get(summary.POSITION_CHECK), "m")
    rotation = Limits.of(by_id.get(ROTATION_CHECK), "rad")
    rows = tree(view.scene, position, rotation) if view else ()
    errors = view.scene.errors if view else None
    urdf = [one.path for one in robot.source.files if one.sha256 == robot.source.sha256]
    named = bool(urdf) and robot.source.reference.endswith(urdf[0])
    return {
        "robot": robot,
        "index": index,
        "selection": summary.selection(robot),
        "engines": summary.engines((robot,)),
        "checks_by_group": [
            (group, [check for check in robot.checks if check.group == group])
            for group in summary.groups((robot,))
        ],
        "diagnosis": diagnose(robot),
        "faults": independent_faults(robot) if robot.verdict is Verdict.FAILS else (),
        "versions": [one for one in robot.engines if one.status is EngineStatus.OBSERVED],
        "file": urdf[0] if urdf and not named else "",
        "urgent": _checks_with(robot, summary.URGENT),
        "tolerated": _checks_with(robot, (Grade.CLOSE,)),
        # Differences that a deviation of the engine explains, not a fault of the USD.
        "deviations": {(one.check, one.engine): one.id for one in robot.deviations},
        # Of an engine that is there twice, the first.
        "differences": {
            (check.id, one.engine): one
            for check in robot.checks
            for one in reversed(check.differences)
        },
        "orders": summary.joint_orders(robot),
        "units": {check.id: check.unit for check in robot.checks},
        "command": command,
        "view": view,
        "tree": rows,
        "first_wrong": [row for row in rows if row.first],
        "agreement": _agreement(view.scene.agreements, position) if view else None,
        "errors": island(_plotted(errors, position, rotation)) if errors else None,
        "scripts": loaded,
        "policy": script_policy(loaded),
    }


def _agreement(agreements: tuple[Agreement, ...], allowed: Limits) -> AgreementTable | None:
    if not agreements:
        return None
    cells = {}
    for each in agreements:
        graded = each, allowed.grade(each.position)
        cells[each.engines] = cells[each.engines[::-1]] = graded
    return AgreementTable(tuple(dict.fromkeys(name for pair in cells for name in pair)), cells)


def _plotted(errors: LinkErrors, position: Limits, rotation: Limits) -> dict[str, object]:
    """Keep the links with the largest errors of position or rotation."""

    def size(link: int) -> float:
        rows = (*errors.positions, *errors.rotations)
        return max((row[link] or 0.0 for row in rows), default=0.0)

    links = sorted(range(len(errors.links)), key=size, reverse=True)[:_PLOTTED_LINKS]
    return {
        "links": [one_line(errors.links[link], _NAME_LIMIT) for link in links],
        "configurations": list(errors.configurations),
        "positions": [[row[link] for link in links] for row in errors.positions],
        "rotations": [[row[link] for link in links] for row in errors.rotations],
        "position": position.shown,
        "rotation": rotation.shown,
    }


def _checks_with(robot: RobotRecord, grades: tuple[Grade, ...]) -> tuple[CheckRecord, ...]:
    # Includes checks that fail without a finding, which show a reason.
    return tuple(
        check
        for check in sorted(robot.checks, key=lambda check: GRADES[check.grade].rank)
        if check.grade in grades or any(finding.grade in grades for finding in check.findings)
    )
