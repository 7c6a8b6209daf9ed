"""The 3D scene of a robot's page: URDF and USD as articulated models, in metres and radians.

Frames are link frames. The page decodes a scene in the browser, so arrays are base64.
"""

from __future__ import annotations

import gzip
import zlib
from enum import StrEnum
from pathlib import Path

import msgspec

from urdf_usd.reports.records.results import write_atomically

SCENE_VERSION = "1.1"

Vec3 = tuple[float, float, float]
# Rows of an affine map, without the last.
Affine = tuple[
    float, float, float, float,
    float, float, float, float,
    float, float, float, float,
]  # fmt: skip


class SceneError(ValueError):
    """A file is not a scene, or it is damaged."""


class MotionKind(StrEnum):
    TURN = "turn"
    SLIDE = "slide"


class _Data(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all parts of a scene."""


class Motion(_Data, frozen=True, kw_only=True):
    kind: MotionKind  # turn about the axis or slide along it
    label: str  # label of the coordinate in the page
    axis: Vec3  # unit vector in the child's frame
    lower: float  # lower end of the slider [rad or m]; finite
    upper: float  # upper end, likewise


class Coupling(_Data, frozen=True, kw_only=True):
    """Position = multiplier * that of the leader + offset."""

    leader: str
    multiplier: float
    offset: float


class SceneJoint(_Data, frozen=True, kw_only=True):
    """One joint; the child lies at parent * rest * motions."""

    name: str
    parent: str
    child: str
    rest: Affine  # pose of the child in the parent's frame at zero
    anchor: Vec3  # a point of the axes in the child's frame [m]
    motions: tuple[Motion, ...]  # one per coordinate, in the order in which they act
    mimic: Coupling | None = None


class SceneShape(_Data, frozen=True, kw_only=True):
    role: str  # ``visual`` or ``collision``
    kind: str  # ``mesh`` or the name of a primitive along Z
    matrix: Affine  # from the shape's own frame to the link's
    # size of a primitive, as in :class:`~urdf_usd.conformance.observation.shapes.ShapeObservation`
    size: tuple[float, ...] = ()
    mesh: int | None = None  # index of the mesh; None for primitives
    # linear red, green, blue and opacity; None if absent
    color: tuple[float, float, float, float] | None = None


class SceneLink(_Data, frozen=True, kw_only=True):
    name: str
    center: Vec3 | None = None  # centre of mass [m]; None if it has no own mass
    # transform of the unit sphere to the solid ellipsoid with the link's mass and inertia; None if
    # there is none
    ellipsoid: Affine | None = None
    shapes: tuple[SceneShape, ...] = ()


class SceneModel(_Data, frozen=True, kw_only=True):
    """One model of the robot; parents come before their children."""

    side: str  # ``urdf`` or ``usd``
    reader: str  # name of the engine
    root: str
    links: tuple[SceneLink, ...]
    joints: tuple[SceneJoint, ...]


class SceneMesh(_Data, frozen=True, kw_only=True):
    """Triangles of a shape, coarsened for the page."""

    positions: str  # Base64 of (N, 3) little-endian uint16 steps from the origin
    origin: Vec3  # least coordinates [m]
    step: Vec3  # length of a step along each axis [m]
    indices: str  # Base64 of (M, 3) little-endian uint16, or uint32 if ``wide``
    wide: bool  # whether indices take four bytes
    triangles: int  # number in the file
    drawn: int  # number in the page, M


class SceneConfiguration(_Data, frozen=True, kw_only=True):
    """Positions of all joints at which the robot was compared."""

    label: str
    positions: dict[str, tuple[float, ...]]


class LinkErrors(_Data, frozen=True, kw_only=True):
    """Pose differences of each link in each configuration."""

    links: tuple[str, ...]  # names of the L links of both models
    configurations: tuple[str, ...]  # names of the K configurations
    # K rows of L distances [m]; None where one is not finite
    positions: tuple[tuple[float | None, ...], ...]
    rotations: tuple[tuple[float | None, ...], ...]  # angles [rad], likewise


class Agreement(_Data, frozen=True, kw_only=True):
    """Largest distance of link frames of two engines."""

    engines: tuple[str, str]
    position: float  # largest distance between two frames of one link [m]
    link: str | None = None  # name of that link; None if all distances are zero


class Scene(_Data, frozen=True, kw_only=True):
    version: str = SCENE_VERSION
    mark: float  # length of the axes of a frame [m]
    models: tuple[SceneModel, ...]
    meshes: tuple[SceneMesh, ...] = ()
    configurations: tuple[SceneConfiguration, ...] = ()
    notes: tuple[str, ...] = ()  # on shapes that are missing or simplified
    errors: LinkErrors | None = None  # pose differences of the two models, if both were read
    agreements: tuple[Agreement, ...] = ()  # one per pair of engines that state link frames


def pack_scene(scene: Scene) -> bytes:
    # A third faster than the best level, and 1 % larger.
    return gzip.compress(msgspec.json.encode(scene), compresslevel=4, mtime=0)


def unpack_scene(packed: bytes) -> Scene:
    try:
        return msgspec.json.decode(gzip.decompress(packed), type=Scene)
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        raise SceneError(f"not a scene: {error}") from error


def scene_path(run: Path, robot: str) -> Path:
    return run / "scenes" / f"{robot}.gz"


def write_scene(scene: Scene, path: Path) -> None:
    write_atomically(path, pack_scene(scene))
