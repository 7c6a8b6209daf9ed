"""Actuators of Newton and MuJoCo that act on joints by themselves.

A URDF implies none of Newton's. An actuator of MuJoCo without bias exerts no force
while its control is zero, and changes nothing. One with a bias is the same as the drive
of its joint if both have the same gains.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from pxr import Usd, UsdPhysics

from urdf_usd.conformance.engines.openusd.settings.parts import Parts
from urdf_usd.conformance.engines.openusd.stage import (
    number_attribute,
    text_attribute,
)
from urdf_usd.conformance.observation.robot import SettingKind, UnexpectedSetting

# float32 keeps 6e-8.
_SAME = 1e-6
_MOST_FORCE = "mjc:actuatorfrcrange:max"
_TARGETS = {"NewtonActuator": "newton:targets", "MjcActuator": "mjc:target"}
# Attributes of actuators of MuJoCo that Newton adds to those of the joint.
_ADDED = ("mjc:armature", "mjc:damping")


class _Gains(Struct, frozen=True):
    """Gains of a drive or of actuators [SI]."""

    stiffness: float = 0.0
    damping: float = 0.0

    def plus(self, other: _Gains) -> _Gains:
        """Return those of both."""
        return _Gains(self.stiffness + other.stiffness, self.damping + other.damping)

    def is_like(self, other: _Gains) -> bool:
        """Whether both are the same but for rounding."""
        return math.isclose(self.stiffness, other.stiffness, rel_tol=_SAME) and math.isclose(
            self.damping, other.damping, rel_tol=_SAME
        )


def actuators(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[UnexpectedSetting]:
    """Yield joints on which actuators act otherwise than their drives."""
    joints: Mapping[str, object] = parts.physics.joints
    acting: dict[str, list[Usd.Prim]] = {}
    for prim in every:
        name = _TARGETS.get(prim.GetTypeName())
        targets = prim.GetRelationship(name).GetTargets() if name else ()
        for target in map(str, targets):
            if target not in joints:
                continue
            if prim.GetTypeName() == "MjcActuator":
                acting.setdefault(target, []).append(prim)
            else:
                yield _setting(target, f"actuator {prim.GetPath()} acts on it", parts)
    for target, prims in acting.items():
        joint = parts.physics.stage.GetPrimAtPath(target)
        paths = ", ".join(str(prim.GetPath()) for prim in prims)
        drive = _drive(joint, parts)
        gains = _Gains()
        for prim in prims:
            own = _gains(prim, stops=_effort(joint))
            gains = gains.plus(own or _Gains(math.nan, math.nan))
        if gains != _Gains() and not gains.is_like(drive):
            yield _setting(target, f"actuator {paths} acts otherwise than it", parts)


def _setting(joint: str, text: str, parts: Parts) -> UnexpectedSetting:
    return UnexpectedSetting(
        SettingKind.DRIVE,
        parts.subject(parts.physics.stage.GetPrimAtPath(joint)),
        text,
        "no actuator",
        "an actuator",
    )


def _drive(joint: Usd.Prim, parts: Parts) -> _Gains:
    """Return the gains of the drive of a joint with one coordinate."""
    angular = joint.IsA(UsdPhysics.RevoluteJoint)
    if not (angular or joint.IsA(UsdPhysics.PrismaticJoint)):
        return _Gains()
    instance = "angular" if angular else "linear"
    begin = f"drive:{instance}:physics"
    place = math.radians(1.0) if angular else parts.physics.units.length
    unit = parts.physics.units.effort(angular=bool(angular)) / place
    if text_attribute(joint, f"{begin}:type") == UsdPhysics.Tokens.acceleration:
        return _Gains(math.nan, math.nan)
    return _Gains(
        *(
            (number_attribute(joint, f"{begin}:{name}") or 0.0) * unit
            for name in ("stiffness", "damping")
        )
    )


def _effort(joint: Usd.Prim) -> float:
    """Return the effort limit of a joint, in units of the stage; infinite without."""
    angular = joint.IsA(UsdPhysics.RevoluteJoint)
    force = f"drive:{'angular' if angular else 'linear'}:physics:maxForce"
    limits = (number_attribute(joint, name) for name in (force, _MOST_FORCE))
    return min((one for one in limits if one is not None), default=math.inf)


def _gains(prim: Usd.Prim, stops: float) -> _Gains | None:
    """Return the gains of an actuator of MuJoCo; None if it is something else.

    Args:
        prim: The actuator.
        stops: Effort limit of its joint.
    """
    if any(number_attribute(prim, name) for name in _ADDED):
        return None
    if not _stops_at(prim, stops):
        return None
    affine = text_attribute(prim, "mjc:biasType") == "affine"
    bias = _numbers(prim, "mjc:biasPrm") if affine else ()
    if (text_attribute(prim, "mjc:biasType") or "none") not in {"none", "affine"}:
        return None
    constant, place, rate, *rest = (*bias, 0.0, 0.0, 0.0)
    if not (constant or place or rate):
        return _Gains()
    found = _Gains(-place, -rate)
    gain, *others = _numbers(prim, "mjc:gainPrm") or (1.0,)
    is_servo = (
        not constant
        and not any(rest)
        and not any(others)
        and math.isclose(gain, found.stiffness or found.damping, rel_tol=_SAME)
        and (text_attribute(prim, "mjc:dynType") or "none") == "none"
        and (text_attribute(prim, "mjc:gainType") or "fixed") == "fixed"
        and _is_direct(_numbers(prim, "mjc:gear"))
    )
    return found if is_servo else None


def _stops_at(prim: Usd.Prim, effort: float) -> bool:
    """Whether the force range of an actuator is absent, or the effort limit."""
    lower, upper = (
        number_attribute(prim, f"mjc:forceRange:{end}") or 0.0 for end in ("min", "max")
    )
    limited = text_attribute(prim, "mjc:forceLimited") or "auto"
    if limited == "false" or (limited == "auto" and not lower < upper):
        return True
    return math.isclose(upper, effort, rel_tol=_SAME) and lower == -upper


def _is_direct(gear: Sequence[float]) -> bool:
    first, *others = gear or (1.0,)
    return first == 1.0 and not any(others)


def _numbers(prim: Usd.Prim, name: str) -> tuple[float, ...]:
    attribute = prim.GetAttribute(name)
    return tuple(map(float, attribute.Get() or ())) if attribute else ()
