"""The robot schema and the layers of Isaac Sim 6.2.

The expected order of links and joints is that which ``isaacsim-robot-schema`` 6.2.0
computes for these robots.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Usd, UsdGeom, UsdPhysics, UsdShade

from tests.converter.usd.composed import composed
from tests.converter.usd.whole_robot import write_whole_robot
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.options import BodyNesting


def _whole(folder: Path, profile: Profile) -> Usd.Stage:
    options = ConvertOptions(profile=profile, bodies=BodyNesting.FLAT)
    urdf = write_whole_robot(folder)
    asset = convert(urdf, folder / f"{profile}", options).root_layer
    return Usd.Stage.Open(str(asset))


@pytest.mark.parametrize(
    ("variant", "profile"), [("physx", Profile.PHYSX), ("newton", Profile.GENERIC)]
)
def test_variants_have_the_physics_of_other_profiles(
    tmp_path: Path, variant: str, profile: Profile
) -> None:
    """Visual meshes are instances; all other prims are the same."""
    stage = _whole(tmp_path, Profile.ISAAC)
    stage.GetDefaultPrim().GetVariantSet("Physics").SetVariantSelection(variant)
    found, expected = composed(stage), composed(_whole(tmp_path, profile))

    # Simulators number joints in this order.
    assert [path for path in found if path in expected] == [
        path for path in expected if path in found
    ]
    instances = {path for path, prim in found.items() if prim["instanceable"]}
    assert instances
    for path, prim in expected.items():
        if any(path.startswith(one) for one in instances):
            continue
        own = {k: v for k, v in found[path].items() if not k.startswith("isaac:")}
        assert own == prim


def test_visual_meshes_are_instances_with_their_materials(tmp_path: Path) -> None:
    """The same points, materials of parts, and of the whole mesh."""
    stage = _whole(tmp_path, Profile.ISAAC)
    plain = _whole(tmp_path, Profile.GENERIC)

    def surfaces(opened: Usd.Stage) -> list[tuple[object, ...]]:
        found: list[tuple[object, ...]] = []
        for prim in opened.Traverse(Usd.TraverseInstanceProxies()):
            if not prim.IsA(UsdGeom.Mesh) or prim.HasAPI(UsdPhysics.CollisionAPI):
                continue
            pose = UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(0.0)
            bound = [
                _colour(UsdShade.MaterialBindingAPI(part).ComputeBoundMaterial()[0])
                for part in (prim, *prim.GetChildren())
            ]
            points = tuple(UsdGeom.Mesh(prim).GetPointsAttr().Get())
            found.append((points, tuple(map(tuple, pose)), tuple(bound)))
        return found

    assert surfaces(stage) == surfaces(plain)
    assert any(prim.IsInstance() for prim in stage.Traverse())


def _colour(material: UsdShade.Material) -> str:
    """Return what a material consists of, without its path."""
    if not material:
        return ""
    shaders = Usd.PrimRange(material.GetPrim(), Usd.TraverseInstanceProxies())
    return str(
        [
            (prim.GetName(), attribute.GetName(), str(attribute.Get()).rsplit("/")[-1])
            for prim in shaders
            for attribute in prim.GetAttributes()
        ]
    )
