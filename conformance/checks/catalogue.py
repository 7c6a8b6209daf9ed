"""The closed list of checks: what is compared, in which unit, and why.

How each compares is in :mod:`urdf_usd.conformance.checks.comparers`, by the same
identifier. Identifiers are stable and never reused.
"""

from __future__ import annotations

from msgspec import Struct, structs

from urdf_usd.conformance.observation.robot import Quantity
from urdf_usd.conformance.observation.shapes import Role


class _ShapeCheck(Struct, frozen=True):
    """One check of the shapes of links.

    Attributes:
        name: Last part of the identifier of the check.
        title: Title of the check; ``{}`` stands for colliders or visuals.
        unit: As of a check.
        clause: As of a check.
    """

    name: str
    title: str
    unit: str
    clause: str


_OF_ALL = (
    _ShapeCheck(
        "shapes",
        "{} of links",
        "",
        "Every link has the same number of shapes of each kind; each group of a "
        "collider's OBJ file is one. Shapes that are split, merged or written as "
        "meshes are close if their surface is the same and no convex hull is over "
        "several of them, or if convex colliders fill the same solid. A mesh of the "
        "URDF that cannot be read is reported, but does not fail the USD.",
    ),
    _ShapeCheck(
        "support",
        "extents of {}",
        "1",
        "Support function along 134 directions of the link frame, and centroid of the "
        "surface, relative to the size of the shape: pose, scale and dimensions. The "
        "convex hull of a mesh has the same extents.",
    ),
    _ShapeCheck(
        "area",
        "surface area of {}",
        "1",
        "Surface area, relative; it also detects parts that others enclose.",
    ),
    _ShapeCheck(
        "volume",
        "volume of {}",
        "1",
        "Signed volume of closed surfaces, relative; of open ones the sum of area "
        "vectors. Both change sign if a surface is inside out.",
    ),
    _ShapeCheck(
        "triangles",
        "triangle count of {}",
        "1",
        "Number of triangles of meshes, polygons counted as fans, relative: detects "
        "decimated meshes.",
    ),
)

_OF_VISUALS = (
    _ShapeCheck(
        "colour",
        "colour of {}",
        "1",
        "Largest difference of a component of linear colours, or of the factor of a "
        "texture. Materials of mesh files override the URDF's; parts of a surface are "
        "paired by area.",
    ),
    _ShapeCheck(
        "opacity",
        "opacity of {}",
        "1",
        "Opacity of every part of a surface, or its opacity texture.",
    ),
    _ShapeCheck(
        "texture",
        "textures of {}",
        "",
        "The colour texture has the same pixels; a JPEG the same bytes. One that is "
        "missing or damaged is reported, but does not fail the USD.",
    ),
)


def _shape_checks(role: Role) -> tuple[_ShapeCheck, ...]:
    """Return the checks of shapes in one role."""
    what = {Role.COLLISION: "colliders", Role.VISUAL: "visuals"}[role]
    checks = _OF_ALL if role is Role.COLLISION else (*_OF_ALL, *_OF_VISUALS)
    return tuple(
        _ShapeCheck(one.name, one.title.format(what), one.unit, one.clause) for one in checks
    )


class Check(Struct, frozen=True):
    """One comparison of two observations of a robot.

    Attributes:
        id: Stable identifier.
        title: The compared quantity, in a few words.
        group: Heading under which it is shown.
        unit: Unit of differences; empty for equality and ``1`` for ratios.
        quantity: The quantity that both engines must state.
        clause: What is compared, and why it matters.
        usd_alone: Whether it concerns the USD alone, so that URDF engines take no part.
        direct: For a check of the round trip, the check that it repeats.
    """

    id: str
    title: str
    group: str
    unit: str
    quantity: Quantity
    clause: str
    usd_alone: bool = False
    direct: str | None = None


def _about_shapes(role: Role, quantity: Quantity) -> tuple[Check, ...]:
    return tuple(
        Check(f"{role}.{one.name}", one.title, role, one.unit, quantity, one.clause)
        for one in _shape_checks(role)
    )


CHECKS = (
    Check(
        "structure.links",
        "links",
        "structure",
        "",
        Quantity.LINKS,
        "Every URDF link is found in the USD by its name, and there is no other body.",
    ),
    Check(
        "structure.joints",
        "joints",
        "structure",
        "",
        Quantity.JOINTS,
        "Every URDF joint is found in the USD by its name, and there is no other "
        "joint. A fixed joint may also be expressed by one body for both links.",
    ),
    Check(
        "structure.types",
        "joint types",
        "structure",
        "",
        Quantity.JOINT_TYPES,
        "Joints of the same name have the same type. A continuous joint equals a "
        "revolute one without limits.",
    ),
    Check(
        "structure.parents",
        "parents and children",
        "structure",
        "",
        Quantity.JOINTS,
        "Joints of the same name connect the same parent and child.",
    ),
    Check(
        "structure.mimic",
        "mimic couplings",
        "structure",
        "",
        Quantity.MIMIC,
        "Followers, leaders, multipliers and offsets are equal to float32 precision. "
        "Without its coupling a follower moves freely.",
    ),
    Check(
        "structure.articulation",
        "articulation roots",
        "structure",
        "",
        Quantity.JOINTS,
        "A robot with moving joints has exactly one articulation root, and all its "
        "joints belong to it. Without one, solvers simulate separate bodies; with two, "
        "they reject the robot or simulate two. Its root is the first body of the "
        "robot, or holds the joint that fixes it, and no simulator disables it.",
        usd_alone=True,
    ),
    Check(
        "structure.world",
        "joints to the world",
        "structure",
        "",
        Quantity.JOINTS,
        "No moving joint of an articulation has the world, or a prim without rigid "
        "body, on one side: solvers in reduced coordinates fix the body on the other "
        "side, and the robot loses a degree of freedom.",
        usd_alone=True,
    ),
    Check(
        "structure.bodies",
        "dynamic rigid bodies",
        "structure",
        "",
        Quantity.LINKS,
        "No rigid body of a link is kinematic or disabled: forces do not move such a body.",
        usd_alone=True,
    ),
    Check(
        "structure.scene",
        "gravity and surroundings",
        "structure",
        "",
        Quantity.LINKS,
        "Physics scenes have the gravity of the Earth, down along the up axis; all "
        "bodies are simulated by the same scene; and the USD has no body, collider or "
        "visual besides those of the robot.",
        usd_alone=True,
    ),
    Check(
        "structure.initial",
        "initial state",
        "structure",
        "",
        Quantity.LINKS,
        "Bodies and joints start at rest, awake, and at the zero configuration.",
        usd_alone=True,
    ),
    Check(
        "structure.animation",
        "values over time",
        "structure",
        "",
        Quantity.LINKS,
        "No value of the USD changes over time: all time samples of an attribute equal "
        "its default value. Consumers read one or the other.",
        usd_alone=True,
    ),
    Check(
        "structure.values",
        "usable values",
        "structure",
        "",
        Quantity.LINKS,
        "No number of the USD that has an effect is NaN or infinite, and quaternions "
        "are unit quaternions: consumers differ in what they compute from others.",
        usd_alone=True,
    ),
    Check(
        "structure.words",
        "words without a schema",
        "structure",
        "",
        Quantity.LINKS,
        "What no schema of USD has and a USD keeps under urdf: is what the URDF says: "
        "safety controllers, calibrations, limits of acceleration, and attributes and "
        "elements that are no part of URDF, such as transmissions.",
        usd_alone=True,
    ),
    Check(
        "structure.base",
        "base",
        "structure",
        "",
        Quantity.BASE,
        "The root is fixed or floating as the URDF states or the user requested: a "
        "fixed quadruped cannot walk, a floating arm falls.",
    ),
    Check(
        "kinematics.position",
        "positions of link frames",
        "kinematics",
        "m",
        Quantity.FRAMES,
        "Origin of every link frame relative to the root link, over all "
        "configurations: zero, both limits, and samples within the limits.",
    ),
    Check(
        "kinematics.rotation",
        "rotations of link frames",
        "kinematics",
        "rad",
        Quantity.FRAMES,
        "Orientation of every link frame relative to the root link, over all configurations.",
    ),
    Check(
        "kinematics.up",
        "up axis",
        "kinematics",
        "rad",
        Quantity.FRAMES,
        "Angle between the Z axis of the root link, at its authored pose, and the up "
        "axis of the stage: gravity acts along -Z of a URDF's root.",
        usd_alone=True,
    ),
    Check(
        "kinematics.assembly.position",
        "joint anchors match body positions",
        "kinematics",
        "m",
        Quantity.FRAMES,
        "Distance between the two frames of a joint at the authored poses of the "
        "bodies: a solver closes the gap in its first step.",
        usd_alone=True,
    ),
    Check(
        "kinematics.assembly.rotation",
        "joint frames match body orientations",
        "kinematics",
        "rad",
        Quantity.FRAMES,
        "Angle between the two frames of a joint at the authored poses of the bodies.",
        usd_alone=True,
    ),
    Check(
        "mass.stated",
        "authored masses",
        "mass",
        "",
        Quantity.MASS,
        "Every rigid body has an authored mass. Otherwise a consumer computes one from "
        "the colliders, or assumes 1 kg.",
        usd_alone=True,
    ),
    Check(
        "mass.link.mass",
        "mass per link",
        "mass",
        "1",
        Quantity.MASS,
        "Effective mass of every link, relative to that of the URDF. A link that is "
        "part of another body of its rigid group in the USD is compared as part of the "
        "group.",
    ),
    Check(
        "mass.link.center",
        "centre of mass per link",
        "mass",
        "m",
        Quantity.MASS,
        "Centre of mass in the link frame, of links with mass.",
    ),
    Check(
        "mass.link.inertia",
        "inertia per link",
        "mass",
        "1",
        Quantity.MASS,
        "Inertia tensor about the centre of mass in the link frame, relative to the "
        "link's largest principal moment. Tensors are compared, as principal axes and "
        "their order are not unique.",
    ),
    Check(
        "mass.link.agreement",
        "consistent inertia per link",
        "mass",
        "1",
        Quantity.MASS,
        "An inertia that is authored both in the mass schema and in newton:inertia has "
        "the same value in both, relative to the largest moment: simulators differ in "
        "which one they read.",
        usd_alone=True,
    ),
    Check(
        "mass.group.mass",
        "mass per rigid group",
        "mass",
        "1",
        Quantity.MASS,
        "Total mass of links that fixed joints connect.",
    ),
    Check(
        "mass.group.center",
        "centre of mass per rigid group",
        "mass",
        "m",
        Quantity.MASS,
        "Centre of mass of links that fixed joints connect, in the frame of the "
        "group's first link.",
    ),
    Check(
        "mass.group.inertia",
        "inertia per rigid group",
        "mass",
        "1",
        Quantity.MASS,
        "Inertia of links that fixed joints connect about their common centre of mass, "
        "relative to the largest principal moment.",
    ),
    Check(
        "mass.total",
        "mass of the robot",
        "mass",
        "1",
        Quantity.MASS,
        "Sum over all links, relative.",
    ),
    Check(
        "limits.lower",
        "lower position limits",
        "limits",
        "1",
        Quantity.LIMITS,
        "Lower limit of every joint with one axis, relative to the larger of the limit "
        "and 1 rad or 1 m; unlimited equals unlimited.",
    ),
    Check(
        "limits.upper",
        "upper position limits",
        "limits",
        "1",
        Quantity.LIMITS,
        "Upper limit of every joint with one axis, relative to the larger of the limit "
        "and 1 rad or 1 m; unlimited equals unlimited.",
    ),
    Check(
        "limits.effort",
        "effort limits",
        "limits",
        "1",
        Quantity.EFFORT,
        "Largest force or torque; absent differs from zero.",
    ),
    Check(
        "limits.velocity",
        "velocity limits",
        "limits",
        "1",
        Quantity.VELOCITY,
        "Largest speed; absent differs from zero.",
    ),
    Check(
        "dynamics.damping",
        "joint damping",
        "dynamics",
        "1",
        Quantity.DYNAMICS,
        "Viscous damping; absent means zero, as in URDF.",
    ),
    Check(
        "dynamics.friction",
        "joint friction",
        "dynamics",
        "1",
        Quantity.DYNAMICS,
        "Coulomb friction; absent means zero, as in URDF.",
    ),
    Check(
        "dynamics.drives",
        "drives without gains",
        "dynamics",
        "",
        Quantity.JOINTS,
        "No drive has stiffness or damping, and no actuator acts on a joint: URDF "
        "states the limit of a motor, but no controller. A controller sets gains when "
        "it is attached.",
        usd_alone=True,
    ),
    Check(
        "dynamics.joints",
        "other joint properties",
        "dynamics",
        "",
        Quantity.JOINTS,
        "No joint breaks, has an armature, a spring at its limits or another property "
        "of a simulator that URDF does not state.",
        usd_alone=True,
    ),
    Check(
        "dynamics.bodies",
        "other body properties",
        "dynamics",
        "",
        Quantity.LINKS,
        "Gravity acts on every body; no axis of a body is locked, no body is damped "
        "or moved by a constant force or surface velocity, and none has another "
        "property of a simulator that URDF does not state.",
        usd_alone=True,
    ),
    Check(
        "dynamics.inertia_matrix",
        "joint-space inertia",
        "dynamics",
        "1",
        Quantity.MOTION,
        "M(q) over all configurations with a floating root: our own equations of "
        "motion for the URDF against MuJoCo's for a model built from the USD's "
        "observation. Relative to the diagonal inertias of both joints of an entry.",
    ),
    Check(
        "dynamics.bias",
        "gravity and velocity forces",
        "dynamics",
        "1",
        Quantity.MOTION,
        "Gravity, Coriolis and centrifugal forces at zero acceleration, relative to "
        "their upper bound at each joint.",
    ),
    Check(
        "dynamics.rollout",
        "1 s simulation rollout",
        "dynamics",
        "rad or m",
        Quantity.ROLLOUT,
        "Positions and velocities after 1 s in MuJoCo without drives: gravity, "
        "damping, friction and mimic couplings, fixed root, no limits. The spread of "
        "rollouts of perturbed robots sets the tolerance of each joint; where it is "
        "too large, an earlier state is compared. A rollout in PhysX, extrapolated to "
        "small time steps, is compared without friction, beyond its estimated error.",
    ),
    *_about_shapes(Role.COLLISION, Quantity.COLLISION),
    Check(
        "collision.filters",
        "collision filters",
        "collision",
        "",
        Quantity.COLLISION,
        "Links that no joint connects collide with each other and with everything "
        "else; links that a joint connects do not collide with each other. Filtered "
        "pairs, collision groups, triggers and self-collision flags change that.",
        usd_alone=True,
    ),
    Check(
        "collision.approximation",
        "collision approximations",
        "collision",
        "",
        Quantity.COLLISION,
        "The approximation of every mesh is one that UsdPhysics or PhysX defines, and "
        "keeps the surface or its convex hull, perhaps in parts: consumers differ in "
        "what they make of others. Contacts are at the surface itself.",
        usd_alone=True,
    ),
    Check(
        "collision.materials",
        "contact materials",
        "collision",
        "",
        Quantity.COLLISION,
        "No material with friction or restitution is bound to a collider, except one "
        "with friction 0.5 or 1 and no restitution: URDF states none, so that every "
        "simulator uses its own, which are these.",
        usd_alone=True,
    ),
    *_about_shapes(Role.VISUAL, Quantity.VISUAL),
    Check(
        "visual.normals",
        "normals of visuals",
        "visual",
        "1",
        Quantity.VISUAL,
        "Normals of meshes are those of the mesh file, by their mean and their mean "
        "cosine to the faces over the surface. If the file has none, faces are flat, "
        "or smooth with normals that point outwards. If those of the file point "
        "against its faces, flat faces are close.",
        usd_alone=True,
    ),
    Check(
        "visual.mapping",
        "texture coordinates of visuals",
        "visual",
        "1",
        Quantity.VISUAL,
        "Texture coordinates, as the image receives them, are those of the mesh file: "
        "means, second moments, products with positions, and orientation, by area.",
        usd_alone=True,
    ),
    Check(
        "visual.material",
        "other properties of materials",
        "visual",
        "",
        Quantity.VISUAL,
        "Emission, metalness, roughness and every other input of a surface are those "
        "of the mesh file, or the fallback for a material of the URDF, which defines "
        "colour and texture alone. Images are read in their colour space, without "
        "bias, and repeat. Bindings for other purposes, displayed colours and outputs "
        "for other renderers show the same.",
        usd_alone=True,
    ),
    Check(
        "visual.geometry",
        "other properties of visuals",
        "visual",
        "",
        Quantity.VISUAL,
        "The extent of every shape is that of its points or size; a hint of extents "
        "covers the shapes that are shown, and is not more than a diagonal larger; "
        "primitives are right-handed; a mesh has no holes, and no face in two material "
        "subsets; and no other property of UsdGeom has an effect.",
        usd_alone=True,
    ),
    Check(
        "visual.subdivision",
        "subdivision of visuals",
        "visual",
        "",
        Quantity.VISUAL,
        "No mesh is subdivided, which would round off its edges; without an authored "
        "scheme, USD assumes Catmull-Clark.",
        usd_alone=True,
    ),
)


SIMULATION_CHECKS = (
    Check(
        "simulation.gains",
        "gains of drives",
        "simulation",
        "1",
        Quantity.SIMULATION,
        "Stiffness and damping of every drive that the robot description file states, "
        "relative; gains are forces, not accelerations. Natural frequencies become "
        "gains with the joint-space inertia that MuJoCo computes.",
    ),
    Check(
        "simulation.targets",
        "targets of drives",
        "simulation",
        "1",
        Quantity.SIMULATION,
        "Position or velocity that every drive follows, relative to the larger of it "
        "and 1 rad or 1 m.",
    ),
    Check(
        "simulation.armature",
        "armature",
        "simulation",
        "1",
        Quantity.SIMULATION,
        "Inertia of the motor of every joint for which the robot description file "
        "states it, relative.",
    ),
    Check(
        "simulation.limits",
        "springs at limits",
        "simulation",
        "1",
        Quantity.SIMULATION,
        "Stiffness and damping of the springs that keep joints inside their limits, "
        "where the robot description file states them, relative. Newton has them; "
        "limits of PhysX are hard.",
    ),
    Check(
        "simulation.positions",
        "initial positions",
        "simulation",
        "1",
        Quantity.SIMULATION,
        "Initial position of every joint that does not start at zero, relative to the "
        "larger of it and 1 rad or 1 m; mimic joints follow.",
    ),
    Check(
        "simulation.filters",
        "promised collision filters",
        "simulation",
        "",
        Quantity.SIMULATION,
        "Pairs of links that the robot description file filters do not collide. Other "
        "filtered pairs fail the check of collision filters.",
    ),
    Check(
        "simulation.contacts",
        "self-collision and contact materials",
        "simulation",
        "1",
        Quantity.SIMULATION,
        "Self-collision, and friction and restitution of every collider of a link, are "
        "those of the robot description file.",
    ),
)
"""Made only if there is a robot description file."""


def _round_trip(check: Check) -> Check:
    return structs.replace(
        check,
        id=f"round-trip.{check.id}",
        title=f"{check.title} after USD → URDF round trip",
        group="round-trip",
        clause="The same engine reads the URDF and the URDF written from the USD, so "
        f"that its own deviations cancel. {check.clause}",
        direct=check.id,
    )


# Not compared after a round trip: no URDF engine states the base, and the URDF that is
# written from the USD has no shapes.
_WITHOUT_ROUND_TRIP = frozenset({Quantity.BASE, Quantity.COLLISION, Quantity.VISUAL})
ROUND_TRIP_CHECKS = tuple(
    _round_trip(check)
    for check in CHECKS
    if not check.usd_alone and check.quantity not in _WITHOUT_ROUND_TRIP
)
