"""The kinematic tree of a robot with the pose error of every link."""

from __future__ import annotations

import math

from msgspec import Struct, structs

from urdf_usd.reports.records.record import CheckRecord, Grade
from urdf_usd.reports.records.scene import LinkErrors, Scene, SceneJoint

# Deeper links are not indented further.
_DEEPEST = 12


class Limits(Struct, frozen=True):
    """float32 bound and tolerance of one check; 0 if unknown."""

    unit: str
    bound: float = 0.0
    tolerance: float = 0.0

    @classmethod
    def of(cls, check: CheckRecord | None, unit: str) -> Limits:
        """Return the limits of a check, if it took place."""
        if check is None:
            return cls(unit)
        return cls(check.unit, check.bound or 0.0, check.tolerance or 0.0)

    @property
    def shown(self) -> dict[str, object]:
        """The limits as data of the page."""
        return structs.asdict(self)

    def grade(self, value: float) -> Grade:
        """Grade an error."""
        if value <= self.bound:
            return Grade.EXACT
        return Grade.CLOSE if value <= self.tolerance else Grade.FAILS


class TreeRow(Struct, frozen=True):
    """One link of the tree, with its largest errors over all configurations."""

    link: str
    joint: str | None  # that leads to it; None for the root
    kind: str  # motion of that joint, in a word
    depth: int
    position: float | None = None  # [m]; None if it was not compared
    rotation: float | None = None  # [rad]; likewise
    grade: Grade = Grade.NOT_COMPARABLE  # of the worse of the two
    configuration: str = ""  # where the worse of the two occurs
    first: bool = False  # it fails although its parent does not
    moved: bool = False  # the position error exceeds the tolerance
    turned: bool = False  # the rotation error does


def tree(scene: Scene, position: Limits, rotation: Limits) -> tuple[TreeRow, ...]:
    """Return the links of the URDF, parents first."""
    model = next((one for one in scene.models if one.side == "urdf"), None)
    if model is None:
        return ()
    below: dict[str, list[SceneJoint]] = {}
    for joint in model.joints:
        below.setdefault(joint.parent, []).append(joint)
    errors = scene.errors
    columns = {link: column for column, link in enumerate(errors.links)} if errors else {}
    rows: dict[str, TreeRow] = {}
    waiting: list[tuple[str, SceneJoint | None, int]] = [(model.root, None, 0)]
    while waiting:
        link, above, depth = waiting.pop()
        row = TreeRow(
            link=link,
            joint=above.name if above else None,
            kind=_kind(above) if above else "root",
            depth=min(depth, _DEEPEST),
        )
        if errors and link in columns:
            row = _with_errors(row, errors, columns[link], position, rotation)
        parent = rows[above.parent].grade if above else None
        fails_first = row.grade is Grade.FAILS and parent is not Grade.FAILS
        rows[link] = structs.replace(row, first=fails_first)
        children = reversed(below.get(link, []))
        waiting += [(child.child, child, depth + 1) for child in children]
    return tuple(rows.values())


def _kind(joint: SceneJoint) -> str:
    if not joint.motions:
        return "fixed"
    kinds = {motion.kind.value for motion in joint.motions}
    words = {"turn": "rotates", "slide": "translates"}
    word = words[kinds.pop()] if len(kinds) == 1 else "moves"
    return f"{word}, mimics {joint.mimic.leader}" if joint.mimic else word


def _with_errors(
    row: TreeRow, errors: LinkErrors, column: int, position: Limits, rotation: Limits
) -> TreeRow:
    moved, at_moved = _largest(errors.configurations, errors.positions, column)
    turned, at_turned = _largest(errors.configurations, errors.rotations, column)
    grades = position.grade(moved), rotation.grade(turned)
    turn = grades[1].severity > grades[0].severity
    return structs.replace(
        row,
        position=moved,
        rotation=turned,
        grade=grades[turn],
        configuration=at_turned if turn else at_moved,
        moved=grades[0] is Grade.FAILS,
        turned=grades[1] is Grade.FAILS,
    )


def _largest(
    configurations: tuple[str, ...], rows: tuple[tuple[float | None, ...], ...], column: int
) -> tuple[float, str]:
    """Return the largest error of a link and where it occurs; infinite if not a number."""
    values = [math.inf if row[column] is None else row[column] or 0.0 for row in rows]
    worst = max(values, default=0.0)
    return worst, configurations[values.index(worst)] if values else ""
