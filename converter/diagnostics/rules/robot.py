"""Rules about links, joints and the kinematic tree."""

from __future__ import annotations

from urdf_usd.converter.diagnostics.rules.rule import Rule, Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

ROBOT_RULES = (
    Rule(
        "robot-unnamed",
        _W,
        "The robot has no name; the file's stem is used.",
        "Write <robot name=...>.",
    ),
    Rule(
        "robot-large",
        _N,
        "The robot has more than 1,000 moving joints. A check compares matrices with a"
        " row and a column for each.",
        "Nothing to convert it; give check and run more with --timeout and --memory.",
    ),
    Rule(
        "rotation-conflict",
        _E,
        "An origin has rpy and quat_xyzw, which are different rotations.",
        "Keep one of the two.",
    ),
    Rule(
        "rotation-repeated",
        _W,
        "An origin has both rpy and quat_xyzw, which agree; rpy is used.",
        "Keep one of the two.",
    ),
    Rule(
        "flag-invalid",
        _W,
        "A value that should be true or false is neither; the default is used.",
        "Write true or false.",
    ),
    Rule("joint-type", _E, "The joint type is unknown.", "Use a URDF joint type."),
    Rule(
        "joint-type-extension",
        _W,
        "The joint type is an extension of URDF.",
        "Nothing; other parsers may refuse the file.",
    ),
    Rule(
        "joint-axis-zero",
        _E,
        "A moving joint has a zero axis.",
        "Write a non-zero axis.",
    ),
    Rule(
        "joint-chain-merged",
        _N,
        "A chain of joints that export wrote for one joint of several axes becomes that"
        " joint again.",
        "Nothing; or convert with --keep-chains, for example before a check, which"
        " compares joint by joint.",
    ),
    Rule(
        "joint-chain-changed",
        _W,
        "A chain of joints that export wrote for one joint of several axes was"
        " changed; its joints are converted separately.",
        "Nothing; or remove the <usd_joint> of its first joint.",
    ),
    Rule(
        "joint-limit-missing",
        _W,
        "A revolute or prismatic joint has no <limit>; read as unlimited.",
        "Add <limit>, or use a continuous joint.",
    ),
    Rule(
        "joint-limit-reversed",
        _W,
        "The lower limit is above the upper limit; USD treats the joint as locked.",
        "Exchange the limits.",
    ),
    Rule(
        "joint-limit-incomplete",
        _W,
        "A <limit> has only one bound; the other is 0, or unlimited from URDF 1.2"
        " on. Parsers differ.",
        "Write lower and upper.",
    ),
    Rule(
        "joint-rating-negative",
        _W,
        "An effort or velocity is negative. It is the magnitude of a limit; simulators"
        " get no limit.",
        "Drop the sign.",
    ),
    Rule(
        "dynamics-negative",
        _W,
        "Damping or friction is negative: it would add energy. Simulators get none.",
        "Drop the sign.",
    ),
    Rule(
        "joint-limit-ignored",
        _N,
        "A joint has limits that its type does not use.",
        "Remove lower and upper, or change the type.",
    ),
    Rule(
        "joint-type-spelling",
        _W,
        "The joint type is not in lower case, or has spaces around it.",
        "Write it as URDF does; other parsers refuse the file.",
    ),
    Rule(
        "part-repeated",
        _W,
        "A link or joint is defined twice, identically; one is kept.",
        "Remove the other.",
    ),
    Rule(
        "joint-dangling",
        _W,
        "A joint refers to a link that is not defined; the joint is omitted.",
        "Define the link, or correct the name.",
    ),
    Rule(
        "world-undefined",
        _W,
        "The parent of a joint is the link world, which is not defined; an empty link is added.",
        'Write <link name="world"/>; most parsers refuse the file without it.',
    ),
    Rule(
        "name-duplicate",
        _E,
        "A name is used twice.",
        "Rename one of the two.",
    ),
    Rule(
        "link-undefined",
        _E,
        "A joint refers to a link that is not defined.",
        "Define the link, or correct the name.",
    ),
    Rule(
        "robot-deformable",
        _E,
        "The file describes a deformable body, an extension of PyBullet, and no robot.",
        "Pass a file with links.",
    ),
    Rule("robot-empty", _E, "The robot has no links.", "Define at least one link."),
    Rule(
        "tree-roots",
        _E,
        "The robot has several root links.",
        "Connect the trees with joints, or convert one of them with --root LINK.",
    ),
    Rule(
        "root-unknown",
        _E,
        "The link given as root is not defined.",
        "Give the name of a link of the robot.",
    ),
    Rule(
        "tree-parents",
        _E,
        "A link is the child of several joints.",
        "Give every link one parent.",
    ),
    Rule(
        "tree-loop",
        _E,
        "The joints form a loop.",
        "Remove a joint of the loop.",
    ),
    Rule(
        "mimic-target-missing",
        _W,
        "A joint mimics a joint that does not exist; the coupling is dropped.",
        "Correct the name.",
    ),
    Rule(
        "mimic-fixed",
        _W,
        "A mimic coupling on or of a joint without a single axis is dropped.",
        "Remove <mimic>.",
    ),
    Rule(
        "mimic-unrepresentable",
        _N,
        "The schemas of the profile cannot represent a mimic coupling; simulators do "
        "not couple the joints.",
        "Couple joints of one type, with limits, or use another profile.",
    ),
    Rule(
        "mimic-loop",
        _W,
        "Mimic couplings form a loop; the coupling that closes it is dropped.",
        "Remove <mimic> of one joint.",
    ),
)
