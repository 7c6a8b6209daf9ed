"""The page of one robot: findings first, then all measurements."""

from __future__ import annotations

import base64
import math

from markupsafe import Markup
from msgspec import Struct, structs

from urdf_usd.reports import summary
from urdf_usd.reports.diagnosis import diagnose, independent_faults
from urdf_usd.reports.html.rendering import Script, island, trusted_markup
from urdf_usd.reports.records import record as r
from urdf_usd.reports.records import scene as scenes
from urdf_usd.reports.text import GRADES, one_line

ROTATION_CHECK = "kinematics.rotation"
# Number of links whose errors are plotted, those with the largest ones.
_PLOTTED_LINKS = 40
_NAME_LIMIT = 80
# Deeper links of the tree are not indented further.
_DEEPEST = 12


class View(Struct, frozen=True):
    packed: bytes
    scene: scenes.Scene

    @classmethod
    def of(cls, packed: bytes) -> View:
        return cls(packed, scenes.unpack_scene(packed))

    @property
    def text(self) -> Markup:
        # Base64 needs no escaping.
        return trusted_markup(base64.b64encode(self.packed).decode("ascii"))


def page_content(
    robot: r.RobotRecord,
    scripts: tuple[Script, ...],
    view: View | None = None,
    index: str | None = None,
    command: str | None = None,
) -> dict[str, object]:
    loaded = scripts if view else scripts[1:]
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
        "faults": independent_faults(robot) if robot.verdict is r.Verdict.FAILS else (),
        "versions": [one for one in robot.engines if one.status is r.EngineStatus.OBSERVED],
        "file": urdf[0] if urdf and not named else "",
        "urgent": _checks_with(robot, summary.URGENT),
        "tolerated": _checks_with(robot, (r.Grade.CLOSE,)),
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
        # Distances between the readings of every two engines, by their names in either order.
        "agreement": {
            names: (one, position.grade(one.position))
            for one in (view.scene.agreements if view else ())
            for names in (one.engines, one.engines[::-1])
        },
        "errors": island(_plotted(errors, position, rotation)) if errors else None,
        "scripts": loaded,
    }


def _plotted(errors: scenes.LinkErrors, position: Limits, rotation: Limits) -> dict[str, object]:
    """Keep the links with the largest errors of position or rotation."""
    rows = (*errors.positions, *errors.rotations)
    sizes = [
        max((row[link] or 0.0 for row in rows), default=0.0) for link in range(len(errors.links))
    ]
    links = sorted(range(len(sizes)), key=sizes.__getitem__, reverse=True)[:_PLOTTED_LINKS]
    return {
        "links": [one_line(errors.links[link], _NAME_LIMIT) for link in links],
        "configurations": list(errors.configurations),
        "positions": [[row[link] for link in links] for row in errors.positions],
        "rotations": [[row[link] for link in links] for row in errors.rotations],
        "position": structs.asdict(position),
        "rotation": structs.asdict(rotation),
    }


def _checks_with(robot: r.RobotRecord, grades: tuple[r.Grade, ...]) -> tuple[r.CheckRecord, ...]:
    # Includes checks that fail without a finding, which show a reason.
    return tuple(
        check
        for check in sorted(robot.checks, key=lambda check: GRADES[check.grade].rank)
        if check.grade in grades or any(finding.grade in grades for finding in check.findings)
    )


class Limits(Struct, frozen=True):
    """float32 bound and tolerance of one check; 0 if unknown."""

    unit: str
    bound: float = 0.0
    tolerance: float = 0.0

    @classmethod
    def of(cls, check: r.CheckRecord | None, unit: str) -> Limits:
        known = check and cls(check.unit, check.bound or 0.0, check.tolerance or 0.0)
        return known or cls(unit)

    def grade(self, value: float) -> r.Grade:
        if value <= self.bound:
            return r.Grade.EXACT
        return r.Grade.CLOSE if value <= self.tolerance else r.Grade.FAILS


class TreeRow(Struct, frozen=True):
    """One link of the tree, with its largest errors over all configurations."""

    link: str
    joint: str | None  # that leads to it; None for the root
    kind: str  # motion of that joint, in a word
    depth: int
    position: float | None = None  # [m]; None if it was not compared
    rotation: float | None = None  # [rad]; likewise
    grade: r.Grade = r.Grade.NOT_COMPARABLE  # of the worse of the two
    configuration: str = ""  # where the worse of the two occurs
    first: bool = False  # it fails although its parent does not
    moved: bool = False  # the position error exceeds the tolerance
    turned: bool = False  # the rotation error does


def tree(scene: scenes.Scene, position: Limits, rotation: Limits) -> tuple[TreeRow, ...]:
    model = next((one for one in scene.models if one.side == "urdf"), None)
    if model is None:
        return ()
    below: dict[str, list[scenes.SceneJoint]] = {}
    for joint in model.joints:
        below.setdefault(joint.parent, []).append(joint)
    errors = scene.errors
    columns = {link: column for column, link in enumerate(errors.links)} if errors else {}
    rows: dict[str, TreeRow] = {}
    waiting: list[tuple[str, scenes.SceneJoint | None, int]] = [(model.root, None, 0)]
    while waiting:
        link, above, depth = waiting.pop()
        name, kind = (above.name, _kind(above)) if above else (None, "root")
        row = TreeRow(link, name, kind, min(depth, _DEEPEST))
        if errors and link in columns:
            row = _with_errors(row, errors, columns[link], position, rotation)
        parent = rows[above.parent].grade if above else None
        fails_first = row.grade is r.Grade.FAILS and parent is not r.Grade.FAILS
        rows[link] = structs.replace(row, first=fails_first)
        waiting += [(child.child, child, depth + 1) for child in reversed(below.get(link, []))]
    return tuple(rows.values())


def _kind(joint: scenes.SceneJoint) -> str:
    if not joint.motions:
        return "fixed"
    kinds = {{"turn": "rotates", "slide": "translates"}[one.kind] for one in joint.motions}
    word = kinds.pop() if len(kinds) == 1 else "moves"
    return f"{word}, mimics {joint.mimic.leader}" if joint.mimic else word


def _with_errors(
    row: TreeRow, errors: scenes.LinkErrors, column: int, position: Limits, rotation: Limits
) -> TreeRow:
    largest = []
    for rows in (errors.positions, errors.rotations):
        # One that is not finite is stored as None.
        values = [math.inf if one[column] is None else one[column] or 0.0 for one in rows]
        worst = max(values, default=0.0)
        largest.append((worst, errors.configurations[values.index(worst)] if values else ""))
    (moved, _), (turned, _) = largest
    grades = position.grade(moved), rotation.grade(turned)
    turn = grades[1].severity > grades[0].severity
    return structs.replace(
        row,
        position=moved,
        rotation=turned,
        grade=grades[turn],
        configuration=largest[turn][1],
        moved=grades[0] is r.Grade.FAILS,
        turned=grades[1] is r.Grade.FAILS,
    )
