"""Where a robot goes that is left to itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from urdf_usd.conformance.checks.dynamics import traced
from urdf_usd.conformance.tolerance.bounds import ARITHMETIC
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    Difference,
    Incomparable,
    Words,
)
from urdf_usd.conformance.tolerance.rollout import distance

if TYPE_CHECKING:
    from urdf_usd.conformance.observation.free_motion import Rollout
    from urdf_usd.conformance.observation.robot import Observation
    from urdf_usd.conformance.tolerance.comparison import Comparison, ToleranceModel

# How much more the engineering tolerance of masses allows than nearby robots differ by:
# 1e-4 against 1e-6.
_FREEDOM = 100.0
# A state that such a difference moves by more than this [rad or m] says nothing.
_CHAOS = 0.5
# How long a robot is left to itself [s] unless it is large, or explodes.
_WHOLE = 1.0


def states(
    expected: Observation, actual: Observation, tolerance_model: ToleranceModel
) -> Comparison:
    """Compare where joints are, and how fast they are there [rad or m, and per second].

    What nearby robots differ by is the measure of how a joint depends on the last
    digits of the file. Each joint is compared at the last moment at which it does not
    depend on them too much. Where any joint does, the simulation as a whole may end:
    that it ends on the second side is held against that side only while all joints of
    the first, and of the robots near it, are well conditioned.
    """
    ours, theirs = expected.rollout, actual.rollout
    if ours is None and theirs is None:
        return Compared((), note="nothing was left to itself")
    if ours is None or theirs is None:
        silent = expected if ours is None else actual
        return Incomparable(f"{silent.engine} does not say where joints go")
    names = [joint.name for joint in tolerance_model.joint_to.values()]
    steady = _steady(tolerance_model)
    differences = []
    chaotic = []
    for name in ours.joints:
        if name not in names:
            continue
        difference = _difference(name, ours, theirs, tolerance_model, steady)
        if difference is None:
            chaotic.append(name)
        else:
            differences.append(difference)
    notes = []
    if not ours.moments:
        notes.append("the URDF's own rollout diverges")
    if ours.moments and (until := ours.moments[-1].time) < _WHOLE:
        notes.append(f"until {until:g} s")
    if chaotic:
        notes.append(f"too sensitive to say anything: joint {', '.join(chaotic)}")
    found = traced(differences, expected, actual, tolerance_model)
    return Compared(found, note="; ".join(notes) or None)


def _steady(tolerance_model: ToleranceModel) -> int:
    """Count the moments, from the first, at which no joint is too sensitive."""
    spreads = tuple(zip(*tolerance_model.spread.values(), strict=True))
    return next(
        (at for at, spread in enumerate(spreads) if not all(map(_is_telling, spread))),
        len(spreads),
    )


def _is_telling(spread: float) -> bool:
    """Whether a state says something of the file; not where robots near it are far."""
    return _FREEDOM * spread <= _CHAOS


def _difference(
    name: str,
    ours: Rollout,
    theirs: Rollout,
    tolerance_model: ToleranceModel,
    steady: int,
) -> Difference | None:
    """Compare one joint; None if no moment says anything.

    The first ``steady`` moments are those that the second side has to reach.
    """
    spreads = tolerance_model.spread.get(name, ())
    count = min(len(spreads), len(ours.moments), max(steady, len(theirs.moments)))
    telling = [index for index in range(count) if _is_telling(spreads[index])]
    if not telling:
        return None
    last = telling[-1]
    time = ours.moments[last].time
    amount, said = math.nan, "is not stated"
    if name in theirs.joints:
        amount, said = math.inf, f"has exploded after {time:g} s"
        if last < len(theirs.moments):
            joint = next(j for j in tolerance_model.joint_to.values() if j.name == name)
            at = ours.joints.index(name), theirs.joints.index(name)
            here, there = ours.moments[last], theirs.moments[last]
            if len(here.positions[at[0]]) != len(there.positions[at[1]]):
                # Its other type is a difference of its own.
                amount, said = math.nan, "has another number of coordinates"
            else:
                amount = distance(here, there, at, joint.type)
                said = f"is {amount:.3g} rad or m (or per second) off after {time:g} s"
    return Difference(
        item=name,
        subject=f"joint {name}",
        amount=amount,
        bound=spreads[last] + ARITHMETIC,
        tolerance=max(tolerance_model.tolerance.limit, _FREEDOM * spreads[last]),
        words=lambda: Words(f"joint {name} {said}"),
    )
