"""Link frames over all configurations, and joint frames at the authored body poses.

An error in one joint displaces every link below it. Each link is graded, but findings name the
joints: the last one on the way from the root whose own motion differs. That is the pose of its
child relative to the nearest link above it that both sides state, over all configurations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.conformance.checks import check
from urdf_usd.conformance.observation.robot import (
    Frames,
    JointObservation,
    JointType,
    Observation,
    Quantity,
)
from urdf_usd.conformance.tolerance import (
    ARITHMETIC,
    QUATERNION,
    RELATIVE,
    ROUNDINGS,
    ToleranceModel,
)
from urdf_usd.reports.records.record import Difference, Grade

_Array: TypeAlias = NDArray[np.float64]

_UNIT = {"position": "m", "rotation": "rad"}
# Largest difference of a power of ten, and of positions from those in another unit, relative.
_SAME_SCALE = 1e-4
# A joint is in error if it differs by more than four times the rounding of the numbers that are
# stored for it.
_MARGIN = 4.0
# Rounding of an identity rotation in single precision [m, 1].
_UNTURNED = 1e-5


class _Poses(Struct, frozen=True, eq=False):
    """Poses of a link, or of J links, over K configurations."""

    position: _Array  # (K, 3) or (K, J, 3) origins [m]
    rotation: _Array  # (K, 3, 3) or (K, J, 3, 3)

    @staticmethod
    def of(frames: Frames, links: Sequence[str]) -> _Poses:
        """Poses of J links, all of which are in the frames."""
        column = {name: index for index, name in enumerate(frames.links)}
        at = [column[name] for name in links]
        return _Poses(frames.positions.take(at, axis=1), frames.rotations.take(at, axis=1))

    def one(self, index: int) -> _Poses:
        return _Poses(self.position[:, index], self.rotation[:, index])

    def relative_to(self, parents: _Poses) -> _Poses:
        """The same poses in the frames of other links."""
        inverse = np.swapaxes(parents.rotation, -2, -1)
        offset = (self.position - parents.position)[..., None]
        return _Poses((inverse @ offset)[..., 0], inverse @ self.rotation)

    @property
    def from_zero(self) -> _Poses:
        """The motion of one link in its own frame at zero."""
        zero = self.rotation[0].T
        return _Poses((self.position - self.position[0]) @ zero.T, zero @ self.rotation)


def _distances(expected: _Poses, actual: _Poses) -> _Array:
    """Return (K) or (K, J) distances of origins [m]."""
    lengths: _Array = np.linalg.norm(expected.position - actual.position, axis=-1)
    return lengths


def _turns(expected: _Poses, actual: _Poses) -> _Array:
    """Return (K) or (K, J) angles between rotations [rad]."""
    return angles(expected.rotation, actual.rotation)


def angles(first: _Array, second: _Array) -> _Array:
    """Return the angles [rad] between (..., 3, 3) rotations, exact for tiny ones."""
    # |A - B| (Frobenius) = 2 sqrt(2) sin(angle / 2); an arc cosine of the trace would lose
    # everything below 1e-8.
    distance = np.linalg.norm(first - second, axis=(-2, -1))
    halves: _Array = np.arcsin(np.minimum(distance / math.sqrt(8), 1.0))
    return 2 * halves


def _shared_links(expected: Frames, actual: Frames, model: ToleranceModel) -> tuple[str, ...]:
    """Links of the URDF whose frames both sides state."""
    known = set(actual.links) & set(model.bounds)
    return tuple(name for name in expected.links if name in known)


def _frames(aspect: str, sides: check.Sides) -> check.Comparison:
    expected, actual, model = sides.expected.frames, sides.actual.frames, sides.model
    if expected is None or actual is None:
        return check.not_stated(sides.expected if expected is None else sides.actual, "frames")
    labels = expected.labels or actual.labels
    links = _shared_links(expected, actual, model)
    distance = _distances if aspect == "position" else _turns
    apart = distance(_Poses.of(expected, links), _Poses.of(actual, links))
    differences = []
    for name, column, at in zip(links, apart.T, apart.argmax(axis=0).tolist(), strict=True):
        # NaN means that the engine has not placed the link.
        amount = float(column[at])
        label = labels[at] if labels else f"configuration {at}"
        message = f"link {name} differs by {amount:.3g} {_UNIT[aspect]} at {label!r}"
        bounds = getattr(model.bounds[name], aspect), getattr(model.tolerance, aspect)
        amounts = amount if math.isfinite(amount) else math.inf, *bounds
        more = {"message": message, "configuration": label}
        differences.append(check.difference(f"link {name}", "", (None, None), "", amounts, **more))
    if all(one.grade is Grade.EXACT for one in differences):
        return check.Compared(tuple(differences))
    # Lengths in another unit are reported once, and no joint.
    origins, found = (_Poses.of(side, links).position[0] for side in (expected, actual))
    factor = float((origins * found).sum()) / (float((origins**2).sum()) or 1.0)
    power = math.log10(factor) if factor > 0 else 0.0
    off = np.linalg.norm(found - factor * origins)
    is_unit = abs(power - round(power)) < _SAME_SCALE < abs(power)
    if aspect == "position" and is_unit and off <= _SAME_SCALE * np.linalg.norm(found):
        message = (
            f"all positions are {factor:.6g} times those of the URDF: in the USD, "
            "metersPerUnit or a scale of a prim is wrong"
        )
        worst = max(differences, key=lambda one: one.severity)
        scaled = structs.replace(worst, subject="robot", message=message)
        return check.Compared(tuple(differences), reported=(scaled,))
    return _traced(differences, sides)


def _traced(differences: Sequence[Difference], sides: check.Sides) -> check.Compared:
    """Trace every displaced link to the joints that displace it."""
    errors = joint_errors(sides)
    traced, reported = [], list[Difference]()
    displaced_by: dict[str, list[Difference]] = {}
    for one in differences:
        if one.grade is not Grade.EXACT:
            causes = [joint.name for joint in sides.model.chain(one.item) if joint.name in errors]
            one = structs.replace(one, traces=tuple(causes) or (one.item,))
            (displaced_by.setdefault(causes[-1], []) if causes else reported).append(one)
        traced.append(one)
    for joint, links in displaced_by.items():
        worst = max(links, key=lambda one: one.severity)
        more = f", and {len(links) - 1} more below it" if len(links) > 1 else ""
        message = f"joint {joint}: {errors[joint]}; {worst.message}{more}"
        reported.append(structs.replace(worst, subject=f"joint {joint}", message=message))
    return check.Compared(tuple(traced), reported=tuple(reported))


_CLAUSE = "{} of every link frame relative to the root link, over all configurations{}."
_SAMPLED = ": zero, both limits, and samples within the limits"
for _aspect, _what, _reads in (
    ("position", ("Origin", _SAMPLED), "physics:localPos0 physics:localPos1 xformOpOrder"),
    ("rotation", ("Orientation", ""), "physics:axis physics:localRot0 physics:localRot1"),
):
    check.check(
        *(f"kinematics.{_aspect}", f"{_aspect}s of link frames", Quantity.FRAMES, _UNIT[_aspect]),
        clause=_CLAUSE.format(*_what),
        reads=_reads,
    )(partial(_frames, _aspect))


@check.check("kinematics.up", "up axis", Quantity.FRAMES, "rad", usd_alone=True)
def _up(sides: check.Sides) -> check.Comparison:
    """Angle between the Z axis of the root link, or an MJCF's up axis, and that of the stage."""
    root = sides.actual.root
    if sides.actual.up is None:
        return check.not_stated(sides.actual, "up axis")
    up, other = sides.expected.up or (0.0, 0.0, 1.0), sides.actual.up
    across = float(np.linalg.norm(np.cross(up, other)))
    amount = math.atan2(across, float(np.dot(up, other)))
    axis = "up" if sides.expected.up else "Z"
    text = f"the robot is tilted: its {axis} axis is {amount:.3g} rad from the up axis"
    amounts = amount, QUATERNION + ARITHMETIC, sides.tolerance.rotation
    return check.Compared(
        (check.difference(f"link {root}", text, (0, check.stated(amount)), "rad", amounts),)
    )


def _assembly(aspect: str, sides: check.Sides) -> check.Comparison:
    actual, model = sides.actual, sides.model
    body = {link.name: link.body for link in actual.links}
    if not actual.assembly:
        if any(body.get(joint.parent) != body.get(joint.child) for joint in actual.joints):
            return check.not_stated(actual, "authored body poses")
        return check.Compared()
    joints = {joint.name: joint for joint in model.joint_to.values()}
    bounds = {link: getattr(bound, aspect) for link, bound in model.bounds.items()}
    differences = []
    for gap in actual.assembly:
        joint, amount = joints.get(gap.joint), getattr(gap, aspect)
        # A gap of a joint that the URDF does not have, which fixes the base, moves the robot.
        if joint is None and not amount:
            continue
        bound = max(bounds.values(), default=0.0)
        if joint:
            bound = bounds[joint.parent] + bounds[joint.child]
        amounts = amount, bound, getattr(sides.tolerance, aspect)
        text = f"its frames in parent and child are {amount:.3g} {_UNIT[aspect]} apart at the "
        text, values = f"{text}authored body poses", (0, check.stated(amount))
        made = check.difference(f"joint {gap.joint}", text, values, _UNIT[aspect], amounts)
        differences.append(made)
    return check.Compared(tuple(differences))


_AT_BODIES = "{} between the two frames of a joint at the authored poses of the bodies."
for _aspect, _title, _measured in (
    ("position", "joint anchors match body positions", "Distance"),
    ("rotation", "joint frames match body orientations", "Angle"),
):
    check.check(
        *(f"kinematics.assembly.{_aspect}", _title, Quantity.FRAMES, _UNIT[_aspect]),
        clause=_AT_BODIES.format(_measured),
        usd_alone=True,
    )(partial(_assembly, _aspect))


def _motions(
    joint: JointObservation, expected: Observation, actual: Observation
) -> tuple[_Poses, _Poses] | None:
    sides = []
    for frames in (expected.frames, actual.frames):
        if frames is None or not {joint.parent, joint.child} <= set(frames.links):
            return None
        both = _Poses.of(frames, [joint.parent, joint.child])
        sides.append(both.one(1).relative_to(both.one(0)))
    return sides[0], sides[1]


def travel_factor(
    joint: JointObservation, expected: Observation, actual: Observation
) -> float | None:
    """Ratio of the travel of a prismatic joint, actual to expected."""
    motions = _motions(joint, expected, actual)
    return None if motions is None else _travel(*(side.from_zero for side in motions))


def _travel(expected: _Poses, actual: _Poses) -> float:
    travel = expected.position
    if not np.any(travel):
        return 1.0
    return float(np.sum(travel * actual.position) / np.sum(travel * travel))


def is_displaced_along_axis(
    joint: JointObservation, expected: Observation, actual: Observation
) -> bool:
    """Whether a joint that no configuration moves is elsewhere along its axis."""
    motions = _motions(joint, expected, actual)
    if joint.axis is None or motions is None:
        return False
    one, two = motions
    if np.ptp(one.position, axis=0).max() > _UNTURNED:
        return False
    across = np.cross(one.rotation[0] @ joint.axis, two.position[0] - one.position[0])
    turn = np.abs(two.rotation[0] - one.rotation[0]).max()
    return bool(max(np.linalg.norm(across), turn) <= _UNTURNED)


def is_unturned(joint: JointObservation, expected: Observation, actual: Observation) -> bool:
    """Whether the actual side has the same joint origin at zero, but no rotation."""
    motions = _motions(joint, expected, actual)
    if motions is None:
        return False
    shift = np.linalg.norm(motions[0].position[0] - motions[1].position[0])
    turn = np.abs(motions[1].rotation[0] - np.eye(3)).max()
    return bool(max(shift, turn) <= _UNTURNED)


# Several checks of two observations use them.
@lru_cache(maxsize=64)
def joint_errors(sides: check.Sides) -> Mapping[str, str]:
    """Describe the error of each joint whose own motion differs."""
    expected, actual, model = sides.expected.frames, sides.actual.frames, sides.model
    if expected is None or actual is None:
        return {}
    shared = set(_shared_links(expected, actual, model))
    joints, above = [], []
    for link, joint in model.joint_to.items():
        chain = [step.parent for step in model.chain(link)]
        start = next((name for name in reversed(chain) if name in shared), None)
        if link in shared and start is not None:
            joints.append(joint)
            above.append(start)
    if not joints:
        return {}
    below = [joint.child for joint in joints]
    ends = _Poses.of(expected, below)
    one = ends.relative_to(_Poses.of(expected, above))
    two = _Poses.of(actual, below).relative_to(_Poses.of(actual, above))
    # Both link frames are stated in the root's frame, so that the difference of two large
    # positions has their rounding. Both may be offsets from one body, so that the difference of
    # two stored positions has theirs.
    rounding = ROUNDINGS * max(sides.expected.precision, sides.actual.precision)
    reach = np.linalg.norm(one.position, axis=-1).max(axis=0)
    far = np.linalg.norm(ends.position, axis=-1).max(axis=0)
    shift = _MARGIN * (RELATIVE + 2 * QUATERNION) * reach + (_MARGIN * RELATIVE + rounding) * far
    shift += ARITHMETIC
    turn = _MARGIN * 2 * QUATERNION + rounding + ARITHMETIC
    same = (_distances(one, two).max(axis=0) <= shift) & (_turns(one, two).max(axis=0) <= turn)
    errors = {
        joints[i].name: _error(joints[i], one.one(i), two.one(i), float(shift[i]), turn)
        for i in np.flatnonzero(~same).tolist()
    }
    return {name: error for name, error in errors.items() if error}


def _error(
    joint: JointObservation, expected: _Poses, actual: _Poses, shift: float, turn: float
) -> str:
    """Describe the error of one joint, beyond the rounding of its shift [m] and turn [rad]."""
    parts = []
    if (shifted := float(_distances(expected, actual)[0])) > shift:
        parts.append(f"frame at zero shifted by {shifted:.3g} m")
    if (turned := float(_turns(expected, actual)[0])) > turn:
        parts.append(f"frame at zero rotated by {turned:.3g} rad")

    def same(one: _Poses, two: _Poses) -> bool:
        return bool(_distances(one, two).max() <= shift and _turns(one, two).max() <= turn)

    one, two = expected.from_zero, actual.from_zero
    slides = joint.type is JointType.PRISMATIC
    # With one coordinate, the inverse motion is the motion about the reversed axis.
    inverse = one.rotation if slides else np.swapaxes(one.rotation, 1, 2)
    factor = _travel(one, two)
    if not same(one, two):
        if same(two, _Poses(-one.position, inverse)):
            parts.append("axis is reversed")
        elif slides and same(two, _Poses(factor * one.position, one.rotation)):
            parts.append(f"travels {factor:.4g} times as far")
        else:
            parts.append("axis or type of motion differs")
    return " and ".join(parts)
