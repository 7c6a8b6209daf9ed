"""Gravity, scenes, and prims outside of the robot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines.openusd.joints import UNBOUNDED
from urdf_usd.conformance.engines.openusd.settings.parts import (
    Parts,
    collides,
    is_shown,
)
from urdf_usd.conformance.observation.robot import (
    SettingKind,
    UnimpliedSetting,
)

# Standard gravity of any place on the Earth [m/s^2], and numbers rounded from it.
_GRAVITY = (9.76, 9.84)
_DOWN = 1e-5


def scene_settings(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[UnimpliedSetting]:
    """Yield gravity other than that of the Earth, and parts in different scenes."""
    kind = SettingKind.SCENE
    physics = parts.physics
    scenes = [prim for prim in every if prim.IsA(UsdPhysics.Scene)]
    down = np.zeros(3)
    down["XYZ".index(UsdGeom.GetStageUpAxis(physics.stage))] = -1.0
    for prim in scenes:
        scene = UsdPhysics.Scene(prim)
        direction = np.array(scene.GetGravityDirectionAttr().Get(), np.float64)
        size = float(np.linalg.norm(direction))
        # Zero stands for the up axis of the stage, reversed.
        if size and not np.linalg.norm(direction / size - down) <= _DOWN:
            name = "physics:gravityDirection"
            yield parts.setting(kind, prim, name, "down", tuple(direction.tolist()))
        magnitude = float(scene.GetGravityMagnitudeAttr().Get())
        # Negative infinity stands for that of the Earth; OpenUSD's parser reverses
        # gravity for other negative numbers.
        least, most = _GRAVITY
        if magnitude > -UNBOUNDED and not least <= magnitude * physics.units.length <= most:
            implied = f"{9.81 / physics.units.length:.6g}"
            yield parts.setting(kind, prim, "physics:gravityMagnitude", implied, magnitude)
        if prim.GetAttribute("newton:gravityEnabled").Get() is False:
            yield parts.setting(kind, prim, "newton:gravityEnabled", "True", False)
    owners = dict(_owners(every, parts))
    known = {str(scene.GetPath()) for scene in scenes}
    first = next(iter(known), "") if len(known) == 1 else ""
    resolved = {prim: owner or first for prim, owner in owners.items()}
    counts = Counter(resolved.values())
    for prim, owner in resolved.items():
        usual = counts.most_common(1)[0][0]
        if owner != usual or (owners[prim] and owner not in known):
            yield parts.setting(
                kind, prim, "physics:simulationOwner", usual or "none", owner or "none"
            )


def _owners(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[tuple[Usd.Prim, str]]:
    """Yield bodies and colliders with the scene that they state.

    A collider of a body that states none has the scene of the body.
    """
    for prim in every:
        path = str(prim.GetPath())
        if path in parts.physics.bodies:
            api = UsdPhysics.RigidBodyAPI(prim)
        elif path in parts.physics.shapes:
            api = UsdPhysics.CollisionAPI(prim)
        else:
            continue
        targets = api.GetSimulationOwnerRel().GetTargets()
        if targets or path in parts.physics.bodies or not parts.body_of(path):
            yield prim, str(targets[0]) if targets else ""


def outside_robot(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[UnimpliedSetting]:
    """Yield what is outside of the robot, such as a ground plane, and instances.

    A joint outside holds the robot for whoever opens the stage. Of a body of an
    instance PhysX makes none, and nobody can author where it moves.
    """
    default = parts.physics.default.GetPath()
    for prim in every:
        if prim.HasAPI(UsdPhysics.RigidBodyAPI):
            what = "body"
        elif prim.IsA(UsdPhysics.Joint):
            if UsdPhysics.Joint(prim).GetJointEnabledAttr().Get() is False:
                continue
            what = "joint"
        elif collides(prim):
            what = "collider"
        elif prim.IsA(UsdGeom.Gprim):
            what = "visual"
        else:
            continue
        within = prim.GetPath().HasPrefix(default)
        moves = what in {"body", "joint"}
        place = "belongs to no link" if within else "is outside of the default prim"
        if moves and prim.IsInstanceProxy():
            place = "is in an instance, where simulators find none"
        elif (within and (moves or parts.subject(prim) != "robot")) or (
            what == "visual" and not is_shown(prim)
        ):
            continue
        yield UnimpliedSetting(
            SettingKind.SCENE,
            "robot",
            f"{what} {prim.GetPath()} {place}",
            f"no {what}",
            f"a {what}",
        )
