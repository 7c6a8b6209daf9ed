"""What can be odd about a USD stage that is read as a robot."""

from __future__ import annotations

from urdf_usd.converter.diagnostics.rules.rule import Rule, Severity

_W, _N = Severity.WARNING, Severity.NOTE

STAGE_RULES = (
    Rule(
        "stage-loose-body",
        _W,
        "A rigid body is held by no joint of the robot; it is left out.",
        "Join the body to the robot, or keep it out of the robot's default prim.",
    ),
    Rule(
        "stage-loose-shape",
        _W,
        "A shape belongs to no link; it is left out.",
        "Put the shape below a rigid body.",
    ),
    Rule(
        "stage-name-changed",
        _W,
        "A name cannot stand in a URDF as it is; another is used.",
        "Give links, and joints, names of their own.",
    ),
    Rule(
        "joint-loop-opened",
        _W,
        "A joint closes a loop, which URDF cannot express; it is left out.",
        "Nothing; or open the loop at another joint with excludeFromArticulation.",
    ),
    Rule(
        "joint-disabled",
        _W,
        "A joint is switched off; it is left out.",
        "Set physics:jointEnabled if the joint should hold.",
    ),
    Rule(
        "joint-not-urdf",
        _W,
        "A joint is of a kind that URDF does not have; it is left out.",
        "Use a revolute, prismatic, spherical or fixed joint.",
    ),
    Rule(
        "joint-body-outside",
        _W,
        "A joint holds a rigid body that is inactive, abstract or outside the robot's "
        "default prim; the joint is left out.",
        "Move the body into the default prim, or name another one.",
    ),
    Rule(
        "joint-target-missing",
        _W,
        "A joint names a prim that does not exist; that side is held to the world, as "
        "OpenUSD does.",
        "Correct the path in physics:body0 or physics:body1.",
    ),
    Rule(
        "joint-limit-dropped",
        _W,
        "A joint has limits that URDF cannot express.",
        "Nothing, if the joint may move freely.",
    ),
    Rule(
        "joint-drive-dropped",
        _N,
        "Joints have drives; URDF has no word for gains and targets.",
        "Configure the controllers of the simulator that reads the URDF.",
    ),
    Rule(
        "joint-moved",
        _N,
        "A link's frame moves to its joint, where URDF has it.",
        "Nothing: shapes, mass and children move along.",
    ),
    Rule(
        "mass-computed",
        _W,
        "A body does not state all of its mass properties; OpenUSD computes the rest.",
        "Author mass, center of mass, diagonal inertia and principal axes.",
    ),
    Rule(
        "mass-unstated",
        _W,
        "A body states no mass and has no collider; it has no <inertial>.",
        "Author a mass.",
    ),
    Rule(
        "inertial-outdated",
        _W,
        "The kept inertials of welded links do not add up to their body; they are "
        "ignored.",
        "Convert the URDF again, or remove the urdf:inertial attributes.",
    ),
    Rule(
        "shape-approximated",
        _W,
        "A shape is scaled or skewed in a way that URDF cannot express.",
        "Use a mesh, or a uniform scale.",
    ),
    Rule(
        "shape-not-urdf",
        _W,
        "A shape is of a kind that URDF does not have; it is left out.",
        "Use a cube, cylinder, capsule, sphere or mesh.",
    ),
    Rule(
        "material-parts",
        _W,
        "Parts of a mesh have materials of their own; the largest part's counts.",
        "Split the mesh by material.",
    ),
)
