"""Wrong values from the schema registry."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from pxr import Gf, Sdf, Usd, Vt

from tests.conformance.engines.usd_observations import body, joint, stage
from tests.faults.schema_faults import PRIM, STAGE, family_schemas, schema_faults, wrong_values

HEADER = 'metersPerUnit = 1\n    upAxis = "Z"'
COLLIDER = """
    float physics:mass = 2
    def Cube "shape" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {
    }
"""
HINGE = """
    float physics:lowerLimit = -30
    float physxJoint:maxJointVelocity = 90
    float physxJointAxis:angular:maxJointVelocity = 90
"""


@pytest.fixture
def robot(tmp_path: Path) -> Usd.Stage:
    """Two bodies with colliders, a material, and a revolute joint of PhysX."""
    bodies = [body(name, COLLIDER, ("PhysicsMassAPI",)) for name in "ab"]
    physx = ("PhysxJointAPI", "PhysxJointAxisAPI:angular")
    hinge = joint("PhysicsRevoluteJoint", "hinge", HINGE, schemas=physx)
    text = "".join((*bodies, hinge, 'def Material "paint" {\n}\n'))
    return Usd.Stage.Open(str(stage(tmp_path, text, HEADER)))


@pytest.mark.parametrize(
    ("value", "allowed", "wrong"),
    [
        (False, (), {"flipped": True}),
        (2, (), {"doubled": 4, "negated": -2, "zero": 0}),
        (0, (), {"one": 1, "minus one": -1}),
        (math.inf, (), {"one": 1.0, "minus one": -1.0, "zero": 0.0}),
        ("X", ("X", "Y"), {"is Y": "Y", "misspelt": "X_", "empty": ""}),
        (Gf.Quatf(1), (), {"zero": Gf.Quatf(0)}),
        (Gf.Vec3f(1, 2, 3), (), {"permuted": Gf.Vec3f(3, 1, 2), "zero": Gf.Vec3f(0)}),
        (Gf.Vec3f(0), (), {"moved": Gf.Vec3f(1 / 3, 2 / 3, 1)}),
        (Gf.Vec3f(1), (), {"infinite": Gf.Vec3f(math.inf, 1, 1)}),
        (
            Vt.DoubleArray([1, 2]),
            (),
            {"emptied": Vt.DoubleArray(), "reversed": Vt.DoubleArray([2, 1])},
        ),
    ],
)
def test_wrong_values_differ_from_the_right_one(
    value: object, allowed: tuple[str, ...], wrong: dict[str, object]
) -> None:
    found = wrong_values(value, allowed)

    assert {title: found[title] for title in wrong} == wrong
    assert all(type(one) is type(value) for one in found.values())
    assert value not in found.values()


def test_every_property_of_the_registry_is_changed(robot: Usd.Stage) -> None:
    registry = Usd.SchemaRegistry()
    faults = schema_faults(robot)
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

    assert len(expected) > 100
    assert expected - {name for fault in faults for name, _ in fault.values} == set()
    massive = "Xform (PhysicsMassAPI, PhysicsRigidBodyAPI)"
    assert {
        "PhysicsFixedJoint: type of a PhysicsRevoluteJoint",
        "PhysicsScene: added with values",
        f"PhysicsMassAPI: removed from a {massive}",
        "PhysicsMassAPI: applied to a Material",
        f"{PRIM}: {massive} instanceable",
        f"{STAGE}: kilogramsPerUnit doubled",
    } <= {fault.key for fault in faults}
    assert {fault.schema for fault in schema_faults(robot, registered=False)} == {
        "PhysxJointAPI",
        "PhysxJointAxisAPI:angular",
    }


def test_every_change_changes_the_stage(robot: Usd.Stage) -> None:
    keys = []
    for fault in schema_faults(robot):
        layer = Sdf.Layer.CreateAnonymous()
        layer.TransferContent(robot.GetRootLayer())
        fault.apply(Usd.Stage.Open(layer))
        keys.append(fault.key)
        assert layer.ExportToString() != robot.GetRootLayer().ExportToString(), fault.key

    assert len(set(keys)) == len(keys)
    assert keys == [fault.key for fault in schema_faults(robot)]


def test_material_is_bound_to_a_collider(robot: Usd.Stage) -> None:
    key = "PhysicsMaterialAPI: physics:dynamicFriction one"
    next(fault for fault in schema_faults(robot) if fault.key == key).apply(robot)
    binding = robot.GetPrimAtPath("/robot/a/shape").GetRelationship("material:binding:physics")

    assert [str(path) for path in binding.GetTargets()] == ["/robot/paint"]
