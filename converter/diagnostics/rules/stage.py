"""Rules about reading a robot from a USD stage."""

from __future__ import annotations

from urdf_usd.converter.diagnostics.rules.rule import Rule, Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

STAGE_RULES = (
    Rule(
        "asset-outside",
        _W,
        "A layer refers to a file outside the folder of the asset, by an absolute path,"
        " `..`, a symbolic link or a URI; the file is read if it exists.",
        "Copy the file into the folder and refer to it by a relative path; --strict"
        " refuses such a USD.",
    ),
    Rule(
        "asset-outside-refused",
        _E,
        "With --strict, a layer refers to a file outside the folder of the asset; nothing is read.",
        "Copy the file into the folder and refer to it by a relative path; or omit"
        " --strict if the USD is trusted.",
    ),
    Rule(
        "variant-unselected",
        _W,
        "A variant set has no selection, or selects a variant that it does not have;"
        " none of its variants is read.",
        "Select a variant with --variant, or author a selection.",
    ),
    Rule(
        "variant-required",
        _E,
        "A variant set has no selection, and without it the USD has no robot, or not"
        " the links and joints of the URDF.",
        "Select a variant with --variant, or author a selection.",
    ),
    Rule(
        "variant-unknown",
        _E,
        "A variant is to be selected that the USD does not have.",
        "Select one of those that the message lists.",
    ),
    Rule(
        "variant-absent",
        _N,
        "A run is to select a variant in a USD without that variant set; the USD is read as it is.",
        "Nothing, if other USDs of the run have the variant set.",
    ),
    Rule(
        "variant-combinations",
        _E,
        "The variant sets of the USD have more than 64 combinations.",
        "Select variants of some sets with --variant.",
    ),
    Rule(
        "stage-loose-body",
        _W,
        "A rigid body is not connected to the robot by a joint; it is omitted.",
        "Connect the body by a joint, export it with --root, or move it out of the"
        " robot's default prim.",
    ),
    Rule(
        "stage-loose-shape",
        _W,
        "A shape belongs to no link; it is omitted.",
        "Put the shape below a rigid body.",
    ),
    Rule(
        "collider-no-gprim",
        _W,
        "A collider is an Xform rather than a shape; as in PhysX, the meshes that are"
        " its children collide.",
        "Apply PhysicsCollisionAPI to the meshes: other consumers ignore that of an Xform.",
    ),
    Rule(
        "stage-name-changed",
        _W,
        "A name is not usable in URDF, or not unique; another is used.",
        "Give links and joints unique names.",
    ),
    Rule(
        "joint-loop-opened",
        _W,
        "A joint closes a loop, which URDF cannot represent; it is omitted.",
        "Nothing; or export with --loops, which keeps it as data; or open the loop at"
        " another joint with excludeFromArticulation.",
    ),
    Rule(
        "loop-without-constraint",
        _W,
        "A joint that closes a loop has no equivalent among MuJoCo's constraints; it"
        " is kept as data only.",
        "Nothing, if the loop need not be closed in MuJoCo.",
    ),
    Rule(
        "joint-disabled",
        _W,
        "A joint is disabled; it is omitted.",
        "Set physics:jointEnabled if the joint is needed.",
    ),
    Rule(
        "joint-not-urdf",
        _W,
        "The type of a joint does not exist in URDF; it is omitted.",
        "Use a revolute, prismatic, spherical or fixed joint.",
    ),
    Rule(
        "joint-body-outside",
        _W,
        "A joint connects a rigid body that is inactive, abstract or outside the "
        "robot's default prim; the joint is omitted.",
        "Move the body into the default prim, or correct the target.",
    ),
    Rule(
        "joint-target-missing",
        _W,
        "A target of a joint does not exist; as in OpenUSD, that side is fixed to the world.",
        "Correct the path in physics:body0 or physics:body1.",
    ),
    Rule(
        "joint-limit-approximated",
        _W,
        "The cone limit of a spherical joint becomes a limit about each of two axes,"
        " whose corners are outside the cone.",
        "Nothing, if the joint may move into the corners.",
    ),
    Rule(
        "mimic-polynomial",
        _W,
        "A coupling of MuJoCo's schema is a polynomial of the second or a higher "
        "degree, which URDF does not have; it is dropped.",
        "Nothing, if the joint may move on its own.",
    ),
    Rule(
        "joint-split",
        _N,
        "A joint with several axes becomes a chain of joints with one axis each,"
        " connected by links without mass.",
        "Nothing: a conversion of the URDF restores the joint.",
    ),
    Rule(
        "joint-armature-dropped",
        _N,
        "Joints have armature, the inertia of a motor's rotor, which URDF does not "
        "have; it is left out.",
        "State it in a robot description file: `joints.armature`.",
    ),
    Rule(
        "joint-drive-dropped",
        _N,
        "Joints have drives, or springs or servos of MuJoCo; gains and targets cannot"
        " be represented in URDF.",
        "Configure the controllers of the simulator that reads the URDF.",
    ),
    Rule(
        "joint-moved",
        _N,
        "The frame of a link is moved to its joint, as URDF requires.",
        "Nothing: shapes, mass and child links keep their positions.",
    ),
    Rule(
        "mass-computed",
        _W,
        "The mass properties of a body are incomplete; the rest is computed as by OpenUSD.",
        "Author mass, center of mass, diagonal inertia and principal axes.",
    ),
    Rule(
        "mass-unstated",
        _W,
        "A body has neither a mass nor a collider; it gets no <inertial>.",
        "Author a mass.",
    ),
    Rule(
        "inertial-outdated",
        _W,
        "The stored inertials of fixed links do not add up to that of their body;"
        " they are ignored.",
        "Convert the URDF again, or remove the urdf:inertial attributes.",
    ),
    Rule(
        "shape-approximated",
        _W,
        "The scale or shear of a shape cannot be represented in URDF; the shape is approximated.",
        "Use a mesh, or a uniform scale.",
    ),
    Rule(
        "shape-not-urdf",
        _W,
        "The type of a shape does not exist in URDF; it is omitted.",
        "Use a cube, cylinder, capsule, sphere or mesh.",
    ),
    Rule(
        "material-parts",
        _W,
        "Parts of a mesh have different materials; that of the largest part is used.",
        "Split the mesh by material.",
    ),
)
