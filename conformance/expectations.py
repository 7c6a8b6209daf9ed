"""Compares the values that a case of the feature suite expects with a USD.

Only what a case states, and an engine reports, is compared.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, assert_never

import numpy as np
from msgspec import UNSET, UnsetType, structs

from urdf_usd.conformance.engines.protocol import Crashed, Observed, Outcome, Unsupported
from urdf_usd.conformance.engines.rotations import quats_wxyz
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.shapes import (
    Appearance,
    Role,
    ShapeKind,
    ShapeObservation,
    merge_appearances,
)
from urdf_usd.conformance.tolerance.rigid_groups import group_masses
from urdf_usd.reports.quantities import value_text
from urdf_usd.reports.records.record import CaseOutcome, CaseReadingRecord, Difference, Value
from urdf_usd.reports.records.suite_case import (
    AppearanceValues,
    BodyValues,
    Expected,
    JointValues,
    MimicValues,
    ShapeValues,
)

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
_NUMBERS = (
    ("lower", obs.Quantity.LIMITS),
    ("upper", obs.Quantity.LIMITS),
    ("effort", obs.Quantity.EFFORT),
    ("velocity", obs.Quantity.VELOCITY),
    ("damping", obs.Quantity.DYNAMICS),
    ("friction", obs.Quantity.DYNAMICS),
)
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


def judge_case(
    expected: Expected,
    readings: Sequence[CaseReadingRecord],
    *,
    refusal: str | None,
    written: bool,
    crash: str,
    rules: Collection[str] | None,
) -> tuple[CaseOutcome, str]:
    """Return the outcome of a case, and why it does not pass.

    Args:
        expected: The values.
        readings: Comparisons with the USD, if there is one.
        refusal: Why the converter wrote no USD, if it refused the URDF.
        written: Whether there is a USD.
        crash: Why there is neither a USD nor a refusal.
        rules: Rules that the converter reported; None if it has others.
    """
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
    """Compare the values of a case with those that an engine reports of the USD.

    Args:
        expected: The values.
        actual: Observed at the configurations of :func:`configurations_of`.
    """
    values = list(_values(expected, actual))
    return CaseReadingRecord(
        engine=actual.engine,
        compared=len(values),
        failures=tuple(_failure(value) for value in values if not value.agrees),
    )


def _equal(subject: str, quantity: str, expected: object, actual: object) -> _Value:
    return _Value(subject, quantity, expected, actual, expected == actual)


def _values(expected: Expected, actual: obs.Observation) -> _Values:
    states = actual.states
    if expected.name is not UNSET and obs.Quantity.LINKS in states:
        yield _equal("robot", "name", expected.name, actual.robot)
    if expected.base is not UNSET and obs.Quantity.BASE in states:
        yield _equal("robot", "base", expected.base, actual.base)
    if expected.articulation_roots is not UNSET and actual.articulation_roots is not None:
        count = expected.articulation_roots
        yield _equal("robot", "articulation roots", count, actual.articulation_roots)
    if expected.links is not UNSET and obs.Quantity.LINKS in states:
        names = {link.name for link in actual.links}
        yield from (
            _equal(f"link {name}", "existence", True, name in names) for name in expected.links
        )
    yield from _joints(expected, actual)
    if obs.Quantity.MASS in states:
        yield from _masses(expected, actual)
    if obs.Quantity.FRAMES in states:
        yield from _poses(expected, actual)
    if obs.Quantity.COLLISION in states:
        yield from _shapes(Role.COLLISION, expected.colliders, actual)
    if obs.Quantity.VISUAL in states:
        yield from _shapes(Role.VISUAL, expected.visuals, actual)


def _joints(expected: Expected, actual: obs.Observation) -> _Values:
    # Simulators may merge welded links.
    complete = obs.Quantity.JOINTS in actual.states
    joints = {joint.name: joint for joint in actual.joints}
    if expected.dofs is not UNSET and complete and obs.Quantity.JOINT_TYPES in actual.states:
        moving = sorted(joint.name for joint in joints.values() if obs.COORDINATES[joint.type])
        yield _equal("robot", "joints that move", sorted(expected.dofs), moving)
    for name, values in expected.joints.items():
        if name in joints:
            yield from _joint(f"joint {name}", values, joints[name], actual.states)
        elif complete:
            yield _equal(f"joint {name}", "existence", True, False)


def _joint(
    subject: str, values: JointValues, joint: obs.JointObservation, states: Collection[obs.Quantity]
) -> _Values:
    if values.type is not UNSET and obs.Quantity.JOINT_TYPES in states:
        yield _equal(subject, "type", values.type, joint.type)
    for name in ("parent", "child"):
        link = getattr(values, name)
        if link is not UNSET and obs.Quantity.JOINTS in states:
            yield _equal(subject, name, link, getattr(joint, name))
    for name, quantity in _NUMBERS:
        stated = getattr(values, name)
        if stated is not UNSET and quantity in states:
            found, default = getattr(joint, name), _DEFAULTS.get(name)
            one, other = (default if v is None else float(v) for v in (stated, found))
            same = one == other or (one is not None and other is not None and _near(one, other))
            yield _Value(subject, name, stated, default if found is None else found, same)
    if values.mimic is not UNSET and obs.Quantity.MIMIC in states:
        yield _mimic(subject, values.mimic, joint)
    if values.axis is not UNSET and joint.axis is not None and obs.Quantity.JOINTS in states:
        same = math.dist(values.axis, joint.axis) <= _ROTATION
        yield _Value(subject, "axis", values.axis, joint.axis, same)


def _mimic(subject: str, values: MimicValues | None, joint: obs.JointObservation) -> _Value:
    mimic = joint.mimic
    stated = values and (values.joint, values.multiplier, values.offset)
    found = mimic and (mimic.leader, mimic.multiplier, mimic.offset)
    same = stated is found is None
    if stated and found:
        same = stated[0] == found[0] and all(map(_near, stated[1:], found[1:]))
    return _Value(subject, "mimic", stated, found, same)


def _masses(expected: Expected, actual: obs.Observation) -> _Values:
    masses = {link.name: link.mass for link in actual.links}
    if expected.total_mass is not UNSET:
        # A defaulted mass adds less than a millionth.
        total = math.fsum(mass.mass for mass in masses.values() if mass)
        same = _near(expected.total_mass, total)
        yield _Value("robot", "total mass", expected.total_mass, total, same)
    for body in expected.bodies:
        missing = [name for name in body.links if name not in masses]
        subject = f"link {' + '.join(body.links)}"
        if missing:
            yield _equal(subject, "existence of links", [], missing)
        else:
            yield from _body(subject, body, actual)


def _body(subject: str, body: BodyValues, actual: obs.Observation) -> _Values:
    found = _lumped(body.links, actual)
    mass = found.mass if found else None
    center = found.center if found else None
    tensor = found.inertia if found else None
    if body.mass is not UNSET:
        same = mass is not None and _near(body.mass, mass)
        yield _Value(subject, "mass", body.mass, mass, same)
    if body.mass_below is not UNSET:
        same = mass is not None and 0 < mass < body.mass_below
        yield _Value(subject, "mass", f"positive, below {body.mass_below:g}", mass, same)
    if body.com is not UNSET:
        same = center is not None and math.dist(body.com, center) <= _POSITION
        yield _Value(subject, "centre of mass", body.com, center, same)
    if body.inertia is not UNSET:
        allowed = _RELATIVE * math.hypot(*body.inertia) + _SMALLEST
        same = tensor is not None and math.dist(body.inertia, tensor) <= allowed
        yield _Value(subject, "inertia", body.inertia, tensor, same)


def _lumped(links: Sequence[str], actual: obs.Observation) -> obs.MassProperties | None:
    """Add the mass properties of links, in the frame of the first of them."""
    masses = {link.name: link.mass for link in actual.links if link.mass}
    if [name for name in links if name in masses] == [links[0]]:
        return masses[links[0]]
    if not masses.keys() & {*links} or actual.frames is None:
        return None
    if not {*links} <= {*actual.frames.links}:
        return None
    (group,) = group_masses(actual, [links], actual.joints)
    if group is None:
        return None
    x, y, z = group.center.tolist()
    ixx, ixy, ixz, iyy, iyz, izz = group.tensor[np.triu_indices(3)].tolist()
    return obs.MassProperties(group.mass, (x, y, z), (ixx, ixy, ixz, iyy, iyz, izz))


def _poses(expected: Expected, actual: obs.Observation) -> _Values:
    frames = actual.frames
    if frames is None:
        return
    known = {link.name for link in actual.links}
    for number, pose in enumerate(expected.poses, start=1):
        at = ", ".join(f"{name} = {_text(value)}" for name, value in pose.q.items())
        for name, values in pose.links.items():
            subject = f"link {name}" + (f" at {at}" if at else "")
            if name not in frames.links:
                # An engine may omit frames that it cannot set the joints for.
                if name not in known:
                    yield _equal(subject, "existence", True, False)
                continue
            index = frames.links.index(name)
            if values.position is not UNSET:
                position = tuple(frames.positions[number, index].tolist())
                same = math.dist(values.position, position) <= _POSITION
                yield _Value(subject, "position", values.position, position, same)
            if values.rotation_wxyz is not UNSET:
                quat = quats_wxyz(frames.rotations[number, index])
                # The nearer of q and -q, which are one rotation.
                quat = -quat if float(quat @ values.rotation_wxyz) < 0 else quat
                rotation = tuple(quat.tolist())
                same = 2 * math.dist(values.rotation_wxyz, rotation) <= _ROTATION
                yield _Value(subject, "rotation wxyz", values.rotation_wxyz, rotation, same)


def _shapes(
    role: Role, expected: Mapping[str, Sequence[ShapeValues]], actual: obs.Observation
) -> _Values:
    for link, values in expected.items():
        shapes = [shape for shape in actual.shapes if shape.link == link and shape.role is role]
        if role is Role.VISUAL and len(values) == 1 < len(shapes):
            shapes = _merged(values[0], shapes)
        noun = "colliders" if role is Role.COLLISION else "visuals"
        yield _equal(f"link {link}", f"number of {noun}", len(values), len(shapes))
        if len(shapes) == len(values):
            yield from _best_order(f"link {link}, {role.value}", values, shapes)


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


def _best_order(
    subject: str, values: Sequence[ShapeValues], shapes: Sequence[ShapeObservation]
) -> list[_Value]:
    """Compare shapes in the order with the fewest differences."""
    names = [subject] if len(values) == 1 else [f"{subject} {n + 1}" for n in range(len(values))]
    few = len(shapes) <= _MOST_PERMUTED
    orders: Iterable[Sequence[ShapeObservation]] = (
        itertools.permutations(shapes) if few else [shapes]
    )
    trials = (
        [value for pair in zip(names, values, order, strict=True) for value in _shape(*pair)]
        for order in orders
    )
    return min(trials, key=lambda trial: sum(not value.agrees for value in trial))


def _shape(subject: str, values: ShapeValues, shape: ShapeObservation) -> _Values:
    if values.kind is not UNSET:
        yield _equal(subject, "kind", values.kind, shape.kind)
    if values.size is not UNSET:
        same = len(values.size) == len(shape.size) and all(map(_near, values.size, shape.size))
        yield _Value(subject, "size", values.size, shape.size, same)
    points: dict[str, tuple[str, obs.Vec3 | None]] = {"position": ("position", shape.position)}
    for name in ("lower", "upper"):
        points[name] = (f"{name} bound", getattr(shape.surface, name, None))
    for name, (quantity, point) in points.items():
        stated = getattr(values, name)
        if stated is not UNSET:
            same = point is not None and math.dist(stated, point) <= _POSITION
            yield _Value(subject, quantity, stated, point, same)
    for name in ("volume", "area"):
        stated, found = getattr(values, name), getattr(shape.surface, name, None)
        if stated is not UNSET:
            yield _Value(subject, name, stated, found, found is not None and _near(stated, found))
    if values.appearances is not UNSET:
        yield from _appearances(subject, values.appearances, shape.appearances)


def _appearances(
    subject: str, expected: Sequence[AppearanceValues], actual: Sequence[Appearance]
) -> _Values:
    if len(expected) != len(actual):
        yield _equal(subject, "number of appearances", len(expected), len(actual))
        return
    for values in expected:
        trials = ([*_appearance(subject, values, one)] for one in actual)
        yield from min(trials, key=lambda trial: sum(not value.agrees for value in trial))


def _appearance(subject: str, values: AppearanceValues, found: Appearance) -> _Values:
    if values.area is not UNSET:
        yield _Value(subject, "area", values.area, found.area, _near(values.area, found.area))
    if values.color is not UNSET:
        same = values.color is found.color is None
        if values.color and found.color:
            pairs = zip(values.color, found.color, strict=True)
            same = all(abs(one - other) <= _COLOR for one, other in pairs)
        yield _Value(subject, "color", values.color, found.color, same)
    if values.opacity is not UNSET:
        same = found.opacity is not None and abs(values.opacity - found.opacity) <= _COLOR
        yield _Value(subject, "opacity", values.opacity, found.opacity, same)
    if values.texture is not UNSET:
        # Cases state the file, from which converters copy a PNG or JPEG.
        same = values.texture == found.image_sha256
        yield _Value(subject, "texture", values.texture, found.texture, same)


def _near(expected: float, actual: float) -> bool:
    if not math.isfinite(expected) or not math.isfinite(actual):
        return expected == actual
    return abs(expected - actual) <= _RELATIVE * abs(expected) + _SMALLEST


def _failure(value: _Value) -> Difference:
    expected, actual = _as_value(value.expected), _as_value(value.actual)
    name = f"{value.subject}: {value.quantity}"
    return Difference(
        subject=value.subject,
        item=f"{value.subject} {value.quantity}",
        message=f"{name} {value_text(actual)}, expected {value_text(expected)}",
        expected=expected,
        actual=actual,
    )


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
