"""What a check is, and how differences of values are made.

A check is a function of two observations under the decorator :func:`check`; its docstring is the
clause that reports show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from msgspec import Struct

from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.shapes import Role, ShapeKind
from urdf_usd.conformance.tolerance import Tolerance, ToleranceModel
from urdf_usd.reports.records.record import Difference, Value
from urdf_usd.reports.text import value_text


class Sides(Struct, frozen=True, eq=False, dict=True):
    """Two observations of a robot, with the bounds and tolerances of their comparison."""

    expected: obs.Observation
    actual: obs.Observation
    model: ToleranceModel

    @property
    def tolerance(self) -> Tolerance:
        return self.model.tolerance

    @cached_property
    def joints(self) -> tuple[tuple[obs.JointObservation, obs.JointObservation], ...]:
        """Joints of both sides, paired by name; the check of joints reports the others."""
        named = {joint.name: joint for joint in self.actual.joints}
        expected = self.expected.joints
        return tuple((joint, named[joint.name]) for joint in expected if joint.name in named)


class Compared(Struct, frozen=True):
    differences: tuple[Difference, ...] = ()  # one per value, equal ones included
    # the differences to report, if several values have one cause; None for all of them
    reported: tuple[Difference, ...] | None = None
    note: str | None = None  # why nothing, or not everything, was compared

    @property
    def shown(self) -> tuple[Difference, ...]:
        return self.differences if self.reported is None else self.reported

    @staticmethod
    def of(parts: Sequence[Compared], note: str | None) -> Compared:
        """Join the differences of several comparisons."""
        every = tuple(one for part in parts for one in part.differences)
        return Compared(every, tuple(one for part in parts for one in part.shown), note)

    def each(self, change: Callable[[Difference], Difference | None]) -> Compared:
        """Change every difference; those for which there is None are left out."""
        changed, reported = (
            part and tuple(new for one in part if (new := change(one)) is not None)
            for part in (self.differences, self.reported)
        )
        return Compared(changed or (), reported, self.note)


class Incomparable(Struct, frozen=True):
    reason: str


Comparison: TypeAlias = Compared | Incomparable
Differences: TypeAlias = Iterable[Difference]
Comparer: TypeAlias = Callable[[Sides], Comparison | Differences]


class Check(Struct, frozen=True):
    id: str  # stable, never reused; begins with the group
    title: str  # the compared quantity, in a few words
    unit: str  # of differences; empty for equality and ``1`` for ratios
    quantity: obs.Quantity  # which both engines must state
    function: Comparer
    clause: str  # what is compared, and why it matters
    usd_alone: bool = False  # concerns the USD alone: URDF engines take no part
    reads: tuple[str, ...] = ()  # attributes of a USD; ``*`` stands for the instance of a schema
    direct: str | None = None  # of a check of the round trip: the check that it repeats

    @property
    def group(self) -> str:
        return self.id.partition(".")[0]


DEFINED: list[Check] = []


def check(
    id: str,
    title: str,
    quantity: obs.Quantity,
    unit: str = "",
    *,
    clause: str = "",
    usd_alone: bool = False,
    reads: str = "",
) -> Callable[[Comparer], Comparer]:
    """Define a check by the decorated function; its docstring is the clause, if there is none.

    ``reads`` lists the attributes of a USD that it compares: others are unexpected settings.
    """

    def define(function: Comparer) -> Comparer:
        text = clause or " ".join((function.__doc__ or "").split())
        attributes = tuple(reads.split())
        DEFINED.append(Check(id, title, unit, quantity, function, text, usd_alone, attributes))
        return function

    return define


# Several checks of two observations share what they compute; a robot has fewer pairs of them.
_sides = lru_cache(maxsize=64)(Sides)


def compare(
    check: Check, expected: obs.Observation, actual: obs.Observation, model: ToleranceModel
) -> Comparison:
    """Compare the quantity of a check, if both observations state it."""
    for side in (expected, actual):
        if check.quantity not in side.states:
            return Incomparable(f"{side.engine} does not state {check.quantity}")
    found = check.function(_sides(expected, actual, model))
    if isinstance(found, Incomparable):
        return found
    return found if isinstance(found, Compared) else Compared(tuple(found))


def not_stated(side: obs.Observation, what: str) -> Incomparable:
    return Incomparable(f"{side.engine} states no {what}")


def stated(number: float | None, undefined: str = "nan") -> Value:
    """Return a number as a value of a difference, or the word for one that is not finite."""
    if number is None:
        return "absent"
    if math.isinf(number):
        return "unlimited" if number > 0 else "unlimited below"
    return undefined if math.isnan(number) else number


def difference(
    subject: str,
    text: str,
    values: Sequence[Value | None],
    unit: str,
    amounts: tuple[float, float, float],  # the amount, its bound and the tolerance
    **fields: Any,  # noqa: ANN401  of a difference
) -> Difference:
    """Return the difference of a measured value; its message is ``subject: text``."""
    fields.setdefault("item", subject.partition(" ")[2])
    fields.setdefault("message", f"{subject}: {text}")
    (expected, actual), (amount, bound, tolerance) = values, amounts
    fields |= {"amount": amount, "bound": bound, "tolerance": tolerance}
    return Difference(subject=subject, expected=expected, actual=actual, unit=unit, **fields)


def is_not(what: str, values: Sequence[Value], unit: str = "", hint: str = "") -> str:
    """Return the text of a difference: ``what is actual, not expected``."""
    expected, actual = (value_text(value, unit) for value in values)
    return f"{what} is {actual}, not {expected}{hint}"


def equality(
    subject: str,
    same: bool,
    message: str,
    expected: Value | None = None,
    actual: Value | None = None,
    **fields: Any,  # noqa: ANN401  of a difference
) -> Difference:
    """Return the difference of a value that is as expected or fails."""
    amounts = (0.0 if same else math.inf), 0.0, 0.0
    return difference(subject, "", (expected, actual), "", amounts, message=message, **fields)


def flags(
    kind: str, names: Iterable[str], flagged: Iterable[str], message: str, values: tuple[str, str]
) -> tuple[Difference, ...]:
    """Return a difference per link or joint; those with a flag fail."""
    wrong, good = set(flagged), values[0]
    return tuple(
        equality(f"{kind} {x}", x not in wrong, message.replace("{}", x), good, values[x in wrong])
        for x in names
    )


def relative_difference(expected: float, actual: float, least: float = 0.0) -> float:
    """Return the difference relative to the expected number, or at least to ``least``."""
    if expected == actual:
        return 0.0
    scale = max(abs(expected), least)
    if not scale or not (math.isfinite(expected) and math.isfinite(actual)):
        return math.inf
    return abs(expected - actual) / scale


# Settings of a USD that neither the URDF nor a simulation settings file implies. They change the
# simulation; each fails.

_ROLES = {
    obs.SettingKind.FILTER: Role.COLLISION,
    obs.SettingKind.APPROXIMATION: Role.COLLISION,
    obs.SettingKind.MATERIAL: Role.COLLISION,
    obs.SettingKind.GEOMETRY: Role.VISUAL,
    obs.SettingKind.SUBDIVISION: Role.VISUAL,
}
_OF_JOINTS = {obs.SettingKind.DRIVE, obs.SettingKind.JOINT}
_OF_BODIES = {obs.SettingKind.BODY, obs.SettingKind.INITIAL_STATE}


def unexpected(kind: obs.SettingKind, id: str, title: str, clause: str, reads: str = "") -> None:
    """Define the check that there are no unexpected settings of one kind."""
    role = _ROLES.get(kind)
    quantity = obs.Quantity.JOINTS if kind in _OF_JOINTS else obs.Quantity.LINKS
    if role:
        quantity = obs.Quantity(f"{role} shapes")

    @check(id, title, quantity, clause=clause, usd_alone=True, reads=reads)
    def compare(sides: Sides) -> Comparison:
        actual, links = sides.actual, {link.name for link in sides.expected.links}
        if actual.unexpected is None:
            return Incomparable(f"{actual.engine} does not read settings besides the URDF's")
        settings = settings_of(kind, actual)
        subjects = ["robot"]
        if kind is obs.SettingKind.SCENE:
            settings += _surplus_shapes(links, actual)
        elif kind in _OF_JOINTS:
            subjects = [f"joint {joint.name}" for joint in actual.joints]
        elif kind in _OF_BODIES:
            bodies = [link.name for link in actual.links if link.body == link.name]
            subjects = [f"link {name}" for name in bodies if name in links]
        elif role:
            subjects = [
                f"link {shape.link}"
                for shape in actual.shapes
                if shape.role is role and shape.link in links
                if kind is not obs.SettingKind.SUBDIVISION or shape.kind is ShapeKind.MESH
            ]
        wrong = {setting.subject for setting in settings}
        differences = [
            equality(subject, True, "nothing that the URDF does not imply", item=subject)
            for subject in dict.fromkeys(subjects)
            if subject not in wrong
        ]
        differences += map(setting_difference, settings)
        return Compared(tuple(differences))


def _surplus_shapes(links: set[str], actual: obs.Observation) -> list[obs.UnexpectedSetting]:
    """Return the colliders and visuals that belong to no link of the robot."""
    carriers: dict[tuple[Role, str], list[str]] = {}
    for shape in actual.shapes:
        carriers.setdefault((shape.role, shape.source), []).append(shape.link)
    surplus = []
    for (role, source), names in carriers.items():
        if links.isdisjoint(names):
            noun = "collider" if role is Role.COLLISION else "visual"
            text = f"{noun} {source} belongs to no link"
            sides = f"no {noun}", f"a {noun}"
            surplus.append(obs.UnexpectedSetting(obs.SettingKind.SCENE, "robot", text, *sides))
    return surplus


def settings_of(kind: obs.SettingKind, observation: obs.Observation) -> list[obs.UnexpectedSetting]:
    return [one for one in observation.unexpected or () if one.kind is kind]


def setting_difference(setting: obs.UnexpectedSetting) -> Difference:
    subject, message = setting.subject, setting.message
    message = message if subject == "robot" else f"{subject}: {message}"
    return equality(subject, False, message, setting.expected, setting.actual, item=subject)
