"""What a robot's page draws: both readings as models that can be moved.

Plain data, as :mod:`urdf_usd.conformance.records.record` is; a scene shows, and proves
nothing. Lengths are in metres, angles in radians, and every frame is the link's. The
page decodes a scene in the browser, so arrays travel as base64.
"""

from __future__ import annotations

import base64
import gzip
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

SCENE_VERSION = "1.1"

Vec3 = tuple[float, float, float]
# Rows of an affine map, without the last.
Affine = tuple[
    float, float, float, float,
    float, float, float, float,
    float, float, float, float,
]  # fmt: skip


class MotionKind(StrEnum):
    """How one coordinate of a joint moves the child."""

    TURN = "turn"
    SLIDE = "slide"


class _Data(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all parts of a scene."""


class Motion(_Data, frozen=True, kw_only=True):
    """One coordinate of a joint.

    Attributes:
        kind: Turn about the axis or slide along it.
        label: What tells it from the joint's other coordinates.
        axis: Unit vector in the child's frame.
        lower: Least position that can be chosen [rad or m]; finite.
        upper: Greatest, likewise.
    """

    kind: MotionKind
    label: str
    axis: Vec3
    lower: float
    upper: float


class Coupling(_Data, frozen=True, kw_only=True):
    """Position = multiplier * that of the leader + offset."""

    leader: str
    multiplier: float
    offset: float


class SceneJoint(_Data, frozen=True, kw_only=True):
    """One joint; the child lies at parent * rest * motions.

    Attributes:
        rest: Pose of the child in the parent's frame at zero.
        anchor: A point of the axes in the child's frame [m].
        motions: One per coordinate, in the order in which they act.
    """

    name: str
    parent: str
    child: str
    rest: Affine
    anchor: Vec3
    motions: tuple[Motion, ...]
    mimic: Coupling | None = None


class SceneShape(_Data, frozen=True, kw_only=True):
    """One shape of a link.

    Attributes:
        role: ``visual`` or ``collision``.
        kind: ``mesh`` or the name of a solid that stands along Z.
        size: Measures of a solid, as in
            :class:`~urdf_usd.conformance.observation.shapes.ShapeObservation`.
        mesh: Index of the mesh; None for solids.
        matrix: From the shape's own frame to the link's.
        color: Linear red, green, blue and opacity; None if nothing says.
    """

    role: str
    kind: str
    matrix: Affine
    size: tuple[float, ...] = ()
    mesh: int | None = None
    color: tuple[float, float, float, float] | None = None


class SceneLink(_Data, frozen=True, kw_only=True):
    """One link.

    Attributes:
        center: Centre of mass [m]; None if it has no mass of its own.
        ellipsoid: Map of the unit sphere to the solid ellipsoid of even density that
            has the link's mass and inertia; None if no solid has.
    """

    name: str
    center: Vec3 | None = None
    ellipsoid: Affine | None = None
    shapes: tuple[SceneShape, ...] = ()


class SceneModel(_Data, frozen=True, kw_only=True):
    """One reading of the robot; parents come before their children.

    Attributes:
        side: ``urdf`` or ``usd``.
        reader: Engine whose word it is.
    """

    side: str
    reader: str
    root: str
    links: tuple[SceneLink, ...]
    joints: tuple[SceneJoint, ...]


class SceneMesh(_Data, frozen=True, kw_only=True):
    """Triangles of a shape, coarsened for the page.

    Attributes:
        positions: Base64 of (N, 3) little-endian uint16 steps from the origin.
        origin: Least coordinates [m].
        step: Length of a step along each axis [m].
        indices: Base64 of (M, 3) little-endian uint16, or uint32 if ``wide``.
        wide: Whether indices take four bytes.
        triangles: Number that the file has.
        drawn: Number that is drawn, M.
    """

    positions: str
    origin: Vec3
    step: Vec3
    indices: str
    wide: bool
    triangles: int
    drawn: int


class SceneConfiguration(_Data, frozen=True, kw_only=True):
    """Positions of all joints at which the robot was compared."""

    label: str
    positions: dict[str, tuple[float, ...]]


class LinkErrors(_Data, frozen=True, kw_only=True):
    """How far apart the two readings put each link, in each configuration.

    Attributes:
        links: Names of the L links that both have.
        configurations: What each of the K configurations is.
        positions: K rows of L distances [m]; None where one is not finite.
        rotations: Angles [rad], likewise.
    """

    links: tuple[str, ...]
    configurations: tuple[str, ...]
    positions: tuple[tuple[float | None, ...], ...]
    rotations: tuple[tuple[float | None, ...], ...]


class Agreement(_Data, frozen=True, kw_only=True):
    """How far apart two engines put the links, of whichever side they are.

    Attributes:
        position: Largest distance between two frames of one link [m].
        link: Where that is; None where they agree in every digit.
    """

    engines: tuple[str, str]
    position: float
    link: str | None = None


class Scene(_Data, frozen=True, kw_only=True):
    """Everything that a page draws.

    Attributes:
        mark: Length of the axes of a frame [m].
        notes: What is not drawn, or coarser than it is.
        errors: Where the links of the two models are apart, if both were read.
        agreements: Every two engines that state where links are.
    """

    version: str = SCENE_VERSION
    mark: float
    models: tuple[SceneModel, ...]
    meshes: tuple[SceneMesh, ...] = ()
    configurations: tuple[SceneConfiguration, ...] = ()
    notes: tuple[str, ...] = ()
    errors: LinkErrors | None = None
    agreements: tuple[Agreement, ...] = ()


def pack_scene(scene: Scene) -> bytes:
    """Encode a scene; the same scene gives the same bytes."""
    # A third faster than the best level, and a hundredth longer.
    return gzip.compress(msgspec.json.encode(scene), compresslevel=4, mtime=0)


def unpack_scene(packed: bytes) -> Scene:
    """Decode a scene.

    Raises:
        msgspec.DecodeError: It is not one.
        OSError: It is damaged.
    """
    return msgspec.json.decode(gzip.decompress(packed), type=Scene)


def scene_path(run: Path, robot: str) -> Path:
    """Where the folder of a run keeps the scene of a robot."""
    return run / "scenes" / f"{robot}.gz"


def write_scene(scene: Scene, path: Path) -> None:
    """Write a packed scene, and the folder it lies in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pack_scene(scene))


def scene_text(packed: bytes) -> str:
    """Return a packed scene as text that a page can hold."""
    return base64.b64encode(packed).decode("ascii")
