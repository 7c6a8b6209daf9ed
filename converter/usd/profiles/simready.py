"""Additions for the profile Robot-Body of SimReady Foundation, on finished layers.

Meshes have normals, colliders are hidden, and the interface layer has metadata.
https://nvidia.github.io/simready-foundation
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

import numpy as np
from pxr import Gf, Sdf, UsdGeom, Vt

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import Robot
from urdf_usd.converter.usd.writer.prims import Prims
from urdf_usd.converter.usd.writer.specs import applied, apply, over, prim_specs, write_new

METADATA = (
    "author",
    "asset_license",
    "asset_name",
    "asset_type",
    "category",
    "qcode",
    "source_file",
    "usd_date_generated",
)
"""Metadata that requirement SR.004 has as text."""
NESTED = "SimReady_Metadata"
_INDICES = "faceVertexIndices"
_NORMALS = f"primvars:{UsdGeom.Tokens.normals}"
_NORMAL_INDICES = f"{_NORMALS}:indices"
# Also required outside of the nested dictionary, by SR.001.
_OUTER = ("asset_name", "asset_type", "source_file", "usd_date_generated")
_ROBOT = {
    "asset_type": "robot",
    "category": "robot",
    # Robot, in Wikidata.
    "qcode": "Q11012",
}
_EPOCH = "SOURCE_DATE_EPOCH"
_UP = Gf.Vec3f(0.0, 0.0, 1.0)


def complete_metadata(
    robot: Robot, given: Mapping[str, str]
) -> tuple[dict[str, str], tuple[Diagnostic, ...]]:
    """Add what the robot and the environment state to metadata.

    The date is that of SOURCE_DATE_EPOCH: equal inputs give equal assets.

    Args:
        robot: The robot.
        given: Metadata by name, which takes precedence.

    Returns:
        The metadata, and a diagnostic if some is missing.
    """
    found = {"asset_name": robot.name, **_ROBOT}
    if robot.location is not None:
        found["source_file"] = os.path.basename(robot.location.file)  # noqa: PTH119  may be the path of another system
    seconds = os.environ.get(_EPOCH, "")
    if seconds.isdecimal():
        date = datetime.fromtimestamp(int(seconds), UTC).date()
        found["usd_date_generated"] = date.isoformat()
    metadata = found | {name: text for name, text in given.items() if text.strip()}
    missing = [f"--metadata {name}=..." for name in METADATA if name not in metadata]
    if not missing:
        return metadata, ()
    message = f"SimReady requires metadata that is not known; add {' '.join(missing)}"
    return metadata, (Diagnostic("metadata-missing", message, robot.location),)


def complete(
    physics: Sdf.Layer, library: Sdf.Layer, prims: Prims, robot: Robot
) -> tuple[Diagnostic, ...]:
    """Author what the profile requires of physics and meshes.

    Args:
        physics: The physics layer, with Newton's schemas and articulation roots.
        library: The library of meshes.
        prims: The robot.
        robot: The same, for diagnostics.
    """
    complete_newton(physics)
    replaced = complete_normals(library)
    hide_colliders(physics, prims)
    return (
        *_lacking(library, robot, len(prims.bodies.bodies)),
        *(
            Diagnostic(
                "normals-opposite",
                f"normals of mesh {name!r} point against its faces, which SimReady "
                "excludes; those of the faces are written",
                robot.location,
            )
            for name in replaced
        ),
    )


def _lacking(library: Sdf.Layer, robot: Robot, bodies: int) -> Iterator[Diagnostic]:
    """Report a robot without meshes (VG.MESH.001) or rigid bodies (RB.001)."""
    if not library.GetPrimAtPath(f"/{library.defaultPrim}").nameChildren:
        message = "SimReady requires a mesh; all shapes are primitive"
        yield Diagnostic("mesh-required", message, robot.location)
    if not bodies:
        message = "SimReady requires a rigid body; no link has mass and can move"
        yield Diagnostic("body-required", message, robot.location)


def hide_colliders(layer: Sdf.Layer, prims: Prims) -> None:
    """Hide the colliders that a layer has, which coincide with visuals (VG.008)."""
    for paths in prims.collision.values():
        for path in paths:
            if layer.GetPrimAtPath(path):
                collider = over(layer, path)
                kind = Sdf.ValueTypeNames.Token
                tokens = UsdGeom.Tokens
                write_new(collider, tokens.visibility, kind, tokens.invisible)


def complete_newton(layer: Sdf.Layer) -> None:
    """State what Newton assumes by itself (NEWTON.COL.001, NEWTON.BA.001).

    Mesh colliders have its schema, and links of one robot collide with each other.

    Args:
        layer: The physics layer, with articulation roots.
    """
    for prim in prim_specs(layer):
        schemas = applied(prim)
        if "PhysicsMeshCollisionAPI" in schemas:
            apply(prim, "NewtonMeshCollisionAPI")
        if "PhysicsArticulationRootAPI" in schemas:
            apply(prim, "NewtonArticulationRootAPI")
            kind = Sdf.ValueTypeNames.Bool
            write_new(prim, "newton:selfCollisionEnabled", kind, value=True)


def complete_normals(library: Sdf.Layer) -> list[str]:
    """Give meshes the normals of their faces if they have none, or opposite ones.

    They are the normals with which OpenUSD shades meshes without normals (VG.027).
    Normals are opposite if their sum of products with the areas of faces is negative
    (VG.029).

    Returns:
        Names of meshes whose normals were replaced.
    """
    replaced = []
    for mesh in prim_specs(library):
        if mesh.typeName != "Mesh":
            continue
        topology = ("points", "faceVertexCounts", _INDICES)
        areas = _area_vectors(*(_values(mesh, name) for name in topology))
        if _NORMALS in mesh.properties:
            if _agreement(mesh, areas) >= 0:
                continue
            replaced.append(mesh.name)
            for name in (_NORMALS, _NORMAL_INDICES):
                if name in mesh.properties:
                    mesh.RemoveProperty(mesh.properties[name])
        write_new(
            mesh,
            _NORMALS,
            Sdf.ValueTypeNames.Normal3fArray,
            Vt.Vec3fArray.FromNumpy(_unit(areas)),
            interpolation=UsdGeom.Tokens.uniform,
        )
    return replaced


def _values(mesh: Sdf.PrimSpec, attribute: str) -> np.ndarray:
    return np.array(mesh.attributes[attribute].default)


def _agreement(mesh: Sdf.PrimSpec, areas: np.ndarray) -> float:
    """Sum of the products of normals of corners and area vectors of their faces."""
    normals = _values(mesh, _NORMALS).astype(np.float64)
    per_corner = _NORMAL_INDICES if _NORMAL_INDICES in mesh.properties else _INDICES
    corners = normals[_values(mesh, per_corner)]
    counts = _values(mesh, "faceVertexCounts")
    return float(np.vdot(corners, np.repeat(areas, counts, axis=0)))


def _area_vectors(points: np.ndarray, counts: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return (F, 3) normals of faces, as long as twice their area (Newell's method).

    Args:
        points: (N, 3) positions.
        counts: (F,) numbers of corners.
        indices: (sum of counts,) points of corners.
    """
    ends = np.cumsum(counts)
    following = np.arange(len(indices)) + 1
    following[ends - 1] = ends - counts
    corners = points[indices].astype(np.float64)
    # Relative to the first corner of the face, to keep digits.
    corners -= np.repeat(corners[ends - counts], counts, axis=0)
    return np.add.reduceat(np.cross(corners, corners[following]), ends - counts)


def _unit(areas: np.ndarray) -> np.ndarray:
    """Return vectors of length one; up for faces of no area."""
    lengths = np.linalg.norm(areas, axis=1, keepdims=True)
    unit = np.where(lengths > 0, areas / np.where(lengths > 0, lengths, 1), _UP)
    return np.ascontiguousarray(unit, np.float32)


def author_metadata(
    layer: Sdf.Layer, metadata: Mapping[str, str], bodies: int, mass: float
) -> None:
    """Write metadata to the interface layer (SR.001, SR.004).

    Args:
        layer: The interface layer, with the hint of the extent.
        metadata: Texts by name.
        bodies: Number of rigid bodies.
        mass: Mass of the robot [kg].
    """
    prim = layer.GetPrimAtPath(f"/{layer.defaultPrim}")
    hint = prim.attributes.get("extentsHint")
    lower, upper = hint.default if hint else (Gf.Vec3f(0.0), Gf.Vec3f(0.0))
    nested = {
        **metadata,
        "rigid_body_count": bodies,
        "asset_extents": upper - lower,
        "mass": mass,
    }
    outer = {name: metadata[name] for name in _OUTER if name in metadata}
    layer.customLayerData = {**layer.customLayerData, **outer, NESTED: nested}


def author_variants(layer: Sdf.Layer, sets: Iterable[str], option: str) -> None:
    """Describe the variant sets of simulators in the metadata (RV.003 and RV.006).

    Args:
        layer: The interface layer, with metadata.
        sets: Names of the variant sets of the default prim.
        option: Variant that adds the schemas of the simulator.
    """
    prim = f"/{layer.defaultPrim}"
    described = {
        name: {"prim": prim, "variantSetName": name, "activateOption": option} for name in sets
    }
    data = layer.customLayerData
    nested = {**data[NESTED], "Variants": {"Physics": described}}
    layer.customLayerData = {**data, NESTED: nested}
