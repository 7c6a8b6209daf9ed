"""Settings of a USD that neither the URDF nor a simulation settings file implies.

Settings change the simulation; each fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from urdf_usd.conformance.checks.check import Check, Compared, Comparison, Incomparable, equality
from urdf_usd.conformance.observation.robot import (
    Observation,
    Quantity,
    SettingKind,
    UnexpectedSetting,
)
from urdf_usd.conformance.observation.shapes import Role, ShapeKind
from urdf_usd.conformance.tolerance.model import ToleranceModel
from urdf_usd.reports.records.record import Difference

_ROBOT = "robot"
_ROLES = {
    SettingKind.FILTER: Role.COLLISION,
    SettingKind.APPROXIMATION: Role.COLLISION,
    SettingKind.MATERIAL: Role.COLLISION,
    SettingKind.GEOMETRY: Role.VISUAL,
    SettingKind.SUBDIVISION: Role.VISUAL,
}
_OF_JOINTS = frozenset({SettingKind.DRIVE, SettingKind.JOINT})
_OF_BODIES = frozenset({SettingKind.BODY, SettingKind.INITIAL_STATE})


def unexpected_check(id: str, title: str, kind: SettingKind, clause: str) -> Check:
    """Return the check that there are no settings of one kind."""
    quantity = Quantity.JOINTS if kind in _OF_JOINTS else Quantity.LINKS
    if kind in _ROLES:
        quantity = Quantity.COLLISION if _ROLES[kind] is Role.COLLISION else Quantity.VISUAL
    return Check(id, title, "", quantity, partial(_compare, kind), clause, usd_alone=True)


def _compare(
    kind: SettingKind, expected: Observation, actual: Observation, _: ToleranceModel
) -> Comparison:
    if actual.unexpected is None:
        return Incomparable(f"{actual.engine} does not read settings besides the URDF's")
    links = {link.name for link in expected.links}
    settings = [*settings_of(kind, actual)]
    subjects, note = [_ROBOT], ""
    if kind is SettingKind.SCENE:
        settings += _surplus_shapes(links, actual)
    elif kind in _OF_JOINTS:
        subjects, note = [f"joint {joint.name}" for joint in actual.joints], "there is no joint"
    elif kind in _OF_BODIES:
        bodies = [link.name for link in actual.links if link.body == link.name]
        subjects, note = [f"link {name}" for name in bodies if name in links], _NO_BODY
    elif role := _ROLES.get(kind):
        shapes = [shape for shape in actual.shapes if shape.role is role and shape.link in links]
        if kind is SettingKind.SUBDIVISION:
            shapes = [shape for shape in shapes if shape.kind is ShapeKind.MESH]
        subjects = [f"link {shape.link}" for shape in shapes]
        note = f"no link has a {role} shape of this kind"
    wrong = {setting.subject for setting in settings}
    differences = [
        equality(subject, True, "nothing that the URDF does not imply", item=subject)
        for subject in dict.fromkeys(subjects)
        if subject not in wrong
    ]
    differences += map(setting_difference, settings)
    return Compared(tuple(differences), note=None if subjects else note)


_NO_BODY = "no link has a rigid body"


def _surplus_shapes(links: set[str], actual: Observation) -> Iterable[UnexpectedSetting]:
    """Yield the colliders and visuals that belong to no link of the robot."""
    carriers: dict[tuple[Role, str], list[str]] = {}
    for shape in actual.shapes:
        carriers.setdefault((shape.role, shape.source), []).append(shape.link)
    for (role, source), names in carriers.items():
        if links.isdisjoint(names):
            noun = "collider" if role is Role.COLLISION else "visual"
            message = f"{noun} {source} belongs to no link"
            sides = f"no {noun}", f"a {noun}"
            yield UnexpectedSetting(SettingKind.SCENE, _ROBOT, message, *sides)


def settings_of(kind: SettingKind, observation: Observation) -> tuple[UnexpectedSetting, ...]:
    """Return the unexpected settings of one kind."""
    return tuple(one for one in observation.unexpected or () if one.kind is kind)


def setting_difference(setting: UnexpectedSetting) -> Difference:
    """Return the difference of an unexpected setting, which fails."""
    subject, message = setting.subject, setting.message
    message = message if subject == _ROBOT else f"{subject}: {message}"
    return equality(subject, False, message, setting.expected, setting.actual, item=subject)
