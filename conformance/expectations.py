"""Compares the values that a case of the feature suite expects with a USD.

Only what a case states, and an engine reports, is compared.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, assert_never

import numpy as np
from msgspec import UNSET, UnsetType, structs

from urdf_usd.conformance.engines.protocol import Crashed, Observed, Outcome, Unsupported
from urdf_usd.conformance.engines.rotations import quats_wxyz
from urdf_usd.conformance.engines.statements import vec3, vec6
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.shapes import (
    Appearance,
    Role,
    ShapeKind,
    ShapeObservation,
    Vec3,
    merge_appearances,
)
from urdf_usd.conformance.tolerance.model import group_masses
from urdf_usd.reports.records.record import CaseOutcome, CaseReadingRecord, Difference, Value
from urdf_usd.reports.records.suite_case import AppearanceValues, Expected, ShapeValues
from urdf_usd.reports.text import value_text

# The engine that decides; simulators may have deviations of their own.
_DECISIVE = "openusd"
_MOST_SHOWN = 3
# Tolerances: USD stores float32, and angles in degrees.
_RELATIVE = 1e-5  # of masses, limits, inertia (by its norm), sizes, areas and volumes
_SMALLEST = 1e-12
_POSITION = 1e-5  # [m]
_ROTATION = 1e-5  # of rotations [rad] and directions
_COLOR = 1e-3  # of linear colour components and opacities
# Permutations of more shapes than these are not tried.
_MOST_PERMUTED = 6
_NUMBERS = {
    "lower": obs.Quantity.LIMITS,
    "upper": obs.Quantity.LIMITS,
    "effort": obs.Quantity.EFFORT,
    "velocity": obs.Quantity.VELOCITY,
    "damping": obs.Quantity.DYNAMICS,
    "friction": obs.Quantity.DYNAMICS,
}
# Numbers that are the same as an absent one.
_DEFAULTS = {"lower": -math.inf, "upper": math.inf, "damping": 0.0, "friction": 0.0}


class _Value(NamedTuple):
    """One value of a case, and that of the USD."""

    subject: str
    quantity: str
    expected: object
    actual: object
    agrees: bool


_Values: TypeAlias = Iterator[_Value]
_Same: TypeAlias = Callable[[Any, Any], bool]


def judge_case(
    expected: Expected,
    readings: Sequence[CaseReadingRecord],
    *,
    refusal: str | None,
    written: bool,
    crash: str,
    rules: Collection[str] | None,
) -> tuple[CaseOutcome, str]:
    """Return the outcome of a case, and why it does not pass."""
    if not written and refusal is None:
        return CaseOutcome.CRASHED, crash
    missing = [] if rules is None else sorted({*expected.diagnostics} - {*rules})
    differences = [f"not reported: {', '.join(missing)}"] if missing else []
    passed = CaseOutcome.REFUSED if expected.refused else CaseOutcome.PASS
    if expected.refused and written:
        differences = ["a USD was written of a file that must be refused"]
    elif not expected.refused:
        if not written:
            return CaseOutcome.REFUSED_WRONGLY, refusal or ""
        reading = next((one for one in readings if one.engine == _DECISIVE), None)
        if reading is None or reading.reason is not None:
            why = reading.reason if reading and reading.reason else "nothing was compared"
            return CaseOutcome.CRASHED, f"the USD cannot be read: {why}"
        differences[:0] = [one.message for one in reading.failures]
    if not differences:
        return passed, ""
    more = len(differences) - _MOST_SHOWN
    text = "; ".join(differences[:_MOST_SHOWN])
    return CaseOutcome.FAIL, f"{text}; and {more} more" if more > 0 else text


def configurations_of(expected: Expected) -> obs.Configurations:
    """Return the configurations of the poses of a case, preceded by zero."""
    neutral = {1: (0.0,), 4: (0.0,) * 4, 7: (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)}
    names = sorted({name for pose in expected.poses for name in pose.q})
    positions = []
    for name in names:
        given = [np.atleast_1d(pose.q.get(name, ())) for pose in expected.poses]
        zero = neutral[max(map(len, given))]
        positions.append(np.array([zero, *(row if len(row) else zero for row in given)], float))
    return obs.Configurations(
        joints=tuple(names),
        positions=tuple(positions),
        labels=("zero", *(f"pose {number}" for number in range(len(expected.poses)))),
        root=expected.root,
    )


def compare_readings(
    expected: Expected, outcomes: Mapping[str, Outcome]
) -> tuple[CaseReadingRecord, ...]:
    """Compare the expected values with every engine's observation of the USD."""
    readings = []
    for name, outcome in outcomes.items():
        match outcome:
            case Observed(observation):
                readings.append(compare_case(expected, observation))
            case Unsupported(reason) | Crashed(reason=reason):
                readings.append(CaseReadingRecord(engine=name, reason=reason))
            case _:
                assert_never(outcome)
    return tuple(readings)


def compare_case(expected: Expected, actual: obs.Observation) -> CaseReadingRecord:
    """Compare the values of a case with those that an engine reports of the USD."""
    values = [*_of_robot(expected, actual), *_of_joints(expected, actual)]
    if obs.Quantity.MASS in actual.states:
        values += _of_bodies(expected, actual)
    if obs.Quantity.FRAMES in actual.states:
        values += _of_poses(expected, actual)
    for role, shapes in ((Role.COLLISION, expected.colliders), (Role.VISUAL, expected.visuals)):
        if obs.Quantity(f"{role} shapes") in actual.states:
            values += _of_shapes(role, shapes, actual)
    failures = []
    for value in values:
        if not value.agrees:
            one, other, name = _as_value(value.expected), _as_value(value.actual), value.quantity
            message = f"{value.subject}: {name} {value_text(other)}, expected {value_text(one)}"
            item = f"{value.subject} {name}"
            difference = Difference(
                subject=value.subject, item=item, message=message, expected=one, actual=other
            )
            failures.append(difference)
    return CaseReadingRecord(engine=actual.engine, compared=len(values), failures=tuple(failures))


def _value(
    subject: str, quantity: str, expected: object, actual: object, same: _Same = operator.eq
) -> _Values:
    """Compare a value, if the case states it."""
    if expected is not UNSET:
        yield _Value(subject, quantity, expected, actual, same(expected, actual))


def _near(expected: float | None, actual: float | None) -> bool:
    if expected is None or actual is None:
        return expected is actual
    if not math.isfinite(expected) or not math.isfinite(actual):
        return expected == actual
    return abs(expected - actual) <= _RELATIVE * abs(expected) + _SMALLEST


def _within(allowed: float) -> _Same:
    """Compare vectors by their distance."""
    return lambda one, other: other is not None and math.dist(one, other) <= allowed


def _all_near(expected: Sequence[float], actual: Sequence[float]) -> bool:
    return len(expected) == len(actual) and all(map(_near, expected, actual))


def _of_robot(expected: Expected, actual: obs.Observation) -> _Values:
    states, count = actual.states, actual.articulation_roots
    if obs.Quantity.LINKS in states:
        yield from _value("robot", "name", expected.name, actual.robot)
    if obs.Quantity.BASE in states:
        yield from _value("robot", "base", expected.base, actual.base)
    if count is not None:
        yield from _value("robot", "articulation roots", expected.articulation_roots, count)
    names = {link.name for link in actual.links}
    if obs.Quantity.LINKS in states and expected.links is not UNSET:
        for name in expected.links:
            yield from _value(f"link {name}", "existence", True, name in names)


def _of_joints(expected: Expected, actual: obs.Observation) -> _Values:
    # Simulators may merge welded links.
    states, complete = actual.states, obs.Quantity.JOINTS in actual.states
    joints = {joint.name: joint for joint in actual.joints}
    if expected.dofs is not UNSET and complete and obs.Quantity.JOINT_TYPES in states:
        moving = sorted(joint.name for joint in joints.values() if obs.COORDINATES[joint.type])
        yield from _value("robot", "joints that move", sorted(expected.dofs), moving)
    for name, values in expected.joints.items():
        subject, joint = f"joint {name}", joints.get(name)
        if joint is None:
            if complete:
                yield from _value(subject, "existence", True, False)
            continue
        if obs.Quantity.JOINT_TYPES in states:
            yield from _value(subject, "type", values.type, joint.type)
        if complete:
            yield from _value(subject, "parent", values.parent, joint.parent)
            yield from _value(subject, "child", values.child, joint.child)
        for field, quantity in _NUMBERS.items():
            default, stated = _DEFAULTS.get(field), getattr(values, field)
            found = default if (number := getattr(joint, field)) is None else number

            def same(one: Any, other: Any, default: Any = default) -> bool:  # noqa: ANN401
                return _near(default if one is None else float(one), other)

            if quantity in states:
                yield from _value(subject, field, stated, found, same)
        if obs.Quantity.MIMIC in states and values.mimic is not UNSET:
            one, other = values.mimic, joint.mimic
            stated = one and (one.joint, one.multiplier, one.offset)
            coupling = other and (other.leader, other.multiplier, other.offset)
            yield from _value(subject, "mimic", stated, coupling, _are_same_couplings)
        if joint.axis is not None and complete:
            yield from _value(subject, "axis", values.axis, joint.axis, _within(_ROTATION))


def _are_same_couplings(expected: Any, actual: Any) -> bool:  # noqa: ANN401  names and numbers
    if not expected or not actual:
        return expected is actual
    return expected[0] == actual[0] and _all_near(expected[1:], actual[1:])


def _of_bodies(expected: Expected, actual: obs.Observation) -> _Values:
    masses = {link.name: link.mass for link in actual.links}
    # A defaulted mass adds less than a millionth.
    total = math.fsum(mass.mass for mass in masses.values() if mass)
    yield from _value("robot", "total mass", expected.total_mass, total, _near)
    for body in expected.bodies:
        subject = f"link {' + '.join(body.links)}"
        if missing := [name for name in body.links if name not in masses]:
            yield from _value(subject, "existence of links", [], missing)
            continue
        found = _lumped(body.links, actual)
        mass, center = (found.mass, found.center) if found else (None, None)
        yield from _value(subject, "mass", body.mass, mass, _near)
        if body.mass_below is not UNSET:
            same = mass is not None and 0 < mass < body.mass_below
            below = f"positive, below {body.mass_below:g}"
            yield _Value(subject, "mass", below, mass, same)
        yield from _value(subject, "centre of mass", body.com, center, _within(_POSITION))
        if body.inertia is not UNSET:
            tensor = found.inertia if found else None
            near = _within(_RELATIVE * math.hypot(*body.inertia) + _SMALLEST)
            yield from _value(subject, "inertia", body.inertia, tensor, near)


def _lumped(links: Sequence[str], actual: obs.Observation) -> obs.MassProperties | None:
    """Add the mass properties of links, in the frame of the first of them."""
    masses = {link.name: link.mass for link in actual.links if link.mass}
    if [name for name in links if name in masses] == [links[0]]:
        return masses[links[0]]
    frames = actual.frames
    if not masses.keys() & {*links} or frames is None or not {*links} <= {*frames.links}:
        return None
    (group,) = group_masses(actual, [links], actual.joints)
    if group is None:
        return None
    return obs.MassProperties(group.mass, vec3(group.center), vec6(group.tensor))


def _of_poses(expected: Expected, actual: obs.Observation) -> _Values:
    frames, known = actual.frames, {link.name for link in actual.links}
    for number, pose in enumerate(expected.poses if frames else (), start=1):
        at = ", ".join(f"{name} = {_text(value)}" for name, value in pose.q.items())
        for name, values in pose.links.items():
            subject = f"link {name}" + (f" at {at}" if at else "")
            if frames is None or name not in frames.links:
                # An engine may omit frames that it cannot set the joints for.
                if name not in known:
                    yield from _value(subject, "existence", True, False)
                continue
            index, stated = frames.links.index(name), values.rotation_wxyz
            position = tuple(frames.positions[number, index].tolist())
            yield from _value(subject, "position", values.position, position, _within(_POSITION))
            if stated is not UNSET:
                quat = quats_wxyz(frames.rotations[number, index])
                # The nearer of q and -q, which are one rotation, by twice the angle between them.
                rotation = tuple((-quat if float(quat @ stated) < 0 else quat).tolist())
                near = _within(_ROTATION / 2)
                yield from _value(subject, "rotation wxyz", stated, rotation, near)


def _of_shapes(
    role: Role, expected: Mapping[str, Sequence[ShapeValues]], actual: obs.Observation
) -> _Values:
    noun = "colliders" if role is Role.COLLISION else "visuals"
    for link, values in expected.items():
        shapes = [shape for shape in actual.shapes if shape.link == link and shape.role is role]
        if role is Role.VISUAL and len(values) == 1 < len(shapes):
            shapes = _merged(values[0], shapes)
        yield from _value(f"link {link}", f"number of {noun}", len(values), len(shapes))
        if len(shapes) != len(values):
            continue
        names = [f"link {link}, {role.value}"]
        if len(values) != 1:
            names = [f"{names[0]} {n + 1}" for n in range(len(values))]
        # In the order with the fewest differences.
        few = len(shapes) <= _MOST_PERMUTED
        orders: Iterable[Sequence[ShapeObservation]] = (
            itertools.permutations(shapes) if few else [shapes]
        )
        yield from _best(
            [
                value
                for triple in zip(names, values, order, strict=True)
                for value in _shape(*triple)
            ]
            for order in orders
        )


def _best(trials: Iterable[list[_Value]]) -> list[_Value]:
    return min(trials, key=lambda trial: sum(not value.agrees for value in trial))


def _merged(values: ShapeValues, shapes: Sequence[ShapeObservation]) -> list[ShapeObservation]:
    """Merge the parts into which a USD splits one visual, unless it is a primitive."""
    surfaces = [shape.surface for shape in shapes if shape.surface]
    if values.kind not in {UNSET, ShapeKind.MESH.value} or len(surfaces) < len(shapes):
        return list(shapes)
    surface = structs.replace(
        surfaces[0],
        support=tuple(map(max, zip(*(one.support for one in surfaces), strict=True))),
        area=math.fsum(one.area for one in surfaces),
        volume=math.fsum(one.volume for one in surfaces),
    )
    appearances = merge_appearances(part for shape in shapes for part in shape.appearances)
    return [structs.replace(shapes[0], surface=surface, appearances=appearances)]


def _shape(subject: str, values: ShapeValues, shape: ShapeObservation) -> _Values:
    surface, near = shape.surface, _within(_POSITION)
    yield from _value(subject, "kind", values.kind, shape.kind)
    yield from _value(subject, "size", values.size, shape.size, _all_near)
    yield from _value(subject, "position", values.position, shape.position, near)
    for name in ("lower", "upper"):
        stated, found = getattr(values, name), getattr(surface, name, None)
        yield from _value(subject, f"{name} bound", stated, found, near)
    for name in ("volume", "area"):
        yield from _value(subject, name, getattr(values, name), getattr(surface, name, None), _near)
    if values.appearances is UNSET:
        return
    looks, count = shape.appearances, len(values.appearances)
    if count != len(looks):
        yield from _value(subject, "number of appearances", count, len(looks))
        return
    for appearance in values.appearances:
        yield from _best([*_appearance(subject, appearance, one)] for one in looks)


def _appearance(subject: str, values: AppearanceValues, found: Appearance) -> _Values:
    def is_near(one: float, other: float | None) -> bool:
        return other is not None and abs(one - other) <= _COLOR

    def is_same_color(one: Vec3 | None, other: Vec3 | None) -> bool:
        if not one or not other:
            return one is other
        return all(map(is_near, one, other))

    yield from _value(subject, "area", values.area, found.area, _near)
    yield from _value(subject, "color", values.color, found.color, is_same_color)
    yield from _value(subject, "opacity", values.opacity, found.opacity, is_near)
    if values.texture is not UNSET:
        # Cases state the file, from which converters copy a PNG or JPEG.
        same = values.texture == found.image_sha256
        yield _Value(subject, "texture", values.texture, found.texture, same)


def _as_value(value: Any) -> Value:  # noqa: ANN401  any value of a case or an observation
    """Return numbers and vectors as such, and all else as text."""
    match value:
        case int() | float() if math.isfinite(value) and not isinstance(value, bool):
            return value
        case tuple() | list() if value and all(isinstance(one, float) for one in value):
            return tuple(value)
        case _:
            return _text(value)


def _text(value: Any) -> str:  # noqa: ANN401  any value of a case or an observation
    """Format a value for a message, with six significant digits."""
    match value:
        case None | UnsetType():
            return "none"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.6g}"
        case tuple() | list():
            return " ".join(map(_text, value)) or "none"
        case _:
            return str(value)
