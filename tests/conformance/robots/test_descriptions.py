"""Assets of robot description files, checked as a run does."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from pxr import Sdf

from tests.conformance.direct import examine_here, examine_pair_here
from tests.converter.simulation.robots import write_described, write_description, write_urdf
from urdf_usd.conformance.checks.catalogue import SIMULATION_CHECKS
from urdf_usd.conformance.execution.run import CheckOptions, check
from urdf_usd.converter.conversion import convert, with_description
from urdf_usd.converter.options import (
    ColliderKind,
    ColliderRule,
    ColliderRules,
    ConvertOptions,
    Layout,
    Profile,
    VariantChoice,
)
from urdf_usd.converter.simulation.description import load_description
from urdf_usd.reports.records.record import Grade, RobotRecord, Verdict

_GAINS = '[[joints]]\nmatch = "*"\nstiffness = 7\ndamping = 2\n'
_TEXT = """\
base = "fixed"
self_collision = false
[[joints]]
match = "*"
stiffness = 400
damping = 40
armature = 0.1
limit_stiffness = 3e4
limit_damping = 200
[[joints]]
match = "h[!a]nge"
natural_frequency = 2.5
[pose.joints]
hinge = -0.5
slide = 0.2
"""


def _examined(folder: Path, text: str, **options: object) -> RobotRecord:
    description = load_description(write_description(folder, text))
    chosen = with_description(ConvertOptions(**options), description)  # type: ignore[arg-type]
    return examine_here(write_urdf(folder), folder / "run", chosen)


@pytest.mark.parametrize("profile", Profile)
def test_requested_settings_are_those_of_the_asset(tmp_path: Path, profile: Profile) -> None:
    record = _examined(tmp_path, _TEXT, profile=profile)

    grades = {check.id: check.grade for check in record.checks}
    lost = {"simulation.armature", "simulation.contacts"}
    failing = {name for name, grade in grades.items() if grade is Grade.FAILS}
    assert failing == (lost if profile is Profile.USDPHYSICS else set())
    assert grades["simulation.gains"] is Grade.EXACT
    assert grades["simulation.positions"] is Grade.EXACT
    assert record.description is not None
    assert record.description.settings == (
        "drive: hinge, slide",
        "armature: hinge, slide, follower",
        "limit stiffness: hinge, slide, follower",
        "limit damping: hinge, slide, follower",
        "initial position: hinge, slide, follower",
        "self-collision: off",
    )


@pytest.mark.parametrize("variant", ["newton", "physx", "mujoco"])
def test_variants_have_the_requested_settings(tmp_path: Path, variant: str) -> None:
    """Each in the schemas of its simulator; limits of PhysX are hard.

    MuJoCo has no setting that stops all collisions of a robot with itself.
    """
    text = _TEXT.replace("false", "true") if variant == "mujoco" else _TEXT
    description = load_description(write_description(tmp_path, text))
    options = with_description(ConvertOptions(physics_variants=True), description)
    urdf = write_urdf(tmp_path)
    asset = convert(urdf, tmp_path / "asset", options).root_layer
    chosen = (VariantChoice.parse(f"Physics={variant}"),)

    record = check(urdf, asset, CheckOptions(simulation=description, variants=chosen))

    assert record.verdict is Verdict.EXACT, record.reason
    compared = {one.id: one.compared for one in record.checks}
    assert compared["simulation.armature"] == 3
    assert compared["simulation.limits"] == (6 if variant == "newton" else 0)


def test_single_layer_has_the_requested_settings(tmp_path: Path) -> None:
    record = _examined(tmp_path, _TEXT, layout=Layout.SINGLE)

    assert record.verdict.conforms, record.reason


def test_checks_of_settings_need_a_description(tmp_path: Path) -> None:
    record = examine_here(write_urdf(tmp_path), tmp_path / "run")

    made = {check.id for check in record.checks}
    assert made.isdisjoint(check.id for check in SIMULATION_CHECKS)
    assert record.description is None


_SRDF = """\
<robot name="two">
  <group_state group="all" name="ready"><joint name="hinge" value="0.75"/></group_state>
  <disable_collisions link1="base" link2="tool"/>
</robot>
"""
_FILTERS = """\
[pose]
state = "ready"
[filters]
srdf = "two.srdf"
overlap = true
pairs = [["base", "finger"]]
"""


def test_requested_filters_are_those_of_the_asset(tmp_path: Path) -> None:
    (tmp_path / "two.srdf").write_text(_SRDF, encoding="utf-8")
    finger = '<link name="finger">'
    # It overlaps with the tool, which no joint connects to it.
    shape = '<collision><geometry><sphere radius="0.07"/></geometry></collision>'
    urdf = write_urdf(tmp_path)
    text = urdf.read_text(encoding="utf-8")
    wide = tmp_path / "wide.urdf"
    wide.write_text(text.replace(finger, finger + shape), encoding="utf-8")
    file = write_description(tmp_path, _FILTERS)
    options = with_description(ConvertOptions(), load_description(file))

    record = examine_here(wide, tmp_path / "run", options)

    checks = {check.id: check for check in record.checks}
    assert record.verdict.conforms, record.reason
    assert checks["simulation.filters"].compared == 3
    assert checks["simulation.positions"].compared == 2
    rules = [one.rule for one in record.diagnostics]
    assert "collision-overlap" in rules
    assert record.description is not None
    assert list(record.description.files) == ["two.srdf"]


def test_filters_that_no_description_states_are_found(tmp_path: Path) -> None:
    stated = 'base = "fixed"\n[filters]\npairs = [["base", "tool"]]'
    urdf = write_urdf(tmp_path)
    description = load_description(write_description(tmp_path, stated))
    options = with_description(ConvertOptions(), description)
    asset = convert(urdf, tmp_path / "asset", options).root_layer

    record = examine_pair_here(urdf, asset)

    failing = [check.id for check in record.checks if check.grade is Grade.FAILS]
    assert failing == ["collision.filters"]


@pytest.mark.parametrize("sources", ["ros2_control = true\ngazebo = true", "transmissions = true"])
def test_elements_of_the_urdf_are_requested(tmp_path: Path, sources: str) -> None:
    urdf = write_described(tmp_path)
    text = f"{_GAINS}[sources]\n{sources}"
    description = load_description(write_description(tmp_path, text))
    options = with_description(ConvertOptions(), description)

    record = examine_here(urdf, tmp_path / "run", options)

    checks = {check.id: check for check in record.checks}
    assert record.verdict.conforms, record.reason
    assert checks["simulation.gains"].compared == 3
    # Friction and restitution of two links, and self-collision.
    contacts = 7 if "gazebo" in sources else 0
    assert checks["simulation.contacts"].compared == contacts


_MATERIALS = """[[links]]
match = ["*"]
static_friction = 0.9
restitution = 0.25
[[links]]
match = "[!b]*"
dynamic_friction = 0.7
[colliders]
links = { "base" = "none" }
[sources]
gazebo = true
"""


def test_requested_contact_materials_are_those_of_the_asset(tmp_path: Path) -> None:
    description = load_description(write_description(tmp_path, _MATERIALS))
    options = with_description(ConvertOptions(), description)

    record = examine_here(write_described(tmp_path), tmp_path / "run", options)

    checks = {check.id: check for check in record.checks}
    assert record.verdict.conforms, record.reason
    assert checks["simulation.contacts"].grade is Grade.EXACT
    assert checks["simulation.contacts"].compared == 7
    assert record.description is not None
    assert record.description.settings == (
        "friction: base, arm, tool",
        "restitution: base, arm, tool",
        "self-collision: on",
    )


def test_collider_without_its_contact_material_is_found(tmp_path: Path) -> None:
    urdf = write_urdf(tmp_path)
    second = '<collision><geometry><sphere radius="0.07"/></geometry></collision>'
    tool = '<collision><geometry><sphere radius="0.05"/></geometry></collision>'
    text = urdf.read_text(encoding="utf-8")
    assert tool in text
    urdf.write_text(text.replace(tool, tool + second), encoding="utf-8")
    stated = 'base = "fixed"\n[[links]]\nmatch = "tool"\nstatic_friction = 0.7\n'
    description = load_description(write_description(tmp_path, stated))
    options = with_description(ConvertOptions(), description)
    asset = convert(urdf, tmp_path / "asset", options).root_layer
    layer = Sdf.Layer.FindOrOpen(str(tmp_path / "asset/payload/Simulation.usda"))
    paths: list[Sdf.Path] = []
    layer.Traverse("/", paths.append)
    bindings = [path for path in paths if path.name == "material:binding:physics"]
    assert len(bindings) == 2
    layer.GetRelationshipAtPath(bindings[1]).targetPathList.explicitItems = []
    layer.Save()

    record = check(urdf, asset, CheckOptions(simulation=description))

    failing = [check.id for check in record.checks if check.grade is Grade.FAILS]
    assert failing == ["simulation.contacts"]


@pytest.mark.parametrize(
    "seeded",
    [
        pytest.param(("<robot", "\n<?xml version='1.0'?><robot"), id="late-declaration"),
        pytest.param((' type="system">', ' type="system" type="x">'), id="value-repeated"),
        pytest.param(("<mu1>0.8</mu1>", "<mu1>0,8</mu1>"), id="no-number"),
        pytest.param(("<mu1>0.8</mu1>", "<mu1>-0.8</mu1>"), id="negative-friction"),
        pytest.param((">0.4</param>", ">zero</param>"), id="no-position"),
    ],
)
def test_elements_of_repaired_files_count(seeded: tuple[str, str], tmp_path: Path) -> None:
    urdf = write_described(tmp_path)
    text = urdf.read_text("utf-8")
    assert seeded[0] in text
    urdf.write_text(text.replace(*seeded, 1), encoding="utf-8")
    stated = f"{_GAINS}[sources]\nros2_control = true\ngazebo = true\n"
    description = load_description(write_description(tmp_path, stated))

    record = examine_here(urdf, tmp_path / "run", with_description(ConvertOptions(), description))

    checks = {check.id: check for check in record.checks}
    assert record.verdict.conforms, record.reason
    assert checks["simulation.gains"].compared == 3
    assert checks["simulation.contacts"].compared > 0


def test_malformed_srdf_is_compared_as_the_converter_repairs_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "robot.srdf").write_text(
        '<robot name="two"><disable_collisions link1="arm" link2="tool" link1="x"/>'
        '<group_state name="home" group="all"><joint name="hinge" value="0.3"/>'
        "</group_state></robot>"
    )

    record = _examined(tmp_path, '[pose]\nstate = "home"\n[filters]\nsrdf = "robot.srdf"\n')

    checks = {check.id: check for check in record.checks}
    assert record.verdict.conforms, record.reason
    assert checks["simulation.positions"].compared > 0
    assert checks["simulation.filters"].compared > 0


_SHAPES = """\
[colliders]
default = "hull"
links = { "wheel*" = "primitives", "guard" = "none" }
tolerance = 0.002
[inertia]
density = 700
"""
_CART = """\
<robot name="cart">
  <link name="base"><inertial><mass value="3"/></inertial>
    <collision><geometry><box size="0.4 0.3 0.2"/></geometry></collision></link>
  <link name="wheel">
    <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="wheel"/>
    <origin xyz="0.3 0.02 -0.1" rpy="0.2 0 0.1"/><axis xyz="0 1 0"/></joint>
</robot>
"""


def test_mass_of_shapes_is_that_of_the_description(tmp_path: Path) -> None:
    urdf = tmp_path / "cart.urdf"
    urdf.write_text(_CART, encoding="utf-8")
    description = load_description(write_description(tmp_path, "[inertia]\ndensity = 700\n"))
    options = with_description(ConvertOptions(), description)
    asset = convert(urdf, tmp_path / "asset", options)

    described = check(urdf, asset.root_layer, CheckOptions(simulation=description))
    alone = check(urdf, asset.root_layer)

    assert described.verdict is Verdict.CLOSE, described.reason
    sphere = 700 * 4 / 3 * math.pi * 0.1**3
    assert described.total_mass == pytest.approx(3 + sphere, rel=1e-6)
    assert alone.verdict is Verdict.FAILS


def test_options_override_those_of_the_description(tmp_path: Path) -> None:
    description = load_description(write_description(tmp_path, _SHAPES))
    given = ColliderRules((ColliderRule.parse("wheel*=mesh"),))

    options = with_description(ConvertOptions(mass_density=900.0, colliders=given), description)

    assert options.mass_density == 900.0
    assert options.colliders.kind_of("wheel_left") is ColliderKind.MESH
    assert options.colliders.kind_of("arm") is ColliderKind.HULL
