"""The smallest robot description file that breaks each rule about them."""

from __future__ import annotations

from dataclasses import dataclass

from urdf_usd.converter.conversion import DEFAULTS
from urdf_usd.converter.options import ConvertOptions, Profile

_MASS = """<inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>"""
_LIMITS = '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'


def _robot(shape: str = "") -> str:
    """Return a chain of three links; the last joint follows the first."""
    links = "".join(
        f'<link name="{name}">{_MASS}{shape if name != "b" else ""}</link>' for name in "abc"
    )
    joints = (
        '<joint name="i" type="revolute"><parent link="a"/><child link="b"/>'
        f'{_LIMITS}</joint><joint name="j" type="revolute"><parent link="b"/>'
        f'<child link="c"/><origin xyz="0 0 2"/>{_LIMITS}<mimic joint="i"/></joint>'
    )
    return f'<robot name="r">{links}{joints}</robot>'


def _balls(radius: float) -> str:
    shape = f'<sphere radius="{radius}"/>'
    return _robot(f"<collision><geometry>{shape}</geometry></collision>")


@dataclass(frozen=True, slots=True)
class SmallestDescription:
    """A robot description file that breaks a rule.

    Attributes:
        text: Of the file; None if it does not exist.
        urdf: The robot.
        srdf: Content of ``robot.srdf``.
        options: Of the conversion.
    """

    text: str | None
    urdf: str = _robot()
    srdf: str = '<robot name="r"/>'
    options: ConvertOptions = DEFAULTS


_I = '[[joints]]\nmatch = "i"\n'
SMALLEST_DESCRIPTIONS = {
    "description-unreadable": SmallestDescription(None),
    "description-syntax": SmallestDescription("["),
    "description-key": SmallestDescription("a = 1"),
    "description-value": SmallestDescription('base = "a"'),
    "description-unmatched": SmallestDescription("[pose.joints]\na = 0"),
    "description-gains": SmallestDescription(f'{_I}control = "position"'),
    "description-limit": SmallestDescription(f"{_I}stiffness = 1\ntarget = 2"),
    "description-coupled": SmallestDescription('[[joints]]\nmatch = "j"\ndamping = 1'),
    "description-lost": SmallestDescription(
        f"{_I}armature = 1", options=ConvertOptions(profile=Profile.USDPHYSICS)
    ),
    "description-variants": SmallestDescription(
        f"{_I}armature = 1",
        options=ConvertOptions(profile=Profile.SIMREADY, physics_variants=True),
    ),
    "srdf-invalid": SmallestDescription('[filters]\nsrdf = "robot.srdf"', srdf="<a/>"),
    "collision-overlap": SmallestDescription("[filters]\noverlap = true", _balls(1.1)),
    "collision-touch": SmallestDescription("[filters]\noverlap = true", _balls(1.0)),
}
