"""Wrong values from the schema registry."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from pxr import Gf, Sdf, Usd, Vt

from tests.conformance.engines.usd_observations import body, joint, stage
from tests.faults.schema_faults import PRIM, STAGE, family_schemas, schema_faults, wrong_values
from tests.tools.documentation.coverage import physics_attributes

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


def test_wrong_values_differ_from_the_right_one() -> None:
    rights = (False, 2, 0, math.inf, "X", Gf.Quatf(1), Gf.Vec3f(1, 2, 3), Vt.DoubleArray([1, 2]))
    for right in rights:
        found = wrong_values(right, ("X", "Y"))

        assert len(found) >= 1 + (right is not False)
        assert all(type(one) is type(right) and one != right for one in found.values())


def test_every_property_of_the_registry_is_changed_on_the_stage(robot: Usd.Stage) -> None:
    faults = schema_faults(robot)
    own = {name for schema in family_schemas() for name in physics_attributes([schema])}
    keys = [fault.key for fault in faults]
    massive = "Xform (PhysicsMassAPI, PhysicsRigidBodyAPI)"

    assert len(own) > 100
    assert own - {name for fault in faults for name, _ in fault.values} == set()
    assert {
        "PhysicsFixedJoint: type of a PhysicsRevoluteJoint",
        "PhysicsScene: added with values",
        f"PhysicsMassAPI: removed from a {massive}",
        "PhysicsMassAPI: applied to a Material",
        f"{PRIM}: {massive} instanceable",
        f"{STAGE}: kilogramsPerUnit doubled",
    } <= set(keys)
    unregistered = {fault.schema for fault in schema_faults(robot, registered=False)}
    assert unregistered == {"PhysxJointAPI", "PhysxJointAxisAPI:angular"}
    assert len(set(keys)) == len(keys)
    assert keys == [fault.key for fault in schema_faults(robot)]
    for fault in faults:
        layer = Sdf.Layer.CreateAnonymous()
        layer.TransferContent(robot.GetRootLayer())
        stage = Usd.Stage.Open(layer)
        fault.apply(stage)
        assert layer.ExportToString() != robot.GetRootLayer().ExportToString(), fault.key
        if fault.key == "PhysicsMaterialAPI: physics:dynamicFriction one":
            # Without a collider it would make no difference.
            shape = stage.GetPrimAtPath("/robot/a/shape")
            (bound,) = shape.GetRelationship("material:binding:physics").GetTargets()
            assert str(bound) == "/robot/paint"
