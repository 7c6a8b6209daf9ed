"""Elements of a URDF that a description file asks for."""

from __future__ import annotations

from pathlib import Path

from tests.converter.simulation.robots import URDF, write_description
from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.simulation.description import load_description
from urdf_usd.converter.simulation.resolution import resolve
from urdf_usd.converter.simulation.sources import ContactMaterial, Simulation
from urdf_usd.converter.urdf.parse import parse

ELEMENTS = """\
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
_GAINS = '[[joints]]\nmatch = "*"\nstiffness = 7\ndamping = 2\n'


def write_described(folder: Path, elements: str = ELEMENTS) -> Path:
    """Write the robot with further elements."""
    file = folder / "two.urdf"
    file.write_text(URDF.replace("</robot>", f"{elements}</robot>"), encoding="utf-8")
    return file


def _resolved(
    folder: Path, sources: str, elements: str = ELEMENTS
) -> tuple[Simulation, tuple[Diagnostic, ...]]:
    robot = parse(write_described(folder, elements)).robot
    file = write_description(folder, f"{_GAINS}[sources]\n{sources}")
    notes: list[Diagnostic] = []
    return resolve(load_description(file), robot, robot, notes), tuple(notes)


def test_elements_do_not_count_unless_asked_for(tmp_path: Path) -> None:
    """As without a description."""
    found, _ = _resolved(tmp_path, "")

    assert [drive.joint for drive in found.drives] == ["hinge", "slide"]
    assert found.positions == ()
    assert found.contact_materials == ()
    assert found.self_collision is None


def test_ros2_control_states_modes_and_initial_positions(tmp_path: Path) -> None:
    """Velocity goes before effort; without a command interface a joint is passive."""
    found, _ = _resolved(tmp_path, "ros2_control = true")

    (drive,) = found.drives
    assert (drive.joint, drive.stiffness, drive.damping) == ("hinge", 0.0, 2.0)
    # The follower of the slide, at its offset.
    assert found.positions == (("hinge", 0.4), ("follower", 0.05))


def test_joints_without_transmission_are_passive(tmp_path: Path) -> None:
    """The others have the drives of the file."""
    found, _ = _resolved(tmp_path, "transmissions = true")

    assert [drive.joint for drive in found.drives] == ["slide"]


def test_gazebo_states_friction_and_self_collision(tmp_path: Path) -> None:
    """UsdPhysics has neither two directions of friction nor contact stiffness."""
    found, diagnostics = _resolved(tmp_path, "gazebo = true")

    # The finger has no collider.
    assert found.contact_materials == (
        ContactMaterial("arm", 0.8, 0.8),
        ContactMaterial("tool", 1.5, 1.5),
    )
    assert found.self_collision is True
    lost = [one.message for one in diagnostics if one.rule == "description-lost"]
    assert [message.split()[0] for message in lost] == ["<kp>", "<mu2>"]


def test_missing_elements_are_reported(tmp_path: Path) -> None:
    """At the keys that ask for them."""
    sources = "ros2_control = true\ntransmissions = true"

    found, diagnostics = _resolved(tmp_path, sources, "")

    assert len(found.drives) == 2
    lines = [
        one.location.line
        for one in diagnostics
        if one.location and one.rule == "description-unmatched"
    ]
    assert lines == [7, 6]


def test_friction_of_the_file_replaces_that_of_gazebo(tmp_path: Path) -> None:
    """Both coefficients; restitution alone leaves the friction."""
    tables = """\
gazebo = true
[[links]]
match = "arm"
static_friction = 0.5
[[links]]
match = "tool"
restitution = 0.1
"""

    found, _ = _resolved(tmp_path, tables)

    assert found.contact_materials == (
        ContactMaterial("arm", 0.5, 0.5),
        ContactMaterial("tool", 1.5, 1.5, 0.1),
    )
