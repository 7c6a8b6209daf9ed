"""The 3D scene of a robot: URDF and USD, drawn from their files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from urdf_usd.conformance.drawing.coarsening import (
    MergedMesh,
    coarsen,
    merge_points,
    shares,
    surface_digest,
)
from urdf_usd.conformance.drawing.scene_errors import agreements, link_errors
from urdf_usd.conformance.drawing.scene_models import (
    affine,
    build_model,
    scene_configurations,
)
from urdf_usd.conformance.engines.openusd.shapes import draw_shapes
from urdf_usd.conformance.engines.protocol import AbstentionError
from urdf_usd.conformance.engines.reference_shapes import draw_shapes as draw_urdf
from urdf_usd.conformance.observation.robot import (
    Configurations,
    Frames,
    JointType,
    Observation,
)
from urdf_usd.conformance.observation.shapes import (
    Drawing,
    Role,
    ShapeKind,
    ShapeObservation,
)
from urdf_usd.converter.robot.model import Robot
from urdf_usd.reports.records.scene import LinkErrors, Scene, SceneMesh, SceneShape

# Triangles per side: a page stays below 5 MB even if no mesh is shared.
TRIANGLES = 40_000
# Length of the axes of a frame, relative to the robot's size.
_MARK = 0.05
_HARDLY = 0.98
_Color = tuple[float, float, float, float]


def draw_scene(
    robot: Robot,
    usd: str,
    readings: Mapping[str, Observation],
    frames: Mapping[str, Frames],
    configurations: Configurations,
) -> Scene:
    """Draw both models of a robot.

    Args:
        robot: The URDF.
        usd: Root layer of the USD.
        readings: Observation of each side that was read, ``urdf`` and ``usd``.
        frames: Link frames by engine, of all that state them.
        configurations: The compared configurations.
    """
    drawings = {side: _drawings(side, robot, usd, reading) for side, reading in readings.items()}
    meshes, indices = _meshes(drawings)
    shapes = {
        side: _by_link(drawn, readings[side].shapes, indices) for side, drawn in drawings.items()
    }
    normals = {
        joint.name: joint.axis
        for reading in readings.values()
        for joint in reading.joints
        if joint.type is JointType.PLANAR and joint.axis
    }
    missing = sorted({"urdf", "usd"} - readings.keys())
    return Scene(
        mark=_MARK * _size(readings.values()),
        models=tuple(
            build_model(side, reading, shapes[side], normals) for side, reading in readings.items()
        ),
        meshes=meshes,
        configurations=scene_configurations(configurations),
        notes=(
            *_notes(meshes),
            *(f"The {side.upper()} could not be read." for side in missing),
        ),
        errors=_errors(readings, configurations),
        agreements=agreements(frames),
    )


def _errors(
    readings: Mapping[str, Observation], configurations: Configurations
) -> LinkErrors | None:
    match [readings[side].frames for side in ("urdf", "usd") if side in readings]:
        case [Frames() as urdf, Frames() as usd]:
            return link_errors(urdf, usd, configurations.labels)
        case _:
            return None


def _drawings(side: str, robot: Robot, usd: str, reading: Observation) -> tuple[Drawing, ...]:
    if side == "urdf":
        return draw_urdf(robot)
    try:
        return draw_shapes(usd, frozenset(link.name for link in reading.links))
    except AbstentionError:
        return ()


def _meshes(
    drawings: Mapping[str, Sequence[Drawing]],
) -> tuple[tuple[SceneMesh, ...], dict[tuple[int, int], int]]:
    """Decimate each distinct mesh of both sides once.

    Returns:
        The meshes, and the index of the mesh by the identities of its arrays.
    """
    digests: dict[tuple[int, int], bytes] = {}
    surfaces: dict[bytes, MergedMesh | None] = {}
    merged_meshes: dict[bytes, MergedMesh] = {}
    targets: dict[bytes, int] = {}
    for drawn in drawings.values():
        shown: dict[bytes, int] = {}
        for drawing in drawn:
            if drawing.kind is not ShapeKind.MESH:
                continue
            arrays = _arrays(drawing)
            if arrays not in digests:
                surface = surface_digest(drawing.points, drawing.triangles)
                if surface not in surfaces:
                    surfaces[surface] = merge_points(drawing.points, drawing.triangles)
                mesh = surfaces[surface]
                if mesh is None:
                    continue
                digests[arrays] = mesh.digest
                merged_meshes.setdefault(mesh.digest, mesh)
            shown[digests[arrays]] = len(drawing.triangles)
        # A mesh of both sides gets the larger of the two shares.
        allowed = shares(tuple(shown.values()), TRIANGLES)
        for digest, target in zip(shown, allowed, strict=True):
            targets[digest] = max(target, targets.get(digest, 0))
    places: dict[bytes, int] = {}
    known: dict[SceneMesh, int] = {}
    for digest, target in targets.items():
        drawn_mesh = coarsen(merged_meshes[digest], target)
        if drawn_mesh is not None:
            places[digest] = known.setdefault(drawn_mesh, len(known))
    return tuple(known), {
        arrays: places[digest] for arrays, digest in digests.items() if digest in places
    }


def _arrays(drawing: Drawing) -> tuple[int, int]:
    """Return the identities of the arrays of a drawing, which many share."""
    return id(drawing.points), id(drawing.triangles)


def _by_link(
    drawings: Iterable[Drawing],
    observed: Iterable[ShapeObservation],
    places: Mapping[tuple[int, int], int],
) -> dict[str, list[SceneShape]]:
    colors = {shape.source: _color(shape) for shape in observed if shape.appearances}
    shapes: dict[str, list[SceneShape]] = {}
    for drawing in drawings:
        mesh = None
        if drawing.kind is ShapeKind.MESH:
            mesh = places.get(_arrays(drawing))
            if mesh is None:
                continue
        if drawing.kind is ShapeKind.OTHER or not np.isfinite(drawing.matrix).all():
            continue
        visual = drawing.role is Role.VISUAL
        shapes.setdefault(drawing.link, []).append(
            SceneShape(
                role=drawing.role.value,
                kind=drawing.kind.value,
                size=tuple(abs(value) for value in drawing.size),
                mesh=mesh,
                matrix=affine(drawing.matrix),
                color=colors.get(drawing.source) if visual else None,
            )
        )
    return shapes


def _color(shape: ShapeObservation) -> _Color | None:
    """Return the colour of the largest part of equal appearance."""
    appearance = max(shape.appearances, key=lambda part: part.area)
    if appearance.color is None or appearance.texture:
        return None
    return *appearance.color, 1.0 if appearance.opacity is None else appearance.opacity


def _size(readings: Iterable[Observation]) -> float:
    """Return the extent of a robot at zero from the root, by frames and shapes."""
    reaches = [0.0]
    for reading in readings:
        if reading.frames is None:
            continue
        places = dict(zip(reading.frames.links, reading.frames.positions[0], strict=True))
        reaches += [float(np.linalg.norm(place)) for place in places.values()]
        reaches += [
            float(np.linalg.norm(places[shape.link])) + max(shape.surface.support)
            for shape in reading.shapes
            if shape.surface and shape.link in places
        ]
    finite = [reach for reach in reaches if math.isfinite(reach)]
    return max(finite) or 1.0


def _notes(meshes: Iterable[SceneMesh]) -> list[str]:
    coarse = [mesh for mesh in meshes if mesh.drawn < mesh.triangles]
    if not coarse:
        return []
    drawn = sum(mesh.drawn for mesh in coarse)
    given = sum(mesh.triangles for mesh in coarse)
    # Degenerate triangles are left out everywhere, without a note.
    if drawn > _HARDLY * given:
        return []
    note = f"{len(coarse)} meshes are drawn with {drawn} of their {given} triangles."
    return [f"{note} The comparison uses the whole mesh."]
