"""Shapes of hand-written stages: their kind, link, role and pose."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.engines.usd_observations import body, observe_stage, stage
from urdf_usd.conformance.observation.shapes import Role, ShapeObservation

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
