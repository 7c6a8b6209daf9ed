"""Rules of lint, and rules of the parser that lint reports."""

from __future__ import annotations

from collections.abc import Mapping

from urdf_usd.converter.diagnostics.rules import Rule, Severity
from urdf_usd.converter.diagnostics.rules.files import FILES_RULES
from urdf_usd.converter.diagnostics.rules.mass import MASS_RULES
from urdf_usd.converter.diagnostics.rules.robot import ROBOT_RULES
from urdf_usd.converter.diagnostics.rules.shapes import SHAPES_RULES
from urdf_usd.converter.diagnostics.rules.text import TEXT_RULES

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

_MASS = (
    Rule(
        "mass-none-moving",
        _W,
        "Moving links have no mass; parsers refuse them, or assume one.",
        "Give one of the links that move together an <inertial>.",
    ),
    Rule(
        "mass-none-collider",
        _N,
        "A link has a collision shape and no mass; some parsers compute the mass from the shape.",
        "Give the link an <inertial>.",
    ),
    Rule(
        "mass-negligible",
        _W,
        "A mass is below a milligram; Gazebo ignores such a link.",
        "Write the mass in kilograms, or leave <inertial> out.",
    ),
    Rule(
        "inertia-zero",
        _W,
        "A link has mass and no inertia; parsers refuse it, or compute another.",
        "Write the link's <inertia>.",
    ),
    Rule(
        "inertia-not-positive",
        _E,
        "A principal moment of inertia is not positive, which is physically impossible.",
        "Recompute <inertia>; look for a swapped or mistyped element.",
    ),
    Rule(
        "inertia-triangle",
        _E,
        "Two principal moments add up to less than the third, which is physically impossible.",
        "Recompute <inertia>, about the centre of mass.",
    ),
    Rule(
        "inertia-too-large",
        _W,
        "The inertia requires mass far outside the link's shapes.",
        "Write the inertia in kg m^2, about the centre of mass.",
    ),
    Rule(
        "inertia-too-small",
        _W,
        "The inertia is that of a point mass, but the link has an extent.",
        "Write the inertia in kg m^2.",
    ),
    Rule(
        "density-high",
        _W,
        "The link is denser than any material.",
        "Write the mass in kilograms; check the scale of the meshes.",
    ),
    Rule(
        "density-low",
        _W,
        "The link is less dense than air.",
        "Write the mass in kilograms; check the scale of the meshes.",
    ),
    Rule(
        "com-outside",
        _W,
        "The centre of mass lies far outside the link's shapes.",
        "Write <inertial><origin> in metres, in the frame of the link.",
    ),
)
_JOINTS = (
    Rule(
        "joint-axis-unnormalised",
        _W,
        "An axis is not a unit vector; PyBullet multiplies the travel by its length.",
        "Divide the axis by its length.",
    ),
    Rule(
        "joint-axis-implicit",
        _N,
        "A moving joint has no <axis>; the default is 1 0 0.",
        'Write <axis xyz="1 0 0"/>, or the axis that is meant.',
    ),
    Rule(
        "joint-limit-unrated",
        _W,
        "A <limit> has no effort or no velocity; ROS refuses the file.",
        "Write both.",
    ),
    Rule(
        "joint-effort-zero",
        _N,
        "The effort limit is zero: no motor can move the joint.",
        "Write the maximum force [N] or torque [N m], unless the joint is passive.",
    ),
    Rule(
        "joint-velocity-zero",
        _W,
        "The velocity limit is zero: simulators that enforce it lock the joint.",
        "Write the maximum velocity [m/s or rad/s].",
    ),
    Rule(
        "joint-range-empty",
        _W,
        "Both limits are equal: some simulators lock the joint, MuJoCo does not limit it.",
        "Write the range of motion, or use a fixed joint.",
    ),
    Rule(
        "joint-zero-outside",
        _N,
        "Zero, the initial position of most tools, is outside the joint's range.",
        "Use another initial position, or move the zero into the range.",
    ),
    Rule(
        "joint-limit-degrees",
        _W,
        "The limits of a revolute joint look like degrees.",
        "Write radians.",
    ),
    Rule(
        "joint-limit-turns",
        _N,
        "A revolute joint can rotate by more than one turn.",
        "Use a continuous joint if it is meant to be unlimited.",
    ),
    Rule(
        "joint-travel-long",
        _W,
        "A prismatic joint travels much farther than the size of the robot.",
        "Write the limits in metres.",
    ),
    Rule(
        "safety-incomplete",
        _W,
        "A <safety_controller> has no k_velocity; ROS refuses the file.",
        "Write k_velocity, or remove the element.",
    ),
    Rule(
        "safety-outside",
        _W,
        "A soft limit is outside the joint's range, where it has no effect.",
        "Write soft limits inside lower and upper.",
    ),
    Rule(
        "mimic-range",
        _W,
        "The coupling takes a mimic joint outside its own range.",
        "Widen the range of the mimic joint, or narrow that of the joint that it follows.",
    ),
    Rule(
        "mimic-multiplier-zero",
        _W,
        "The multiplier of a mimic joint is zero: the joint does not move.",
        "Write the ratio, or use a fixed joint.",
    ),
)
_FRAMES = (
    Rule(
        "origin-far",
        _W,
        "An origin is very far away relative to the size of the robot.",
        "Write metres.",
    ),
    Rule(
        "rotation-turns",
        _W,
        "An angle of rpy is more than a full turn; it may be in degrees.",
        "Write radians.",
    ),
    Rule(
        "rotation-rounded",
        _N,
        "An angle of rpy is a rounded right angle; the frame is slightly tilted.",
        "Write 1.5707963267948966 for a right angle.",
    ),
    Rule(
        "quaternion-unnormalised",
        _W,
        "A quaternion does not have unit length.",
        "Divide it by its length.",
    ),
)
_SHAPES = (
    Rule(
        "mesh-millimetres",
        _W,
        "A mesh is about a thousand times too large for the robot: its unit is "
        "probably millimetres.",
        'Write scale="0.001 0.001 0.001".',
    ),
    Rule(
        "mesh-shrunk",
        _W,
        "A mesh in metres is scaled down and too small to see.",
        "Remove the scale.",
    ),
    Rule(
        "mesh-mirrored",
        _N,
        "A negative scale mirrors a mesh; some parsers turn it inside out.",
        "Export the mirrored mesh to a separate file.",
    ),
    Rule(
        "mesh-too-many-faces",
        _W,
        "An STL file has more than 200 000 faces; MuJoCo refuses it.",
        "Simplify the mesh.",
    ),
    Rule(
        "collision-mesh-heavy",
        _N,
        "A collision mesh has many triangles, which makes contacts slow.",
        "Use primitive shapes, or a simplified mesh.",
    ),
    Rule(
        "path-absolute",
        _W,
        "A file reference is an absolute path, which does not exist on other machines.",
        "Use package:// or a path relative to this file.",
    ),
    Rule(
        "path-backslash",
        _W,
        "A path has backslashes, which are separators only on Windows.",
        "Write forward slashes.",
    ),
    Rule(
        "material-unused",
        _N,
        "A material of the robot is not used by any visual.",
        "Remove the material.",
    ),
    Rule(
        "color-invisible",
        _W,
        "A colour is fully transparent.",
        "Write 1 as the fourth number of rgba.",
    ),
)
_NAMES = (
    Rule(
        "name-not-portable",
        _N,
        "A name is not an identifier; USD and other formats must change it.",
        "Use letters, digits and underscores, starting with a letter.",
    ),
    Rule(
        "name-of-link-and-joint",
        _N,
        "A link and a joint have the same name; SDFormat requires different names.",
        "Rename one of the two.",
    ),
    Rule(
        "name-repeated-shape",
        _N,
        "Two collision shapes have the same name; MuJoCo drops the second name.",
        "Rename one of the two.",
    ),
    Rule(
        "name-world",
        _W,
        "A part of the robot is named world, which parsers treat as the world.",
        "Rename the link.",
    ),
    Rule(
        "reference-undefined",
        _W,
        "An extension element refers to a link or joint that does not exist.",
        "Correct the name.",
    ),
)

LINT_RULES: Mapping[str, Rule] = {
    rule.id: rule for rule in (*_MASS, *_JOINTS, *_FRAMES, *_SHAPES, *_NAMES)
}
# Rules about mass that the parser reports.
_READ_MASS = frozenset({"mass-negative", "mass-missing", "inertia-missing"})
READER_RULES: Mapping[str, Rule] = {
    rule.id: rule
    for rule in (*TEXT_RULES, *FILES_RULES, *ROBOT_RULES, *MASS_RULES, *SHAPES_RULES)
    if rule not in MASS_RULES or rule.id in _READ_MASS
}
ALL_RULES: Mapping[str, Rule] = {**READER_RULES, **LINT_RULES}
