"""For each rule on USD that is read, a small stage that breaks it."""

from __future__ import annotations

_HEAD = """#usda 1.0
(
    defaultPrim = "r"
    metersPerUnit = 1
    kilogramsPerUnit = 1
    upAxis = "Z"
)
"""
_MASS = """
float physics:mass = 2
point3f physics:centerOfMass = (0.1, 0.2, 0.3)
float3 physics:diagonalInertia = (3, 4, 5)
quatf physics:principalAxes = (1, 0, 0, 0)
"""


def body(name: str, inside: str = "", mass: str = _MASS) -> str:
    """Return a rigid body."""
    schemas = '"PhysicsRigidBodyAPI", "PhysicsMassAPI"'
    return f'def Xform "{name}" (apiSchemas = [{schemas}])\n{{\n{mass}\n{inside}\n}}\n'


def joint(
    inside: str = "",
    *,
    kind: str = "PhysicsRevoluteJoint",
    name: str = "j",
    parent: str = "a",
    child: str = "b",
    schemas: str = "",
) -> str:
    """Return a joint between two bodies."""
    ends = f"rel physics:body0 = </r/{parent}>\nrel physics:body1 = </r/{child}>"
    head = f'def {kind} "{name}" (apiSchemas = [{schemas}])'
    return f"{head}\n{{\n{ends}\n{inside}\n}}\n"


def stage(inside: str) -> str:
    """Return a stage with prims below its default prim."""
    return f'{_HEAD}def Xform "r"\n{{\n{inside}\n}}\n'


def shape(text: str) -> str:
    """Return a stage of one body with one shape."""
    return stage(body("a", text))


def variants(count: int) -> str:
    """Return a stage without bodies that has variant sets of two variants each."""
    names = [f"s{number}" for number in range(count)]
    sets = "".join(f'variantSet "{name}" = {{\n"off" {{\n}}\n"on" {{\n}}\n}}\n' for name in names)
    listed = ", ".join(f'"{name}"' for name in names)
    return stage(sets).replace('Xform "r"', f'Xform "r" (prepend variantSets = [{listed}])')


_TWO = body("a") + body("b")
_STRETCHED = """
double3 xformOp:scale = (1, 2, 3)
uniform token[] xformOpOrder = ["xformOp:scale"]
"""
_FACES = """
point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
int[] faceVertexCounts = [3, 3]
int[] faceVertexIndices = [0, 1, 2, 0, 2, 3]
"""


def _subset(face: int) -> str:
    return f"""
def GeomSubset "s{face}" (apiSchemas = ["MaterialBindingAPI"])
{{
    uniform token elementType = "face"
    uniform token familyName = "materialBind"
    int[] indices = [{face}]
    rel material:binding = </r/a/m{face}>
}}
"""


_SUBSETS = _subset(0) + _subset(1)
_MATERIALS = 'def Material "m0" {}\ndef Material "m1" {}\n'
_FRAME = """
def Xform "f"
{
    custom uniform string urdf:link = "f"
    custom uniform string urdf:joint:name = "af"
    custom uniform double urdf:inertial:mass = 7
    custom uniform double[] urdf:inertial:origin:position = [0, 0, 0]
    custom uniform double[] urdf:inertial:origin:quat_wxyz = [1, 0, 0, 0]
    custom uniform double[] urdf:inertial:inertia = [1, 0, 0, 1, 0, 1]
}
"""

SMALLEST_STAGES = {
    "stage-unreadable": "text",
    "stage-structure": stage(""),
    "stage-value": stage(body("a")).replace("metersPerUnit = 1", "metersPerUnit = 0"),
    "stage-incomplete": stage(body("a")).replace("(", "(\n    subLayers = [@./no@]", 1),
    "asset-outside": stage(body("a", "asset picture = @/etc/hostname@")),
    "variant-unselected": variants(1).replace("{", "{\n" + body("a"), 1),
    "variant-required": variants(1),
    "stage-loose-body": stage(_TWO + joint() + body("c")),
    "stage-loose-shape": stage(body("a") + 'def Cube "loose" {}'),
    "collider-no-gprim": shape('def Xform "s" (apiSchemas = ["PhysicsCollisionAPI"]) {}'),
    "stage-name-changed": stage(_TWO.replace('"b" (', '"b" ( displayName = "a"\n') + joint()),
    "joint-loop-opened": stage(
        _TWO
        + body("c")
        + joint()
        + joint(name="k", parent="b", child="c")
        + joint(name="l", parent="c", child="a")
    ),
    "joint-disabled": stage(_TWO + joint() + joint("bool physics:jointEnabled = 0", name="k")),
    "joint-not-urdf": stage(_TWO + joint() + joint(kind="PhysicsDistanceJoint", name="k")),
    "joint-body-outside": stage(body("a") + joint(child="a")).replace("/r/a", "/b", 1) + body("b"),
    "joint-target-missing": stage(body("a") + joint(parent="lost", child="a")),
    "joint-limit-approximated": stage(
        _TWO
        + joint(
            "float physics:coneAngle0Limit = 10\nfloat physics:coneAngle1Limit = 20",
            kind="PhysicsSphericalJoint",
        )
    ),
    "mimic-polynomial": stage(
        _TWO
        + body("c")
        + joint(name="k", parent="b", child="c")
        + joint(
            "rel mjc:target = </r/k>\nuniform double mjc:coef2 = 1",
            schemas='"MjcEqualityJointAPI"',
        )
    ),
    "joint-split": stage(
        _TWO
        + joint(
            "float limit:rotX:physics:low = 1\nfloat limit:rotX:physics:high = -1",
            schemas='"PhysicsLimitAPI:rotX"',
            kind="PhysicsJoint",
        )
    ),
    "joint-armature-dropped": stage(_TWO + joint("double mjc:armature = 0.1")),
    "joint-drive-dropped": stage(
        _TWO
        + joint(
            "float drive:angular:physics:stiffness = 3",
            schemas='"PhysicsDriveAPI:angular"',
        )
    ),
    "joint-moved": stage(_TWO + joint("point3f physics:localPos1 = (1, 2, 3)")),
    "mass-computed": stage(
        body(
            "a",
            'def Cube "c" (apiSchemas = ["PhysicsCollisionAPI"]) {}',
            "float physics:mass = 2",
        )
    ),
    "mass-unstated": stage(body("a", mass="")),
    "inertial-outdated": stage(body("a", _FRAME)),
    "shape-approximated": shape(f'def Sphere "s"\n{{\n{_STRETCHED}\n}}'),
    "shape-not-urdf": shape('def Cone "s" {}'),
    "material-parts": shape(f'{_MATERIALS}def Mesh "s"\n{{\n{_FACES}{_SUBSETS}\n}}'),
}
