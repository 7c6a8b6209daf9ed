"""Where in a USD to look when a check fails."""

from __future__ import annotations

_BACK = "round-trip."
_JOINT_FRAMES = (
    "physics:axis, physics:localPos0, physics:localRot0, physics:localPos1 and "
    "physics:localRot1 of the joint"
)
_ASSEMBLY = (
    "the transforms of the two bodies, which have to stand as localPos0, localRot0, "
    "localPos1 and localRot1 of the joint between them say"
)
_SIZE = (
    "the size and the xformOps of the shape, the scale of its mesh, and metersPerUnit"
)
_MASS = "physics:mass of the body, and kilogramsPerUnit of the stage"
_CENTER = "physics:centerOfMass of the body"
_INERTIA = "physics:diagonalInertia and physics:principalAxes of the body"
# By the beginning of a check's id; the longest that fits counts.
_PLACES = {
    "structure.links": (
        "the prim of that name, or with that displayName, which has to be there, "
        "active, and below the default prim"
    ),
    "structure.joints": (
        "the joint of that name, or with that displayName, which has to be there, "
        "active, and between bodies that are there"
    ),
    "structure.types": (
        "the type of the joint's prim: PhysicsRevoluteJoint, PhysicsPrismaticJoint, "
        "PhysicsFixedJoint, or PhysicsJoint with limits that lock"
    ),
    "structure.parents": "physics:body0 and physics:body1 of the joint",
    "structure.mimic": (
        "what couples the joint: urdf:mimic, NewtonMimicAPI or PhysxMimicJointAPI"
    ),
    "structure.articulation": "PhysicsArticulationRootAPI, which one prim has to have",
    "structure.world": (
        "physics:body0 and physics:body1 of the joint, which have to be rigid bodies: "
        "the base, which a fixed joint holds to the world, is one of them"
    ),
    "structure.bodies": (
        "physics:rigidBodyEnabled and physics:kinematicEnabled of the body"
    ),
    "structure.base": (
        "the fixed joint between the world and the base; --base says whether there "
        "shall be one"
    ),
    "kinematics": _JOINT_FRAMES,
    "kinematics.up": "upAxis of the stage, and the xformOps of the default prim",
    "kinematics.assembly": _ASSEMBLY,
    "mass": _MASS,
    "mass.stated": "PhysicsMassAPI of the body: physics:mass has to be above zero",
    "mass.link.center": _CENTER,
    "mass.group.center": _CENTER,
    "mass.link.inertia": _INERTIA,
    "mass.link.agreement": _INERTIA,
    "mass.group.inertia": _INERTIA,
    "limits.lower": "physics:lowerLimit of the joint, in degrees where it turns",
    "limits.upper": "physics:upperLimit of the joint, in degrees where it turns",
    "limits.effort": "urdf:limit:effort of the joint, or maxForce of its drive",
    "limits.velocity": "urdf:limit:velocity of the joint, or that of the profile",
    "dynamics.damping": "urdf:dynamics:damping of the joint, or that of the profile",
    "dynamics.friction": "urdf:dynamics:friction of the joint, or that of the profile",
    "dynamics": "what else fails first: forces follow from joints and masses",
    "collision": _SIZE,
    "collision.shapes": "prims with PhysicsCollisionAPI below the link",
    "visual": _SIZE,
    "visual.shapes": (
        "shapes below the link whose purpose is default or render, and are visible"
    ),
    "visual.colour": (
        "inputs:diffuseColor of the material that is bound, which is linear, or "
        "displayColor"
    ),
    "visual.opacity": "inputs:opacity of the material that is bound",
    "visual.texture": "the asset path of the UsdUVTexture, and what lies there",
}


def place_to_look(check: str) -> str:
    """Return what to look at in a USD that does not pass a check.

    Args:
        check: Its id.

    Returns:
        Attributes or prims, as they would follow "look at"; empty if nothing is known.
    """
    words = check.removeprefix(_BACK).split(".")
    beginnings = (".".join(words[:n]) for n in range(len(words), 0, -1))
    return next((_PLACES[one] for one in beginnings if one in _PLACES), "")
