"""USDs with other names of links and joints than the URDF."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs
from pxr import Sdf, Usd

from tests.conformance.engines.usd_observations import body, stage
from tests.conformance.miniatures import urdf_reading
from urdf_usd.conformance.execution.run import check
from urdf_usd.conformance.matching import match_names
from urdf_usd.conformance.observation.robot import JointType, NamedJoint, NamedPrim, NamedPrims
from urdf_usd.conformance.options import CheckOptions
from urdf_usd.converter import convert
from urdf_usd.converter.diagnostics import StageError
from urdf_usd.reports.records.record import Grade, RobotRecord, Verdict

_INERTIAL = """<inertial><origin xyz="0.1 0.05 0.2"/><mass value="{}"/>
<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="0" iyz="-0.002"/></inertial>"""
# Names that no prim may have, on links of every kind; a weld and a frame.
NAMES = f"""<robot name="spelled">
<link name="base-link">{_INERTIAL.format(2.5)}</link>
<link name="1st.arm">{_INERTIAL.format(0.75)}</link>
<link name="2nd.arm">{_INERTIAL.format(0.5)}</link>
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
_LINK, _JOINT = r"\b(tn__)?\w*2nd\w*", r"\b(tn__)?\w*wr_?\w*ist\w*"
_ALL = (_LINK, _JOINT, *(rf"\b(tn__)?\w*{name}\w*" for name in ("base_link", "1st", "el_?bow")))


def _converted(folder: Path) -> tuple[Path, Path]:
    urdf = folder / "spelled.urdf"
    urdf.write_text(NAMES)
    return urdf, convert(urdf, folder / "usd").root_layer


def _anonymous(root_layer: Path, edit: Callable[[str], str] = str) -> Path:
    """Flatten a USD without URDF names on prims, and edit its text."""
    layer = Usd.Stage.Open(str(root_layer)).Flatten()

    def forget(path: Sdf.Path) -> None:
        if path.IsPrimPath() and (prim := layer.GetPrimAtPath(path)):
            prim.ClearInfo("displayName")
            for name in [key for key in prim.properties.keys() if "urdf:joint" in key]:  # noqa: SIM118  a proxy
                del prim.properties[name]

    layer.Traverse("/", forget)
    target = root_layer.with_name("anonymous.usda")
    target.write_text(edit(layer.ExportToString()))
    return target


def _renamed(*patterns: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        for number, pattern in enumerate(patterns):
            text = re.sub(pattern, f"Other{number}", text)
        return text

    return edit


def _failing(record: RobotRecord) -> dict[str, list[str]]:
    return {
        one.id: [finding.message for finding in one.findings]
        for one in record.checks
        if one.grade is Grade.FAILS
    }


def _check(urdf: Path, usd: Path, **options: str) -> RobotRecord:
    return check(urdf, usd, CheckOptions(engines=("mujoco",), **options))  # type: ignore[arg-type]  # texts


def _notes(record: RobotRecord) -> tuple[str, ...]:
    (reader,) = (engine for engine in record.engines if engine.name == "openusd")
    return reader.notes


def test_names_match_by_their_usd_spelling(tmp_path: Path) -> None:
    urdf, usd = _converted(tmp_path)
    record = _check(urdf, _anonymous(usd))

    # The fixed joint has no prim: without custom attributes its name is lost.
    assert {check for check in _failing(record) if "joints" not in check} == set()
    assert "link base-link is called 'base_link'" in _notes(record)


@pytest.mark.parametrize("lost", [(_LINK,), (_JOINT,), (_LINK, _JOINT), _ALL])
def test_lost_names_are_the_only_findings(tmp_path: Path, lost: tuple[str, ...]) -> None:
    urdf, usd = _converted(tmp_path)
    failing = _failing(_check(urdf, _anonymous(usd, _renamed(*lost))))

    for pattern, name in ((_LINK, "link 2nd.arm"), (_JOINT, "joint wr.ist")):
        if pattern in lost:
            number = lost.index(pattern)
            message = f"{name} is renamed to 'Other{number}'; matched by position in the tree"
            assert message in failing[f"structure.{name.split()[0]}s"]
    allowed = {"structure.links", "structure.joints", "round-trip.structure.joints"}
    assert failing.keys() <= allowed


_WORLD = """<robot name="robot"><link name="world"/><link name="base"><inertial>
<mass value="2"/><inertia ixx="0.5" iyy="0.5" izz="0.5" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="weld" type="fixed"><parent link="world"/><child link="base"/></joint></robot>"""
_FIXED = """
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
"""


def test_link_world_is_the_world_of_the_stage(tmp_path: Path) -> None:
    urdf = tmp_path / "fixed.urdf"
    urdf.write_text(_WORLD)
    base = body("base", _FIXED, ("PhysicsMassAPI", "PhysicsArticulationRootAPI"))
    record = _check(urdf, stage(tmp_path, base, 'metersPerUnit = 1\n    upAxis = "Z"'))

    assert _failing(record) == {}
    assert not any("is called" in note for note in _notes(record))


def test_robot_of_a_stage_without_default_prim_is_named(tmp_path: Path) -> None:
    urdf, usd = _converted(tmp_path)
    stage = Usd.Stage.Open(str(usd))
    stage.GetRootLayer().ClearDefaultPrim()
    stage.GetRootLayer().Save()

    assert _check(urdf, usd).verdict is Verdict.NOT_COMPARABLE
    assert _check(urdf, usd, root="/spelled").verdict is Verdict.EXACT
    with pytest.raises(StageError, match="no prim /none, which --root names"):
        _check(urdf, usd, root="/none")


def _prims(links: str, joints: str = "") -> NamedPrims:
    """Return bodies, and joints such as ``J:arm>forearm``; a frame begins with a dot."""
    names = [(name.lstrip("."), not name.startswith(".")) for name in links.split()]
    ends = [re.split("[:>]", joint) for joint in joints.split()]
    return NamedPrims(
        tuple(NamedPrim(f"/{name}", name, is_body) for name, is_body in names),
        tuple(
            NamedJoint(f"/joints/{name}", name, (f"/{one}", f"/{two}"), JointType.REVOLUTE)
            for name, one, two in ends
        ),
    )


_EQUAL = _prims(
    " ".join([link.name for link in urdf_reading().links] + ["ARM"]),
    " ".join(f"{joint.name}:{joint.parent}>{joint.child}" for joint in urdf_reading().joints),
)
_ALONG = {"/Body1": "arm", "/joints/J2": "elbow", "/Body2": "forearm"}


@pytest.mark.parametrize(
    ("prims", "labels"),
    [
        pytest.param(_EQUAL, ({}, {}), id="equal names"),
        pytest.param(_prims("Arm ARM"), ({}, {}), id="name of two bodies"),
        pytest.param(_prims(".Arm ARM"), ({"/ARM": "arm"}, {}), id="body before frame"),
        pytest.param(
            _prims("base Body1 Body2", "shoulder:base>Body1 J2:Body1>Body2"),
            ({}, _ALONG),
            id="along joints",
        ),
        *(
            pytest.param(
                _prims("arm forearm hand", f"J:{ends}"),
                ({}, {"/joints/J": "elbow"}),
                id=f"joint {ends}",
            )
            for ends in ("arm>forearm", "forearm>arm")
        ),
    ],
)
def test_matches(prims: NamedPrims, labels: tuple[dict[str, str], dict[str, str]]) -> None:
    assert match_names(urdf_reading(), prims) == labels


def test_joint_of_the_base_to_the_world_matches_no_joint_below() -> None:
    reading = urdf_reading()
    weld = next(joint for joint in reading.joints if joint.type is JointType.FIXED)
    prims = NamedPrims(
        (NamedPrim(f"/{weld.parent}", weld.parent, is_body=True),),
        (NamedJoint("/root_joint", "root_joint", ("", f"/{weld.parent}"), weld.type),),
    )

    assert match_names(reading, prims) == ({}, {})


def test_joints_of_one_type_at_one_link_stay_unmatched() -> None:
    (shoulder,) = (joint for joint in urdf_reading().joints if joint.name == "shoulder")
    twin = structs.replace(shoulder, name="other", child="forearm")
    reading = structs.replace(urdf_reading(), joints=(shoulder, twin))

    assert match_names(reading, _prims("base A B", "J1:base>A J2:base>B")) == ({}, {})
