"""Settings of a USD that neither the URDF nor a robot description file implies.

Settings change the simulation; each fails.
"""

from __future__ import annotations

from collections.abc import Iterable

from urdf_usd.conformance.checks.check import equality
from urdf_usd.conformance.observation.robot import (
    Observation,
    SettingKind,
    UnimpliedSetting,
)
from urdf_usd.conformance.observation.shapes import Role, ShapeKind
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    Comparison,
    Incomparable,
    ToleranceModel,
)
from urdf_usd.reports.records.record import Difference

_EVERYTHING = "robot"
_SHAPES = {Role.COLLISION: "collider", Role.VISUAL: "visual"}
_ROLES = {
    SettingKind.FILTER: (Role.COLLISION, frozenset(ShapeKind)),
    SettingKind.APPROXIMATION: (Role.COLLISION, frozenset(ShapeKind)),
    SettingKind.MATERIAL: (Role.COLLISION, frozenset(ShapeKind)),
    SettingKind.GEOMETRY: (Role.VISUAL, frozenset(ShapeKind)),
    SettingKind.SUBDIVISION: (Role.VISUAL, frozenset({ShapeKind.MESH})),
}


def scene(expected: Observation, actual: Observation, _: ToleranceModel) -> Comparison:
    """Check gravity and what is outside of the robot."""
    if actual.unimplied is None:
        return _unread(actual)
    found = settings_of(SettingKind.SCENE, actual)
    links = {link.name for link in expected.links}
    carriers: dict[tuple[Role, str], list[str]] = {}
    for shape in actual.shapes:
        carriers.setdefault((shape.role, shape.source), []).append(shape.link)
    surplus = [
        UnimpliedSetting(
            SettingKind.SCENE,
            _EVERYTHING,
            f"{_SHAPES[role]} {source} belongs to no link",
            f"no {_SHAPES[role]}",
            f"a {_SHAPES[role]}",
        )
        for (role, source), names in carriers.items()
        if links.isdisjoint(names)
    ]
    return Compared(_differences((_EVERYTHING,), (*found, *surplus)))


def of_everything(
    kind: SettingKind, _: Observation, actual: Observation, __: ToleranceModel
) -> Comparison:
    """Check the settings of any part of the robot."""
    if actual.unimplied is None:
        return _unread(actual)
    return Compared(_differences((_EVERYTHING,), settings_of(kind, actual)))


def of_joints(
    kind: SettingKind, _: Observation, actual: Observation, __: ToleranceModel
) -> Comparison:
    """Check the settings of joints."""
    if actual.unimplied is None:
        return _unread(actual)
    subjects = dict.fromkeys(f"joint {joint.name}" for joint in actual.joints)
    note = None if subjects else "there is no joint"
    return Compared(_differences(subjects, settings_of(kind, actual)), note=note)


def of_links(
    kind: SettingKind, expected: Observation, actual: Observation, _: ToleranceModel
) -> Comparison:
    """Check the settings of rigid bodies."""
    if actual.unimplied is None:
        return _unread(actual)
    named = {link.name for link in expected.links}
    subjects = [
        f"link {link.name}"
        for link in actual.links
        if link.name in named and link.body == link.name
    ]
    note = None if subjects else "no link has a rigid body"
    return Compared(_differences(subjects, settings_of(kind, actual)), note=note)


def of_shapes(
    kind: SettingKind, expected: Observation, actual: Observation, _: ToleranceModel
) -> Comparison:
    """Check the settings of colliders or visuals, per link."""
    if actual.unimplied is None:
        return _unread(actual)
    role, kinds = _ROLES[kind]
    named = {link.name for link in expected.links}
    subjects = dict.fromkeys(
        f"link {shape.link}"
        for shape in actual.shapes
        if shape.role is role and shape.kind in kinds and shape.link in named
    )
    note = None if subjects else f"no link has a {role} shape of this kind"
    return Compared(_differences(subjects, settings_of(kind, actual)), note=note)


def settings_of(kind: SettingKind, observation: Observation) -> tuple[UnimpliedSetting, ...]:
    """Return the settings of one kind."""
    return tuple(one for one in observation.unimplied or () if one.kind is kind)


def setting_difference(setting: UnimpliedSetting) -> Difference:
    """Return the difference of a setting, which fails."""
    message = setting.message
    if setting.subject != _EVERYTHING:
        message = f"{setting.subject}: {message}"
    sides = setting.expected, setting.actual
    return equality(setting.subject, False, message, *sides, item=setting.subject)


def _differences(
    subjects: Iterable[str], found: Iterable[UnimpliedSetting]
) -> tuple[Difference, ...]:
    """Return one difference per setting, and per subject without any."""
    failing = tuple(found)
    wrong = {one.subject for one in failing}
    return tuple(
        equality(subject, True, "nothing that the URDF does not imply", item=subject)
        for subject in subjects
        if subject not in wrong
    ) + tuple(map(setting_difference, failing))


def _unread(actual: Observation) -> Incomparable:
    return Incomparable(f"{actual.engine} does not read settings besides the URDF's")
