"""Shapes of hand-written stages: their kind, link, role and pose."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.conformance.engines.usd_observations import body, observe_stage, stage
from urdf_usd.conformance.observation.shapes import Role, ShapeKind, ShapeObservation

COLLIDER = '(prepend apiSchemas = ["PhysicsCollisionAPI"])'
GUIDE = 'uniform token purpose = "guide"'
SQUARE = """
    point3f[] points = [(0, 0, 0), (2, 0, 0), (2, 3, 0), (0, 3, 0)]
    int[] faceVertexCounts = [4]
    int[] faceVertexIndices = [0, 1, 2, 3]
"""


def _shapes(
    folder: Path, content: str, header: str = "metersPerUnit = 1"
) -> list[ShapeObservation]:
    path = stage(folder, body("a", _lines(content)), header)
    return [shape for shape in observe_stage(path).shapes if shape.link == "a"]


def _lines(content: str) -> str:
    """End statements before closing brackets, as the grammar of usda requires."""
    return content.replace("}", "\n}")


def _only(folder: Path, content: str, **options: str) -> ShapeObservation:
    (shape,) = _shapes(folder, content, **options)
    return shape


def test_purpose_and_schema_determine_the_role(tmp_path: Path) -> None:
    found = _shapes(
        tmp_path,
        f"""
        def Sphere "both" {COLLIDER} {{ }}
        def Sphere "touched" {COLLIDER} {{ {GUIDE} }}
        def Sphere "seen" {{ uniform token purpose = "render" }}
        def Sphere "nothing" {{ {GUIDE} }}
        def Sphere "disabled" {COLLIDER} {{
            bool physics:collisionEnabled = 0
            {GUIDE}
        }}
        def Sphere "hidden" {{ token visibility = "invisible" }}
        def Sphere "proxy" {{ uniform token purpose = "proxy" }}
        """,
    )

    assert [(shape.name, shape.role) for shape in found] == [
        ("both", Role.COLLISION),
        ("both", Role.VISUAL),
        ("touched", Role.COLLISION),
        ("seen", Role.VISUAL),
    ]


def test_collider_xform_makes_colliders_of_the_meshes_below(tmp_path: Path) -> None:
    """As PhysX does, also in instances; meshes deeper down do not collide."""
    schemas = 'prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]'
    hull = 'uniform token physics:approximation = "convexHull"'
    found = _shapes(
        tmp_path,
        f"""
        def Xform "plain" ({schemas}) {{
            {hull}
            def Mesh "m" {{ {GUIDE} {SQUARE} }}
            def Xform "x" {{
                def Mesh "deeper" {{ {GUIDE} {SQUARE} }}
            }}
        }}
        def Xform "instance" (
            {schemas}
            instanceable = true
            prepend references = </robot/a/plain>
        ) {{ }}
        """,
    )

    assert [(shape.source, shape.role, shape.hull) for shape in found] == [
        ("/robot/a/plain/m", Role.COLLISION, True),
        ("/robot/a/instance/m", Role.COLLISION, True),
    ]


def test_scale_units_and_axis_are_applied_to_the_size(tmp_path: Path) -> None:
    cylinder = _only(
        tmp_path,
        """
        def Cylinder "c" {
            double radius = 10
            double height = 40
            uniform token axis = "Y"
            float3 xformOp:scale = (2, 3, 2)
            double3 xformOp:translate = (100, 0, 50)
            uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]
        }
        """,
        header="metersPerUnit = 0.01",
    )

    assert cylinder.kind is ShapeKind.CYLINDER
    assert cylinder.size == pytest.approx((0.2, 1.2))
    assert cylinder.position == pytest.approx((1.0, 0.0, 0.5))
    assert cylinder.surface is not None
    assert cylinder.surface.lower == pytest.approx((0.8, -0.6, 0.3))
    assert cylinder.surface.upper == pytest.approx((1.2, 0.6, 0.7))
    assert cylinder.surface.volume == pytest.approx(math.pi * 0.04 * 1.2)


@pytest.mark.parametrize(
    ("prim", "kind", "size"),
    [
        ('def Cube "p" { double size = 3 }', ShapeKind.BOX, (3.0, 3.0, 3.0)),
        ('def Cube "p" { }', ShapeKind.BOX, (2.0, 2.0, 2.0)),
        ('def Sphere "p" { double radius = 0.3 }', ShapeKind.SPHERE, (0.3,)),
        (
            'def Capsule "p" { double radius = 0.3 \n double height = 0.7 }',
            ShapeKind.CAPSULE,
            (0.3, 0.7),
        ),
    ],
)
def test_primitives_have_their_default_dimensions(
    tmp_path: Path, prim: str, kind: ShapeKind, size: tuple[float, ...]
) -> None:
    """Those of the schema if none is authored."""
    shape = _only(tmp_path, prim)

    assert (shape.kind, shape.size) == (kind, size)


def test_left_handed_faces_have_opposite_normals(tmp_path: Path) -> None:
    """The square of 6 m^2 faces up or down."""
    up = _only(tmp_path, f'def Mesh "m" {{ {SQUARE} }}')
    handed = f'{SQUARE}\n uniform token orientation = "leftHanded"'
    down = _only(tmp_path, f'def Mesh "m" {{ {handed} }}')

    assert up.surface is not None
    assert down.surface is not None
    assert up.surface.oriented_area == pytest.approx((0.0, 0.0, 6.0))
    assert down.surface.oriented_area == pytest.approx((0.0, 0.0, -6.0))
    assert up.surface.triangles == 2


def test_shapes_in_containers_belong_to_the_link(tmp_path: Path) -> None:
    path = stage(
        tmp_path,
        body(
            "a",
            _lines("""
            def Xform "visuals" {
                double3 xformOp:translate = (0, 0, 1)
                uniform token[] xformOpOrder = ["xformOp:translate"]
                def Scope "group" { def Sphere "ball" { double radius = 0.5 } }
            }
            """),
        ),
    )
    found = [(s.link, s.source, s.position) for s in observe_stage(path).shapes]

    ball = "/robot/a/visuals/group/ball"
    assert found == [("visuals", ball, (0, 0, 0)), ("a", ball, (0, 0, 1))]


def test_shapes_of_instances_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "robot.usda"
    path.write_text(
        _lines("""#usda 1.0
(
    defaultPrim = "robot"
    metersPerUnit = 1
)
class Xform "Ball" { def Sphere "ball" { double radius = 0.5 } }
def Xform "robot" {
    def Xform "a" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {
        def "shown" (
            instanceable = true
            references = </Ball>
        ) {
            double3 xformOp:translate = (0, 2, 0)
            uniform token[] xformOpOrder = ["xformOp:translate"]
        }
    }
}
""")
    )
    (ball,) = (shape for shape in observe_stage(path).shapes if shape.link == "a")

    assert ball.name == "ball"
    assert ball.position == (0.0, 2.0, 0.0)


@pytest.mark.parametrize(
    ("prim", "problem"),
    [
        ('def Cone "p" { }', "a Cone cannot be measured"),
        ('def Mesh "p" { }', "its points and faces are inconsistent"),
        (
            """def Sphere "p" {
                float3 xformOp:scale = (1, 2, 1)
                uniform token[] xformOpOrder = ["xformOp:scale"]
            }""",
            "it is no sphere due to its scale",
        ),
    ],
)
def test_unmeasurable_shape_is_reported_with_its_problem(
    tmp_path: Path, prim: str, problem: str
) -> None:
    shape = _only(tmp_path, prim)

    assert shape.surface is None
    assert shape.problem == problem


def test_convex_hull_of_a_collider_is_measured(tmp_path: Path) -> None:
    shape = _only(
        tmp_path,
        f"""
        def Mesh "m" {COLLIDER} {{
            {GUIDE}
            point3f[] points = [(0, 0, 0), (2, 0, 0), (0, 3, 0), (0, 0, 4), (9, 9, 9)]
            int[] faceVertexCounts = [3, 3, 3]
            int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 0, 3, 2]
            float3 xformOp:scale = (-1, 1, 5)
            uniform token[] xformOpOrder = ["xformOp:scale"]
        }}
        """,
        header="metersPerUnit = 0.01",
    )

    assert shape.hull_volume == pytest.approx(5 * 2 * 3 * 4 / 6 * 1e-6)


def test_collision_approximation_is_not_the_collider(tmp_path: Path) -> None:
    for approximation, problem, is_hull in (
        ("boundingCube", "collides as its bounding cube", False),
        ("convexHull", None, True),
        ("convexDecomposition", None, False),
        ("none", None, False),
    ):
        shape = _only(
            tmp_path,
            f"""
            def Mesh "m" (
                prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]
            ) {{
                {SQUARE}
                {GUIDE}
                uniform token physics:approximation = "{approximation}"
            }}
            """,
        )

        assert shape.problem == problem
        assert shape.hull is is_hull


def test_unused_points_are_part_of_a_convex_hull_only(tmp_path: Path) -> None:
    """Newton and PhysX make the hull of all points, and render faces."""
    for approximation, reach in (("convexHull", 9.0), ("none", 2.0)):
        collider, visual = _shapes(
            tmp_path,
            f"""
            def Mesh "m" (
                prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]
            ) {{
                point3f[] points = [(0, 0, 0), (2, 0, 0), (2, 3, 0), (9, 0, 0)]
                int[] faceVertexCounts = [3]
                int[] faceVertexIndices = [0, 1, 2]
                uniform token physics:approximation = "{approximation}"
            }}
            """,
        )

        assert collider.surface is not None
        assert visual.surface is not None
        assert collider.surface.upper == pytest.approx((reach, 3.0, 0.0))
        assert visual.surface.upper == pytest.approx((2.0, 3.0, 0.0))
