"""USDs with other names of links and joints than the URDF."""

from __future__ import annotations

import re
from pathlib import Path

import pybullet_data
import pytest
from msgspec import structs
from pxr import Sdf, Usd

from tests.conformance.miniatures import urdf_reading
from tests.conformance.renaming import rename_prims
from urdf_usd.conformance.execution.run import CheckOptions, check
from urdf_usd.conformance.matching import Labels, match_names
from urdf_usd.conformance.observation.named_prims import (
    NamedJoint,
    NamedPrim,
    NamedPrims,
)
from urdf_usd.conformance.observation.robot import JointType
from urdf_usd.converter import convert
from urdf_usd.converter.diagnostics import StageError
from urdf_usd.reports.records.record import Grade, RobotRecord, Verdict

# Names that no prim may have, on links of every kind; a mimic, a weld and a frame.
NAMES = """<robot name="spelled">
<link name="base-link"><inertial><origin xyz="0.1 -0.2 0.3"/><mass value="2.5"/>
<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="0" iyz="-0.002"/></inertial>
</link>
<link name="1st.arm"><inertial><origin xyz="0 0.05 0"/><mass value="0.75"/>
<inertia ixx="0.002" iyy="0.001" izz="0.0025" ixy="0" ixz="0" iyz="0"/></inertial>
</link>
<link name="2nd.arm"><inertial><origin xyz="0 0.05 0.02"/><mass value="0.5"/>
<inertia ixx="0.003" iyy="0.001" izz="0.0035" ixy="0" ixz="0" iyz="0"/></inertial>
</link>
<link name="tool 0"/>
<joint name="el/bow" type="revolute"><parent link="base-link"/><child link="1st.arm"/>
<origin xyz="0.3 0.1 -0.2" rpy="0.4 -0.5 0.6"/><axis xyz="0.6 0 0.8"/>
<limit lower="-0.7" upper="1.1" effort="9" velocity="3"/></joint>
<joint name="wr.ist" type="revolute"><parent link="1st.arm"/><child link="2nd.arm"/>
<origin xyz="0 0.1 -0.25" rpy="-0.4 0.5 1.6"/><axis xyz="0 0.6 0.8"/>
<limit lower="-0.4" upper="0.6" effort="4" velocity="2"/></joint>
<joint name="to-tool" type="fixed"><parent link="2nd.arm"/><child link="tool 0"/>
<origin xyz="0.01 0.02 0.03" rpy="0.1 0.2 0.3"/></joint>
</robot>"""


def _converted(folder: Path) -> tuple[Path, Path]:
    urdf = folder / "spelled.urdf"
    urdf.write_text(NAMES)
    return urdf, convert(urdf, folder / "usd").root_layer


def _edit(root_layer: Path, edit: object) -> Path:
    """Flatten a USD without URDF names, after an edit of its prims."""
    stage = Usd.Stage.Open(str(root_layer))
    layer = stage.Flatten()

    def forget(path: Sdf.Path) -> None:
        spec = layer.GetPrimAtPath(path) if path.IsPrimPath() else None
        if spec is None:
            return
        spec.ClearInfo("displayName")
        for name in [key for key in spec.properties.keys() if "urdf:joint" in key]:  # noqa: SIM118  a proxy
            del spec.properties[name]

    layer.Traverse("/", forget)
    if callable(edit):
        edit(layer)
    target = root_layer.with_name("anonymous.usda")
    layer.Export(str(target))
    return target


def _graded(record: RobotRecord, grade: Grade) -> dict[str, list[str]]:
    return {
        one.id: [finding.message for finding in one.findings]
        for one in record.checks
        if one.grade is grade
    }


def _check(urdf: Path, usd: Path) -> RobotRecord:
    return check(urdf, usd, CheckOptions(engines=("mujoco",)))


def test_names_match_by_their_usd_spelling(tmp_path: Path) -> None:
    """Without URDF names on prims; prim names have letters and digits only."""
    urdf, usd = _converted(tmp_path)
    record = _check(urdf, _edit(usd, None))

    failing = _graded(record, Grade.FAILS)
    # The fixed joint has no prim: without custom attributes its name is lost.
    assert {check for check in failing if "joints" not in check} == set()
    (reader,) = (w for w in record.engines if w.name == "openusd")
    assert "link base-link is called 'base_link'" in reader.notes


def test_lost_names_are_the_only_findings(tmp_path: Path) -> None:
    """One for each; all other values are compared."""
    urdf, usd = _converted(tmp_path)

    def rename(layer: Sdf.Layer) -> None:
        text = layer.ExportToString()
        text = re.sub(r"\b(tn__)?\w*2nd\w*", "Body7", text)
        text = re.sub(r"\b(tn__)?\w*wr_?\w*ist\w*", "Joint3", text)
        layer.ImportFromString(text)

    record = _check(urdf, _edit(usd, rename))

    failing = _graded(record, Grade.FAILS)
    assert failing["structure.links"] == [
        "link 2nd.arm is renamed to 'Body7'; matched by position in the tree"
    ]
    assert (
        "joint wr.ist is renamed to 'Joint3'; matched by position in the tree"
        in (failing["structure.joints"])
    )
    assert {each for each in failing if not each.startswith("structure.")} <= {
        "round-trip.structure.joints"
    }


def test_link_world_is_the_world_of_the_stage(tmp_path: Path) -> None:
    """A fixed joint with one body needs no prim for the world.

    An Xform at the origin of the base is not taken for it.
    """
    urdf, usd = tmp_path / "fixed.urdf", tmp_path / "fixed.usda"
    urdf.write_text(
        """<robot name="robot"><link name="world"/><link name="base"><inertial>
        <mass value="2"/><inertia ixx="0.5" iyy="0.5" izz="0.5" ixy="0" ixz="0"
        iyz="0"/></inertial></link><joint name="weld" type="fixed">
        <parent link="world"/><child link="base"/></joint></robot>"""
    )
    usd.write_text(
        """#usda 1.0
        (
            defaultPrim = "robot"
            metersPerUnit = 1
            upAxis = "Z"
        )
        def Xform "robot" (apiSchemas = ["PhysicsArticulationRootAPI"])
        {
            def Xform "base" (apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
            {
                float physics:mass = 2
                point3f physics:centerOfMass = (0, 0, 0)
                float3 physics:diagonalInertia = (0.5, 0.5, 0.5)
                quatf physics:principalAxes = (1, 0, 0, 0)
                def Xform "collisions"
                {
                }
            }
            def PhysicsFixedJoint "weld"
            {
                rel physics:body1 = </robot/base>
            }
        }
        """
    )

    record = _check(urdf, usd)

    assert _graded(record, Grade.FAILS) == {}
    (reader,) = (each for each in record.engines if each.name == "openusd")
    assert not any("is called" in note for note in reader.notes)


def test_robot_of_a_stage_without_default_prim_is_named(tmp_path: Path) -> None:
    """All engines and the round trip read it below the prim that is named."""
    urdf, usd = _converted(tmp_path)
    stage = Usd.Stage.Open(str(usd))
    stage.GetRootLayer().ClearDefaultPrim()
    stage.GetRootLayer().Save()

    unnamed = _check(urdf, usd)
    record = check(urdf, usd, CheckOptions(engines=("mujoco",), root="/spelled"))

    assert unnamed.verdict is Verdict.NOT_COMPARABLE
    assert record.verdict is Verdict.EXACT
    with pytest.raises(StageError, match="no prim /none, which --root names"):
        check(urdf, usd, CheckOptions(root="/none"))


# The wrist moves relative to a massless frame that is fixed to the first arm.
_MOUNTED = NAMES.replace(
    '<parent link="1st.arm"/><child link="2nd.arm"/>',
    '<parent link="mount"/><child link="2nd.arm"/>',
).replace(
    "</robot>",
    """<link name="mount"/><joint name="weld" type="fixed"><parent link="1st.arm"/>
<child link="mount"/><origin xyz="0.02 0.03 0.1" rpy="0.2 0.1 -0.3"/></joint>
</robot>""",
)


@pytest.mark.parametrize(
    ("lost", "check_of_names", "name"),
    [
        (r"\b(tn__)?\w*2nd\w*", "structure.links", "link 2nd.arm"),
        (r"\b(tn__)?\w*wr_?\w*ist\w*", "structure.joints", "joint wr.ist"),
    ],
)
def test_matches_propagate_through_xforms(
    tmp_path: Path, lost: str, check_of_names: str, name: str
) -> None:
    """The joint is on the body in the USD, and on a frame below it in the URDF."""
    urdf = tmp_path / "mounted.urdf"
    urdf.write_text(_MOUNTED)
    usd = convert(urdf, tmp_path / "usd").root_layer

    def rename(layer: Sdf.Layer) -> None:
        layer.ImportFromString(re.sub(lost, "Other", layer.ExportToString()))

    record = _check(urdf, _edit(usd, rename))

    failing = _graded(record, Grade.FAILS)
    message = f"{name} is renamed to 'Other'; matched by position in the tree"
    assert message in failing[check_of_names]
    assert "structure.parents" not in failing
    assert not any("mass" in check or "kinematics" in check for check in failing)


def _prims(*links: tuple[str, bool], joints: tuple[tuple[str, str, str], ...]) -> NamedPrims:
    return NamedPrims(
        tuple(NamedPrim(f"/{name}", name, is_body) for name, is_body in links),
        tuple(
            NamedJoint(f"/joints/{name}", name, (first, second), JointType.REVOLUTE)
            for name, first, second in joints
        ),
    )


def test_equal_names_match_first() -> None:
    """Although another prim would fit as well."""
    reading = urdf_reading()
    prims = _prims(
        *((link.name, True) for link in reading.links),
        ("ARM", True),
        joints=tuple(
            (joint.name, f"/{joint.parent}", f"/{joint.child}") for joint in reading.joints
        ),
    )

    assert match_names(reading, prims) == Labels()


def test_name_of_two_prims_matches_neither() -> None:
    """But a body is preferred to a frame."""
    two = _prims(("Arm", True), ("ARM", True), joints=())
    frame = _prims(("Arm", False), ("ARM", True), joints=())

    assert match_names(urdf_reading(), two) == Labels()
    assert match_names(urdf_reading(), frame) == Labels({"/ARM": "arm"})


def test_matches_propagate_along_joints() -> None:
    """From a joint to its links, and from two links to the joint between them."""
    prims = _prims(
        ("base", True),
        ("Body1", True),
        ("Body2", True),
        joints=(("shoulder", "/base", "/Body1"), ("J2", "/Body1", "/Body2")),
    )
    found = match_names(urdf_reading(), prims)

    assert found == Labels(inferred={"/Body1": "arm", "/joints/J2": "elbow", "/Body2": "forearm"})


@pytest.mark.parametrize("ends", [("/arm", "/forearm"), ("/forearm", "/arm")])
def test_joint_between_matched_links_is_matched(ends: tuple[str, str]) -> None:
    """In either order of its bodies."""
    prims = _prims(("arm", True), ("forearm", True), ("hand", True), joints=(("J", *ends),))

    assert match_names(urdf_reading(), prims).inferred == {"/joints/J": "elbow"}


def test_joint_of_the_base_to_the_world_matches_no_joint_below() -> None:
    """A converter may write a link into the base and leave out its fixed joint."""
    reading = urdf_reading()
    weld = next(joint for joint in reading.joints if joint.type is JointType.FIXED)
    prims = NamedPrims(
        (NamedPrim(f"/{weld.parent}", weld.parent, is_body=True),),
        (NamedJoint("/root_joint", "root_joint", ("", f"/{weld.parent}"), weld.type),),
    )

    assert match_names(reading, prims) == Labels()


def test_chain_without_any_name_fails_the_name_checks_only(tmp_path: Path) -> None:
    urdf = Path(pybullet_data.getDataPath(), "kuka_iiwa/model.urdf")
    usd = tmp_path / "usd" / "renamed.usda"
    rename_prims(convert(urdf, tmp_path / "usd").root_layer, usd, 1, loses=lambda _: True)

    failing = _graded(_check(urdf, usd), Grade.FAILS)

    assert {"structure.links", "structure.joints"}.issuperset(failing)
    assert all(
        message.endswith("matched by position in the tree")
        for messages in failing.values()
        for message in messages
    )


def test_joints_of_one_type_at_one_link_stay_unmatched() -> None:
    """Two wheels at a base without names: either could be the other."""
    reading = urdf_reading()
    (shoulder,) = (joint for joint in reading.joints if joint.name == "shoulder")
    twin = structs.replace(shoulder, name="other", child="forearm")
    reading = structs.replace(reading, joints=(shoulder, twin))
    prims = _prims(
        ("base", True),
        ("A", True),
        ("B", True),
        joints=(("J1", "/base", "/A"), ("J2", "/base", "/B")),
    )

    assert match_names(reading, prims) == Labels()
