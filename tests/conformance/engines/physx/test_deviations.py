"""Behaviour of PhysX (ovphysx 0.7) that UsdPhysics does not state, on minimal USDs.

Assets have to avoid it, or it is a row of ``conformance/verdict/deviations.py``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from urdf_usd.conformance.engines.physx import PhysxEngine
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.observation import robot as obs

_AT_REST = obs.Configurations((), (), ("zero",))
_BODY = '"PhysicsRigidBodyAPI", "PhysicsMassAPI"'
_INERTIA = (0.1, 0.2, 0.25)
_MASS = f"""float physics:mass = 2
        point3f physics:centerOfMass = (0, 0, -0.5)
        float3 physics:diagonalInertia = {_INERTIA}
        quatf physics:principalAxes = (1, 0, 0, 0)"""
_ENDS = """rel physics:body0 = </robot/base>
        rel physics:body1 = </robot/arm>"""


def _joint(kind: str, text: str = "", schemas: str = "", name: str = "hinge") -> str:
    """Return a joint about or along X from the base to the arm."""
    applied = f"(prepend apiSchemas = [{schemas}])" if schemas else ""
    return f"""def Physics{kind} "{name}" {applied}
    {{
        {_ENDS}
        {text}
    }}"""


def _usd(
    folder: Path, joints: str, *, arm: str = _MASS, schemas: str = _BODY, root: str = "robot"
) -> Path:
    """Write a base and an arm; ``root`` is the prim with the articulation root."""
    articulation = 'prepend apiSchemas = ["PhysicsArticulationRootAPI"]'
    on_base = ', "PhysicsArticulationRootAPI"' if root == "base" else ""
    path = folder / "robot.usda"
    path.write_text(
        f"""#usda 1.0
(
    defaultPrim = "robot"
    kilogramsPerUnit = 1
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "robot" ({articulation if root == "robot" else ""})
{{
    def Xform "base" (prepend apiSchemas = [{_BODY}{on_base}])
    {{
        {_MASS}
    }}
    def Xform "arm" (prepend apiSchemas = [{schemas}])
    {{
        {arm}
    }}
    {joints}
}}
""",
        encoding="utf-8",
    )
    return path


def _observe(engine: PhysxEngine, usd: Path) -> obs.Observation:
    return engine.observe(Request(str(usd), _AT_REST))


def _hinge(observation: obs.Observation) -> obs.JointObservation:
    return next(joint for joint in observation.joints if joint.name == "hinge")


@pytest.mark.parametrize("kind", ["RevoluteJoint", "PrismaticJoint"])
def test_reversed_limits_lock_the_joint(engine: PhysxEngine, tmp_path: Path, kind: str) -> None:
    """At zero, wherever the limits are."""
    limits = "float physics:lowerLimit = 20\nfloat physics:upperLimit = -10"
    hinge = _hinge(_observe(engine, _usd(tmp_path, _joint(kind, limits))))

    assert (hinge.lower, hinge.upper) == (0.0, 0.0)


def test_negative_principal_moment_becomes_its_magnitude(
    engine: PhysxEngine, tmp_path: Path
) -> None:
    """Nothing warns of it."""
    negative = _MASS.replace(str(_INERTIA), "(-0.1, 0.2, 0.25)")
    seen = _observe(engine, _usd(tmp_path, _joint("RevoluteJoint"), arm=negative))
    mass = {link.name: link.mass for link in seen.links}["arm"]

    assert mass is not None
    assert mass.inertia == pytest.approx((0.1, 0, 0, 0.2, 0, 0.25), rel=1e-6)


def test_planar_joint_is_not_simulated(engine: PhysxEngine, tmp_path: Path) -> None:
    """PhysX locks translations of a joint with several axes, with a warning."""
    locked = "float limit:{0}:physics:low = 1\nfloat limit:{0}:physics:high = -1\n"
    axes = ("transZ", "rotX", "rotY")
    text = "".join(locked.format(axis) for axis in axes)
    schemas = ", ".join(f'"PhysicsLimitAPI:{axis}"' for axis in axes)
    usd = _usd(tmp_path, _joint("Joint", text, schemas))
    shifts = np.array([[0.0, 0, 0, 0], [0.2, 0.1, 0, 0]])
    requested = obs.Configurations(("hinge",), (shifts,), ("zero", "shifted"))
    seen = engine.observe(Request(str(usd), requested))

    assert _hinge(seen).type is obs.JointType.PLANAR
    assert seen.frames is not None
    assert seen.frames.links == ("base",)
    assert any("cannot set joint hinge" in note for note in seen.notes)


def test_joint_without_constraints_divides_the_articulation(
    engine: PhysxEngine, tmp_path: Path
) -> None:
    """A floating joint is disabled in our assets; two bodies are no articulation."""
    text = "bool physics:jointEnabled = false"
    seen = _observe(engine, _usd(tmp_path, _joint("Joint", text)))

    assert seen.base is None
    assert seen.articulation_roots == 0


def test_body_that_is_the_articulation_root_stays_free_beside_a_joint_to_the_world(
    engine: PhysxEngine, tmp_path: Path
) -> None:
    """The root has to be above the joint, or be the joint."""
    weld = 'def PhysicsFixedJoint "weld" {\nrel physics:body1 = </robot/base>\n}'
    bases = {}
    for root in ("base", "robot"):
        (folder := tmp_path / root).mkdir()
        usd = _usd(folder, f"{_joint('RevoluteJoint')}\n{weld}", root=root)
        bases[root] = _observe(engine, usd).base

    assert bases == {"base": obs.Base.FLOATING, "robot": obs.Base.FIXED}


@pytest.mark.parametrize(
    ("schema", "attribute", "velocity"),
    [
        ("PhysxJointAPI", "physxJoint:maxJointVelocity", None),
        ("PhysxJointAxisAPI:angular", "physxJointAxis:angular:maxJointVelocity", np.radians(90)),
        ("NewtonJointAPI", "newton:velocityLimit", np.radians(90)),
    ],
)
def test_velocity_limit_is_read_from_the_axis_or_from_newton(
    engine: PhysxEngine, tmp_path: Path, schema: str, attribute: str, velocity: float | None
) -> None:
    """PhysxJointAPI was removed with ovphysx 0.7."""
    joint = _joint("RevoluteJoint", f"float {attribute} = 90", f'"{schema}"')
    hinge = _hinge(_observe(engine, _usd(tmp_path, joint)))

    assert hinge.type is obs.JointType.CONTINUOUS
    assert hinge.velocity == (velocity and pytest.approx(velocity, rel=1e-6))


@pytest.mark.parametrize(
    ("limits", "coupled"),
    [("float physics:lowerLimit = -170\nfloat physics:upperLimit = 170\n", True), ("", False)],
)
def test_coupling_of_revolute_joints_needs_limits(
    engine: PhysxEngine, tmp_path: Path, limits: str, coupled: bool
) -> None:
    """Without, PhysX writes an error and leaves the joints uncoupled."""
    mimic = """rel newton:mimicJoint = </robot/hinge>
        float newton:mimicCoef1 = -0.5
        """
    follower = _joint("RevoluteJoint", limits + mimic, '"NewtonMimicAPI"', "follower")
    finger = follower.replace("/robot/arm>", "/robot/finger>")
    body = f"""def Xform "finger" (prepend apiSchemas = [{_BODY}])
    {{
        {_MASS}
    }}"""
    joints = "\n".join((_joint("RevoluteJoint", limits), body, finger))
    seen = _observe(engine, _usd(tmp_path, joints))
    mimics = {joint.name: joint.mimic for joint in seen.joints}

    assert mimics["hinge"] is None
    assert (mimics["follower"] is not None) is coupled
