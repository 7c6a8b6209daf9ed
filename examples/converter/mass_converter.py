"""The beginning of a converter: bodies with their masses, and fixed joints for all.

    urdf-usd run robot.urdf --out report --converter mass
    urdf-usd run robot.urdf --out report --converter 'mass=mass-converter {urdf} {out}'

The report lists what is missing.
"""

import sys
from pathlib import Path
from xml.etree import ElementTree as ET

from pxr import Sdf, Usd, UsdGeom, UsdPhysics


def convert(urdf, directory, packages):  # noqa: ARG001  # this one reads no meshes
    """Write a USD into the directory, and return the path of its root layer."""
    robot = ET.parse(urdf).getroot()
    file = Path(directory, "robot.usda")
    stage = Usd.Stage.CreateNew(str(file))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    root = Sdf.Path("/robot")
    prim = UsdGeom.Xform.Define(stage, root).GetPrim()
    UsdPhysics.ArticulationRootAPI.Apply(prim)
    stage.SetDefaultPrim(prim)
    for link in robot.iterfind("link"):
        body = UsdGeom.Xform.Define(stage, root.AppendChild(link.get("name"))).GetPrim()
        UsdPhysics.RigidBodyAPI.Apply(body)
        mass = link.find("inertial/mass")
        if mass is not None:
            api = UsdPhysics.MassAPI.Apply(body)
            api.CreateMassAttr(float(mass.get("value")))
    for joint in robot.iterfind("joint"):
        path = root.AppendChild(joint.get("name"))
        fixed = UsdPhysics.FixedJoint.Define(stage, path)
        ends = fixed.CreateBody0Rel(), fixed.CreateBody1Rel()
        for end, tag in zip(ends, ("parent", "child"), strict=True):
            end.SetTargets([root.AppendChild(joint.find(tag).get("link"))])
    stage.Save()
    return str(file)


def main():
    """Convert the URDF of the command line into a folder."""
    urdf, directory = sys.argv[1:]
    print(convert(urdf, directory, {}))
