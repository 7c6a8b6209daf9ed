"""Settings of a stage that no URDF implies, and settings that make no difference."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import newton_usd_schemas  # noqa: F401  registers schemas
import pytest
from pxr import Plug, Sdf, Tf, Usd

from tests.conformance.engines.usd_readings import ask, body, joint, stage
from urdf_usd.conformance.checks.catalogue import CHECKS
from urdf_usd.conformance.engines.openusd.settings import (
    COMPARED,
    RULES,
    is_accounted,
    schema_attribute,
)
from urdf_usd.conformance.observation.robot import SettingKind

# Schemas of Newton that concern rigid robots; others are solvers and deformables.
NEWTON = (
    "NewtonArticulationRootAPI",
    "NewtonCollisionAPI",
    "NewtonJointAPI",
    "NewtonMassAPI",
    "NewtonMaterialAPI",
    "NewtonMeshCollisionAPI",
    "NewtonMimicAPI",
    "NewtonSceneAPI",
)
MASS = "float physics:mass = 2\nfloat3 physics:diagonalInertia = (1, 1, 1)\n"
COLLIDER = """
def Cube "{}" (prepend apiSchemas = ["PhysicsCollisionAPI"{}]) {{
{}
}}
"""


def _definition(schema: str) -> Usd.PrimDefinition:
    registry = Usd.SchemaRegistry()
    return registry.FindConcretePrimDefinition(
        schema
    ) or registry.FindAppliedAPIPrimDefinition(schema)


def _schemas(plugin: str) -> Iterator[str]:
    """Yield the concrete and applied schemas of a plugin, by name."""
    types = Plug.Registry().GetPluginWithName(plugin).metadata["Types"]
    for name in types:
        info = Usd.SchemaRegistry.FindSchemaInfo(Tf.Type.FindByName(name))
        if info and _definition(info.identifier):
            yield info.identifier


def _physics_properties() -> list[str]:
    names = {
        schema_attribute(name.replace("__INSTANCE_NAME__", "angular"))
        for schema in (*_schemas("usdPhysics"), *NEWTON)
        for name in _definition(schema).GetPropertyNames()
    }
    return sorted(
        name
        for name in names
        if name.startswith(("physics:", "newton:", "drive:", "limit:"))
    )


def _colliding(name: str, content: str = "", more: str = "") -> str:
    """Return the text of a body with a collider."""
    schemas = ("PhysicsMassAPI",)
    return body(name, MASS + COLLIDER.format("shape", more, content), schemas)


def _settings(folder: Path, text: str) -> list[tuple[SettingKind, str]]:
    found = ask(stage(folder, text, 'metersPerUnit = 1\n    upAxis = "Z"')).unimplied
    assert found is not None
    return [(one.kind, one.subject) for one in found]


@pytest.mark.parametrize("name", _physics_properties())
def test_every_physics_property_is_accounted(name: str) -> None:
    """Compared by a check, harmless for a stated reason, or with an implied value."""
    assert is_accounted(name)


def test_compared_properties_name_existing_checks() -> None:
    """A check that was renamed would leave a gap."""
    assert set(COMPARED.values()) <= {check.id for check in CHECKS}


def test_fallbacks_of_schemas_are_implied() -> None:
    """An asset that authors the fallback states nothing new."""
    wrong = []
    for schema in (*_schemas("usdPhysics"), *NEWTON):
        definition = _definition(schema)
        for rule in RULES:
            name = rule.attribute.replace("*", "__INSTANCE_NAME__")
            if definition.GetSpecType(name) != Sdf.SpecTypeAttribute:
                continue
            if not rule.is_implied(definition.GetAttributeFallbackValue(name)):
                wrong.append((schema, name))

    assert wrong == []


@pytest.mark.parametrize(
    "content",
    [
        # Ignored beside a mass.
        "float physics:density = 7800",
        "vector3f physics:velocity = (0, 0, 0)",
        # Without its schema PhysX does not read it.
        "bool physxRigidBody:disableGravity = true",
        "int physxRigidBody:solverPositionIterationCount = 32",
        # In no schema of OpenUSD.
        "float physics:buoyancy = 3",
    ],
)
def test_harmless_attribute_of_body_is_no_setting(content: str, tmp_path: Path) -> None:
    """By the rules of the schemas."""
    text = body("a", MASS + content, ("PhysicsMassAPI",))

    assert _settings(tmp_path, text) == []


def test_physx_fallbacks_are_no_settings(tmp_path: Path) -> None:
    """The angular damping of PhysX is 0.05 whether or not it is authored."""
    content = """
    bool physxRigidBody:disableGravity = false
    float physxRigidBody:angularDamping = 0.05
    float physxRigidBody:linearDamping = 0
    float physxRigidBody:maxAngularVelocity = 5729.578
    float physxRigidBody:maxLinearVelocity = inf
    float physxRigidBody:sleepThreshold = 0.005
    """
    text = body("a", content, ("PhysxRigidBodyAPI",))

    assert _settings(tmp_path, text) == []


@pytest.mark.parametrize(
    ("content", "schema"),
    [
        # A target has no effect without gains.
        ("float drive:angular:physics:targetPosition = 30", "PhysicsDriveAPI:angular"),
        # A revolute joint has no linear degree of freedom.
        ("float drive:linear:physics:stiffness = 30", "PhysicsDriveAPI:linear"),
        ("float drive:angular:physics:stiffness = 30", "NewtonJointAPI"),
        ("float physics:breakForce = inf", "NewtonJointAPI"),
        ("float newton:limitStiffness = -inf", "NewtonJointAPI"),
    ],
)
def test_harmless_attribute_of_joint_is_no_setting(
    content: str, schema: str, tmp_path: Path
) -> None:
    """By the rules of the schemas."""
    hinge = joint("PhysicsRevoluteJoint", "j", content, schemas=(schema,))

    assert _settings(tmp_path, body("a") + body("b") + hinge) == []


@pytest.mark.parametrize(
    ("content", "schema", "kind"),
    [
        (
            "float drive:angular:physics:stiffness = 30",
            "PhysicsDriveAPI:angular",
            SettingKind.DRIVE,
        ),
        ("float physics:breakTorque = 3", "NewtonJointAPI", SettingKind.JOINT),
        ("float newton:armature = 0.1", "NewtonJointAPI", SettingKind.JOINT),
        (
            "float state:angular:physics:position = 45",
            "PhysicsJointStateAPI:angular",
            SettingKind.INITIAL_STATE,
        ),
    ],
)
def test_attribute_of_joint_is_a_setting(
    content: str, schema: str, kind: SettingKind, tmp_path: Path
) -> None:
    """Under the name of the joint."""
    hinge = joint("PhysicsRevoluteJoint", "j", content, schemas=(schema,))

    assert _settings(tmp_path, body("a") + body("b") + hinge) == [(kind, "joint j")]


def test_registered_attribute_that_no_table_has_is_a_setting(tmp_path: Path) -> None:
    """So that a new schema is noticed; its fallback is none."""
    rubber = """
    def Material "rubber" (prepend apiSchemas = ["NewtonMPMMaterialAPI"]) {{
        float newton:mpm:viscosity = {}
    }}
    """

    assert _settings(tmp_path, body("a") + rubber.format(0)) == []
    assert _settings(tmp_path, body("a") + rubber.format(3)) == [
        (SettingKind.SCENE, "robot")
    ]


@pytest.mark.parametrize(
    ("content", "faults"),
    [
        ("", 0),
        ("vector3f physics:gravityDirection = (0, 0, -2)", 0),
        ("float physics:gravityMagnitude = 9.80665", 0),
        ("float physics:gravityMagnitude = -inf", 0),
        ("vector3f physics:gravityDirection = (0, -1, 0)", 1),
        ("float physics:gravityMagnitude = 0", 1),
        ("float physics:gravityMagnitude = 981", 1),
    ],
)
def test_gravity_is_that_of_the_earth(
    content: str, faults: int, tmp_path: Path
) -> None:
    """Along the up axis, in metres."""
    scene = f'def PhysicsScene "scene" {{\n{content}\n}}\n'

    assert _settings(tmp_path, body("a") + scene) == (
        [(SettingKind.SCENE, "robot")] * faults
    )


def test_simulation_owner_is_a_scene_of_all_bodies(tmp_path: Path) -> None:
    """The only scene is also that of bodies without an owner."""
    owner = "rel physics:simulationOwner = </robot/{}>"
    scene = 'def PhysicsScene "scene" {}\n'
    bodies = body("a") + body("b")
    owned = body("c", owner.format("scene"))
    lost = body("d", owner.format("nowhere"))

    assert _settings(tmp_path, scene + bodies + owned) == []
    assert _settings(tmp_path, scene + bodies + lost) == [(SettingKind.SCENE, "link d")]


@pytest.mark.parametrize(
    ("joints", "found"),
    [
        (joint("PhysicsRevoluteJoint", "j"), []),
        (joint("PhysicsFixedJoint", "j"), []),
        # Not joined to each other.
        (
            joint("PhysicsRevoluteJoint", "j", sides=("a", "c"))
            + joint("PhysicsRevoluteJoint", "k", sides=("c", "b")),
            [(SettingKind.FILTER, "link a")],
        ),
        # Welded to the same body: no contact moves them.
        (
            joint("PhysicsFixedJoint", "j", sides=("a", "c"))
            + joint("PhysicsFixedJoint", "k", sides=("c", "b")),
            [],
        ),
    ],
)
def test_filter_matters_between_links_that_could_collide(
    joints: str, found: list[tuple[SettingKind, str]], tmp_path: Path
) -> None:
    """Links of a joint do not collide anyway."""
    filtered = (
        _colliding("a")
        .replace(
            '"PhysicsRigidBodyAPI"', '"PhysicsFilteredPairsAPI", "PhysicsRigidBodyAPI"'
        )
        .replace(MASS, MASS + "rel physics:filteredPairs = </robot/b>\n", 1)
    )
    text = filtered + _colliding("b") + _colliding("c") + joints

    assert _settings(tmp_path, text) == found


def test_links_of_a_joint_collide_only_if_both_have_colliders(tmp_path: Path) -> None:
    """Otherwise the flag of the joint has no effect."""
    hinge = joint("PhysicsRevoluteJoint", "j", "bool physics:collisionEnabled = true")

    assert _settings(tmp_path, _colliding("a") + body("b") + hinge) == []
    assert _settings(tmp_path, _colliding("a") + _colliding("b") + hinge) == [
        (SettingKind.FILTER, "joint j")
    ]


def test_material_without_friction_is_no_setting(tmp_path: Path) -> None:
    """A material of a density alone, and one that is bound to no collider."""
    text = """
    def Material "dense" (prepend apiSchemas = ["PhysicsMaterialAPI"]) {
        float physics:density = 1000
    }
    def Material "slippery" (prepend apiSchemas = ["PhysicsMaterialAPI"]) {
        float physics:dynamicFriction = 0
    }
    """
    bound = "rel material:binding:physics = </robot/{}>"
    more = ', "MaterialBindingAPI"'

    def found(name: str) -> list[tuple[SettingKind, str]]:
        return _settings(tmp_path, text + _colliding("a", bound.format(name), more))

    assert _settings(tmp_path, text + _colliding("a")) == []
    assert found("dense") == []
    assert found("slippery") == [(SettingKind.MATERIAL, "link a")]


@pytest.mark.parametrize(
    ("token", "found"),
    [
        (None, []),
        ("none", []),
        ("convexHull", []),
        ("convexDecomposition", []),
        ("sdf", []),
        ("convexhull", [(SettingKind.APPROXIMATION, "link a")]),
        ("sphereFill", [(SettingKind.APPROXIMATION, "link a")]),
    ],
)
def test_approximation_is_one_that_keeps_the_surface(
    token: str | None, found: list[tuple[SettingKind, str]], tmp_path: Path
) -> None:
    """The surface itself is what the URDF states, so that none may be authored."""
    authored = f'uniform token physics:approximation = "{token}"' if token else ""
    mesh = f"""
    def Mesh "shape" (
        prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]
    ) {{
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
        int[] faceVertexCounts = [3]
        int[] faceVertexIndices = [0, 1, 2]
        uniform token purpose = "guide"
        {authored}
    }}
    """

    assert _settings(tmp_path, body("a", mesh)) == found


def test_bodies_and_colliders_besides_the_robot_are_settings(tmp_path: Path) -> None:
    """They are simulated with it."""
    path = stage(tmp_path, body("a"))
    path.write_text(
        path.read_text()
        + COLLIDER.format("ground", "", "")
        + body("ball")
        + 'def PhysicsScene "scene" {}\n'
    )
    found = ask(path).unimplied

    assert [one.message for one in found or ()] == [
        "collider /ground is outside of the default prim",
        "body /ball is outside of the default prim",
    ]
