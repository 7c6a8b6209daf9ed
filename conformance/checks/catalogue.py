"""The closed list of checks: what is compared, in which unit, and why.

How each compares is in :mod:`urdf_usd.conformance.checks.comparers`, by the same
identifier. Identifiers are stable and never reused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from urdf_usd.conformance.observation.robot import Quantity
from urdf_usd.conformance.observation.shapes import Role


@dataclass(frozen=True, slots=True)
class ShapeQuestion:
    """One question about the shapes of links.

    Attributes:
        name: Last part of the identifier of the check.
        title: What is compared, for colliders or visuals, which stand for ``{}``.
        unit: As of a check.
        clause: As of a check.
    """

    name: str
    title: str
    unit: str
    clause: str


_OF_ALL = (
    ShapeQuestion(
        "shapes",
        "{} of links",
        "",
        "Every link has as many shapes of each kind. Shapes that are cut, joined or "
        "written as meshes are close if they are the same surface. A mesh that is "
        "named in the URDF and cannot be read is told, and not held against the USD.",
    ),
    ShapeQuestion(
        "support",
        "reach of {}",
        "1",
        "How far shapes reach along 134 directions of the link frame, and where their "
        "surface has its centre, relative to their size: pose, scale and dimensions. "
        "What is made of a mesh by its convex hull reaches as far.",
    ),
    ShapeQuestion(
        "area",
        "surface of {}",
        "1",
        "Area of the surface, relative: a piece that others hide shows here.",
    ),
    ShapeQuestion(
        "volume",
        "volume of {}",
        "1",
        "Signed volume of closed surfaces, relative; of open ones the area along their "
        "normals: a surface that is turned inside out has the opposite.",
    ),
    ShapeQuestion(
        "triangles",
        "triangles of {}",
        "1",
        "Number of triangles of meshes, polygons counted as fans, relative: a mesh "
        "that was thinned out.",
    ),
)

_OF_VISUALS = (
    ShapeQuestion(
        "colour",
        "colour of {}",
        "1",
        "Largest difference of a component of linear colours, or of the factor of an "
        "image: sRGB components are not light. Materials of mesh files win over the "
        "URDF's; parts of a surface are paired by area.",
    ),
    ShapeQuestion(
        "opacity",
        "opacity of {}",
        "1",
        "Opacity of every part of a surface, or the image that gives it.",
    ),
    ShapeQuestion(
        "texture",
        "textures of {}",
        "",
        "The image that gives the colour has the same content; one that is missing, or "
        "neither PNG nor JPEG, is told and not held against the USD.",
    ),
)


def shape_questions(role: Role) -> tuple[ShapeQuestion, ...]:
    """Return what is asked about the shapes that links have in one role."""
    what = {Role.COLLISION: "colliders", Role.VISUAL: "visuals"}[role]
    asked = _OF_ALL if role is Role.COLLISION else (*_OF_ALL, *_OF_VISUALS)
    return tuple(
        ShapeQuestion(one.name, one.title.format(what), one.unit, one.clause)
        for one in asked
    )


@dataclass(frozen=True, slots=True)
class Check:
    """One question about two readings of a robot.

    Attributes:
        id: Stable identifier.
        title: What is compared, in a few words.
        group: Heading under which it is shown.
        unit: Unit of differences; empty for equality and ``1`` for ratios.
        quantity: What both readers must be able to state.
        clause: What it compares, and why that matters.
        usd_alone: Whether it is a question about the USD, on which no reader of the
            URDF has a say.
        direct: For a question of the round trip, the check that it repeats.
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
        for one in shape_questions(role)
    )


CHECKS = (
    Check(
        "structure.links",
        "links",
        "structure",
        "",
        Quantity.LINKS,
        "Every URDF link can be found in the USD by its name, and nothing else "
        "passes for a link.",
    ),
    Check(
        "structure.joints",
        "joints",
        "structure",
        "",
        Quantity.JOINTS,
        "Every URDF joint can be found in the USD by its name, and no other joint "
        "holds the robot. A weld may also be stated by one body that carries both "
        "links.",
    ),
    Check(
        "structure.types",
        "joint types",
        "structure",
        "",
        Quantity.JOINT_TYPES,
        "Joints of one name allow the same motion. A continuous joint and a revolute "
        "one without limits are the same motion.",
    ),
    Check(
        "structure.parents",
        "parents and children",
        "structure",
        "",
        Quantity.JOINTS,
        "Joints of one name connect the same two links, in the same direction.",
    ),
    Check(
        "structure.mimic",
        "mimic couplings",
        "structure",
        "",
        Quantity.MIMIC,
        "Followers, leaders, multipliers and offsets are the same to float32. A lost "
        "coupling frees a finger; an offset in the wrong unit bends it.",
    ),
    Check(
        "structure.articulation",
        "articulation roots",
        "structure",
        "",
        Quantity.JOINTS,
        "A robot that moves has exactly one articulation root: without it solvers "
        "fall back to loose bodies, with two they refuse or simulate two robots. All "
        "its joints belong to it.",
        usd_alone=True,
    ),
    Check(
        "structure.world",
        "joints to the world",
        "structure",
        "",
        Quantity.JOINTS,
        "No moving joint of an articulation ends at the world, nor at a prim without "
        "rigid body: solvers in reduced coordinates take the body at its other end for "
        "the fixed root, and the robot has a degree of freedom less.",
        usd_alone=True,
    ),
    Check(
        "structure.bodies",
        "bodies that forces move",
        "structure",
        "",
        Quantity.LINKS,
        "No body of a link is kinematic or disabled: such a body stays where it is, "
        "whatever pulls at it.",
        usd_alone=True,
    ),
    Check(
        "structure.base",
        "base",
        "structure",
        "",
        Quantity.BASE,
        "The root is fixed or floating as the URDF says or the user asked: a welded "
        "quadruped never walks, a floating arm falls.",
    ),
    Check(
        "kinematics.position",
        "positions of link frames",
        "kinematics",
        "m",
        Quantity.FRAMES,
        "Origin of every link frame relative to the root link, over all "
        "configurations: zero, both limits, samples inside the limits.",
    ),
    Check(
        "kinematics.rotation",
        "rotations of link frames",
        "kinematics",
        "rad",
        Quantity.FRAMES,
        "Orientation of every link frame relative to the root link, over all "
        "configurations.",
    ),
    Check(
        "kinematics.up",
        "the way up",
        "kinematics",
        "rad",
        Quantity.FRAMES,
        "Angle between the Z axis of the root link and the stage's up axis, where the "
        "file places the robot: gravity pulls along -Z of a URDF's root.",
        usd_alone=True,
    ),
    Check(
        "kinematics.assembly.position",
        "bodies stand at their joints",
        "kinematics",
        "m",
        Quantity.FRAMES,
        "Distance between a joint's frame in its parent and in its child, where the "
        "file places the bodies: a solver snaps the gap shut in its first step.",
        usd_alone=True,
    ),
    Check(
        "kinematics.assembly.rotation",
        "bodies are turned as their joints",
        "kinematics",
        "rad",
        Quantity.FRAMES,
        "Angle between a joint's frame in its parent and in its child, where the file "
        "places the bodies.",
        usd_alone=True,
    ),
    Check(
        "mass.stated",
        "every body states its mass",
        "mass",
        "",
        Quantity.MASS,
        "A rigid body without mass receives one from its colliders, or a kilogram: "
        "a consumer invents what the URDF does not say.",
        usd_alone=True,
    ),
    Check(
        "mass.link.mass",
        "mass per link",
        "mass",
        "1",
        Quantity.MASS,
        "Effective mass of every link, relative to its own; not compared where the "
        "USD counts a link in another body of its rigid group: the group decides.",
    ),
    Check(
        "mass.link.center",
        "centre of mass per link",
        "mass",
        "m",
        Quantity.MASS,
        "Centre of mass in the link frame, of links that have mass.",
    ),
    Check(
        "mass.link.inertia",
        "inertia per link",
        "mass",
        "1",
        Quantity.MASS,
        "Inertia tensor about the centre of mass in the link frame, relative to the "
        "link's largest principal moment; tensors, because axes and their order are "
        "free.",
    ),
    Check(
        "mass.link.agreement",
        "one inertia per link",
        "mass",
        "1",
        Quantity.MASS,
        "Where the USD states an inertia twice, in the mass schema and in "
        "newton:inertia, both are the same, relative to the largest moment: simulators "
        "choose differently.",
        usd_alone=True,
    ),
    Check(
        "mass.group.mass",
        "mass per rigid group",
        "mass",
        "1",
        Quantity.MASS,
        "Mass of links that fixed joints weld, taken together: what a solver moves.",
    ),
    Check(
        "mass.group.center",
        "centre of mass per rigid group",
        "mass",
        "m",
        Quantity.MASS,
        "Centre of mass of welded links together, in the frame of the group's head.",
    ),
    Check(
        "mass.group.inertia",
        "inertia per rigid group",
        "mass",
        "1",
        Quantity.MASS,
        "Inertia of welded links together about their centre of mass, relative to "
        "its largest principal moment.",
    ),
    Check(
        "mass.total",
        "mass of the robot",
        "mass",
        "1",
        Quantity.MASS,
        "Sum over all links: mass that was invented or lost anywhere shows here.",
    ),
    Check(
        "limits.lower",
        "lower position limits",
        "limits",
        "1",
        Quantity.LIMITS,
        "Lower limit of every joint with one axis, relative to itself or, if it is "
        "smaller, to 1 rad or 1 m; unlimited equals unlimited.",
    ),
    Check(
        "limits.upper",
        "upper position limits",
        "limits",
        "1",
        Quantity.LIMITS,
        "Upper limit of every joint with one axis, relative to itself or, if it is "
        "smaller, to 1 rad or 1 m; unlimited equals unlimited.",
    ),
    Check(
        "limits.effort",
        "effort limits",
        "limits",
        "1",
        Quantity.EFFORT,
        "Largest force or torque; absent is not zero.",
    ),
    Check(
        "limits.velocity",
        "velocity limits",
        "limits",
        "1",
        Quantity.VELOCITY,
        "Largest speed; absent is not zero.",
    ),
    Check(
        "dynamics.damping",
        "joint damping",
        "dynamics",
        "1",
        Quantity.DYNAMICS,
        "Viscous damping; absent is zero, as URDF has it.",
    ),
    Check(
        "dynamics.friction",
        "joint friction",
        "dynamics",
        "1",
        Quantity.DYNAMICS,
        "Dry friction; absent is zero, as URDF has it.",
    ),
    Check(
        "dynamics.inertia_matrix",
        "joint-space inertia",
        "dynamics",
        "1",
        Quantity.MOTION,
        "M(q) over all configurations, the root free to move: our own equations of "
        "motion against MuJoCo's, made of nothing but what was read back. Relative to "
        "the inertias that both joints of an entry have.",
    ),
    Check(
        "dynamics.bias",
        "gravity and velocity forces",
        "dynamics",
        "1",
        Quantity.MOTION,
        "Forces that hold all joints without acceleration, at rest and in motion, "
        "relative to the most that gravity and velocities can amount to at a joint.",
    ),
    Check(
        "dynamics.rollout",
        "where the robot goes",
        "dynamics",
        "rad or m",
        Quantity.ROLLOUT,
        "Positions and velocities after a second in MuJoCo without any drive, with "
        "gravity, damping, friction and mimic couplings, root held, no limits. How far "
        "nearby robots are from each other sets the tolerance of each joint; one that "
        "has become too sensitive by then is compared at an earlier moment.",
    ),
    *_about_shapes(Role.COLLISION, Quantity.COLLISION),
    *_about_shapes(Role.VISUAL, Quantity.VISUAL),
)


def _again(check: Check) -> Check:
    return replace(
        check,
        id=f"round-trip.{check.id}",
        title=f"{check.title}, there and back",
        group="round-trip",
        clause=f"One engine reads the URDF, and the URDF that is written back from the "
        f"USD, so its own quirks cancel. {check.clause}",
        direct=check.id,
    )


# What engines are not asked about two URDFs: none says how a base is held, and shapes
# are left out of the one that is written back for them.
_ONE_WAY = frozenset({Quantity.BASE, Quantity.COLLISION, Quantity.VISUAL})
ROUND_TRIP_CHECKS = tuple(
    _again(check)
    for check in CHECKS
    if not check.usd_alone and check.quantity not in _ONE_WAY
)
