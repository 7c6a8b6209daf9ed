"""Models of a scene from observations: trees, motions, mass."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from urdf_usd.conformance.observation.robot import (
    Configurations,
    JointObservation,
    JointType,
    MassProperties,
    Observation,
)
from urdf_usd.reports.records.scene import (
    Affine,
    Coupling,
    Motion,
    MotionKind,
    SceneConfiguration,
    SceneJoint,
    SceneLink,
    SceneModel,
    SceneShape,
    Vec3,
)

Array = NDArray[np.float64]

# Half the range of the slider of an unlimited joint [rad, m].
_HALF_TURN = math.pi
_OPEN_SLIDE = 0.5
# Limits beyond this are ignored for a slider [rad or m].
_FAR = 100.0
_COORDINATES: tuple[Vec3, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def build_model(
    side: str,
    observation: Observation,
    shapes: Mapping[str, Sequence[SceneShape]],
    normals: Mapping[str, Vec3],
) -> SceneModel:
    """Build the model of a side, ``urdf`` or ``usd``.

    Args:
        side: The side.
        observation: Has frames at the zero configuration.
        shapes: By link.
        normals: Axes of planar joints in the child's frame, by joint: they define the
            two directions in the plane, equal in both models.
    """
    poses = _rest_poses(observation)
    joints = _parents_first(observation, poses)
    reached = {observation.root, *(joint.child for joint in joints)}
    return SceneModel(
        side=side,
        reader=observation.engine,
        root=observation.root,
        links=tuple(
            SceneLink(
                name=link.name,
                center=link.mass.center if link.mass and link.mass.mass > 0 else None,
                ellipsoid=inertia_ellipsoid(link.mass) if link.mass else None,
                shapes=tuple(shapes.get(link.name, ())),
            )
            for link in observation.links
            if link.name in reached
        ),
        joints=tuple(_joint(joint, poses, normals) for joint in joints),
    )


def scene_configurations(
    configurations: Configurations,
) -> tuple[SceneConfiguration, ...]:
    """Return positions by joint, of joints with one coordinate."""
    return tuple(
        SceneConfiguration(
            label=label,
            positions={
                joint: tuple(float(value) for value in positions[row])
                for joint, positions in zip(
                    configurations.joints, configurations.positions, strict=True
                )
                if positions.shape[1] == 1
            },
        )
        for row, label in enumerate(configurations.labels)
    )


def inertia_ellipsoid(mass: MassProperties) -> Affine | None:
    """Return the transform of the unit sphere to the ellipsoid of a link's inertia.

    A solid ellipsoid of mass m and semi-axes a, b, c has the moments m (b^2 + c^2) / 5
    and so on, so a^2 = 5 (B + C - A) / (2 m).
    """
    if mass.inertia is None or not mass.mass > 0:
        return None
    ixx, ixy, ixz, iyy, iyz, izz = mass.inertia
    tensor = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    if not np.isfinite(tensor).all():
        return None
    moments, axes = np.linalg.eigh(tensor)
    squares = 2.5 * (moments.sum() - 2.0 * moments) / mass.mass
    largest = float(squares.max())
    if not (largest > 0 and math.isfinite(largest)):
        return None
    # Rods and plates are drawn as thin solids; impossible inertia is not drawn.
    if float(squares.min()) < -1e-6 * largest:
        return None
    lengths = np.sqrt(np.maximum(squares, 1e-4 * largest))
    matrix = np.eye(4)
    matrix[:3, :3] = axes * lengths
    matrix[:3, 3] = mass.center
    return affine(matrix)


def affine(matrix: Array) -> Affine:
    """Return the first three rows of a (4, 4) matrix."""
    a, b, c, d, e, f, g, h, i, j, k, m = matrix[:3].ravel().tolist()
    return a, b, c, d, e, f, g, h, i, j, k, m


def _rest_poses(observation: Observation) -> dict[str, Array]:
    frames = observation.frames
    if frames is None:
        return {}
    poses = {}
    for index, name in enumerate(frames.links):
        pose = np.eye(4)
        pose[:3, :3] = frames.rotations[0, index]
        pose[:3, 3] = frames.positions[0, index]
        poses[name] = pose
    return poses


def _parents_first(observation: Observation, poses: Mapping[str, Array]) -> list[JointObservation]:
    below: dict[str, list[JointObservation]] = {}
    for joint in observation.joints:
        if joint.parent in poses and joint.child in poses:
            below.setdefault(joint.parent, []).append(joint)
    ordered: list[JointObservation] = []
    seen = {observation.root}
    waiting = [observation.root]
    while waiting:
        for joint in below.get(waiting.pop(), ()):
            if joint.child not in seen:
                seen.add(joint.child)
                ordered.append(joint)
                waiting.append(joint.child)
    return ordered


def _joint(
    joint: JointObservation, poses: Mapping[str, Array], normals: Mapping[str, Vec3]
) -> SceneJoint:
    mimic = joint.mimic
    return SceneJoint(
        name=joint.name,
        parent=joint.parent,
        child=joint.child,
        rest=affine(np.linalg.inv(poses[joint.parent]) @ poses[joint.child]),
        anchor=joint.anchor,
        motions=tuple(_motions(joint, normals.get(joint.name))),
        mimic=Coupling(leader=mimic.leader, multiplier=mimic.multiplier, offset=mimic.offset)
        if mimic
        else None,
    )


def _motions(joint: JointObservation, normal: Vec3 | None) -> list[Motion]:
    match joint.type:
        case JointType.REVOLUTE | JointType.CONTINUOUS if joint.axis:
            return [_turn("turn", joint.axis, *_span(joint, _HALF_TURN))]
        case JointType.PRISMATIC if joint.axis:
            return [_slide("slide", joint.axis, *_span(joint, _OPEN_SLIDE))]
        case JointType.PLANAR if joint.axis:
            first, second = _plane(normal or joint.axis)
            return [
                _slide("first direction", first, -_OPEN_SLIDE, _OPEN_SLIDE),
                _slide("second direction", second, -_OPEN_SLIDE, _OPEN_SLIDE),
                _turn("turn", joint.axis, -_HALF_TURN, _HALF_TURN),
            ]
        case JointType.SPHERICAL:
            return [
                _turn(f"about {name}", axis, -_HALF_TURN, _HALF_TURN)
                for name, axis in zip("XYZ", _COORDINATES, strict=True)
            ]
        case _:
            return []


def _turn(label: str, axis: Vec3, lower: float, upper: float) -> Motion:
    return Motion(kind=MotionKind.TURN, label=label, axis=axis, lower=lower, upper=upper)


def _slide(label: str, axis: Vec3, lower: float, upper: float) -> Motion:
    return Motion(kind=MotionKind.SLIDE, label=label, axis=axis, lower=lower, upper=upper)


def _span(joint: JointObservation, most: float) -> tuple[float, float]:
    """Return the range of a slider: the limits, if there are any."""
    lower, upper = joint.lower, joint.upper
    if lower is None or upper is None or lower > upper:
        return -most, most
    if abs(lower) > _FAR:
        lower = min(-most, upper - most) if abs(upper) <= _FAR else -most
    if abs(upper) > _FAR:
        upper = max(most, lower + most)
    return lower, upper


def _plane(normal: Vec3) -> tuple[Vec3, Vec3]:
    across = np.eye(3)[int(np.argmin(np.abs(normal)))]
    first = np.cross(normal, across)
    first /= np.linalg.norm(first)
    x, y, z = first.tolist()
    u, v, w = np.cross(normal, first).tolist()
    return (x, y, z), (u, v, w)
