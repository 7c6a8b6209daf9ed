"""Custom attributes keep what no schema has."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from tests.converter.usd.scenes import joint_of
from urdf_usd.conformance.export.reading import read_usd
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.bodies import assign_bodies
from urdf_usd.converter.robot.topology import build_tree
from urdf_usd.converter.usd.writer.layouts import write_asset


def test_custom_attributes_of_a_joint_are_read(tmp_path: Path) -> None:
    """Newer limits, soft limits, calibration edges and dont_collapse."""
    kind = m.Prismatic((0.6, 0.0, 0.8), m.Range(-0.1, 0.2))
    slide = m.Joint(
        "slide",
        "a",
        "b",
        kind,
        safety=m.SafetyController(1.5, None, -0.05, 0.1),
        calibration=m.Calibration(rising=0.01),
        acceleration=2.5,
        deceleration=0.0,
        jerk=30.0,
    )
    weld = m.Joint("weld", "b", "c", m.Fixed(), dont_collapse=True)
    body = m.Inertial(2.0, m.Pose(), (1.0, 0.1, 0.2, 1.5, 0.3, 2.0))
    links = (m.Link("a", body), m.Link("b", body), m.Link("c"))
    robot = m.Robot("r", links, (slide, weld))
    tree = build_tree(robot)
    write_asset(robot, tree, assign_bodies(tree), tmp_path)

    again = read_usd(tmp_path / "r.usda")

    kept = joint_of(again, "slide")
    assert structs.replace(kept, kind=kind) == slide
    assert joint_of(again, "weld") == weld
    assert not kept.dont_collapse
