"""Limits, damping and friction of joints, their equations of motion, and the passive rollout.

In equations of motion, an error in one link affects every joint that carries it. Each joint is
graded, and traced to the links and joints that cause the difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from urdf_usd.conformance.checks import check
from urdf_usd.conformance.checks.kinematics import joint_errors
from urdf_usd.conformance.checks.mass import differing_links
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.tolerance import ARITHMETIC, distance, scalar_bound
from urdf_usd.reports.records.record import Difference, Grade, Value

# The largest float32: USD stores a larger value as none, and a URDF that is written from USD
# states none by this value.
_FARTHEST = 3.4028234663852886e38
# What float32 rounds to its smallest normal number, which stands for a limit of zero in schemas
# whose ranges must not be empty.
_SMALLEST = 2.0**-126 + 2.0**-150
# Engines that read USD treat a limit beyond this, in degrees or metres, as none.
_STORABLE = math.radians(1e30)
# Relative tolerance of a ratio to 180/pi for a message to suggest wrong units.
_UNIT_FIT = 1e-3
# How much more the engineering tolerance of masses allows than nearby robots differ by: 1e-4
# against 1e-6.
_FREEDOM = 100.0
# A state that such a difference changes by more than this [rad or m] is not compared.
_CHAOS = 0.5
# Duration of a rollout [s] unless the robot is large, or the simulation diverges.
_WHOLE = 1.0
Array = NDArray[np.float64]


def stored_limit(limit: float) -> float:
    """Return a position limit [rad or m] as USD can store it; infinite for none."""
    return limit if abs(limit) <= _STORABLE else math.copysign(math.inf, limit)


def unit_hint(expected: float, actual: float) -> str:
    """Suggest wrong units if the ratio of the numbers is 180/pi or its inverse."""
    ratio = math.radians(actual / expected) if expected and actual else 0.0
    if abs(ratio - 1) < _UNIT_FIT:
        return " (degrees instead of radians?)"
    if abs(ratio * math.degrees(1.0) ** 2 - 1) < _UNIT_FIT:
        return " (radians instead of degrees?)"
    return ""


def _pairs(sides: check.Sides) -> Iterator[tuple[obs.JointObservation, obs.JointObservation]]:
    """Pair joints with one coordinate on both sides; types are another check."""
    return (pair for pair in sides.joints if all(obs.COORDINATES[one.type] == 1 for one in pair))


def _position_check(side: str, absent: float) -> None:
    """Define the check of lower or upper position limits."""
    clause = (
        f"{side.capitalize()} limit of every joint with one axis, relative to the larger of the "
        "limit and 1 rad or 1 m; unlimited equals unlimited."
    )
    title, reads = f"{side} position limits", f"physics:{side}Limit"

    @check.check(f"limits.{side}", title, obs.Quantity.LIMITS, "1", clause=clause, reads=reads)
    def limits(sides: check.Sides) -> Iterator[Difference]:
        for pair in _pairs(sides):
            values = (getattr(joint, side) for joint in pair)
            one, two = (stored_limit(absent if limit is None else limit) for limit in values)
            shown: list[Value] = ["unlimited" if math.isinf(own) else own for own in (one, two)]
            unit = "m" if pair[0].type is obs.JointType.PRISMATIC else "rad"
            text = check.is_not(f"{side} limit", shown, unit, unit_hint(one, two))
            # Most limits are a few radians; some are large numbers that mean "none".
            bound = 0.0 if math.isinf(one) else scalar_bound(one) / max(1.0, abs(one))
            amounts = check.relative_difference(one, two, least=1.0), bound, sides.tolerance.limit
            yield check.difference(f"joint {pair[0].name}", text, shown, unit, amounts)


def _number_check(
    id: str,
    title: str,
    quantity: obs.Quantity,
    units: tuple[str, str],  # of other joints, and of prismatic ones
    clause: str,
    reads: str,
) -> None:
    """Define the check of one number of each joint; absent damping and friction are zero."""
    group, _, field = id.partition(".")
    absent = 0.0 if group == "dynamics" else None

    @check.check(id, title, quantity, "1", clause=clause, reads=reads)
    def numbers(sides: check.Sides) -> Iterator[Difference]:
        for pair in _pairs(sides):
            value, found = values = [getattr(joint, field) for joint in pair]
            if value is None and found is None:
                continue
            same = absent is not None and (value or absent) == (found or absent)
            hint = unit_hint(value or 0.0, found or 0.0)
            if found is None:
                # Which attribute the engine expected, if another states the value.
                notes = (pair[1].note or "").split("; ")
                hint = "".join(f" ({note})" for note in notes if f":{field} is " in note)
            shown = [check.stated(one, "another for each simulator") for one in values]
            unit = units[pair[0].type is obs.JointType.PRISMATIC]
            amount = 0.0 if same else _ratio(value, found)
            amounts = amount, scalar_bound(1.0), sides.tolerance.force
            text = check.is_not(field, shown, unit, hint)
            yield check.difference(f"joint {pair[0].name}", text, shown, unit, amounts)


def _ratio(expected: float | None, actual: float | None) -> float:
    if expected is None or actual is None:
        return math.inf
    # Each by itself: max() of zero and NaN is zero.
    tiny = abs(expected) <= _SMALLEST and abs(actual) <= _SMALLEST
    if tiny or (expected >= _FARTHEST and actual >= _FARTHEST):
        return 0.0
    return check.relative_difference(expected, actual)


_position_check("lower", -math.inf)
_position_check("upper", math.inf)
_TORQUE, _RATE = ("N m", "N"), ("N m s/rad", "N s/m")
for _id, _title, _quantity, _units, _clause, _reads in (
    (
        *("limits.effort", "effort limits", obs.Quantity.EFFORT, _TORQUE),
        "Largest force or torque; absent differs from zero.",
        "drive:*:physics:maxForce mjc:actuatorfrclimited mjc:actuatorfrcrange:max "
        "mjc:actuatorfrcrange:min",
    ),
    (
        *("limits.velocity", "velocity limits", obs.Quantity.VELOCITY, ("rad/s", "m/s")),
        "Largest speed; absent differs from zero.",
        "newton:velocityLimit physxJoint:maxJointVelocity physxJointAxis:*:maxJointVelocity",
    ),
    (
        *("dynamics.damping", "joint damping", obs.Quantity.DYNAMICS, _RATE),
        "Viscous damping; absent means zero, as in URDF.",
        "newton:damping mjc:damping physxJointAxis:*:viscousFrictionCoefficient",
    ),
    (
        *("dynamics.friction", "joint friction", obs.Quantity.DYNAMICS, _TORQUE),
        "Coulomb friction; absent means zero, as in URDF.",
        "newton:friction mjc:frictionloss physxJointAxis:*:dynamicFrictionEffort "
        "physxJointAxis:*:staticFrictionEffort",
    ),
):
    _number_check(_id, _title, _quantity, _units, _clause, _reads)

check.unexpected(
    obs.SettingKind.DRIVE,
    "dynamics.drives",
    "drives without gains",
    "No drive has stiffness or damping, and no actuator acts on a joint: URDF has no controller.",
    "newton:targets mjc:biasPrm mjc:biasType mjc:gainPrm",
)
check.unexpected(
    obs.SettingKind.JOINT,
    "dynamics.joints",
    "other joint properties",
    "No joint has an armature, springs at its limits or other properties that URDF lacks.",
)
check.unexpected(
    obs.SettingKind.BODY,
    "dynamics.bodies",
    "other body properties",
    "Gravity acts on every body; none has damping, locked axes, forces or surface velocities.",
)


@check.check("dynamics.inertia_matrix", "joint-space inertia", obs.Quantity.MOTION, "1")
def _inertia_matrices(sides: check.Sides) -> check.Comparison:
    """M(q) over all configurations with a floating root, relative to diagonal inertias."""
    return _equations("inertia", sides)


@check.check("dynamics.bias", "gravity and velocity forces", obs.Quantity.MOTION, "1")
def _bias_forces(sides: check.Sides) -> check.Comparison:
    """Gravity, Coriolis and centrifugal forces, relative to their upper bound at each joint."""
    return _equations("force", sides)


def _equations(what: str, sides: check.Sides) -> check.Comparison:
    """Compare per joint, by the entry that exceeds its bounds the most."""
    expected, actual, model = sides.expected, sides.actual, sides.model
    motion, first, second = model.motion, expected.dynamics, actual.dynamics
    if motion is None or first is None or second is None:
        return check.not_stated(expected if first is None else actual, "equations of motion")
    labels = expected.frames.labels if expected.frames else ()
    # The s velocities that both sides and the tolerance model have.
    indices = [obs.velocity_indices(side.joints) for side in (motion, first, second)]
    shared = [key for key in indices[0] if all(key in side for side in indices)]
    own, one, two = ([side[key] for key in shared] for side in indices)
    joints = [name for name, _ in shared]
    # (K, s, c) differences of a matrix or vector; (s, c) scale, bound of rounding, and bound of the
    # effect of harmless defaulted mass and inertia.
    if what == "inertia":
        both = np.ix_(own, own)
        off = np.abs(first.inertia[:, one][:, :, one] - second.inertia[:, two][:, :, two])
        scale = np.outer(motion.inertia, motion.inertia)[both]
        bound, defaulted = motion.inertia_bound[both], motion.inertia_defaulted[both]
    else:
        off = np.abs(first.bias[:, one] - second.bias[:, two])[:, :, None]
        scale, bound, defaulted = (
            values[own, None] for values in (motion.bias, motion.bias_bound, motion.bias_defaulted)
        )

    def subject(name: str) -> str:
        return f"link {expected.root}" if name == obs.ROOT_MOTION else f"joint {name}"

    lost, none = (math.nan, 0.0, 0.0), (None, None)
    differences = [
        check.difference(
            subject(name), f"{actual.engine} states no {what}", none, "", lost, item=name
        )
        for name in dict.fromkeys(first.joints)
        # Some engines fix the root.
        if name in motion.joints and name not in {obs.ROOT_MOTION, *joints}
    ]
    # A difference from zero scale is infinite unless rounding explains it; so is one that is not
    # finite.
    known = ((scale > 0) | (off <= bound)) & np.isfinite(off)
    relative = np.where(scale > 0, scale, 1.0)
    amounts = np.where(known, off / relative, np.inf)
    amounts[off == 0] = 0.0
    bounds = bound / relative
    tolerances = model.tolerance.motion + defaulted / relative
    excess = (amounts > bounds).astype(float) + (amounts > tolerances)
    for name, (at, row, column) in _worst(joints, amounts, excess).items():
        amount = float(amounts[at, row, column])
        label = labels[at] if labels else f"configuration {at}"
        partner = joints[column] if amounts.shape[2] > 1 else name
        pair = "" if partner == name else f" with {subject(partner)}"
        text = f"{what}{pair} differs by {amount:.3g} of its scale at {label!r}"
        sizes = amount, float(bounds[row, column]), float(tolerances[row, column])
        fields = {"item": name, "configuration": label}
        differences.append(check.difference(subject(name), text, none, "", sizes, **fields))
    partial = f"at the first {len(off)} of {len(labels)} configurations"
    note = partial if len(off) < len(labels) else None
    return check.Compared(_traced(differences, sides), note=note)


def _worst(joints: Sequence[str], amounts: Array, excess: Array) -> dict[str, tuple[int, int, int]]:
    """Find the decisive entry of each joint: (K, s, c) amounts by excess, the number of bounds."""
    worst = {}
    for name in dict.fromkeys(joints):
        rows = [row for row, joint in enumerate(joints) if joint == name]
        most = excess[:, rows] == excess[:, rows].max()
        ranks = np.where(most, amounts[:, rows], -1.0)
        at, row, column = map(int, np.unravel_index(ranks.argmax(), ranks.shape))
        worst[name] = at, rows[row], column
    return worst


def _traced(differences: Sequence[Difference], sides: check.Sides) -> tuple[Difference, ...]:
    """Trace failing differences of joints to the links that they carry, and joints on the way."""
    if all(one.grade is not Grade.FAILS for one in differences):
        return tuple(differences)
    links = [link for group in sides.model.groups for link in group]
    chains = {link: tuple(joint.name for joint in sides.model.chain(link)) for link in links}
    errors = joint_errors(sides)

    def traced(one: Difference) -> Difference:
        if one.grade is not Grade.FAILS:
            return one
        carried = {n: chain for n, chain in chains.items() if one.item in (obs.ROOT_MOTION, *chain)}
        wrong = differing_links(tuple(carried), sides, "mass", "center", "inertia")
        along = dict.fromkeys(name for chain in carried.values() for name in chain)
        joints = tuple(name for name in along if name in errors)
        causes = [*(f"link {name}" for name in wrong), *(f"joint {name}" for name in joints)]
        because = f", caused by {', '.join(causes)}" if causes else ""
        traces, message = wrong + joints or one.traces, one.message + because
        return structs.replace(one, message=message, traces=traces)

    return tuple(map(traced, differences))


@check.check("dynamics.rollout", "1 s simulation rollout", obs.Quantity.ROLLOUT, "rad or m")
def _rollout_states(sides: check.Sides) -> check.Comparison:
    """Positions and velocities after 1 s in MuJoCo without drives, or earlier if too sensitive."""
    # The simulation of the actual side may diverge where any joint is too sensitive; earlier than
    # that, divergence is a failure.
    rollout, found = sides.expected.rollout, sides.actual.rollout
    if rollout is None and found is None:
        return check.Compared()
    if rollout is None or found is None:
        return check.not_stated(sides.expected if rollout is None else sides.actual, "rollout")
    types = {joint.name: joint.type for joint in sides.model.joint_to.values()}
    spreads = tuple(zip(*sides.model.spread.values(), strict=True))
    sensitive = (at for at, spread in enumerate(spreads) if not all(map(_is_comparable, spread)))
    steady = next(sensitive, len(spreads))
    compared = {
        name: _state_difference(name, types[name], rollout, found, sides, steady)
        for name in rollout.joints
        if name in types
    }
    chaotic = [name for name, made in compared.items() if made is None]
    notes = []
    if not rollout.states:
        notes.append("the rollout of the URDF diverges")
    elif rollout.states[-1].time < _WHOLE:
        notes.append(f"until {rollout.states[-1].time:g} s")
    if chaotic:
        notes.append(f"not compared, too sensitive to rounding: joint {', '.join(chaotic)}")
    differences = [made for made in compared.values() if made is not None]
    return check.Compared(_traced(differences, sides), note="; ".join(notes) or None)


def _is_comparable(spread: float) -> bool:
    """Whether a spread is small enough for a comparison."""
    return _FREEDOM * spread <= _CHAOS


def _state_difference(
    name: str,
    joint_type: obs.JointType,
    expected: obs.Rollout,
    actual: obs.Rollout,
    sides: check.Sides,
    steady: int,
) -> Difference | None:
    """Compare a joint at the last state at which it is not too sensitive, if there is one."""
    # The actual side has to reach the first ``steady`` states, at which no joint is too sensitive.
    spreads = sides.model.spread.get(name, ())
    count = min(len(spreads), len(expected.states), max(steady, len(actual.states)))
    last = max((at for at in range(count) if _is_comparable(spreads[at])), default=None)
    if last is None:
        return None
    time = expected.states[last].time
    amount, text = math.nan, "is not stated"
    if name in actual.joints and last >= len(actual.states):
        amount, text = math.inf, f"diverges within {time:g} s"
    elif name in actual.joints:
        at = expected.joints.index(name), actual.joints.index(name)
        states = expected.states[last], actual.states[last]
        if len(states[0].positions[at[0]]) != len(states[1].positions[at[1]]):
            # Joint types are another check.
            text = "has another number of coordinates"
        else:
            amount = distance(*states, at, joint_type)
            text = f"differs by {amount:.3g} rad or m (or per second) after {time:g} s"
    tolerance = max(sides.tolerance.limit, _FREEDOM * spreads[last])
    amounts, message = (amount, spreads[last] + ARITHMETIC, tolerance), f"joint {name} {text}"
    return check.difference(f"joint {name}", "", (None, None), "", amounts, message=message)
