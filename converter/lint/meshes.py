"""Rules about mesh files: unit, mirroring, and number of triangles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from urdf_usd.converter.diagnostics.messages import times
from urdf_usd.converter.extents import MeshExtent
from urdf_usd.converter.lint.finding import Breach, Breaches
from urdf_usd.converter.lint.subject import MeasuredRobot
from urdf_usd.converter.robot.model import MeshFile, Shape, Vec3

_THOUSAND = 1000.0
# A mesh larger than this multiple of the span is probably in millimetres, if a
# thousandth of it is not larger than the next multiple.
_TOO_LARGE = 30.0
_LARGEST_PART = 3.0
# A mesh is invisible if it is smaller than this in metres, and relative to the span.
_TOO_SMALL = 1e-3
# Number of triangles from which collision meshes are slow.
_HEAVY = 20_000
# MuJoCo: "number of faces should be between 1 and 200000 in STL file".
_MOST_STL_FACES = 200_000


class _Use(Struct, frozen=True):
    """A mesh file at one scale.

    Attributes:
        shape: Its first use.
        mesh: The file and the scale.
        extent: Its extent.
        count: Number of uses.
    """

    shape: Shape
    mesh: MeshFile
    extent: MeshExtent
    count: int

    @property
    def size(self) -> float:
        """Diagonal of its bounding box, scaled [m]."""
        return self._diagonal(self.mesh.scale)

    @property
    def unscaled(self) -> float:
        """Diagonal of its bounding box in the file [m]."""
        return self._diagonal((1.0, 1.0, 1.0))

    def breach(self, what: str) -> Breach:
        """Return a breach about this use."""
        often = f" (used {times(self.count)})" if self.count > 1 else ""
        message = f"mesh {Path(self.mesh.uri).name!r} {what}{often}"
        return Breach(message, self.shape.location)

    def _diagonal(self, scale: Vec3) -> float:
        columns = zip(*self.extent.hull, strict=True)
        edges = (max(column) - min(column) for column in columns)
        return math.hypot(*(e * f for e, f in zip(edges, scale, strict=True)))


def in_millimetres(measured: MeasuredRobot) -> Breaches:
    """Meshes that would have a plausible size if scaled by 0.001."""
    span = measured.span
    for use in _uses(measured):
        if use.size > _TOO_LARGE * span > 0.0 and (use.size < _THOUSAND * _LARGEST_PART * span):
            yield use.breach(f"is {_metres(use.size)} large on a robot of {_metres(span)}")


def shrunk(measured: MeasuredRobot) -> Breaches:
    """Meshes in metres that are scaled by 0.001."""
    for use in _uses(measured):
        is_invisible = use.size < min(_TOO_SMALL, _TOO_SMALL * (measured.span or 1.0))
        if is_invisible and use.unscaled > use.size * _THOUSAND / 2.0:
            sizes = f"{_metres(use.size)} large, and {_metres(use.unscaled)} unscaled"
            yield use.breach(f"is {sizes}")


def mirrored(measured: MeasuredRobot) -> Breaches:
    """Negative scales."""
    for use in _uses(measured):
        if min(use.mesh.scale) < 0.0:
            factors = " ".join(f"{factor:g}" for factor in use.mesh.scale)
            yield use.breach(f"is scaled by {factors}")


def too_many_faces(measured: MeasuredRobot) -> Breaches:
    """STL files with more triangles than MuJoCo allows."""
    for use in _uses(measured):
        is_stl = use.mesh.uri.lower().endswith(".stl")
        if is_stl and use.extent.triangles > _MOST_STL_FACES:
            yield use.breach(f"has {use.extent.triangles} faces")


def heavy_collision(measured: MeasuredRobot) -> Breaches:
    """Collision meshes with many triangles."""
    for use in _uses(measured, colliding=True):
        if use.extent.triangles > _HEAVY:
            yield use.breach(f"has {use.extent.triangles} triangles for collision")


def _uses(measured: MeasuredRobot, *, colliding: bool = False) -> Iterable[_Use]:
    """Return the readable mesh files, once per scale."""
    uses: dict[tuple[str, Vec3], _Use] = {}
    for link in measured.robot.links:
        for shape in link.collisions if colliding else link.shapes:
            mesh = shape.geometry
            if not isinstance(mesh, MeshFile) or mesh.path is None:
                continue
            extent = measured.meshes.by_path.get(mesh.path)
            if extent is None:
                continue
            key = (mesh.path, mesh.scale)
            first = uses.get(key, _Use(shape, mesh, extent, 0))
            uses[key] = _Use(first.shape, first.mesh, extent, first.count + 1)
    return uses.values()


def _metres(length: float) -> str:
    return f"{length:.3g} m"
