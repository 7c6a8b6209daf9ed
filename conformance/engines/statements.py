"""What engines share: vectors, tensors and rotations, positions of joints, frames, observations.

Rigid transforms are (..., 4, 4) matrices that act on column vectors. It shares no code with the
converter, so that an error of one side is not repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from msgspec import structs
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.observation import robot as obs

if TYPE_CHECKING:
    from urdf_usd.conformance.engines.prepared_urdf import UrdfCopy
    from urdf_usd.conformance.engines.protocol import Request

Array: TypeAlias = NDArray[np.float64]
# (L, 3) origins and (L, 3, 3) rotations in a common frame.
Placed: TypeAlias = tuple[Array, Array]

# What every engine of a URDF states.
OF_ANY_URDF = frozenset(
    {
        obs.Quantity.LINKS,
        obs.Quantity.JOINTS,
        obs.Quantity.JOINT_TYPES,
        obs.Quantity.FRAMES,
        obs.Quantity.MASS,
        obs.Quantity.LIMITS,
        obs.Quantity.DYNAMICS,
    }
)
# Components of a quaternion that differ by less are equal.
_TIE = 1e-9
# Where the six different numbers of a symmetric (3, 3) matrix are.
_UPPER = np.triu_indices(3)


def vec3(values: ArrayLike) -> obs.Vec3:
    x, y, z = np.asarray(values, dtype=np.float64).tolist()
    return x, y, z


def vec6(tensor: ArrayLike) -> obs.Vec6:
    """Return (ixx, ixy, ixz, iyy, iyz, izz) of a symmetric (3, 3) tensor."""
    ixx, ixy, ixz, iyy, iyz, izz = np.asarray(tensor, np.float64)[_UPPER].tolist()
    return ixx, ixy, ixz, iyy, iyz, izz


def matrices(quats_wxyz: ArrayLike) -> Array:
    """Convert (..., 4) quaternions wxyz to (..., 3, 3) matrices.

    Quaternions are normalised; one that is zero or not finite becomes NaN: an engine that
    reports it states no pose.
    """
    return matrices_of_xyzw(np.asarray(quats_wxyz, np.float64)[..., [1, 2, 3, 0]])


def matrices_of_xyzw(quats_xyzw: ArrayLike) -> Array:
    """Convert (..., 4) quaternions xyzw to (..., 3, 3) matrices, as :func:`matrices`."""
    quats = np.asarray(quats_xyzw, np.float64)
    valid = np.isfinite(quats).all(axis=-1) & quats.any(axis=-1)
    found = np.full((*quats.shape[:-1], 3, 3), np.nan)
    found[valid] = Rotation.from_quat(quats[valid]).as_matrix()
    return found


def quats_wxyz(rotations: ArrayLike) -> Array:
    """Convert (..., 3, 3) rotation matrices to (..., 4) unit quaternions wxyz.

    Of two opposite quaternions, that in which the first of the largest components is positive.
    """
    given = np.asarray(rotations, np.float64)
    # Rotations of engines in single precision are orthogonal only up to rounding.
    turns = Rotation.from_matrix(given.reshape(-1, 3, 3), assume_valid=True)
    quats: Array = turns.as_quat(scalar_first=True)
    sizes = np.abs(quats)
    first = np.argmax(sizes > sizes.max(axis=1, initial=0.0, keepdims=True) - _TIE, axis=1)
    quats *= np.where(np.take_along_axis(quats, first[:, np.newaxis], axis=1) < 0.0, -1.0, 1.0)
    return quats.reshape(*given.shape[:-2], 4)


def along_link(moments: ArrayLike, rotation: Array) -> Array:
    """Return the (3, 3) inertia tensor of principal moments along the columns of a rotation."""
    tensor: Array = rotation @ np.diag(np.asarray(moments, float)) @ rotation.T
    return tensor


def mass_properties(mass: float, center: ArrayLike, tensor: ArrayLike) -> obs.MassProperties | None:
    """Return mass properties of arrays; None without mass or inertia."""
    if not mass and not np.any(tensor):
        return None
    return obs.MassProperties(float(mass), vec3(center), vec6(tensor))


def moving_joints(joints: Iterable[obs.JointObservation]) -> tuple[str, ...]:
    return tuple(joint.name for joint in joints if obs.COORDINATES[joint.type])


def read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def build_frames(
    links: Sequence[str], configurations: obs.Configurations, place: Callable[[int], Placed]
) -> obs.Frames:
    """Build the poses of L links relative to the first of them, the root.

    ``place`` sets the engine to the configuration of an index and returns their poses.
    """
    positions = np.empty((configurations.count, len(links), 3))
    rotations = np.empty((configurations.count, len(links), 3, 3))
    for row in range(configurations.count):
        origins, turns = place(row)
        to_root = turns[0].T
        positions[row] = (origins - origins[0]) @ to_root.T
        rotations[row] = to_root @ turns
    arrays = read_only(positions), read_only(rotations)
    return obs.Frames(tuple(links), *arrays, configurations.labels)


def settable_positions(
    joints: Iterable[obs.JointObservation], configurations: obs.Configurations
) -> dict[str, Array]:
    """Return (K, d) positions of the joints that the engine states with d coordinates."""
    width = {joint.name: obs.COORDINATES[joint.type] for joint in joints}
    return {
        name: positions
        for name, positions in zip(configurations.joints, configurations.positions, strict=True)
        if width.get(name) == positions.shape[1]
    }


def unreachable_joints(
    joints: Iterable[obs.JointObservation],
    configurations: obs.Configurations,
    immovable: frozenset[obs.JointType] = frozenset(),
) -> tuple[str, ...]:
    """Name joints that the engine cannot set to the configurations.

    The engine lacks them, states a type with other coordinates, or cannot set their type: one of
    ``immovable``. Joints that are zero in all configurations are left out.
    """
    movable = (joint for joint in joints if joint.type not in immovable)
    settable = settable_positions(movable, configurations)
    return tuple(
        name
        for name, positions in zip(configurations.joints, configurations.positions, strict=True)
        if name not in settable and np.any(positions != positions[0])
    )


def reachable_links(
    root: str, joints: Iterable[obs.JointObservation], blocked: Sequence[str]
) -> tuple[str, ...]:
    """Return the links that no ``blocked`` joint carries, parents before children."""
    children: dict[str, list[str]] = {}
    for joint in joints:
        if joint.name not in blocked:
            children.setdefault(joint.parent, []).append(joint.child)
    reached = [root]
    for link in reached:
        reached += children.get(link, ())
    return tuple(reached)


def blocked_note(engine: str, blocked: Sequence[str]) -> tuple[str, ...]:
    note = f"{engine} cannot set joint {', '.join(blocked)}; "
    return (f"{note}frames of the links that it carries are not stated.",) if blocked else ()


def with_frames(
    reading: obs.Observation,
    engine: str,
    urdf: UrdfCopy,
    request: Request,
    frames: Callable[[tuple[str, ...]], obs.Frames | None],
    immovable: frozenset[obs.JointType] = frozenset(),
) -> obs.Observation:
    """Complete the observation of a prepared copy: its frames, and what the copy changed.

    ``frames`` returns the poses of links; joints of the types ``immovable`` cannot be set.
    """
    blocked = unreachable_joints(reading.joints, request.configurations, immovable)
    return structs.replace(
        reading,
        robot=None if urdf.robot_unnamed else reading.robot,
        frames=frames(reachable_links(reading.root, reading.joints, blocked)),
        unread_masses=tuple(sorted(urdf.mass_unknown)),
        notes=(*urdf.notes, *reading.notes, *blocked_note(engine, blocked)),
    )


def turns(axis: int, angles: Array) -> Array:
    """Return (K, 3, 3) rotations by K angles [rad] about a coordinate axis."""
    turned: Array = Rotation.from_rotvec(angles[:, np.newaxis] * np.eye(3)[axis]).as_matrix()
    return turned


def transforms(
    rotation: Array | None = None, position: Array | Sequence[float] | None = None
) -> Array:
    """Return (..., 4, 4) transforms of rotations and positions, where given."""
    rotation = np.eye(3) if rotation is None else rotation
    position = np.zeros(3) if position is None else np.asarray(position)
    shape = np.broadcast_shapes(rotation.shape[:-2], position.shape[:-1])
    result = np.zeros((*shape, 4, 4))
    result[..., :3, :3] = rotation
    result[..., :3, 3] = position
    result[..., 3, 3] = 1.0
    return result


def inverses(rigid: Array) -> Array:
    """Return the inverses of (..., 4, 4) rigid transforms."""
    transposed = np.swapaxes(rigid[..., :3, :3], -1, -2)
    moved = np.einsum("...ij,...j->...i", transposed, rigid[..., :3, 3])
    return transforms(transposed, -moved)


def rigid_part(matrix: Array) -> Array:
    """Return the rigid transform in a (4, 4) matrix that may also scale and shear.

    A mirroring matrix is read as a negative scale along all three axes, the way USD
    factors it.
    """
    linear = matrix[:3, :3]
    mirror = -1.0 if np.linalg.det(linear) < 0.0 else 1.0
    left, _, right = np.linalg.svd(mirror * linear)
    return transforms(left @ right, matrix[:3, 3])


def separation(first: Array, second: Array) -> tuple[float, float]:
    """Return distance and angle [rad] between two (4, 4) rigid transforms."""
    relative = inverses(first) @ second
    angle = Rotation.from_matrix(relative[:3, :3]).magnitude()
    return float(np.linalg.norm(relative[:3, 3])), float(angle)
