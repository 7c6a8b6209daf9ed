"""Distances of solids, by MuJoCo's collision detection of convex shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import mujoco
import numpy as np

from urdf_usd.conformance.engines.mujoco_compilation import compiled_quietly
from urdf_usd.conformance.engines.rotations import quats_wxyz
from urdf_usd.conformance.observation.shapes import ShapeKind
from urdf_usd.conformance.observation.solids import Solid

# Distances beyond it are not computed [m].
_FAR = 0.01
# Smaller extents are flat for MuJoCo, which computes inertia of every mesh [m].
_FLAT = 1e-3


def link_distances(
    solids: Sequence[Solid],
) -> tuple[Mapping[tuple[str, str], float], frozenset[str]]:
    """Return the smallest distance of each two links, negative if they overlap [m].

    Args:
        solids: Colliders of the links.

    Returns:
        Distances of links that are nearer than 1 cm; and links with thin colliders,
        which are left out.
    """
    thin = frozenset(solid.link for solid in solids if _is_thin(solid))
    spec = mujoco.MjSpec()
    links: list[str] = []
    for solid in solids:
        if not _is_thin(solid):
            _add(spec, solid, f"{len(links)}")
            links.append(solid.link)
    if not links:
        return {}, thin
    model = compiled_quietly(spec)
    state = mujoco.MjData(model)
    mujoco.mj_kinematics(model, state)
    nearest: dict[tuple[str, str], float] = {}
    for one in range(len(links)):
        reach = model.geom_rbound[one] + model.geom_rbound[one + 1 :] + _FAR
        apart = state.geom_xpos[one + 1 :] - state.geom_xpos[one]
        near = np.linalg.norm(apart, axis=1) <= reach
        for other in (np.flatnonzero(near) + one + 1).tolist():
            if links[one] == links[other]:
                continue
            found = mujoco.mj_geomDistance(model, state, one, other, _FAR, None)
            if found < _FAR:
                first, second = sorted((links[one], links[other]))
                before = nearest.get((first, second), _FAR)
                nearest[first, second] = min(before, float(found))
    return nearest, thin


def _is_thin(solid: Solid) -> bool:
    if solid.kind is not ShapeKind.MESH:
        # A capsule may be a sphere.
        sizes = solid.size[:1] if solid.kind is ShapeKind.CAPSULE else solid.size
        return min(sizes) <= 0.0
    points = np.array(solid.points).reshape(-1, 3)
    if not len(points):
        return False
    # The least singular value is zero for a plane.
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return bool(len(points) < 4 or spread[-1] < _FLAT)


def _add(spec: mujoco.MjSpec, solid: Solid, name: str) -> None:
    types = {
        ShapeKind.BOX: mujoco.mjtGeom.mjGEOM_BOX,
        ShapeKind.SPHERE: mujoco.mjtGeom.mjGEOM_SPHERE,
        ShapeKind.CYLINDER: mujoco.mjtGeom.mjGEOM_CYLINDER,
        ShapeKind.CAPSULE: mujoco.mjtGeom.mjGEOM_CAPSULE,
    }
    if solid.kind is ShapeKind.MESH:
        mesh = spec.add_mesh(name=name, uservert=list(solid.points))
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name)
        return
    kind = solid.kind
    if kind is ShapeKind.CAPSULE and solid.size[1] <= 0.0:
        # MuJoCo refuses capsules without a straight part.
        kind = ShapeKind.SPHERE
    spec.worldbody.add_geom(
        type=types[kind],
        size=[*solid.size, 0.0, 0.0][:3],
        pos=solid.position,
        quat=quats_wxyz(np.reshape(solid.rotation, (3, 3))),
    )
