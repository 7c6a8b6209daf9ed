"""Robots that several tests use."""

ROBOT = """<robot name="arm">
  <link name="a"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><box size="1 2 3"/></geometry>
      <material name="grey"><color rgba="0.3 0.4 0.5 1"/></material></visual></link>
  <link name="b"><inertial><origin xyz="0 0.1 0.2" rpy="0 1.5707963267948966 0"/>
    <mass value="1"/>
    <inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="revolute"><parent link="a"/><child link="b"/>
    <origin xyz="0.1 0.2 0.3" rpy="0.4 -0.5 0.6"/><axis xyz="0 -1 0"/>
    <limit lower="-1" upper="2" effort="3" velocity="4"/></joint>
</robot>"""
