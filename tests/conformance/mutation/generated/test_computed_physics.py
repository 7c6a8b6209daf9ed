"""Results of OpenUSD's parser that are equal, or not, after a change."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Usd

from tests.conformance.engines.usd_observations import body, joint, stage
from urdf_usd.conformance.mutation.generated.computed_physics import (
    compute_physics,
    same_prims,
)

MASS = """
    float physics:mass = 2
    point3f physics:centerOfMass = (0.1, 0.2, 0.3)
    float3 physics:diagonalInertia = {}
    quatf physics:principalAxes = {}
"""
COLLIDER = """
    def Cube "shape" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {
    }
"""
HEADER = 'metersPerUnit = 1\n    upAxis = "Z"'


def _robot(content: str = "", between: str = "", *, more: str = "") -> str:
    """Return three bodies: ``a`` and ``b`` with a joint, and ``c`` without one."""
    collider = (content + COLLIDER,)
    return (
        body("a", *collider)
        + body("b", COLLIDER)
        + body("c", COLLIDER)
        + joint("PhysicsRevoluteJoint", "hinge", between)
        + more
    )


def _stage(folder: Path, text: str) -> Usd.Stage:
    folder.mkdir()
    return Usd.Stage.Open(str(stage(folder, text, HEADER)))


def _is_same(folder: Path, one: str, other: str) -> bool:
    first, second = _stage(folder / "one", one), _stage(folder / "other", other)
    return compute_physics(first).equals(compute_physics(second))


def _filter(target: str) -> str:
    return f"rel physics:filteredPairs = </robot/{target}>"


def _filtering(target: str) -> str:
    return _robot(_filter(target)).replace(
        '"PhysicsRigidBodyAPI"', '"PhysicsFilteredPairsAPI", "PhysicsRigidBodyAPI"', 1
    )


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        (_robot(), True),
        (_robot("vector3f physics:velocity = (0, 0, 0)"), True),
        (_robot("vector3f physics:velocity = (0, 0, 1)"), False),
        (_robot("", "float physics:breakForce = inf"), True),
        (_robot("", "float physics:breakForce = 3"), False),
        (_robot("", "float physics:lowerLimit = -30"), True),
        (_robot(more='def PhysicsScene "scene" {\n}\n'), True),
        (
            _robot(more='def PhysicsScene "scene" {\nfloat physics:gravityMagnitude = 1\n}\n'),
            False,
        ),
        (_robot(more=joint("PhysicsFixedJoint", "void", sides=("a", "a"))), True),
        (_robot(more=joint("PhysicsFixedJoint", "weld", sides=("a", "c"))), False),
        # They are joined, and do not collide anyway.
        (_filtering("b"), True),
        (_filtering("c"), False),
    ],
)
def test_stages_are_equal_to_a_consumer(changed: str, same: bool, tmp_path: Path) -> None:
    """One bound of a revolute joint is no limit to the parser."""
    assert _is_same(tmp_path, _robot(), changed) == same


@pytest.mark.parametrize(
    ("moments", "axes", "same"),
    [
        ("(1, 2, 2.5)", "(-1, 0, 0, 0)", True),
        ("(1, 2, 2.5)", "(2, 0, 0, 0)", True),
        # A quarter turn about X exchanges the moments about Y and Z.
        ("(1, 2.5, 2)", "(0.70710678, 0.70710678, 0, 0)", True),
        ("(1, 2.5, 2)", "(1, 0, 0, 0)", False),
        ("(0, 0, 0)", "(1, 0, 0, 0)", False),
    ],
)
def test_inertia_is_compared_as_a_tensor(
    moments: str, axes: str, same: bool, tmp_path: Path
) -> None:
    """Whatever its axes are."""
    right = MASS.format("(1, 2, 2.5)", "(1, 0, 0, 0)")
    massive = [body("a", text, ("PhysicsMassAPI",)) for text in (right, MASS.format(moments, axes))]

    assert _is_same(tmp_path, *massive) == same


def test_prims_are_equal_by_type_and_place(tmp_path: Path) -> None:
    """Scopes in scopes are nothing, and a frame that becomes one loses its place."""
    frame = 'def Xform "tool" {{\n{}\n}}\n'
    moved = (
        "double3 xformOp:translate = (0, 0, 1)\n"
        'uniform token[] xformOpOrder = ["xformOp:translate"]'
    )
    texts = {
        "plain": frame.format(""),
        "scoped": frame.format("") + 'def Scope "empty" {\n}\n',
        "moved": frame.format(moved),
        "gone": "",
        "nested": frame.format("") + 'def Scope "outer" {\ndef Scope "inner" {\n}\n}\n',
    }
    stages = {name: _stage(tmp_path / name, text) for name, text in texts.items()}
    same = {name: same_prims(stages["plain"], one) for name, one in stages.items()}

    assert same == {
        "plain": True,
        "scoped": True,
        "nested": True,
        "moved": False,
        "gone": False,
    }
