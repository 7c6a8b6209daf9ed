"""A physics scene, for an asset that is simulated on its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pxr import Gf, UsdPhysics

if TYPE_CHECKING:
    from pxr import Sdf, Usd

# The standard acceleration as simulators and URDF tools round it [m/s^2].
_GRAVITY = 9.81


def author_scene(stage: Usd.Stage, path: Sdf.Path) -> None:
    """Define a scene whose gravity pulls down the z axis.

    The schema's fallbacks mean the same on a stage that is Z up and in metres, but are
    left to each consumer to work out.
    """
    scene = UsdPhysics.Scene.Define(stage, path)
    scene.CreateGravityDirectionAttr(Gf.Vec3f(0.0, 0.0, -1.0))
    scene.CreateGravityMagnitudeAttr(_GRAVITY)
