"""Findings of a check as lines for a log, and where to look for the fault."""

from __future__ import annotations

from collections.abc import Sequence

from urdf_usd.reports.overview import statement
from urdf_usd.reports.quantities import quantity
from urdf_usd.reports.records.record import CheckRecord, FindingRecord, Grade
from urdf_usd.reports.text import plain

_ADVICE = {
    Grade.FAILS: (
        "If the expected values are those of the URDF file, the USD is wrong: correct "
        "the converter or the asset at the places above."
    ),
    Grade.CLOSE: (
        "The difference exceeds float32 rounding but not the tolerance: look for other "
        "rounding, such as angles written with few digits."
    ),
    Grade.DISPUTED: (
        "The URDF engines disagree, so there is no value to compare the USD with: make "
        "the URDF unambiguous, or add the deviation of the engine to the known ones."
    ),
    Grade.NOT_COMPARABLE: (
        "The URDF has no value to compare the USD with, such as that of a missing "
        "file, which is named above; nothing is wrong with the USD."
    ),
}

_ROUND_TRIP = "round-trip."
_JOINT_FRAMES = (
    "physics:axis, physics:localPos0, physics:localRot0, physics:localPos1 and "
    "physics:localRot1 of the joint"
)
_ASSEMBLY = (
    "the transforms of the two bodies, which have to match localPos0, localRot0, "
    "localPos1 and localRot1 of the joint between them"
)
_SIZE = "the size and the xformOps of the shape, the scale of its mesh, and metersPerUnit"
_MASS = "physics:mass of the body, and kilogramsPerUnit of the stage"
_CENTER = "physics:centerOfMass of the body"
_INERTIA = "physics:diagonalInertia and physics:principalAxes of the body"
# Where to look in the USD, by prefix of the check's id; the longest match counts.
_PLACES = {
    "structure.links": (
        "the prim of that name or displayName, which has to exist, be active, and lie "
        "below the default prim"
    ),
    "structure.joints": (
        "the joint of that name or displayName, which has to exist, be active, and "
        "connect existing bodies"
    ),
    "structure.types": (
        "the type of the joint's prim: PhysicsRevoluteJoint, PhysicsPrismaticJoint, "
        "PhysicsFixedJoint, or PhysicsJoint with limits that lock"
    ),
    "structure.parents": "physics:body0 and physics:body1 of the joint",
    "structure.mimic": (
        "the coupling of the joint: urdf:mimic, NewtonMimicAPI or PhysxMimicJointAPI"
    ),
    "structure.articulation": "PhysicsArticulationRootAPI, which one prim has to have",
    "structure.world": (
        "physics:body0 and physics:body1 of the joint: both have to be rigid bodies, "
        "also the base that a fixed joint connects to the world"
    ),
    "structure.bodies": ("physics:rigidBodyEnabled and physics:kinematicEnabled of the body"),
    "structure.scene": (
        "the physics scene: gravity, simulation owners, and prims besides the robot"
    ),
    "structure.initial": ("velocities and startsAsleep of the body, and the state of the joint"),
    "structure.animation": "time samples and splines of the attribute",
    "structure.values": "the value of the attribute",
    "structure.words": "attributes and Scopes below urdf: that belong to the part",
    "structure.base": (
        "the fixed joint between the world and the base; --base chooses whether there is one"
    ),
    "kinematics": _JOINT_FRAMES,
    "kinematics.position": (
        "metersPerUnit of the stage, scales of prims, the transforms of the bodies, "
        f"and {_JOINT_FRAMES}"
    ),
    "kinematics.up": "upAxis of the stage, and the xformOps of the default prim",
    "kinematics.assembly": _ASSEMBLY,
    "mass": _MASS,
    "mass.stated": "PhysicsMassAPI of the body: physics:mass has to be above zero",
    "mass.link.center": _CENTER,
    "mass.group.center": _CENTER,
    "mass.link.inertia": _INERTIA,
    "mass.link.agreement": _INERTIA,
    "mass.group.inertia": _INERTIA,
    "limits.lower": "physics:lowerLimit of the joint, in degrees for revolute joints",
    "limits.upper": "physics:upperLimit of the joint, in degrees for revolute joints",
    "limits.effort": "urdf:limit:effort of the joint, or maxForce of its drive",
    "limits.velocity": "urdf:limit:velocity of the joint, or that of the profile",
    "dynamics.damping": "urdf:dynamics:damping of the joint, or that of the profile",
    "dynamics.friction": "urdf:dynamics:friction of the joint, or that of the profile",
    "dynamics.drives": ("stiffness and damping of the joint's drive, which belong to a controller"),
    "dynamics.joints": "the attribute of the joint that the message names",
    "dynamics.bodies": "the attribute of the body that the message names",
    "dynamics": "the other failing checks first: forces depend on joints and masses",
    "simulation": "the attribute that docs/simulation.md names, in Simulation.usda",
    "simulation.gains": (
        "stiffness, damping and type of the joint's drive; per degree for revolute joints"
    ),
    "simulation.targets": "targetPosition and targetVelocity of the joint's drive",
    "simulation.armature": "newton:armature or physxJointAxis:*:armature of the joint",
    "simulation.limits": (
        "newton:limitStiffness and newton:limitDamping of the joint; per degree for revolute joints"
    ),
    "simulation.positions": ("state:*:physics:position of the joint, and newton:*:position"),
    "simulation.filters": "physics:filteredPairs of both bodies, or of their colliders",
    "collision": _SIZE,
    "collision.filters": (
        "filtered pairs, collision groups and physics:collisionEnabled of joints"
    ),
    "collision.approximation": "physics:approximation of the mesh, and contact offsets",
    "collision.materials": "the physics material that is bound to the collider",
    "collision.shapes": "prims with PhysicsCollisionAPI below the link",
    "visual": _SIZE,
    "visual.normals": "primvars:normals, or normals, of the mesh",
    "visual.mapping": ("the primvar that the texture's primvar reader names, and UsdTransform2d"),
    "visual.material": ("inputs of the material's shaders, and the bindings of the visual"),
    "visual.geometry": "the attribute of the visual that the message names",
    "visual.subdivision": "subdivisionScheme of the mesh, which has to be none",
    "visual.shapes": ("visible shapes below the link, of purpose default or render"),
    "visual.colour": ("inputs:diffuseColor (linear) of the bound material, or displayColor"),
    "visual.opacity": "inputs:opacity of the bound material",
    "visual.texture": "the asset path of the UsdUVTexture, and that file",
}


def explanation(check: CheckRecord, findings: Sequence[FindingRecord], most: int) -> list[str]:
    """Return the findings of a check as lines.

    Args:
        check: The check.
        findings: Its findings to show.
        most: Maximum number of findings to show; the others are counted.
    """
    lines = [f"{check.title} ({check.group}): {check.grade}"]
    if check.reason:
        lines.append(check.reason)
    for finding in findings[:most]:
        lines += ["", f"{finding.subject}: {statement(finding)}"]
        if finding.expected is not None:
            lines.append(f"  expected (URDF): {finding.expected}")
        if finding.actual is not None:
            lines.append(f"  actual (USD):    {finding.actual}")
        if finding.difference is not None:
            amount = quantity(finding.difference, check.unit)
            if finding.tolerance is not None:
                amount += f" (tolerance {quantity(finding.tolerance, check.unit)})"
            lines.append(f"  difference:      {amount}")
        if finding.configuration is not None:
            lines.append(f"  configuration:   {finding.configuration}")
    if check.grade is Grade.FAILS and (place := place_to_look(check.id)):
        lines += ["", f"Check {place}."]
    if (more := len(findings) - most) > 0:
        lines += ["", f"{more} more are in the JSON record."]
    return [plain(line) for line in lines]


def advice(grade: Grade) -> str:
    """Return what to do about a check of that grade; empty if nothing."""
    return _ADVICE.get(grade, "")


def place_to_look(check: str) -> str:
    """Return where to look in a USD that does not pass a check.

    Args:
        check: Its id.

    Returns:
        Attributes or prims, as an object of "check"; empty if unknown.
    """
    words = check.removeprefix(_ROUND_TRIP).split(".")
    beginnings = (".".join(words[:n]) for n in range(len(words), 0, -1))
    return next((_PLACES[one] for one in beginnings if one in _PLACES), "")
