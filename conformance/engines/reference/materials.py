"""How visuals look: as their mesh files say; where those say nothing, as the URDF.

A file's own materials win over the URDF's, part by part.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from urdf_usd.conformance.engines.mesh_files.materials import (
    FileMaterial,
    ImageFile,
    light,
)
from urdf_usd.conformance.observation.shapes import Look, merged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from urdf_usd.conformance.engines.mesh_files.loaded_mesh import LoadedMesh
    from urdf_usd.conformance.engines.surfaces import Array
    from urdf_usd.converter.robot.model import Material, Visual

_UNSAID = FileMaterial()


def state_looks(
    visual: Visual, area: float, mesh: LoadedMesh | None, areas: Array
) -> tuple[Look, ...]:
    """State how a visual looks, part by part.

    Args:
        visual: The visual.
        area: Of its surface [m^2].
        mesh: Its mesh, if it has one.
        areas: (M) areas of the mesh's triangles [m^2].
    """
    own = _of_urdf(visual.material)
    if mesh is None:
        # How an image lies on a primitive is not defined.
        return (_look(replace(own, image=None, mask=None), area),)
    found = (
        _worn(mesh, own, material, worn) for material, worn in _parts(mesh, area, areas)
    )
    return merged(found)


def _parts(mesh: LoadedMesh, area: float, areas: Array) -> Iterator[tuple[int, float]]:
    """Yield numbers of materials, and the areas that have them [m^2]."""
    # Numbers begin with -1.
    used = np.flatnonzero(np.bincount(mesh.wearing + 1)) - 1
    if len(used) == 1:
        yield int(used[0]), area
        return
    for material in used.tolist():
        yield material, float(areas[mesh.wearing == material].sum())


def _worn(mesh: LoadedMesh, own: FileMaterial, material: int, area: float) -> Look:
    stated = mesh.materials[material] if material >= 0 else _UNSAID
    shown = stated if stated.speaks else own
    if not mesh.has_coordinates:
        shown = replace(shown, image=None, mask=None)
    return _look(shown, area)


def _of_urdf(material: Material | None) -> FileMaterial:
    """Return what the URDF says; its image stands in the place of its colour."""
    if material is None:
        return _UNSAID
    image = None
    if material.texture_uri is not None:
        path = Path(material.texture_path or material.texture_uri)
        image = ImageFile(path.name, str(path.parent))
    if material.rgba is None:
        return FileMaterial(image=image)
    opacity = min(max(material.rgba[3], 0.0), 1.0)
    return FileMaterial(color=light(material.rgba), opacity=opacity, image=image)


def _look(material: FileMaterial, area: float) -> Look:
    look = Look(area, material.color, material.opacity)
    problems = []
    if material.image is not None:
        content = material.image.read()
        if isinstance(content, bytes):
            look = replace(
                look,
                color=material.factor,
                texture=hashlib.sha256(content).hexdigest(),
                image=material.image.name,
            )
        else:
            problems.append(f"texture {material.image.name} {content}")
    if material.mask is not None:
        content = material.mask.read()
        if isinstance(content, bytes):
            look = replace(look, mask=hashlib.sha256(content).hexdigest())
        else:
            problems.append(f"texture {material.mask.name} {content}")
    return replace(look, problem=problems[0] if problems else None)
