"""Wrong values from the schema registry, and why some of them are harmless."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, Vt

from tests.conformance.engines.usd_observations import body, joint, stage
from urdf_usd.conformance.engines.openusd.settings.coverage import plugin_schemas
from urdf_usd.conformance.mutation.generated.harmless import harmless_because
from urdf_usd.conformance.mutation.generated.schema_faults import schema_seeds
from urdf_usd.conformance.mutation.generated.schemas import family_schemas
from urdf_usd.conformance.mutation.generated.seeds import PRIM, STAGE, SchemaSeed
from urdf_usd.conformance.mutation.generated.wrong_values import wrong_values

MASS = """
    float physics:mass = 2
    point3f physics:centerOfMass = (0.1, 0.2, 0.3)
    float3 physics:diagonalInertia = (1, 2, 2.5)
    quatf physics:principalAxes = (1, 0, 0, 0)
"""
COLLIDER = """
    def Cube "shape" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {
    }
"""
HINGE = """
    float physics:lowerLimit = -30
    float physics:upperLimit = 60
    float physxJoint:maxJointVelocity = 90
    float physxJointAxis:angular:maxJointVelocity = 90
"""
HEADER = 'metersPerUnit = 1\n    upAxis = "Z"'


@pytest.fixture
def robot(tmp_path: Path) -> Usd.Stage:
    """Two bodies with colliders, a material, and a revolute joint of PhysX."""
    schemas = ("PhysicsMassAPI",)
    bodies = [body(name, MASS + COLLIDER, schemas) for name in "ab"]
    physx = ("PhysxJointAPI", "PhysxJointAxisAPI:angular")
    hinge = joint("PhysicsRevoluteJoint", "hinge", HINGE, schemas=physx)
    text = "".join((*bodies, hinge, 'def Material "paint" {\n}\n'))
    return Usd.Stage.Open(str(stage(tmp_path, text, HEADER)))


def _changed(good: Usd.Stage, seed: SchemaSeed) -> Usd.Stage:
    layer = Sdf.Layer.CreateAnonymous()
    layer.TransferContent(good.GetRootLayer())
    changed = Usd.Stage.Open(layer)
    seed.apply(changed)
    return changed


def _seed(good: Usd.Stage, key: str, *, registered: bool = True) -> SchemaSeed:
    seeds = schema_seeds(good, registered=registered)
    return next(seed for seed in seeds if seed.key == key)


@pytest.mark.parametrize(
    ("value", "allowed", "wrong"),
    [
        (False, (), {"flipped": True}),
        (2, (), {"doubled": 4, "negated": -2, "zero": 0}),
        (0, (), {"one": 1, "minus one": -1}),
        (
            math.inf,
            (),
            {
                "one": 1.0,
                "minus one": -1.0,
                "zero": 0.0,
                "negatively infinite": -math.inf,
            },
        ),
        ("X", ("X", "Y"), {"is Y": "Y", "misspelt": "X_", "empty": ""}),
        (Gf.Quatf(1), (), {"zero": Gf.Quatf(0)}),
        (
            Gf.Vec3f(1, 2, 3),
            (),
            {
                "negated": Gf.Vec3f(-1, -2, -3),
                "permuted": Gf.Vec3f(3, 1, 2),
                "zero": Gf.Vec3f(0),
            },
        ),
        (Gf.Vec3f(0), (), {"moved": Gf.Vec3f(1 / 3, 2 / 3, 1)}),
        (
            Vt.DoubleArray([1, 2]),
            (),
            {
                "emptied": Vt.DoubleArray(),
                "shortened": Vt.DoubleArray([1]),
                "reversed": Vt.DoubleArray([2, 1]),
                "doubled": Vt.DoubleArray([2, 4]),
                "negated": Vt.DoubleArray([-1, -2]),
                "zero": Vt.DoubleArray([0, 0]),
            },
        ),
    ],
)
def test_wrong_values_differ_from_the_right_one(
    value: object, allowed: tuple[str, ...], wrong: dict[str, object]
) -> None:
    """Of the same type; numbers that are not finite are compared below."""
    found = wrong_values(value, allowed)

    assert {title: found[title] for title in wrong} == wrong
    assert all(type(one) is type(value) for one in found.values())
    assert value not in found.values()


def test_floats_become_infinite_and_not_a_number() -> None:
    """Also in vectors."""
    number = wrong_values(1.0, ())["not a number"]
    vector = wrong_values(Gf.Vec3f(1), ())["infinite"]

    assert isinstance(number, float)
    assert math.isnan(number)
    assert vector == Gf.Vec3f(math.inf, 1, 1)


def test_every_property_of_the_registry_is_seeded(robot: Usd.Stage) -> None:
    """Of UsdPhysics and of Newton."""
    registry = Usd.SchemaRegistry()
    seeded = {name for seed in schema_seeds(robot) for name, _ in seed.values}
    expected = set()
    for schema in family_schemas():
        definition = registry.FindConcretePrimDefinition(
            schema
        ) or registry.FindAppliedAPIPrimDefinition(schema)
        expected |= {
            name.replace("__INSTANCE_NAME__", "*")
            for name in (definition.GetPropertyNames() if definition else ())
            if name.startswith(("physics:", "newton:", "drive:", "limit:"))
        }

    assert set(plugin_schemas("usdPhysics")) < set(family_schemas())
    assert len(expected) > 100
    assert expected - seeded == set()


def test_seeds_have_distinct_keys_and_an_order(robot: Usd.Stage) -> None:
    """The same for an equal stage."""
    keys = [seed.key for seed in schema_seeds(robot)]

    assert len(set(keys)) == len(keys)
    assert keys == [seed.key for seed in schema_seeds(robot)]


def test_every_seed_changes_the_stage(robot: Usd.Stage) -> None:
    """By one prim, the stage, or the collider that a material is bound to."""
    text = robot.GetRootLayer().ExportToString()
    same = [
        seed.key
        for seed in schema_seeds(robot)
        if _changed(robot, seed).GetRootLayer().ExportToString() == text
    ]

    assert same == []


def test_types_and_metadata_are_seeded(robot: Usd.Stage) -> None:
    """Joints of other types, added prims, and what is no property."""
    keys = {seed.key for seed in schema_seeds(robot)}
    hinge = "PhysicsRevoluteJoint"
    massive = "Xform (PhysicsMassAPI, PhysicsRigidBodyAPI)"

    assert {
        f"PhysicsFixedJoint: type of a {hinge}",
        "PhysicsScene: added",
        "PhysicsScene: added with values",
        f"PhysicsMassAPI: removed from a {massive}",
        "PhysicsMassAPI: applied to a Material",
        f"{PRIM}: {hinge} inactive",
        f"{PRIM}: {massive} instanceable",
        f"{STAGE}: kilogramsPerUnit doubled",
        f"{STAGE}: upAxis misspelt",
    } <= keys


def test_properties_of_unregistered_schemas_are_seeded(robot: Usd.Stage) -> None:
    """Where they are authored; PhysX's schemas are not part of OpenUSD."""
    found = {seed.schema for seed in schema_seeds(robot, registered=False)}

    assert found == {"PhysxJointAPI", "PhysxJointAxisAPI:angular"}


def test_material_is_bound_to_a_collider(robot: Usd.Stage) -> None:
    """Otherwise it would make no difference."""
    seed = _seed(robot, "PhysicsMaterialAPI: physics:dynamicFriction one")
    changed = _changed(robot, seed)
    binding = changed.GetPrimAtPath("/robot/a/shape").GetRelationship("material:binding:physics")

    assert [str(path) for path in binding.GetTargets()] == ["/robot/paint"]
    assert harmless_because(seed, robot, changed) is None


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("PhysicsMassAPI: physics:mass doubled", None),
        ("PhysicsMassAPI: physics:principalAxes turned", None),
        ("PhysicsMassAPI: physics:density one", "density is ignored"),
        ("PhysicsMassAPI: applied to a Material with values", "same physics"),
        ("PhysicsRevoluteJoint: physics:upperLimit doubled", None),
        ("PhysicsFixedJoint: type of a PhysicsRevoluteJoint", None),
        ("PhysicsFixedJoint: added", "same physics"),
        ("PhysicsScene: added", "same physics"),
        ("PhysicsScene: physics:gravityMagnitude minus one", None),
        # Without a joint the coupling has no effect.
        ("NewtonMimicAPI: newton:mimicCoef1 doubled", "targets no joint"),
        ("NewtonJointAPI: newton:armature one", None),
        ("NewtonJointAPI: newton:limitStiffness minus one", "a URDF implies"),
        ("NewtonMassAPI: applied to a Xform", "computed from the prim"),
        ("prim metadata: PhysicsRevoluteJoint inactive", None),
        ("prim metadata: PhysicsRevoluteJoint instanceable", "same physics"),
        ("stage metadata: kilogramsPerUnit doubled", None),
    ],
)
def test_change_is_harmless_for_a_reason(key: str, reason: str | None, robot: Usd.Stage) -> None:
    """From the tables of settings, or as OpenUSD's parser reports the same."""
    seeds = [seed for seed in schema_seeds(robot) if seed.key == key]
    for seed in seeds:
        found = harmless_because(seed, robot, _changed(robot, seed))

        assert (found is None) == (reason is None), found
        assert (reason or "") in (found or "")
    assert len(seeds) == 1


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (
            "PhysxJointAPI: physxJoint:maxJointVelocity doubled",
            "PhysxJointAxisAPI takes precedence",
        ),
        (
            "PhysxJointAxisAPI:angular: physxJointAxis:angular:maxJointVelocity zero",
            None,
        ),
        (
            "PhysxJointAPI: removed from a PhysicsRevoluteJoint",
            "no other schema states",
        ),
    ],
)
def test_attribute_of_physx_is_harmless_for_a_reason(
    key: str, reason: str | None, robot: Usd.Stage
) -> None:
    """An axis takes precedence over its joint."""
    seed = _seed(robot, key, registered=False)
    found = harmless_because(seed, robot, _changed(robot, seed))

    assert (found is None) == (reason is None)
    assert (reason or "") in (found or "")


def test_metric_of_the_stage_is_changed_in_its_root_layer(robot: Usd.Stage) -> None:
    """There it counts."""
    seed = _seed(robot, f"{STAGE}: metersPerUnit doubled")
    changed = _changed(robot, seed)

    assert UsdGeom.GetStageMetersPerUnit(changed) == 2
    assert UsdPhysics.GetStageKilogramsPerUnit(changed) == 1
