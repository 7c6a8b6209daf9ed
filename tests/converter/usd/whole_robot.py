"""A robot with every feature of an asset."""

from __future__ import annotations

from pathlib import Path

from tests.converter.usd.textured_meshes import png

_SURFACE = """mtllib part.mtl
v 0.1 0.2 0.3
v 1.4 0.0 -0.2
v 1.2 1.1 0.1
v 0.5 0.4 1.6
vt 0.1 0.2
vt 0.9 0.3
vt 0.8 0.7
usemtl red
f 1/1 3/3 2/2
f 1/1 2/2 4/3
usemtl skin one
f 2/1 3/2 4/3
f 3/1 1/2 4/3
"""
_LOOKS = "newmtl red\nKd 0.5 0.25 0\nnewmtl skin one\nmap_Kd skin.png\n"
_INERTIAL = """<inertial><origin xyz="0.01 -0.02 0.03" rpy="0.1 0.2 -0.3"/>
  <mass value="{}"/><inertia ixx="0.03" ixy="0.002" ixz="0.001" iyy="0.04"
  iyz="-0.003" izz="0.05"/></inertial>"""
_MESH = '<geometry><mesh filename="part.obj" scale="{}"/></geometry>'
_PLACE = '<origin xyz="0.1 0.2 -0.3" rpy="0.4 -0.5 0.6"/>'
_URDF = f"""<robot name="whole robot" version="1.0" maker="unknown">
  <material name="blue glass"><color rgba="0 0.25 0.5 0.75"/></material>
  <link name="torso" colour="red">{_INERTIAL.format(4.5)}
    <visual>{_PLACE}{_MESH.format("0.5 0.6 0.7")}</visual>
    <visual name="panel">{_PLACE}<geometry><box size="0.1 0.2 0.3"/></geometry>
      <material name="blue glass"/></visual>
    <collision>{_PLACE}{_MESH.format("0.5 0.6 0.7")}</collision>
    <collision name="mirrored">{_PLACE}{_MESH.format("-0.5 0.6 0.7")}</collision>
  </link>
  <link name="upper-arm">{_INERTIAL.format(1.5)}
    <visual><geometry><cylinder radius="0.05" length="0.4"/></geometry></visual>
    <collision>{_PLACE}<geometry><cylinder radius="0.06" length="0.5"/></geometry>
    </collision>
  </link>
  <link name="2nd arm">{_INERTIAL.format(0.5)}
    <collision><geometry><sphere radius="0.07"/></geometry></collision></link>
  <link name="slider">{_INERTIAL.format(0.25)}</link>
  <link name="tool"><collision>{_PLACE}<geometry><box size="0.1 0.2 0.3"/></geometry>
    </collision></link>
  <joint name="shoulder" type="revolute">{_PLACE}<axis xyz="1 2 -2"/>
    <parent link="torso"/><child link="upper-arm"/>
    <limit lower="-0.5" upper="1.25" effort="30" velocity="2"/>
    <dynamics damping="0.7" friction="0.2"/></joint>
  <joint name="elbow" type="continuous" wear="3">{_PLACE}<axis xyz="0 -1 0"/>
    <parent link="upper-arm"/><child link="2nd arm"/></joint>
  <joint name="rail" type="prismatic">{_PLACE}<axis xyz="0 0.6 0.8"/>
    <parent link="torso"/><child link="slider"/>
    <limit lower="-0.1" upper="0.2" effort="5" velocity="1"/>
    <spring><rate>3</rate></spring></joint>
  <joint name="wrist" type="fixed">{_PLACE}<parent link="2nd arm"/>
    <child link="tool"/></joint>
  <gazebo reference="tool"><kp>7</kp></gazebo>
  <transmission name="t"><joint name="elbow"/></transmission>
</robot>
"""


def write_whole_robot(folder: Path) -> Path:
    """Write the robot with all its files; its prim is called ``whole_robot``."""
    (folder / "part.obj").write_text(_SURFACE)
    (folder / "part.mtl").write_text(_LOOKS)
    (folder / "skin.png").write_bytes(png(90))
    urdf = folder / "whole.urdf"
    urdf.write_text(_URDF)
    return urdf
