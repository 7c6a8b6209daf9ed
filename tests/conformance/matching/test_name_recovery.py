"""Matching in USDs without names, by the structure of the robot."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pybullet_data
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.conformance.renaming import rename_prims
from tests.converter.strategies import robots
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Observed, Request
from urdf_usd.conformance.engines.reference.engine import observe_robot, structure
from urdf_usd.conformance.execution.run import CheckOptions, check
from urdf_usd.conformance.matching.labelling import label_robot
from urdf_usd.conformance.matching.naming import Labels, match_names
from urdf_usd.conformance.observation.named_prims import (
    NamedJoint,
    NamedPrim,
    NamedPrims,
)
from urdf_usd.conformance.observation.robot import JointType, Observation
from urdf_usd.conformance.tolerance.sampling import configurations
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter import convert
from urdf_usd.converter.options import BodyNesting
from urdf_usd.converter.robot.bodies import assign_bodies
from urdf_usd.converter.robot.body_options import BaseOption
from urdf_usd.converter.robot.model import (
    Box,
    Continuous,
    Fixed,
    Floating,
    Inertial,
    Joint,
    Link,
    Pose,
    Robot,
    Visual,
)
from urdf_usd.converter.robot.topology import build_tree
from urdf_usd.converter.usd.writer.layers import asset_name, author_asset
from urdf_usd.reports.records.record import Grade, RobotRecord

_PYBULLET = Path(pybullet_data.getDataPath())
_LINKS = "structure.links"
_NAMES = {_LINKS, "structure.joints"}


def _findings(record: RobotRecord) -> dict[str, list[str]]:
    return {
        one.id: [finding.message for finding in one.findings]
        for one in record.checks
        if one.grade is Grade.FAILS
    }


def _check_without_names(urdf: Path, folder: Path) -> RobotRecord:
    made = convert(urdf, folder / "usd")
    usd = folder / "usd" / "renamed.usda"
    rename_prims(made.root_layer, usd, 1, loses=lambda _: True)
    return check(urdf, usd, CheckOptions(engines=("mujoco",)))


@pytest.mark.parametrize(
    "name",
    [
        "r2d2.urdf",
        "laikago/laikago.urdf",
        "kuka_iiwa/model.urdf",
        "humanoid/humanoid.urdf",
        "quadruped/minitaur.urdf",
        "franka_panda/panda.urdf",
        "plane.urdf",
    ],
)
def test_lost_names_fail_the_name_checks_only(name: str, tmp_path: Path) -> None:
    """One finding for each; values are compared for all links and joints."""
    findings = _findings(_check_without_names(_PYBULLET / name, tmp_path))

    assert _NAMES.issuperset(findings)
    assert all(
        message.endswith("matched by position in the tree")
        for messages in findings.values()
        for message in messages
    )


_CART = """<robot name="cart">
<link name="foot"/>
<joint name="stands" type="fixed"><parent link="foot"/><child link="trunk"/>
<origin xyz="0 0.01 0.2" rpy="0 0.1 0"/></joint>
<link name="trunk"><inertial><origin xyz="0.1 -0.2 0.3"/><mass value="9"/>
<inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0.01" ixz="0" iyz="-0.02"/></inertial>
</link>{wheels}</robot>"""
_WHEEL = """<link name="{name}"><inertial><origin xyz="0 0.01 0"/><mass value="1"/>
<inertia ixx="0.02" iyy="0.03" izz="0.02" ixy="0" ixz="0" iyz="0.001"/></inertial>
</link><joint name="{name}_axle" type="continuous"><parent link="trunk"/>
<child link="{name}"/><origin xyz="{x} 0.2 -0.1" rpy="0.3 0 0"/><axis xyz="0 0.6 0.8"/>
</joint>"""


def _cart(folder: Path, *wheels: tuple[str, float]) -> Path:
    urdf = folder / "cart.urdf"
    text = "".join(_WHEEL.format(name=name, x=x) for name, x in wheels)
    urdf.write_text(_CART.format(wheels=text))
    return urdf


def test_massless_base_is_matched_by_its_joint(tmp_path: Path) -> None:
    """Its body has the joint to the trunk, which kept its name."""
    urdf = _cart(tmp_path, ("front", 0.3), ("rear", -0.3))
    usd = tmp_path / "usd" / "renamed.usda"
    made = convert(urdf, tmp_path / "usd")
    rename_prims(made.root_layer, usd, 1, loses=lambda name: name == "foot")
    findings = _findings(check(urdf, usd, CheckOptions(engines=("mujoco",))))

    # The fixed joint of a frame has no prim, and its parent has another name now.
    assert [message.split(" is renamed ")[0] for message in findings.pop(_LINKS)] == ["link foot"]
    assert _NAMES.issuperset(findings)


def test_ambiguous_matches_are_noted(tmp_path: Path) -> None:
    """Two wheels on one axle; the third is matched by its position."""
    urdf = _cart(tmp_path, ("front", 0.3), ("rear", -0.3), ("spare", -0.3))
    record = _check_without_names(urdf, tmp_path)

    assert _NAMES.issuperset(_findings(record))
    (reader,) = (w for w in record.engines if w.name == "openusd")
    alike = [note for note in reader.notes if "one that is equivalent" in note]
    assert {note.split(" is ")[0] for note in alike} == {
        "link rear",
        "link spare",
        "joint rear_axle",
        "joint spare_axle",
    }


def test_geometry_xform_is_not_matched_with_a_link() -> None:
    """A mesh prim is at the same place as a welded link without a prim."""
    box = Visual(None, Pose(), Box((0.4, 0.3, 0.1)))
    ballast = Inertial(5.5, Pose((0.0, 0.05, 0.0)), (0.02, 0.0, 0.0, 0.03, 0.0, 0.04))
    arm = Inertial(0.75, Pose(), (0.002, 0.0, 0.0, 0.001, 0.0, 0.0025))
    robot = Robot(
        "counted",
        (Link("base", visuals=(box,)), Link("ballast", ballast), Link("arm", arm)),
        (
            Joint("weld", "base", "ballast", Fixed()),
            Joint("turn", "base", "arm", Continuous((1.0, 0.0, 0.0))),
        ),
    )
    sampled = structs.replace(configurations(structure(robot)), root="base")
    prims = NamedPrims(
        (
            NamedPrim("/base", "base", is_body=True, mass=5.5),
            NamedPrim("/base/base", "base", is_body=False, has_shapes=True),
            NamedPrim("/base/arm", "arm", is_body=True, mass=0.75),
        ),
        (NamedJoint("/turn", "turn", ("/base", "/base/arm"), JointType.CONTINUOUS),),
    )

    assert match_names(observe_robot(robot, sampled), prims) == Labels()


@settings(max_examples=40, deadline=None)
@given(
    robots(),
    st.sampled_from(BodyNesting),
    st.sampled_from(BaseOption),
    st.booleans(),
    st.integers(0, 99),
)
def test_random_names_change_no_other_check(
    robot: Robot,
    nesting: BodyNesting,
    base: BaseOption,
    merge_fixed: bool,
    seed: int,
) -> None:
    """For random robots, with nested and flat bodies."""
    # If a moving link is named like the world, only names distinguish them.
    assume(all(joint.child != "world" for joint in robot.joints))
    # A floating joint is no constraint in USD: only the name of its parent is known.
    assume(not any(isinstance(joint.kind, Floating) for joint in robot.joints))
    tree = build_tree(robot)
    body_assignment = assign_bodies(tree, base, merge_fixed=merge_fixed)
    sampled = structs.replace(configurations(structure(robot)), root=tree.root)
    spec = observe_robot(robot, sampled)
    with tempfile.TemporaryDirectory() as folder:
        author_asset(robot, tree, body_assignment, nesting, Path(folder))
        usd = Path(folder, asset_name(robot))
        renamed = Path(folder, "renamed.usda")
        rename_prims(usd, renamed, seed, loses=lambda _: True)
        record = _judged(spec, OpenusdEngine().observe(Request(str(usd), sampled)))
        labels = label_robot(str(renamed), spec)
        assert labels is not None
        labelled = Path(folder, "labelled.usda")
        labelled.write_text(labels.text, encoding="utf-8")
        reading = OpenusdEngine().observe(Request(str(labelled), sampled))

    changed = _judged(spec, structs.replace(reading, renamed=labels.inferred))
    # Massless welded links are no bodies, and without names their joints cannot be
    # distinguished. Without joints to compare, that is the grade.
    found = {joint.name for joint in reading.joints}
    if not any(joint.name in found for joint in robot.joints):
        changed = {c: g for c, g in changed.items() if g is not Grade.NOT_APPLICABLE}
    assert {
        check: grade
        for check, grade in changed.items()
        if grade != record[check] and check not in _NAMES
    } == {}


def _judged(spec: Observation, usd: Observation) -> dict[str, Grade]:
    judgement = judge({"reference": Observed(spec)}, Observed(usd))
    return {one.id: one.grade for one in judgement.checks}
