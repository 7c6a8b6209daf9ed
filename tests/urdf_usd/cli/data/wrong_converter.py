"""A converter that doubles the mass of links with a mesh."""

import sys
from pathlib import Path

from pxr import Usd, UsdGeom, UsdPhysics

from urdf_usd import convert
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.options import Layout

asset = convert(Path(sys.argv[1]), sys.argv[2], ConvertOptions(layout=Layout.SINGLE))
stage = Usd.Stage.Open(str(asset.root_layer))
for prim in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()):
    body = prim.GetParent()
    if prim.IsA(UsdGeom.Mesh):
        while body and not body.HasAPI(UsdPhysics.RigidBodyAPI):
            body = body.GetParent()
        if body:
            mass = UsdPhysics.MassAPI(body).GetMassAttr()
            mass.Set(2.5)
stage.GetRootLayer().Save()
