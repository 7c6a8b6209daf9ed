"""A robot under pytest, with the fixture that the package installs."""

from pathlib import Path

ROBOT = Path(__file__).with_name("arm.urdf")


def test_arm_conforms(conformance):
    """Its USD equals the URDF."""
    conformance(ROBOT).assert_conforms()
