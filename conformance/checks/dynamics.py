"""Equations of motion over all configurations, and the passive rollout.

An error in one link affects every joint that carries it. Each joint is graded, and
traced to the links and joints that cause the difference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.conformance.checks.check import Check
from urdf_usd.conformance.checks.joint_motion import joint_errors
from urdf_usd.conformance.checks.limits import JOINT_DYNAMICS_CHECKS
from urdf_usd.conformance.checks.unexpected_settings import unexpected_check
from urdf_usd.conformance.observation.robot import (
    ROOT_MOTION,
    Dynamics,
    Observation,
    Quantity,
    Rollout,
    SettingKind,
    velocity_indices,
)
from urdf_usd.conformance.tolerance.bounds import ARITHMETIC
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    Comparison,
    Incomparable,
    ToleranceModel,
)
from urdf_usd.conformance.tolerance.motion_scale import MotionScale
from urdf_usd.conformance.tolerance.rigid_groups import differing_links, masses_of
from urdf_usd.conformance.tolerance.rollout import distance
from urdf_usd.reports.records.record import Difference, Grade

Array = NDArray[np.float64]


_ASPECTS = ("mass", "center", "inertia")
_MASSLESS = "the robot has no mass"


class _Pair(Struct, frozen=True, eq=False):
    """Two sets of equations of motion, and the velocities that both state.

    Attributes:
        ours: The first.
        theirs: The second.
        joints: (s) joint of each shared velocity.
        rows: (s) index of each in the tolerance model.
        here: (s) index of each in the first.
        there: (s) index of each in the second.
        unstated: Joints that the second leaves out, other than the root's motion: some
            engines fix the root.
    """

    ours: Dynamics
    theirs: Dynamics
    joints: tuple[str, ...]
    rows: list[int]
    here: list[int]
    there: list[int]
    unstated: tuple[str, ...]


class _Entries(Struct, frozen=True, eq=False):
    """Compared entries of a matrix or vector; s is the number of shared velocities.

    Attributes:
        off: (K, s, c) absolute differences.
        scale: (s, c) scale of each entry.
        bound: (s, c) bound of rounding to float32.
        invented: (s, c) bound of the effect of harmless invented mass and inertia.
        partners: (c) the second joint of each column; empty for a vector.
    """

    off: Array
    scale: Array
    bound: Array
    invented: Array
    partners: tuple[str, ...] = ()


def inertia_matrices(
    expected: Observation, actual: Observation, model: ToleranceModel
) -> Comparison:
    """Compare M, relative to the diagonal inertias of both joints of an entry."""
    if model.motion is None or expected.dynamics is None or actual.dynamics is None:
        return _not_stated(expected, actual)
    scale = model.motion
    pair = _pair(expected.dynamics, actual.dynamics, scale)
    both = np.ix_(pair.rows, pair.rows)
    here = pair.ours.inertia[:, pair.here][:, :, pair.here]
    there = pair.theirs.inertia[:, pair.there][:, :, pair.there]
    entries = _Entries(
        off=np.abs(here - there),
        scale=np.outer(scale.inertia, scale.inertia)[both],
        bound=scale.inertia_bound[both],
        invented=scale.inertia_invented[both],
        partners=pair.joints,
    )
    return _compare(pair, entries, "inertia", expected, actual, model)


def bias_forces(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare gravity, Coriolis and centrifugal forces.

    Relative to the upper bound of these forces at each joint.
    """
    if model.motion is None or expected.dynamics is None or actual.dynamics is None:
        return _not_stated(expected, actual)
    scale = model.motion
    pair = _pair(expected.dynamics, actual.dynamics, scale)
    here, there = pair.ours.bias[:, pair.here], pair.theirs.bias[:, pair.there]
    entries = _Entries(
        off=np.abs(here - there)[:, :, None],
        scale=scale.bias[pair.rows, None],
        bound=scale.bias_bound[pair.rows, None],
        invented=scale.bias_invented[pair.rows, None],
    )
    return _compare(pair, entries, "force", expected, actual, model)


def traced(
    differences: Sequence[Difference],
    expected: Observation,
    actual: Observation,
    model: ToleranceModel,
) -> tuple[Difference, ...]:
    """Trace failing differences of joints to the links and joints that cause them.

    The root's motion carries all links; a joint carries the links below it, and depends
    on the joints above it.
    """
    if all(difference.grade is not Grade.FAILS for difference in differences):
        return tuple(differences)
    chains = {
        link: tuple(joint.name for joint in model.chain(link))
        for group in model.groups
        for link in group
    }
    ours, theirs = masses_of(expected), masses_of(actual)
    faults = joint_errors(expected, actual, model)
    results = []
    for difference in differences:
        if difference.grade is Grade.FAILS:
            carried = {
                link: chain
                for link, chain in chains.items()
                if difference.item in (ROOT_MOTION, *chain)
            }
            links = differing_links(tuple(carried), ours, theirs, model.tolerance, _ASPECTS)
            along = dict.fromkeys(name for chain in carried.values() for name in chain)
            joints = tuple(name for name in along if name in faults)
            causes = [f"link {name}" for name in links]
            causes += [f"joint {name}" for name in joints]
            because = f", caused by {', '.join(causes)}" if causes else ""
            results.append(
                structs.replace(
                    difference,
                    message=difference.message + because,
                    traces=links + joints or difference.traces,
                )
            )
        else:
            results.append(difference)
    return tuple(results)


def _not_stated(expected: Observation, actual: Observation) -> Incomparable:
    missing_side = expected if expected.dynamics is None else actual
    return Incomparable(f"{missing_side.engine} states no equations of motion")


def _pair(ours: Dynamics, theirs: Dynamics, scale: MotionScale) -> _Pair:
    first, second = velocity_indices(ours.joints), velocity_indices(theirs.joints)
    in_scale = velocity_indices(scale.joints)
    shared = [key for key in in_scale if key in first and key in second]
    stated = {ROOT_MOTION, *(name for name, _ in shared)}
    expected = dict.fromkeys(name for name in ours.joints if name in scale.joints)
    return _Pair(
        ours=ours,
        theirs=theirs,
        joints=tuple(name for name, _ in shared),
        rows=[in_scale[key] for key in shared],
        here=[first[key] for key in shared],
        there=[second[key] for key in shared],
        unstated=tuple(name for name in expected if name not in stated),
    )


def _compare(
    pair: _Pair,
    entries: _Entries,
    what: str,
    expected: Observation,
    actual: Observation,
    model: ToleranceModel,
) -> Compared:
    """Compare per joint, by the entry that exceeds its bounds the most."""
    labels = expected.frames.labels if expected.frames else ()
    differences = [
        Difference(
            item=name,
            subject=_subject(name, expected),
            amount=math.nan,
            message=f"{_subject(name, expected)}: {actual.engine} states no {what}",
        )
        for name in pair.unstated
    ]
    # A difference from zero scale is infinite unless rounding explains it; so is one
    # that is not finite.
    known = (entries.scale > 0) | (entries.off <= entries.bound)
    known &= np.isfinite(entries.off)
    relative = np.where(entries.scale > 0, entries.scale, 1.0)
    off = np.where(known, entries.off / relative, np.inf)
    amounts = np.where(entries.off == 0, 0.0, off)
    bounds = entries.bound / relative
    tolerances = model.tolerance.motion + entries.invented / relative
    excess = (amounts > bounds).astype(float) + (amounts > tolerances)
    for name, (at, row, column) in _worst(pair.joints, amounts, excess).items():
        amount = float(amounts[at, row, column])
        label = labels[at] if labels else f"configuration {at}"
        partner = entries.partners[column] if entries.partners else name
        subject = _subject(name, expected)
        shared = "" if partner == name else f" with {_subject(partner, expected)}"
        differences.append(
            Difference(
                item=name,
                subject=subject,
                message=f"{subject}: {what}{shared} differs by {amount:.3g} of its scale "
                f"at {label!r}",
                amount=amount,
                bound=float(bounds[row, column]),
                tolerance=float(tolerances[row, column]),
                configuration=label,
            )
        )
    note = None if model.total_mass else _MASSLESS
    if not differences:
        note = note or f"{expected.engine} states no {what}"
    if len(entries.off) < len(labels):
        note = f"at the first {len(entries.off)} of {len(labels)} configurations"
    return Compared(traced(differences, expected, actual, model), note=note)


def _worst(joints: Sequence[str], amounts: Array, excess: Array) -> dict[str, tuple[int, int, int]]:
    """Find the decisive entry of each joint: the first of equal ones.

    Args:
        joints: (s) joint of each velocity.
        amounts: (K, s, c) of each entry.
        excess: (K, s, c) number of bounds that it exceeds, which is compared first.
    """
    ranks: dict[str, tuple[float, float, int]] = {}
    places: dict[str, tuple[int, int, int]] = {}
    gravest = excess.max(axis=(0, 2), initial=0.0)
    largest = np.where(excess == gravest[:, None], amounts, -1.0)
    for row, name in enumerate(joints):
        at, column = divmod(int(largest[:, row].argmax()), amounts.shape[2])
        rank = float(gravest[row]), float(largest[at, row, column]), -at
        if name not in ranks or rank > ranks[name]:
            ranks[name], places[name] = rank, (at, row, column)
    return places


def _subject(name: str, expected: Observation) -> str:
    return f"link {expected.root}" if name == ROOT_MOTION else f"joint {name}"


# How much more the engineering tolerance of masses allows than nearby robots differ by:
# 1e-4 against 1e-6.
_FREEDOM = 100.0
# A state that such a difference changes by more than this [rad or m] is not compared.
_CHAOS = 0.5
# Duration of a rollout [s] unless the robot is large, or the simulation diverges.
_WHOLE = 1.0


def rollout_states(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare positions and velocities of joints [rad or m, and per second].

    The spread of rollouts of perturbed robots measures how sensitive a joint is to
    rounding. Each joint is compared at the last state at which its spread is small
    enough. The simulation of the second side may diverge where any joint is too
    sensitive; earlier than that, divergence is a failure.

    An engine that integrates differently states the limit of small time steps with an
    estimate of its error. It is compared with the limit of the first side, at states
    at which that error is as small; only what exceeds the error counts.
    """
    ours, theirs = expected.rollout, actual.rollout
    if ours is None and theirs is None:
        return Compared((), note="no rollout was planned")
    if ours is None or theirs is None:
        missing_side = expected if ours is None else actual
        return Incomparable(f"{missing_side.engine} states no rollout")
    errors: Mapping[str, tuple[float, ...]] = {}
    if theirs.limit and theirs.limit.errors:
        if ours.limit is None:
            return Incomparable(f"{expected.engine} states no limit of the rollout")
        columns = zip(*theirs.limit.errors, strict=True)
        errors = dict(zip(theirs.joints, columns, strict=True))
        ours = structs.replace(ours, states=ours.limit.states)
        theirs = structs.replace(theirs, states=theirs.limit.states)
    names = [joint.name for joint in model.joint_to.values()]
    steady = _steady(model)
    differences = []
    chaotic = []
    for name in ours.joints:
        if name not in names:
            continue
        own = errors.get(name, ())
        difference = _difference(name, ours, theirs, model, steady, own)
        if difference is None:
            chaotic.append(name)
        else:
            differences.append(difference)
    return Compared(
        traced(differences, expected, actual, model),
        note=_rollout_note(ours, chaotic, "or to the time step" if errors else ""),
    )


def _rollout_note(ours: Rollout, chaotic: Sequence[str], cause: str) -> str | None:
    """Return why not everything was compared, if so.

    Args:
        ours: Rollout of the first side.
        chaotic: Joints that are too sensitive to rounding.
        cause: What else they may be too sensitive to.
    """
    notes = []
    if not ours.states:
        notes.append("the rollout of the URDF diverges")
    if ours.states and (until := ours.states[-1].time) < _WHOLE:
        notes.append(f"until {until:g} s")
    if chaotic:
        causes = f"too sensitive to rounding {cause}".strip()
        notes.append(f"not compared, {causes}: joint {', '.join(chaotic)}")
    return "; ".join(notes) or None


def _steady(model: ToleranceModel) -> int:
    """Count the states, from the first, at which no joint is too sensitive."""
    spreads = tuple(zip(*model.spread.values(), strict=True))
    return next(
        (at for at, spread in enumerate(spreads) if not all(map(_is_comparable, spread))),
        len(spreads),
    )


def _is_comparable(spread: float) -> bool:
    """Whether a spread or an integration error is small enough for a comparison."""
    return _FREEDOM * spread <= _CHAOS


def _difference(
    name: str,
    ours: Rollout,
    theirs: Rollout,
    model: ToleranceModel,
    steady: int,
    errors: Sequence[float],
) -> Difference | None:
    """Compare one joint; None if it is too sensitive at every state.

    The second side has to reach the first ``steady`` states.

    Args:
        name: The joint.
        ours: Rollout of the first side.
        theirs: Rollout of the second side.
        model: Bounds and tolerances.
        steady: Number of states at which no joint is too sensitive.
        errors: Integration error of the second side per state; zero beyond the last.
    """
    spreads = model.spread.get(name, ())
    count = min(len(spreads), len(ours.states), max(steady, len(theirs.states)))
    unsure = (*errors, *[0.0] * max(0, count - len(errors)))
    comparable = [
        index for index in range(count) if _is_comparable(max(spreads[index], unsure[index]))
    ]
    if not comparable:
        return None
    last = comparable[-1]
    time = ours.states[last].time
    amount, text = math.nan, "is not stated"
    if name in theirs.joints:
        amount, text = math.inf, f"diverges within {time:g} s"
        if last < len(theirs.states):
            joint = next(j for j in model.joint_to.values() if j.name == name)
            at = ours.joints.index(name), theirs.joints.index(name)
            here, there = ours.states[last], theirs.states[last]
            if len(here.positions[at[0]]) != len(there.positions[at[1]]):
                # Joint types are another check.
                amount, text = math.nan, "has another number of coordinates"
            else:
                apart = distance(here, there, at, joint.type)
                amount = max(0.0, apart - unsure[last])
                text = f"differs by {apart:.3g} rad or m (or per second) after {time:g} s"
                if errors:
                    text += f", with an integration error of {unsure[last]:.3g}"
    return Difference(
        item=name,
        subject=f"joint {name}",
        amount=amount,
        bound=spreads[last] + ARITHMETIC,
        tolerance=max(model.tolerance.limit, _FREEDOM * spreads[last]),
        message=f"joint {name} {text}",
    )


DYNAMICS_CHECKS = (
    *JOINT_DYNAMICS_CHECKS,
    unexpected_check(
        "dynamics.drives",
        "drives without gains",
        SettingKind.DRIVE,
        "No drive has stiffness or damping, and no actuator acts on a joint: URDF states the "
        "limit of a motor, but no controller. A controller sets gains when it is attached.",
    ),
    unexpected_check(
        "dynamics.joints",
        "other joint properties",
        SettingKind.JOINT,
        "No joint breaks, has an armature, a spring at its limits or another property of a "
        "simulator that URDF does not state.",
    ),
    unexpected_check(
        "dynamics.bodies",
        "other body properties",
        SettingKind.BODY,
        "Gravity acts on every body; no axis of a body is locked, no body is damped or moved by a"
        " constant force or surface velocity, and none has another property of a simulator that "
        "URDF does not state.",
    ),
    Check(
        "dynamics.inertia_matrix",
        "joint-space inertia",
        "1",
        Quantity.MOTION,
        inertia_matrices,
        "M(q) over all configurations with a floating root: our own equations of motion for the "
        "URDF against MuJoCo's for a model built from the USD's observation. Relative to the "
        "diagonal inertias of both joints of an entry.",
    ),
    Check(
        "dynamics.bias",
        "gravity and velocity forces",
        "1",
        Quantity.MOTION,
        bias_forces,
        "Gravity, Coriolis and centrifugal forces at zero acceleration, relative to their upper "
        "bound at each joint.",
    ),
    Check(
        "dynamics.rollout",
        "1 s simulation rollout",
        "rad or m",
        Quantity.ROLLOUT,
        rollout_states,
        "Positions and velocities after 1 s in MuJoCo without drives: gravity, damping, friction "
        "and mimic couplings, fixed root, no limits. The spread of rollouts of perturbed robots "
        "sets the tolerance of each joint; where it is too large, an earlier state is compared. A"
        " rollout in PhysX, extrapolated to small time steps, is compared without friction, "
        "beyond its estimated error.",
    ),
)
