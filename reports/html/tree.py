"""The kinematic tree of a robot with the pose error of every link."""

from __future__ import annotations

from msgspec import Struct, structs

from urdf_usd.reports.records.record import CheckRecord, Grade
from urdf_usd.reports.records.scene import LinkErrors, Scene, SceneJoint

# Deeper links are not indented further.
_DEEPEST = 12


class Limits(Struct, frozen=True):
    """float32 bound and tolerance of one check.

    Attributes:
        unit: Unit of both.
        bound: Error that float32 rounding explains; 0 if unknown.
        tolerance: Engineering tolerance; 0 if unknown.
    """

    unit: str
    bound: float = 0.0
    tolerance: float = 0.0

    @classmethod
    def of(cls, check: CheckRecord | None, unit: str) -> Limits:
        """Return the limits of a check, if it took place."""
        if check is None:
            return cls(unit)
        return cls(check.unit, check.bound or 0.0, check.tolerance or 0.0)

    def grade(self, value: float) -> Grade:
        """Grade an error."""
        if value <= self.bound:
            return Grade.EXACT
        return Grade.CLOSE if value <= self.tolerance else Grade.FAILS


class TreeRow(Struct, frozen=True):
    """One link of the tree.

    Attributes:
        link: Name.
        joint: Joint that leads to it; None for the root.
        kind: Motion of that joint, in a word.
        depth: Number of joints above it, at most ``_DEEPEST``.
        position: Largest error of its position [m]; None if it was not compared.
        rotation: Largest error of its rotation [rad], likewise.
        grade: Grade of the worse of the two.
        configuration: Where the worse of the two occurs.
        first: Whether it fails although its parent does not.
        moved: Whether the position error exceeds the tolerance.
        turned: Whether the rotation error does.
    """

    link: str
    joint: str | None
    kind: str
    depth: int
    position: float | None = None
    rotation: float | None = None
    grade: Grade = Grade.NOT_COMPARABLE
    configuration: str = ""
    first: bool = False
    moved: bool = False
    turned: bool = False


def tree(scene: Scene, position: Limits, rotation: Limits) -> tuple[TreeRow, ...]:
    """Return the links of the URDF, parents first."""
    model = next((one for one in scene.models if one.side == "urdf"), None)
    if model is None:
        return ()
    below: dict[str, list[SceneJoint]] = {}
    for joint in model.joints:
        below.setdefault(joint.parent, []).append(joint)
    errors = scene.errors
    places = {link: place for place, link in enumerate(errors.links)} if errors else {}
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
        if errors and link in places:
            row = _with_errors(row, errors, places[link], position, rotation)
        parent = rows[above.parent].grade if above else None
        fails_first = row.grade is Grade.FAILS and parent is not Grade.FAILS
        rows[link] = structs.replace(row, first=fails_first)
        children = reversed(below.get(link, []))
        waiting += [(child.child, child, depth + 1) for child in children]
    return tuple(rows.values())


def first_wrong(rows: tuple[TreeRow, ...]) -> tuple[TreeRow, ...]:
    """Return the links that fail although their parents do not, topmost first."""
    return tuple(row for row in rows if row.first)


def _kind(joint: SceneJoint) -> str:
    if not joint.motions:
        return "fixed"
    kinds = {motion.kind.value for motion in joint.motions}
    words = {"turn": "rotates", "slide": "translates"}
    word = words[kinds.pop()] if len(kinds) == 1 else "moves"
    return f"{word}, mimics {joint.mimic.leader}" if joint.mimic else word


def _with_errors(
    row: TreeRow, measured: LinkErrors, link: int, position: Limits, rotation: Limits
) -> TreeRow:
    moved, at_moved = _largest(measured, measured.positions, link)
    turned, at_turned = _largest(measured, measured.rotations, link)
    grades = position.grade(moved), rotation.grade(turned)
    order = (Grade.EXACT, Grade.CLOSE, Grade.FAILS)
    # Show the configuration of the worse of the two errors.
    turn = order.index(grades[1]) > order.index(grades[0])
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
    measured: LinkErrors, rows: tuple[tuple[float | None, ...], ...], link: int
) -> tuple[float, str]:
    values = [row[link] for row in rows]
    if any(value is None for value in values):
        where = next(at for at, value in enumerate(values) if value is None)
        return float("inf"), measured.configurations[where]
    known = [value or 0.0 for value in values]
    worst = max(known, default=0.0)
    return worst, measured.configurations[known.index(worst)] if known else ""
