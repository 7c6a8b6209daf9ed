"""Effective masses: authored, derived from colliders, and default values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.conformance.engines.usd_observations import DATA, Array, body, observe_stage, pose, stage
from urdf_usd.conformance.observation.robot import MassProperties, Observation

WATER = 1000.0  # kg/m^3, the default density of UsdPhysics
MASS = ["PhysicsMassAPI"]
SMALL = """
    float physics:mass = 0.02
    point3f physics:centerOfMass = (0.001, 0, 0)
    float3 physics:diagonalInertia = (2.4e-6, 3e-6, 1e-6)
    quatf physics:principalAxes = (0.8, 0.6, 0, 0)
"""
BRICK = """
    def Cube "brick" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        double size = 1
        double3 xformOp:translate = (0.1, 0.2, 0.3)
        quatf xformOp:orient = (0.8, 0, 0.6, 0)
        float3 xformOp:scale = (0.1, 0.2, 0.4)
        uniform token[] xformOpOrder = [
            "xformOp:translate", "xformOp:orient", "xformOp:scale"
        ]
    }
"""
# A corner of a unit cube, mirrored and scaled: volume 1/6 * 1 * 2 * 3.
CORNER = """
    def Mesh "corner" (
        prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]
    )
    {{
        uniform token physics:approximation = "{approximation}"
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.1, 0.1, 0.1)]
        int[] faceVertexCounts = [3, 3, 3, 3]
        int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2, {last}]
        float3 xformOp:scale = (1, -2, 3)
        uniform token[] xformOpOrder = ["xformOp:scale"]
    }}
"""


def mass_of(observation: Observation, link: str) -> MassProperties:
    """Return the observation of a link."""
    found = next(each for each in observation.links if each.name == link).mass
    assert found is not None
    return found


def tensor(properties: MassProperties) -> Array:
    """Return the (3, 3) inertia."""
    assert properties.inertia is not None
    xx, xy, xz, yy, yz, zz = properties.inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def turned(moments: tuple[float, ...], wxyz: tuple[float, ...]) -> Array:
    """Return R diag R^T."""
    rotation = pose(wxyz=wxyz)[:3, :3]
    result: Array = rotation @ np.diag(moments) @ rotation.T
    return result


def test_authored_mass_is_reported_along_the_link_axes() -> None:
    arm = observe_stage(DATA / "nested_arm.usda")
    base = mass_of(arm, "base-link")

    assert base.mass == 2.0
    assert base.center == pytest.approx((0.01, 0.02, 0.03))
    np.testing.assert_allclose(tensor(base), turned((0.1, 0.2, 0.25), (0.8, 0, 0.6, 0)), rtol=1e-6)
    assert (arm.departures, arm.invented) == ((), ())


def test_inertia_without_principal_axes_is_along_the_body() -> None:
    """OpenUSD returns uninitialised memory for the axes, which is ignored."""
    upper = mass_of(observe_stage(DATA / "nested_arm.usda"), "upper")

    np.testing.assert_allclose(tensor(upper), np.diag((0.03, 0.02, 0.01)), rtol=1e-6)


def test_frame_has_no_own_mass() -> None:
    arm = observe_stage(DATA / "nested_arm.usda")

    assert [link.mass for link in arm.links if link.name == "tool"] == [None]


def test_small_inertia_is_kept_and_the_deviation_noted(tmp_path: Path) -> None:
    """OpenUSD ignores moments below 1e-5; here, of a ball of radius 0.1 m."""
    reading = observe_stage(stage(tmp_path, body("a", SMALL, MASS)))
    (departure,) = reading.departures

    expected = turned((2.4e-6, 3e-6, 1e-6), (0.8, 0.6, 0, 0))
    np.testing.assert_allclose(tensor(mass_of(reading, "a")), expected, rtol=1e-6)
    assert departure.link == "a"
    assert departure.stated == mass_of(reading, "a").inertia
    ball = 0.4 * 0.02 * 0.1**2
    assert departure.computed == pytest.approx((ball, 0, 0, ball, 0, ball), abs=1e-11)


def test_authored_mass_and_centre_are_reported(tmp_path: Path) -> None:
    text = (
        BRICK
        + """
        float physics:mass = 3
        point3f physics:centerOfMass = (0.1, -0.2, 0.3)
        float3 physics:diagonalInertia = (0.1, 0.2, 0.25)
        double3 xformOp:scale = (2, 2, 2)
        uniform token[] xformOpOrder = ["xformOp:scale"]
    """
    )
    mass = mass_of(observe_stage(stage(tmp_path, body("a", text, MASS))), "a")

    assert mass.mass == 3.0
    assert mass.center == pytest.approx((0.2, -0.4, 0.6))


def test_blocked_values_are_not_numbers(tmp_path: Path) -> None:
    """OpenUSD returns memory that nothing was written to."""
    blocked = SMALL.replace("(0.001, 0, 0)", "None").replace("(2.4e-6, 3e-6, 1e-6)", "None")
    observation = observe_stage(stage(tmp_path, body("a", blocked + BRICK, MASS)))
    mass = mass_of(observation, "a")

    assert mass.mass == pytest.approx(0.02)
    assert np.isnan(mass.center).all()
    assert mass.inertia is None
    assert {
        "physics:centerOfMass of a is blocked, and has no value",
        "physics:diagonalInertia of a is blocked, and has no value",
    } <= {*observation.notes}


def test_small_inertia_is_replaced_by_that_of_colliders(tmp_path: Path) -> None:
    reading = observe_stage(stage(tmp_path, body("a", SMALL + BRICK, MASS)))
    (departure,) = reading.departures

    offset = np.array((0.1, 0.2, 0.3)) - (0.001, 0, 0)
    moved = 0.02 * (offset @ offset * np.eye(3) - np.outer(offset, offset))
    xx, _, _, yy, _, zz = departure.computed
    brick = turned(tuple(0.02 / 12 * np.array((0.2, 0.17, 0.05))), (0.8, 0, 0.6, 0))
    # The utility keeps the authored axes, so only the trace is meaningful.
    assert xx + yy + zz == pytest.approx(float(np.trace(brick + moved)), rel=1e-5)


def test_newton_inertia_attribute_is_compared_too(tmp_path: Path) -> None:
    text = """
        float physics:mass = 1
        point3f physics:centerOfMass = (0, 0, 0)
        float3 physics:diagonalInertia = (0.1, 0.2, 0.25)
        double[] newton:inertia = [0.1, 0.2, 0.25, 0.01, 0.02, 0.03]
    """
    reading = observe_stage(stage(tmp_path, body("a", text, MASS)))
    (restated,) = reading.restated

    assert reading.departures == ()
    assert (restated.link, restated.attribute) == ("a", "newton:inertia")
    assert restated.first == mass_of(reading, "a").inertia
    assert restated.second == pytest.approx((0.1, 0.01, 0.02, 0.2, 0.03, 0.25))


def test_unauthored_mass_is_computed_from_colliders(tmp_path: Path) -> None:
    reading = observe_stage(stage(tmp_path, body("a", BRICK)))
    found = mass_of(reading, "a")

    mass = WATER * 0.1 * 0.2 * 0.4
    assert found.mass == pytest.approx(mass)
    assert found.center == pytest.approx((0.1, 0.2, 0.3))
    moments = tuple(mass / 12 * np.array((0.2, 0.17, 0.05)))
    np.testing.assert_allclose(tensor(found), turned(moments, (0.8, 0, 0.6, 0)), atol=1e-6)
    assert reading.invented == ("a",)
    assert "the mass of a is invented from its colliders' volume" in reading.notes


@pytest.mark.parametrize("approximation", ["none", "convexHull"])
def test_mesh_scale_affects_mass(tmp_path: Path, approximation: str) -> None:
    text = CORNER.format(approximation=approximation, last="1, 2, 3")
    found = mass_of(observe_stage(stage(tmp_path, body("a", text))), "a")

    assert found.mass == pytest.approx(WATER)
    assert found.center == pytest.approx((0.25, -0.5, 0.75))


def test_convex_hull_is_used_only_where_authored(tmp_path: Path) -> None:
    """The mesh has a dent of 3/10 of the volume of the corner."""
    quad = CORNER.format(approximation="none", last="1, 2, 4").replace(
        "[3, 3, 3, 3]", "[3, 3, 3, 3, 3, 3]"
    )
    dented = quad.replace("1, 2, 4]", "1, 2, 4, 2, 3, 4, 3, 1, 4]")
    mesh = mass_of(observe_stage(stage(tmp_path, body("a", dented))), "a")
    hull = dented.replace('"none"', '"convexHull"')
    whole = mass_of(observe_stage(stage(tmp_path, body("b", hull))), "b")

    assert mesh.mass == pytest.approx(0.3 * WATER)
    assert whole.mass == pytest.approx(WATER)


def test_open_mesh_has_the_mass_of_its_hull(tmp_path: Path) -> None:
    text = CORNER.format(approximation="none", last="1, 2, 4")
    found = mass_of(observe_stage(stage(tmp_path, body("a", text))), "a")

    assert found.mass == pytest.approx(WATER)
    assert found.center == pytest.approx((0.25, -0.5, 0.75))


def test_quads_are_triangulated(tmp_path: Path) -> None:
    cube = """
        def Mesh "cube" (prepend apiSchemas = ["PhysicsCollisionAPI"])
        {
            point3f[] points = [
                (0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0),
                (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)
            ]
            int[] faceVertexCounts = [4, 4, 4, 4, 4, 4]
            int[] faceVertexIndices = [
                0, 3, 2, 1, 4, 5, 6, 7, 0, 1, 5, 4, 1, 2, 6, 5, 2, 3, 7, 6, 3, 0, 4, 7
            ]
        }
    """
    found = mass_of(observe_stage(stage(tmp_path, body("a", cube))), "a")

    assert found.mass == pytest.approx(WATER)
    np.testing.assert_allclose(tensor(found), np.eye(3) * WATER / 6, atol=1e-3)


def test_default_mass_is_one_kilogram(tmp_path: Path) -> None:
    """As UsdPhysics documents; its utility returns -1."""
    reading = observe_stage(stage(tmp_path, body("a")))

    assert mass_of(reading, "a").mass == 1.0
    assert reading.invented == ("a",)
    assert "the mass of a is invented from nothing" in reading.notes


def test_zero_mass_counts_as_unstated(tmp_path: Path) -> None:
    """Zero is the schema's value for "compute the mass"."""
    reading = observe_stage(stage(tmp_path, body("a", "float physics:mass = 0" + BRICK, MASS)))

    assert reading.invented == ("a",)
    assert mass_of(reading, "a").mass == pytest.approx(8.0)


@pytest.mark.parametrize("shape", ["Mesh", "Plane"])
def test_collider_without_volume_is_noted(tmp_path: Path, shape: str) -> None:
    empty = f'def {shape} "m" (prepend apiSchemas = ["PhysicsCollisionAPI"])\n{{\n}}\n'
    reading = observe_stage(stage(tmp_path, body("a", "float physics:mass = 2\n" + empty, MASS)))

    assert mass_of(reading, "a").inertia is None
    assert "collider /robot/a/m has no volume" in reading.notes
    assert "the inertia of a is not finite" in reading.notes
    assert reading.departures == ()


def test_nested_body_is_not_counted_twice(tmp_path: Path) -> None:
    reading = observe_stage(stage(tmp_path, body("a", BRICK + body("b", BRICK))))

    assert mass_of(reading, "a").mass == pytest.approx(8.0)
    assert mass_of(reading, "b").mass == pytest.approx(8.0)


@pytest.mark.parametrize(
    ("shape", "volume"),
    [
        ('Sphere "s"', 4 / 3 * np.pi * 0.3**3),
        ('Cylinder "s"', np.pi * 0.3**2 * 0.8),
        ('Capsule "s"', np.pi * 0.3**2 * 0.8 + 4 / 3 * np.pi * 0.3**3),
        ('Cone "s"', np.pi * 0.3**2 * 0.8 / 3),
    ],
)
def test_primitives_have_their_volume(tmp_path: Path, shape: str, volume: float) -> None:
    height = "" if "Sphere" in shape else 'double height = 0.4\ntoken axis = "Y"\n'
    text = f"""
        def {shape} (prepend apiSchemas = ["PhysicsCollisionAPI"])
        {{
            double radius = 0.15
            {height}
            float3 xformOp:scale = (2, 2, 2)
            uniform token[] xformOpOrder = ["xformOp:scale"]
        }}
    """
    found = mass_of(observe_stage(stage(tmp_path, body("a", text))), "a")

    assert found.mass == pytest.approx(WATER * volume, rel=1e-6)


def test_stage_in_centimetres_and_grams_becomes_si(tmp_path: Path) -> None:
    """2000 g at 3 cm, with 5e4 g cm^2."""
    text = """
        float physics:mass = 2000
        point3f physics:centerOfMass = (1, 2, 3)
        float3 physics:diagonalInertia = (50000, 60000, 70000)
    """
    header = "metersPerUnit = 0.01\n    kilogramsPerUnit = 0.001"
    found = mass_of(observe_stage(stage(tmp_path, body("a", text, MASS), header)), "a")

    assert found.mass == pytest.approx(2.0)
    assert found.center == pytest.approx((0.01, 0.02, 0.03))
    np.testing.assert_allclose(tensor(found), np.diag((5e-3, 6e-3, 7e-3)), rtol=1e-6)
