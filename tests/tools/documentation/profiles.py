"""The page of profiles: files and schemas of an asset that each of them writes."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pxr import Usd, UsdGeom, UsdPhysics, UsdShade

from tests.tools.documentation.text import fenced, page, prose, split_docstring, table
from urdf_usd import ConvertOptions, Profile, convert
from urdf_usd.converter.options import Profile as ProfileOption

# Every kind of prim that has schemas of simulators.
_ROBOT = """<robot name="gripper">
  <link name="palm">
    <inertial><mass value="0.8"/>
      <inertia ixx="2e-3" iyy="3e-3" izz="4e-3" ixy="1e-4" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.1 0.2 0.05"/></geometry></collision>
    <visual><geometry><box size="0.1 0.2 0.05"/></geometry>
      <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material></visual>
  </link>
  <link name="left"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" iyy="2e-4" izz="2e-4" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="right"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" iyy="2e-4" izz="2e-4" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="open" type="prismatic">
    <parent link="palm"/><child link="left"/><origin xyz="0 0.01 0.05"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.04" effort="20" velocity="0.2"/>
    <dynamics damping="5" friction="0.5"/></joint>
  <joint name="follow" type="prismatic">
    <parent link="palm"/><child link="right"/><origin xyz="0 -0.01 0.05"/>
    <axis xyz="0 -1 0"/><limit lower="0" upper="0.04" effort="20" velocity="0.2"/>
    <mimic joint="open" multiplier="1"/></joint>
</robot>
"""
# Those of UsdPhysics and of geometry, which all profiles have.
_CORE = ("physics:", "xformOp", "material:", "purpose", "visibility", "primvars:")


def profiles_page() -> str:
    """Convert one robot with every profile, and return the page."""
    _, meanings = split_docstring(inspect.getdoc(ProfileOption) or "")
    about = (
        "`urdf-usd convert --profile NAME` selects the schemas that an asset uses "
        "besides UsdPhysics. Below are, for each profile, the files of the asset of "
        "this gripper, and the schemas and attributes of its prims, with the variants "
        "that are selected. Attributes of UsdPhysics are left out."
    )
    blocks = ["# Profiles", about, fenced("xml", _ROBOT)]
    for profile in Profile:
        blocks += [f"## {profile.value}", prose(meanings[profile.name])]
        blocks += _asset(profile)
    return page(*blocks)


def _asset(profile: Profile) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "gripper.urdf")
        source.write_text(_ROBOT, encoding="utf-8")
        options = ConvertOptions(profile=profile)
        done = convert(source, Path(folder, "asset"), options)
        root = done.root_layer.parent
        files = sorted(
            file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file()
        )
        yield fenced("text", "\n".join(files))
        stage = Usd.Stage.Open(str(done.root_layer))
        prims = (prim for prim in stage.Traverse() if _has_schemas(prim))
        rows = [
            (f"`{prim.GetName()}`, {_kind(prim)}", _schemas(prim), _attributes(prim))
            for prim in prims
        ]
    yield table(("prim", "schemas", "attributes beyond UsdPhysics"), rows)


def _has_schemas(prim: Usd.Prim) -> bool:
    if prim.IsA(UsdPhysics.Joint):
        return True
    is_visual = prim.IsA(UsdGeom.Gprim) and not prim.HasAPI(UsdPhysics.CollisionAPI)
    return bool(prim.GetPrimTypeInfo().GetAppliedAPISchemas()) and not is_visual


def _kind(prim: Usd.Prim) -> str:
    if prim == prim.GetStage().GetDefaultPrim():
        return "default prim"
    if prim.IsA(UsdPhysics.Joint):
        return "joint"
    if prim.IsA(UsdShade.Material):
        return "material"
    return "body" if prim.HasAPI(UsdPhysics.RigidBodyAPI) else "collider"


def _schemas(prim: Usd.Prim) -> str:
    names = prim.GetPrimTypeInfo().GetAppliedAPISchemas()
    return ", ".join(f"`{name}`" for name in names)


def _attributes(prim: Usd.Prim) -> str:
    names = (one.GetName() for one in prim.GetAuthoredProperties())
    return ", ".join(
        f"`{name}`" for name in names if ":" in name and not any(part in name for part in _CORE)
    )
