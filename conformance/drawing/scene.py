"""The 3D scene of a robot: URDF and USD, drawn from their files, and how far links are apart."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

import fast_simplification
import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from urdf_usd.conformance.checks.kinematics import angles
from urdf_usd.conformance.engines.statements import transforms, vec3
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.sampling import plane
from urdf_usd.conformance.observation.shapes import Drawing, Role, ShapeKind, ShapeObservation
from urdf_usd.conformance.tolerance import tensor_of
from urdf_usd.reports.records import scene as records

Array: TypeAlias = NDArray[np.float64]
_Faces: TypeAlias = NDArray[np.integer]

# Half the range of the slider of an unlimited joint [rad, m].
_HALF_TURN, _OPEN_SLIDE = math.pi, 0.5
# Limits beyond this are ignored for a slider [rad or m].
_FAR = 100.0
_AXES: dict[str, records.Vec3] = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
# Triangles per side: a page stays below 5 MB even if no mesh is shared.
TRIANGLES = 40_000
# Length of the axes of a frame, relative to the robot's size.
_MARK = 0.05
_HARDLY = 0.98
# Significant digits in the page.
_DIGITS = 3

_STEPS = 65535
# Grids on which points are merged before edges are collapsed, which takes fifty times as long, if
# there are more triangles than this, or more than this many times the share remain: edges of
# slivers are not collapsed, as their faces would turn over.
_COARSER = (1024, 512, 256, 128, 64, 32)
_COLLAPSED = 20_000
_LEFT = 3
# Diagonal of a mesh while its edges are collapsed.
_UNITS = 100.0
# Finest grid for three coordinates in one 64-bit integer.
_FINE = 2**21 - 1
# Meshes with at most this many triangles are not decimated.
_SPARED = 400


def draw_scene(
    drawings: Mapping[str, Sequence[Drawing]],
    readings: Mapping[str, obs.Observation],
    frames: Mapping[str, obs.Frames],
    configurations: obs.Configurations,
) -> records.Scene:
    """Draw both models of a robot.

    ``readings`` are observations of the sides ``urdf`` and ``usd`` that were read, ``frames`` those
    of all engines.
    """
    meshes, indices = _meshes({side: drawings[side] for side in readings})
    coarse = sum(mesh.drawn < _HARDLY * mesh.triangles for mesh in meshes)
    fewer = f"{coarse} meshes are drawn with fewer triangles. The comparison uses all of them."
    normals = {
        joint.name: joint.axis
        for reading in readings.values()
        for joint in reading.joints
        if joint.type is obs.JointType.PLANAR and joint.axis
    }
    missing = sorted({"urdf", "usd"} - readings.keys())
    first, second = (readings[s].frames if s in readings else None for s in ("urdf", "usd"))
    columns = dict(zip(configurations.joints, configurations.positions, strict=True))
    return records.Scene(
        mark=_MARK * _size(readings.values()),
        models=tuple(
            build_model(side, reading, _by_link(drawings[side], reading.shapes, indices), normals)
            for side, reading in readings.items()
        ),
        meshes=meshes,
        configurations=tuple(
            records.SceneConfiguration(
                label=label,
                # Of joints with one coordinate.
                positions={
                    joint: tuple(positions[row].tolist())
                    for joint, positions in columns.items()
                    if positions.shape[1] == 1
                },
            )
            for row, label in enumerate(configurations.labels)
        ),
        notes=(
            *([fewer] if coarse else []),
            *(f"The {x.upper()} could not be read." for x in missing),
        ),
        errors=link_errors(first, second, configurations.labels) if first and second else None,
        agreements=agreements(frames),
    )


def _meshes(
    drawings: Mapping[str, Sequence[Drawing]],
) -> tuple[tuple[records.SceneMesh, ...], dict[tuple[int, int], int]]:
    """Decimate the meshes of both sides; return them, and indices by the identities of arrays."""
    made: dict[bytes, records.SceneMesh] = {}
    known: dict[records.SceneMesh, int] = {}
    places: dict[tuple[int, int], int] = {}
    for drawn in drawings.values():
        meshes = {_arrays(one): one for one in drawn if one.kind is ShapeKind.MESH}
        targets = shares([len(one.triangles) for one in meshes.values()], TRIANGLES)
        for (arrays, one), target in zip(meshes.items(), targets, strict=True):
            if coarse := coarsen(one.points, one.triangles, target, made):
                places[arrays] = known.setdefault(coarse, len(known))
    return tuple(known), places


def _arrays(drawing: Drawing) -> tuple[int, int]:
    """Return the identities of the arrays of a drawing, which many share."""
    return id(drawing.points), id(drawing.triangles)


def _by_link(
    drawings: Iterable[Drawing],
    observed: Iterable[ShapeObservation],
    places: Mapping[tuple[int, int], int],
) -> dict[str, list[records.SceneShape]]:
    # Of the largest part of equal appearance.
    looks = {
        shape.source: max(shape.appearances, key=lambda part: part.area)
        for shape in observed
        if shape.appearances
    }
    colors = {
        source: (*look.color, 1.0 if look.opacity is None else look.opacity)
        for source, look in looks.items()
        if look.color is not None and not look.texture
    }
    shapes: dict[str, list[records.SceneShape]] = {}
    for drawing in drawings:
        mesh = places.get(_arrays(drawing)) if drawing.kind is ShapeKind.MESH else None
        hidden = drawing.kind is ShapeKind.OTHER or not np.isfinite(drawing.matrix).all()
        if hidden or (drawing.kind is ShapeKind.MESH and mesh is None):
            continue
        shapes.setdefault(drawing.link, []).append(
            records.SceneShape(
                role=drawing.role.value,
                kind=drawing.kind.value,
                size=tuple(abs(value) for value in drawing.size),
                mesh=mesh,
                matrix=_affine(drawing.matrix),
                color=colors.get(drawing.source) if drawing.role is Role.VISUAL else None,
            )
        )
    return shapes


def _size(readings: Iterable[obs.Observation]) -> float:
    """Return the extent of a robot at zero from the root, by frames and shapes."""
    reaches = [0.0]
    for reading in readings:
        if reading.frames is not None:
            origins = np.linalg.norm(reading.frames.positions[0], axis=1).tolist()
            far = dict(zip(reading.frames.links, origins, strict=True))
            reaches += origins
            for shape in reading.shapes:
                if shape.surface and shape.link in far:
                    reaches.append(far[shape.link] + max(shape.surface.support))
    return max(reach for reach in reaches if math.isfinite(reach)) or 1.0


def build_model(
    side: str,
    observation: obs.Observation,
    shapes: Mapping[str, Sequence[records.SceneShape]],
    normals: Mapping[str, records.Vec3],
) -> records.SceneModel:
    """Build the model of a side, ``urdf`` or ``usd``, with shapes by link.

    ``normals`` are axes of planar joints, which define the directions in the plane of both models.
    """
    poses: dict[str, Array] = {}
    if (frames := observation.frames) is not None:
        placed = transforms(frames.rotations[0], frames.positions[0])
        poses = dict(zip(frames.links, placed, strict=True))
    joints = _parents_first(observation, poses)
    reached = {observation.root, *(joint.child for joint in joints)}
    return records.SceneModel(
        side=side,
        reader=observation.engine,
        root=observation.root,
        links=tuple(
            records.SceneLink(
                name=link.name,
                center=link.mass.center if link.mass and link.mass.mass > 0 else None,
                ellipsoid=inertia_ellipsoid(link.mass) if link.mass else None,
                shapes=tuple(shapes.get(link.name, ())),
            )
            for link in observation.links
            if link.name in reached
        ),
        joints=tuple(
            records.SceneJoint(
                name=joint.name,
                parent=joint.parent,
                child=joint.child,
                rest=_affine(np.linalg.inv(poses[joint.parent]) @ poses[joint.child]),
                anchor=joint.anchor,
                motions=tuple(_motions(joint, normals.get(joint.name))),
                mimic=records.Coupling(**structs.asdict(joint.mimic)) if joint.mimic else None,
            )
            for joint in joints
        ),
    )


def inertia_ellipsoid(mass: obs.MassProperties) -> records.Affine | None:
    """Return the transform of the unit sphere to the ellipsoid of a link's inertia."""
    # A solid ellipsoid of mass m and semi-axes a, b, c has the moments m (b^2 + c^2) / 5 and so on,
    # so a^2 = 5 (B + C - A) / (2 m).
    if mass.inertia is None or not mass.mass > 0:
        return None
    tensor = tensor_of(mass.inertia)
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
    matrix = np.eye(4)
    matrix[:3, :3] = axes * np.sqrt(np.maximum(squares, 1e-4 * largest))
    matrix[:3, 3] = mass.center
    return _affine(matrix)


def _affine(matrix: Array) -> records.Affine:
    a, b, c, d, e, f, g, h, i, j, k, m = matrix[:3].ravel().tolist()
    return a, b, c, d, e, f, g, h, i, j, k, m


def _parents_first(
    observation: obs.Observation, poses: Mapping[str, Array]
) -> list[obs.JointObservation]:
    below: dict[str, list[obs.JointObservation]] = {}
    for joint in observation.joints:
        if joint.parent in poses and joint.child in poses:
            below.setdefault(joint.parent, []).append(joint)
    ordered: list[obs.JointObservation] = []
    seen = {observation.root}
    waiting = [observation.root]
    while waiting:
        for joint in below.get(waiting.pop(), ()):
            if joint.child not in seen:
                seen.add(joint.child)
                ordered.append(joint)
                waiting.append(joint.child)
    return ordered


def _motions(joint: obs.JointObservation, normal: records.Vec3 | None) -> list[records.Motion]:
    axis, turn, slide = joint.axis, records.MotionKind.TURN, records.MotionKind.SLIDE
    most = {turn: _HALF_TURN, slide: _OPEN_SLIDE}
    sliders: list[tuple[records.MotionKind, str, records.Vec3]] = []
    match joint.type:
        case obs.JointType.REVOLUTE | obs.JointType.CONTINUOUS if axis:
            sliders = [(turn, "turn", axis)]
        case obs.JointType.PRISMATIC if axis:
            sliders = [(slide, "slide", axis)]
        case obs.JointType.PLANAR if axis:
            first, second = map(vec3, plane(normal or axis))
            sliders = [(slide, "first direction", first), (slide, "second direction", second)]
            sliders.append((turn, "turn", axis))
        case obs.JointType.SPHERICAL:
            sliders = [(turn, f"about {name}", axis) for name, axis in _AXES.items()]
    has_limits = obs.COORDINATES[joint.type] == 1
    return [
        records.Motion(kind=kind, label=label, axis=along, lower=lower, upper=upper)
        for kind, label, along in sliders
        for lower, upper in [_span(joint, most[kind]) if has_limits else (-most[kind], most[kind])]
    ]


def _span(joint: obs.JointObservation, most: float) -> tuple[float, float]:
    """Return the range of a slider: the limits, if there are any."""
    lower, upper = joint.lower, joint.upper
    if lower is None or upper is None or lower > upper:
        return -most, most
    far = abs(lower) > _FAR, abs(upper) > _FAR
    if all(far):
        return -most, most
    if any(far):
        return (min(-most, upper - most), upper) if far[0] else (lower, max(most, lower + most))
    return lower, upper


def link_errors(
    first: obs.Frames, second: obs.Frames, labels: Sequence[str]
) -> records.LinkErrors | None:
    """Compute the pose differences of shared links in every configuration, if there are any."""
    links, here, there = _shared(first, second)
    if not links:
        return None
    positions, rotations = (
        tuple(tuple(_shown(v) if math.isfinite(v) else None for v in row) for row in own.tolist())
        for own in (
            np.linalg.norm(first.positions[:, here] - second.positions[:, there], axis=2),
            angles(first.rotations[:, here], second.rotations[:, there]),
        )
    )
    configurations = tuple(labels[: len(positions)])
    return records.LinkErrors(
        links=links, configurations=configurations, positions=positions, rotations=rotations
    )


def agreements(frames: Mapping[str, obs.Frames]) -> tuple[records.Agreement, ...]:
    """Compute the largest distance of link frames for each pair of engines, as displayed."""
    pairs = []
    for (name, first), (other, second) in combinations(frames.items(), 2):
        links, here, there = _shared(first, second)
        if not links:
            continue
        apart = np.linalg.norm(first.positions[:, here] - second.positions[:, there], axis=2)
        shown = [_shown(v) if math.isfinite(v) else 0.0 for v in apart.ravel().tolist()]
        worst = max(shown, default=0.0)
        link = links[shown.index(worst) % len(links)] if worst else None
        pairs.append(records.Agreement(engines=(name, other), position=worst, link=link))
    return tuple(pairs)


def _shared(first: obs.Frames, second: obs.Frames) -> tuple[tuple[str, ...], list[int], list[int]]:
    names = [name for name in first.links if name in set(second.links)]
    if len(first.positions) != len(second.positions):
        names = []
    here, there = ([frames.links.index(name) for name in names] for frames in (first, second))
    return tuple(names), here, there


def _shown(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def shares(triangles: Sequence[int], budget: int) -> list[int]:
    """Divide a budget of triangles among meshes: small ones are kept, others reduced alike."""
    part = min(1.0, budget / max(sum(triangles), 1))
    return [min(count, max(_SPARED, int(count * part))) for count in triangles]


def coarsen(
    points: NDArray[np.floating],
    triangles: _Faces,
    target: int,
    made: dict[bytes, records.SceneMesh],
) -> records.SceneMesh | None:
    """Decimate (M, 3) triangles of (N, 3) points [m] on a grid of 65536 steps along each axis.

    There may be three times as many as ``target`` of meshes that can hardly be decimated; None if
    no face is visible. ``made`` has the meshes that were made, by content: one of both sides is
    decimated once, with the share that it has on the first.
    """
    # In float32, so that a mesh is equal before and after conversion.
    stored = np.asarray(points, np.float32).astype(np.float64)
    if not (len(points) and np.isfinite(stored).all()):
        return None
    lower = stored.min(axis=0)
    extent = stored.max(axis=0) - lower
    span = np.where(extent > 0, extent, 1.0)
    whole, visible = _merged((stored - lower) / span, triangles, _FINE)
    content = b"".join(array.tobytes() for array in (whole, visible.astype(np.int32), lower, span))
    key = hashlib.sha256(content).digest()
    if key in made:
        return made[key]
    corners, faces = whole, visible
    if len(faces) > target:
        for steps in (_FINE, *_COARSER):
            if steps < _FINE:
                corners, faces = _merged(whole, visible, steps)
            if len(faces) <= _COLLAPSED:
                # Collapsing edges keeps the shape better than merging points on a grid: with the
                # true aspect ratio, which affects the choice of edges, and in a unit in which the
                # first passes collapse only edges of flat parts.
                unit = np.linalg.norm(span) / _UNITS
                coarse, faces = fast_simplification.simplify(
                    np.ascontiguousarray(corners * (span / unit), np.float32),
                    np.ascontiguousarray(faces, np.int32),
                    target_count=target,
                )
                corners = np.clip(coarse * (unit / span), 0.0, 1.0)
            if len(faces) <= _LEFT * target:
                break
    grid, faces = _merged(corners, faces, _STEPS)
    if not len(faces):
        return None
    wide = len(grid) > _STEPS
    x, y, z = lower.tolist()
    u, v, w = (span / _STEPS).tolist()
    made[key] = records.SceneMesh(
        positions=_encoded(np.rint(grid * _STEPS), "<u2"),
        origin=(x, y, z),
        step=(u, v, w),
        indices=_encoded(faces, "<u4" if wide else "<u2"),
        wide=wide,
        triangles=len(triangles),
        drawn=len(faces),
    )
    return made[key]


def _merged(points: Array, faces: _Faces, steps: int) -> tuple[Array, _Faces]:
    """Snap points in [0, 1] to a grid, merge equal ones, and remove degenerate faces."""
    # One integer sorts many times faster than three columns.
    x, y, z = np.rint(points.T * steps).astype(np.int64)
    keys, indices = np.unique((x << 42) | (y << 21) | z, return_inverse=True)
    joined = np.take(indices, faces)
    a, b, c = joined.T
    cells = np.stack([keys >> 42, (keys >> 21) & _FINE, keys & _FINE], axis=1)
    return cells / steps, joined[(a != b) & (b != c) & (c != a)]


def _encoded(values: NDArray[np.generic], kind: str) -> str:
    return base64.b64encode(values.astype(kind).tobytes()).decode("ascii")
