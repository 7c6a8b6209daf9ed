"""Cases of the feature suite: ``corpus/suite/<version>/<chapter>/<case>.json``."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

# JSON has no infinite numbers.
Number: TypeAlias = float | Literal["inf", "-inf"]
Vector: TypeAlias = tuple[float, float, float]
Quaternion: TypeAlias = tuple[float, float, float, float]
Tensor: TypeAlias = tuple[float, float, float, float, float, float]


class Requirement(StrEnum):
    """Whether a converter must or should have the expected values."""

    MUST = "must"
    SHOULD = "should"


class _Part(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Part of a case; a field that is not stated is not compared."""


class MimicValues(_Part, frozen=True, kw_only=True):
    """Coupling: position = multiplier * position of the leader + offset."""

    joint: str  # the leader
    multiplier: float  # ratio of both positions
    offset: float  # position where the leader is at zero [rad or m]


class JointValues(_Part, frozen=True, kw_only=True):
    """Values of a joint in SI units; null means that the USD states none."""

    type: str | UnsetType = UNSET  # type, named as in URDF
    parent: str | UnsetType = UNSET  # parent link
    child: str | UnsetType = UNSET  # child link
    lower: Number | UnsetType = UNSET  # lower limit [rad or m]; ``-inf`` if unlimited
    upper: Number | UnsetType = UNSET  # upper limit [rad or m]; ``inf`` if unlimited
    effort: float | UnsetType | None = UNSET  # largest force [N or N m]
    velocity: float | UnsetType | None = UNSET  # largest speed [rad/s or m/s]
    damping: float | UnsetType | None = UNSET  # [N m s/rad or N s/m]; null and 0 are equal
    friction: float | UnsetType | None = UNSET  # [N m or N]; likewise
    mimic: MimicValues | UnsetType | None = UNSET  # coupling
    axis: Vector | UnsetType = UNSET  # unit vector in the frame of the child


class BodyValues(_Part, frozen=True, kw_only=True):
    """Mass properties of links that are welded together, or of one link.

    They are the sum over the links, in whatever bodies a USD has for them.
    """

    links: tuple[str, ...]  # the links; values are in the frame of the first
    mass: float | UnsetType = UNSET  # [kg]
    mass_below: float | UnsetType = UNSET  # the mass is positive and below this [kg]
    com: Vector | UnsetType = UNSET  # centre of mass [m]
    # (ixx, ixy, ixz, iyy, iyz, izz) about the centre of mass [kg m^2]
    inertia: Tensor | UnsetType = UNSET


class FrameValues(_Part, frozen=True, kw_only=True):
    """Pose of a link frame in the frame of the root link."""

    position: Vector | UnsetType = UNSET  # origin [m]
    # unit quaternion of the rotation from the link's frame
    rotation_wxyz: Quaternion | UnsetType = UNSET


class PoseValues(_Part, frozen=True, kw_only=True):
    """Poses of links at one configuration."""

    # position of each joint that is not at zero [rad or m]; planar: x, y and z in the joint frame,
    # then the angle; floating: x, y, z, then quaternion wxyz. Joints that mimic others are listed
    # with the positions that follow.
    q: dict[str, float | tuple[float, ...]] = {}
    links: dict[str, FrameValues]  # pose of each link that is compared


class AppearanceValues(_Part, frozen=True, kw_only=True):
    """Colour, opacity and texture of a shape, or of a part of it."""

    area: float | UnsetType = UNSET  # of the part [m^2]
    # linear RGB: sRGB components c of URDF are ((c + 0.055) / 1.055) ** 2.4 above 0.04045, else c /
    # 12.92
    color: Vector | UnsetType | None = UNSET
    opacity: float | UnsetType = UNSET  # in [0, 1]
    texture: str | UnsetType | None = UNSET  # SHA-256 of the image file


class ShapeValues(_Part, frozen=True, kw_only=True):
    """One shape, in the frame of its link."""

    kind: str | UnsetType = UNSET  # ``box``, ``cylinder``, ``capsule``, ``sphere`` or ``mesh``
    # edges of a box; radius and length along Z, without caps, of a cylinder or capsule; radius of
    # a sphere [m]
    size: tuple[float, ...] | UnsetType = UNSET
    position: Vector | UnsetType = UNSET  # origin of the shape [m]
    lower: Vector | UnsetType = UNSET  # least coordinates [m]
    upper: Vector | UnsetType = UNSET  # greatest coordinates [m]
    # volume that the surface encloses; negative if faces point inwards [m^3]
    volume: float | UnsetType = UNSET
    area: float | UnsetType = UNSET  # [m^2]
    # of a visual: one per part of equal appearance
    appearances: tuple[AppearanceValues, ...] | UnsetType = UNSET


class Expected(_Part, frozen=True, kw_only=True):
    """What a converter makes of a URDF; only what is stated is compared."""

    refused: bool = False  # whether the file is no robot that USD can have: no USD is written
    # rules that urdf-usd reports; not compared with other converters
    diagnostics: tuple[str, ...] = ()
    name: str | UnsetType = UNSET  # name of the robot
    root: str = "base"  # root link, in whose frame poses are
    # ``fixed`` to the world, ``floating``, or ``static`` without moving bodies
    base: Literal["fixed", "floating", "static"] | UnsetType = UNSET
    links: tuple[str, ...] | UnsetType = UNSET  # links that exist, as bodies or as frames
    dofs: tuple[str, ...] | UnsetType = UNSET  # all joints that move
    total_mass: float | UnsetType = UNSET  # of all bodies [kg]
    articulation_roots: int | UnsetType = UNSET  # number of articulation roots
    joints: dict[str, JointValues] = {}  # values of joints, by name
    bodies: tuple[BodyValues, ...] = ()  # mass properties
    poses: tuple[PoseValues, ...] = ()  # poses of links
    # all collision shapes of a link, by link, in any order
    colliders: dict[str, tuple[ShapeValues, ...]] = {}
    visuals: dict[str, tuple[ShapeValues, ...]] = {}  # all visual shapes, likewise


class Case(_Part, frozen=True, kw_only=True):
    """One case: what it shows, where that is specified, and the expected values."""

    shows: str  # what it shows, in one sentence
    clause: str  # section of a specification, or document, that it comes from
    requirement: Requirement  # whether the values must or should be as expected
    derivation: str | None = None  # how values were worked out, unless they are in the URDF
    expected: Expected  # the values


def read_case(text: str) -> Case:
    return msgspec.json.decode(text, type=Case)
