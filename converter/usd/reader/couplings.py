"""Mimic couplings, from ``urdf:`` attributes or from schemas of simulators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isclose, isfinite, radians

from msgspec import Struct
from pxr import Sdf, Usd, UsdPhysics

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import Mimic
from urdf_usd.converter.usd.urdf_attributes import read_number, read_text

# Relative and absolute tolerance between a double and its float32.
SAME = 1e-6
NOTHING = 1e-36
_PHYSX = "PhysxMimicJointAPI:"
_MUJOCO = "MjcEqualityJointAPI"


class JointNames(Struct, frozen=True):
    """URDF names of the joints of a stage.

    Attributes:
        by_path: Names by prim path.
        paths: Prim paths by name.
        length: Unit of length of the stage [m].
    """

    by_path: Mapping[Sdf.Path, str]
    paths: Mapping[str, Sdf.Path]
    length: float

    def prim(self, name: str, stage: Usd.Stage) -> Usd.Prim | None:
        """Return the joint of a name."""
        path = self.paths.get(name)
        return None if path is None else stage.GetPrimAtPath(path)


def joint_names(by_path: Mapping[Sdf.Path, str], length: float) -> JointNames:
    """Build the lookup tables."""
    return JointNames(by_path, {name: path for path, name in by_path.items()}, length)


def read_mimic(prim: Usd.Prim, joints: JointNames) -> Mimic | None:
    """Read the mimic coupling of a joint.

    The schemas of simulators take precedence. If they agree with the ``urdf:``
    attributes, possibly after resolving a chain, the coupling of these is returned.
    """
    custom = _kept(prim)
    effective = _newton(prim, joints) or _physx(prim, joints) or _mujoco(prim, joints)
    if effective is None:
        return custom if custom and custom.joint in joints.paths else None
    chain = [] if custom is None else _chain(custom, prim.GetStage(), joints)
    return custom if any(_is_same(step, effective) for step in chain) else effective


def faulty_leaders(prim: Usd.Prim, joints: JointNames) -> Iterator[Diagnostic]:
    """Find couplings to a prim that is no joint of the robot, or to the joint itself.

    Those to no joint are not read, nor are polynomials of MuJoCo.
    """
    applied = prim.GetPrimTypeInfo().GetAppliedAPISchemas()
    instances = [name.removeprefix(_PHYSX) for name in applied if _PHYSX in name]
    names = [f"physxMimicJoint:{instance}:referenceJoint" for instance in instances]
    if prim.GetAttribute("newton:mimicEnabled").Get() is not False:
        names.insert(0, "newton:mimicJoint")
    if _MUJOCO in applied:
        names.append("mjc:target")
        if _is_polynomial(prim):
            message = f"joint {prim.GetPath()} follows a polynomial of another; omitted"
            yield Diagnostic("mimic-polynomial", message)
    for name in names:
        for target in prim.GetRelationship(name).GetTargets()[:1]:
            if target == prim.GetPath():
                message = f"joint {prim.GetPath()} mimics itself"
                yield Diagnostic("mimic-loop", message)
            elif target not in joints.by_path:
                message = f"joint {prim.GetPath()} mimics {target}, which is no joint"
                yield Diagnostic("mimic-target-missing", message)


def _kept(prim: Usd.Prim) -> Mimic | None:
    leader = read_text(prim, "mimic:joint")
    multiplier = read_number(prim, "mimic:multiplier")
    offset = read_number(prim, "mimic:offset")
    if leader is None or multiplier is None or offset is None:
        return None
    return Mimic(leader, multiplier, offset)


def _chain(mimic: Mimic, stage: Usd.Stage, joints: JointNames) -> Iterator[Mimic]:
    """Yield the couplings to each joint of a chain."""
    seen: set[str] = set()
    while mimic.joint not in seen:
        yield mimic
        seen.add(mimic.joint)
        prim = joints.prim(mimic.joint, stage)
        above = _kept(prim) if prim else None
        if above is None:
            return
        mimic = Mimic(
            above.joint,
            mimic.multiplier * above.multiplier,
            mimic.multiplier * above.offset + mimic.offset,
        )


def _is_same(one: Mimic, other: Mimic) -> bool:
    return (
        one.joint == other.joint
        and isclose(one.multiplier, other.multiplier, rel_tol=SAME, abs_tol=NOTHING)
        and isclose(one.offset, other.offset, rel_tol=SAME, abs_tol=NOTHING)
    )


def _newton(prim: Usd.Prim, joints: JointNames) -> Mimic | None:
    if prim.GetAttribute("newton:mimicEnabled").Get() is False:
        return None
    leader = _leader(prim, "newton:mimicJoint", joints)
    if leader is None:
        return None
    multiplier = _authored(prim, "newton:mimicCoef1", 1.0)
    offset = _authored(prim, "newton:mimicCoef0", 0.0)
    return Mimic(leader, multiplier, offset * _unit(prim, joints))


def _physx(prim: Usd.Prim, joints: JointNames) -> Mimic | None:
    """Read ``position + gearing * leader + offset = 0``."""
    applied = prim.GetPrimTypeInfo().GetAppliedAPISchemas()
    instances = [name.removeprefix(_PHYSX) for name in applied if _PHYSX in name]
    for instance in instances:
        prefix = f"physxMimicJoint:{instance}"
        leader = _leader(prim, f"{prefix}:referenceJoint", joints)
        if leader is None:
            continue
        unit = _unit(prim, joints)
        ratio = unit / _unit(joints.prim(leader, prim.GetStage()), joints)
        multiplier = -_authored(prim, f"{prefix}:gearing", 1.0) * ratio
        offset = -_authored(prim, f"{prefix}:offset", 0.0) * unit
        return Mimic(leader, multiplier, offset + 0.0)
    return None


def _mujoco(prim: Usd.Prim, joints: JointNames) -> Mimic | None:
    """Read ``position = coef0 + coef1 * leader``, in radians or the unit of length."""
    leader = _leader(prim, "mjc:target", joints)
    if _MUJOCO not in prim.GetPrimTypeInfo().GetAppliedAPISchemas() or leader is None:
        return None
    if _is_polynomial(prim):
        return None
    units = [
        1.0 if one.IsA(UsdPhysics.RevoluteJoint) else joints.length
        for one in (prim, prim.GetStage().GetPrimAtPath(joints.paths[leader]))
    ]
    multiplier = _authored(prim, "mjc:coef1", 1.0) * units[0] / units[1]
    return Mimic(leader, multiplier, _authored(prim, "mjc:coef0", 0.0) * units[0])


def _is_polynomial(prim: Usd.Prim) -> bool:
    """Return whether MuJoCo's coupling of a joint is not linear."""
    return any(_authored(prim, f"mjc:coef{power}", 0.0) for power in (2, 3, 4))


def _leader(prim: Usd.Prim, name: str, joints: JointNames) -> str | None:
    targets = prim.GetRelationship(name).GetTargets()
    if not targets or targets[0] == prim.GetPath():
        return None
    return joints.by_path.get(targets[0])


def _authored(prim: Usd.Prim, name: str, fallback: float) -> float:
    value = prim.GetAttribute(name).Get()
    usable = isinstance(value, int | float) and isfinite(value)
    return float(value) if usable else fallback


def _unit(prim: Usd.Prim, joints: JointNames) -> float:
    turns = prim.IsA(UsdPhysics.RevoluteJoint)
    return radians(1.0) if turns else joints.length
