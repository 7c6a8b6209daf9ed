"""Settings of a stage that no URDF implies, and settings that make no difference."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import util
from pathlib import Path

import pytest
from pxr import Sdf, Usd

from tests.conformance.engines.usd_observations import body, joint, observe_stage, stage
from tests.tools.documentation.coverage import (
    NEWTON_SCHEMAS,
    document,
    physics_attributes,
    plugin_schemas,
)
from urdf_usd.conformance.checks.catalogue import CHECKS
from urdf_usd.conformance.engines.openusd.settings import (
    COMPARED,
    FALLBACKS,
    HARMLESS,
    is_accounted,
    is_implied,
    schema_attribute,
)
from urdf_usd.conformance.observation.robot import SettingKind

MASS = "float physics:mass = 2\nfloat3 physics:diagonalInertia = (1, 1, 1)\n"
COLLIDER = """
def Cube "{}" (prepend apiSchemas = ["PhysicsCollisionAPI"{}]) {{
{}
}}
"""


SCHEMAS = (*plugin_schemas("usdPhysics"), *NEWTON_SCHEMAS)


def _colliding(name: str, content: str = "", more: str = "") -> str:
    """Return the text of a body with a collider."""
    schemas = ("PhysicsMassAPI",)
    return body(name, MASS + COLLIDER.format("shape", more, content), schemas)


def _settings(folder: Path, text: str) -> list[tuple[SettingKind, str]]:
    found = observe_stage(stage(folder, text, 'metersPerUnit = 1\n    upAxis = "Z"')).unexpected
    assert found is not None
    return [(one.kind, one.subject) for one in found]


@pytest.mark.parametrize("name", physics_attributes(SCHEMAS))
def test_every_physics_property_is_accounted(name: str) -> None:
    assert is_accounted(name) or name in FALLBACKS


def test_page_of_attributes_is_up_to_date() -> None:
    page = Path(__file__).parents[5] / "docs" / "dev" / "coverage.md"

    assert page.read_text(encoding="utf-8") == document()


def test_compared_properties_name_existing_checks() -> None:
    assert set(COMPARED.values()) <= {check.id for check in CHECKS}
    assert not COMPARED.keys() & {*HARMLESS, *FALLBACKS}


def _fallbacks(definition: Usd.PrimDefinition) -> Iterator[tuple[str, object]]:
    for name in definition.GetPropertyNames():
        attribute = definition.GetAttributeDefinition(name)
        if attribute:
            general = schema_attribute(name.replace("__INSTANCE_NAME__", "angular"))
            yield general, attribute.GetFallbackValue()


def test_fallbacks_are_those_of_the_registry() -> None:
    """Of PhysX where its schemas are installed; they are read without registering them."""
    registry = Usd.SchemaRegistry()
    found = [
        fallback
        for schema in SCHEMAS
        if (
            definition := registry.FindConcretePrimDefinition(schema)
            or registry.FindAppliedAPIPrimDefinition(schema)
        )
        for fallback in _fallbacks(definition)
    ]
    package = util.find_spec("physx_usd_schemas")
    if package and package.origin:
        file = Path(package.origin).parent / "PhysxSchema/resources/generatedSchema.usda"
        layer = Sdf.Layer.FindOrOpen(str(file))
        for prim in layer.rootPrims:
            found += [
                (schema_attribute(one.name.replace("__INSTANCE_NAME__", "rotX")), one.default)
                for one in prim.attributes
            ]
    known = [(name, value) for name, value in found if name in FALLBACKS and value is not None]

    assert len(known) >= 14
    assert [pair for pair in known if not is_implied(pair[0], pair[1], FALLBACKS[pair[0]])] == []


@pytest.mark.parametrize(
    "content",
    [
        # Ignored, as the body has a mass.
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
        # MuJoCo's own.
        ("uniform double[] mjc:solreflimit = [0.02, 1]", "MjcJointAPI"),
        ("uniform double mjc:margin = 0", "MjcJointAPI"),
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
        # MuJoCo lets the joint pass its limit, or stops it before.
        ("uniform double[] mjc:solreflimit = [2, 1]", "MjcJointAPI", SettingKind.JOINT),
        ("uniform double mjc:margin = 0.5", "MjcJointAPI", SettingKind.JOINT),
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
    hinge = joint("PhysicsRevoluteJoint", "j", content, schemas=(schema,))

    assert _settings(tmp_path, body("a") + body("b") + hinge) == [(kind, "joint j")]


@pytest.mark.parametrize(
    ("content", "schema", "kind"),
    [
        ("float physxNew:drag = 3", "PhysxNewAPI", SettingKind.BODY),
        # A new attribute of a schema that is known.
        ("float physxRigidBody:drag = 3", "PhysxRigidBodyAPI", SettingKind.BODY),
        ("", "PhysxDeformableBodyAPI", SettingKind.BODY),
        ("", "PhysxTendonAttachmentRootAPI:wire", SettingKind.BODY),
        ("", "MjcBodyAPI", SettingKind.BODY),
    ],
)
def test_schema_or_attribute_that_no_table_has_is_a_setting(
    content: str, schema: str, kind: SettingKind, tmp_path: Path
) -> None:
    """Also if OpenUSD has no definition of the schema."""
    text = body("a", content, (schema,))

    assert (kind, "link a") in _settings(tmp_path, text)


@pytest.mark.parametrize(
    "schema", ["IsaacLinkAPI", "SemanticsAPI:class", "PhysxContactReportAPI", "PhysxRigidBodyAPI"]
)
def test_schema_without_effect_is_no_setting(schema: str, tmp_path: Path) -> None:
    """Labels, reports, and schemas whose attributes have their fallbacks."""
    assert _settings(tmp_path, body("a", "", (schema,))) == []


@pytest.mark.parametrize(
    ("content", "schema"),
    [
        ("float physxCollision:torsionalPatchRadius = 0.1", "PhysxCollisionAPI"),
        ("int physxConvexHullCollision:hullVertexLimit = 8", "PhysxConvexHullCollisionAPI"),
        ("float physxConvexHullCollision:minThickness = 0.1", "PhysxConvexHullCollisionAPI"),
        (
            "int physxConvexDecompositionCollision:maxConvexHulls = 1",
            "PhysxConvexDecompositionCollisionAPI",
        ),
        ("uniform int newton:maxHullVertices = 8", "NewtonMeshCollisionAPI"),
        ("uniform int mjc:maxhullvert = 8", "MjcMeshCollisionAPI"),
    ],
)
def test_attribute_of_collider_is_a_setting(content: str, schema: str, tmp_path: Path) -> None:
    text = _colliding("a", content, f', "{schema}"')

    assert [subject for _, subject in _settings(tmp_path, text)] == ["link a"]


@pytest.mark.parametrize(("threshold", "settings"), [(0.0, 0), (5e-5, 0), (1000.0, 1)])
def test_articulation_that_falls_asleep_early_is_a_setting(
    threshold: float, settings: int, tmp_path: Path
) -> None:
    content = f"float physxArticulation:sleepThreshold = {threshold}"
    text = body("a", content, ("PhysxArticulationAPI",))

    assert _settings(tmp_path, text) == ([(SettingKind.ARTICULATION, "link a")] * settings)


@pytest.mark.parametrize(
    ("update", "settings"), [("Synchronous", 0), ("Asynchronous", 0), ("Disabled", 1)]
)
def test_scene_that_is_not_stepped_is_a_setting(update: str, settings: int, tmp_path: Path) -> None:
    scene = f"""
    def PhysicsScene "scene" (prepend apiSchemas = ["PhysxSceneAPI"]) {{
        uniform token physxScene:updateType = "{update}"
    }}
    """

    assert _settings(tmp_path, body("a") + scene) == ([(SettingKind.SCENE, "robot")] * settings)


def test_registered_attribute_that_no_table_has_is_a_setting(tmp_path: Path) -> None:
    """So that a new schema is noticed; its fallback is none."""
    rubber = """
    def Material "rubber" (prepend apiSchemas = ["NewtonMPMMaterialAPI"]) {{
        float newton:mpm:viscosity = {}
    }}
    """

    assert _settings(tmp_path, body("a") + rubber.format(0)) == []
    assert _settings(tmp_path, body("a") + rubber.format(3)) == [(SettingKind.SCENE, "robot")]


@pytest.mark.parametrize(
    ("content", "faults"),
    [
        ("", 0),
        ("vector3f physics:gravityDirection = (0, 0, -2)", 0),
        ("float physics:gravityMagnitude = 9.80665", 0),
        ("float physics:gravityMagnitude = -inf", 0),
        ("vector3f physics:gravityDirection = (0, -1, 0)", 1),
        ("float physics:gravityMagnitude = 0", 1),
        # OpenUSD's parser returns it, and so turns gravity upwards.
        ("float physics:gravityMagnitude = -9.81", 1),
        ("float physics:gravityMagnitude = 981", 1),
    ],
)
def test_gravity_is_that_of_the_earth(content: str, faults: int, tmp_path: Path) -> None:
    scene = f'def PhysicsScene "scene" {{\n{content}\n}}\n'

    assert _settings(tmp_path, body("a") + scene) == ([(SettingKind.SCENE, "robot")] * faults)


def test_simulation_owner_is_a_scene_of_all_bodies(tmp_path: Path) -> None:
    owner = "rel physics:simulationOwner = </robot/{}>"
    scene = 'def PhysicsScene "scene" {}\n'
    bodies = body("a") + body("b")
    owned = body("c", owner.format("scene"))
    lost = body("d", owner.format("nowhere"))

    assert _settings(tmp_path, scene + bodies + owned) == []
    assert _settings(tmp_path, scene + bodies + lost) == [(SettingKind.SCENE, "link d")]


def test_simulation_owner_of_a_collider_is_the_scene_of_its_body(tmp_path: Path) -> None:
    owner = "rel physics:simulationOwner = </robot/{}>"
    scene = 'def PhysicsScene "scene" {}\n'

    assert _settings(tmp_path, scene + _colliding("a", owner.format("scene"))) == []
    assert _settings(tmp_path, scene + _colliding("a", owner.format("lost"))) == [
        (SettingKind.SCENE, "link a")
    ]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("", []),
        ("float physics:mass = 0", []),
        ("float physics:mass = 3", [(SettingKind.BODY, "link a")]),
        ("point3f physics:centerOfMass = (0, 0, 1)", [(SettingKind.BODY, "link a")]),
    ],
)
def test_mass_of_a_frame_is_a_setting(
    content: str, found: list[tuple[SettingKind, str]], tmp_path: Path
) -> None:
    frame = f"""
    def Xform "tool" (prepend apiSchemas = ["PhysicsMassAPI"]) {{
        {content}
    }}
    """

    assert _settings(tmp_path, body("a", MASS + frame, ("PhysicsMassAPI",))) == found


def test_mass_of_a_collider_is_no_setting(tmp_path: Path) -> None:
    text = _colliding("a", "float physics:mass = 3", ', "PhysicsMassAPI"')

    assert _settings(tmp_path, text) == []


def test_joint_that_moves_like_none_of_a_urdf_is_a_setting(tmp_path: Path) -> None:
    rope = joint("PhysicsDistanceJoint", "rope", sides=("", "a"))
    rope = rope.replace("rel physics:body0 = </robot/>\n", "")

    assert _settings(tmp_path, body("a") + rope) == [(SettingKind.JOINT, "joint rope")]


def test_collider_with_material_schema_is_a_setting(tmp_path: Path) -> None:
    """OpenUSD's parser takes it for a material, so that nothing collides."""
    text = _colliding("a", "", ', "PhysicsMaterialAPI"')

    assert _settings(tmp_path, text) == [(SettingKind.APPROXIMATION, "link a")]


def test_site_of_newton_is_a_setting(tmp_path: Path) -> None:
    text = _colliding("a", "", ', "NewtonSiteAPI"')

    assert _settings(tmp_path, text) == [(SettingKind.APPROXIMATION, "link a")]


@pytest.mark.parametrize("kind", ["PhysicsFixedJoint", "PhysicsJoint"])
def test_coupling_of_a_joint_without_one_coordinate_is_a_setting(kind: str, tmp_path: Path) -> None:
    """Newton refuses it, or applies it to all coordinates."""
    lead = joint("PhysicsRevoluteJoint", "lead", sides=("a", "c"))
    target = "rel newton:mimicJoint = </robot/{}>"
    bodies = body("a") + body("b") + body("c") + lead

    def found(name: str) -> list[tuple[SettingKind, str]]:
        mimic = joint(kind, "j", target.format(name), schemas=("NewtonMimicAPI",))
        return _settings(tmp_path, bodies + mimic)

    with_leader, without = found("lead"), found("nothing")

    assert with_leader.count((SettingKind.JOINT, "joint j")) == len(without) + 1
    # Newton skips a coupling to what is no joint; an untyped joint is a finding itself.
    assert len(without) == (kind == "PhysicsJoint")


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
    filtered = (
        _colliding("a")
        .replace('"PhysicsRigidBodyAPI"', '"PhysicsFilteredPairsAPI", "PhysicsRigidBodyAPI"')
        .replace(MASS, MASS + "rel physics:filteredPairs = </robot/b>\n", 1)
    )
    text = filtered + _colliding("b") + _colliding("c") + joints

    assert _settings(tmp_path, text) == found


def test_links_of_a_joint_collide_only_if_both_have_colliders(tmp_path: Path) -> None:
    hinge = joint("PhysicsRevoluteJoint", "j", "bool physics:collisionEnabled = true")

    assert _settings(tmp_path, _colliding("a") + body("b") + hinge) == []
    assert _settings(tmp_path, _colliding("a") + _colliding("b") + hinge) == [
        (SettingKind.FILTER, "joint j")
    ]


def test_bound_material_without_friction_is_frictionless(tmp_path: Path) -> None:
    """The schema's fallback of friction is zero; unbound materials do not matter."""
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
    assert found("dense") == [(SettingKind.MATERIAL, "link a")] * 2
    assert found("slippery") == [(SettingKind.MATERIAL, "link a")] * 2


@pytest.mark.parametrize(
    ("static", "dynamic", "restitution", "count"),
    [(0.5, 0.5, 0, 0), (1, 1, 0, 0), (0.5, 1, 0, 3), (0.5, 0.5, 0.1, 3), (0.4, 0.4, 0, 3)],
)
def test_material_of_shapes_without_one_makes_no_difference(
    static: float, dynamic: float, restitution: float, count: int, tmp_path: Path
) -> None:
    """PhysX's friction without a material is 0.5, and Newton's 1."""
    text = f"""
    def Material "contact" (prepend apiSchemas = ["PhysicsMaterialAPI"]) {{
        float physics:staticFriction = {static}
        float physics:dynamicFriction = {dynamic}
        float physics:restitution = {restitution}
    }}
    """
    bound = "rel material:binding:physics = </robot/contact>"
    collider = _colliding("a", bound, ', "MaterialBindingAPI"')

    assert _settings(tmp_path, text + collider) == [(SettingKind.MATERIAL, "link a")] * count


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


def test_prims_besides_the_robot_are_settings(tmp_path: Path) -> None:
    path = stage(tmp_path, body("a"))
    path.write_text(
        path.read_text()
        + COLLIDER.format("ground", "", "")
        + body("ball")
        + 'def Sphere "lamp" {}\ndef Sphere "gizmo" {\ntoken purpose = "guide"\n}\n'
        + 'def PhysicsScene "scene" {}\n'
        + 'def PhysicsFixedJoint "pin" {\nrel physics:body1 = </robot/a>\n}\n'
        + 'def PhysicsFixedJoint "off" {\nbool physics:jointEnabled = false\n}\n'
    )
    found = observe_stage(path).unexpected

    assert [one.message for one in found or ()] == [
        "collider /ground is outside of the default prim",
        "body /ball is outside of the default prim",
        "visual /lamp is outside of the default prim",
        "joint /pin is outside of the default prim",
    ]


def test_bodies_and_joints_of_instances_are_settings(tmp_path: Path) -> None:
    """PhysX makes no body of them; an instance of a shape alone is not one."""
    text = body("a") + joint("PhysicsFixedJoint", "j", sides=("a", "a"))
    path = stage(tmp_path, text + COLLIDER.format("wall", "", ""))
    holder = Usd.Stage.CreateInMemory()
    held = holder.DefinePrim("/world/held")
    held.GetReferences().AddReference(str(path))
    held.SetInstanceable(True)
    holder.SetDefaultPrim(held.GetParent())
    holder.Export(str(tmp_path / "holder.usda"))
    found = observe_stage(tmp_path / "holder.usda").unexpected

    assert [one.message for one in found or ()] == [
        "body /world/held/a is in an instance, where simulators find none",
        "joint /world/held/j is in an instance, where simulators find none",
    ]


@pytest.mark.parametrize(("enabled", "count"), [("true", 1), ("false", 0)])
def test_enabled_joint_without_limits_is_a_finding(
    tmp_path: Path, enabled: str, count: int
) -> None:
    """Newton 1.8 reads no mass of the body behind it."""
    content = f"bool physics:jointEnabled = {enabled}"
    bodies = body("a", MASS, ("PhysicsMassAPI",)) + body("b", MASS, ("PhysicsMassAPI",))
    text = bodies + joint("PhysicsJoint", "it", content)

    found = _settings(tmp_path, text)

    assert found.count((SettingKind.JOINT, "joint it")) == count
