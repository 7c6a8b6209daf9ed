"""A robot of a hinge and a slide whose inertia is known by formula."""

from __future__ import annotations

from pathlib import Path

URDF = """\
<robot name="two">
  <link name="base">
    <inertial><mass value="5"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>
  </link>
  <joint name="hinge" type="revolute">
    <parent link="base"/><child link="arm"/>
    <origin xyz="0 0 0.15"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="50" velocity="3"/>
  </joint>
  <link name="arm">
    <inertial><origin xyz="0 0 0.3"/><mass value="2"/>
      <inertia ixx="0.02" iyy="0.03" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 0.3"/>
      <geometry><box size="0.1 0.1 0.6"/></geometry></collision>
  </link>
  <joint name="slide" type="prismatic">
    <parent link="arm"/><child link="tool"/>
    <origin xyz="0 0 0.6"/><axis xyz="0 0 1"/>
    <limit lower="-0.1" upper="0.4" effort="20" velocity="1"/>
  </joint>
  <link name="tool">
    <inertial><mass value="0.5"/>
      <inertia ixx="0.002" iyy="0.003" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="0.05"/></geometry></collision>
  </link>
  <joint name="follower" type="prismatic">
    <parent link="arm"/><child link="finger"/>
    <origin xyz="0.1 0 0.6"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="20" velocity="1"/>
    <mimic joint="slide" multiplier="-2" offset="0.05"/>
  </joint>
  <link name="finger">
    <inertial><mass value="0.25"/>
      <inertia ixx="0.002" iyy="0.004" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
</robot>
"""


_ELEMENTS = """\
<ros2_control name="system" type="system">
  <joint name="hinge">
    <command_interface name="effort"/><command_interface name="velocity"/>
    <state_interface name="position"><param name="initial_value">0.4</param>
    </state_interface>
    <state_interface name="velocity"><param name="initial_value">9</param>
    </state_interface>
  </joint>
  <joint name="slide"><state_interface name="position"/></joint>
</ros2_control>
<transmission name="t"><type>transmission_interface/SimpleTransmission</type>
  <joint name="slide">
    <hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface>
  </joint>
</transmission>
<gazebo reference="arm"><mu1>0.8</mu1><mu2>0.6</mu2><kp>1e6</kp></gazebo>
<gazebo reference="tool"><mu2>1.5</mu2><selfCollide>true</selfCollide></gazebo>
<gazebo reference="finger"><mu1>0.3</mu1></gazebo>
"""


def hinge_inertia(slide: float) -> float:
    """Return the inertia about the hinge [kg m^2], by the parallel axis theorem.

    Args:
        slide: Position of the slide [m].
    """
    finger = 0.6 - 2 * slide + 0.05
    return (
        (0.03 + 2 * 0.3**2)
        + (0.003 + 0.5 * (0.6 + slide) ** 2)
        + (0.004 + 0.25 * (0.1**2 + finger**2))
    )


def write_urdf(folder: Path) -> Path:
    file = folder / "two.urdf"
    file.write_text(URDF, encoding="utf-8")
    return file


def write_described(folder: Path) -> Path:
    file = folder / "two.urdf"
    file.write_text(URDF.replace("</robot>", f"{_ELEMENTS}</robot>"), encoding="utf-8")
    return file


def write_description(folder: Path, text: str) -> Path:
    file = folder / "robot.toml"
    file.write_text(text, encoding="utf-8")
    return file
