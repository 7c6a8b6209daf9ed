"""Fuzz targets: a reader returns a valid value or raises its documented error, for any bytes."""

from __future__ import annotations

import math
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from pxr import Sdf, Usd, Vt

from urdf_usd.converter.diagnostics import ConversionError, Severity
from urdf_usd.converter.lint.linting import lint
from urdf_usd.converter.meshes.mesh import MeshError, PolygonMesh, mirrored
from urdf_usd.converter.meshes.obj import read_obj
from urdf_usd.converter.meshes.read import decode_mesh
from urdf_usd.converter.robot.bodies import assign_bodies
from urdf_usd.converter.robot.model import BaseOption, MasslessOption
from urdf_usd.converter.robot.topology import build_tree
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.converter.urdf.write import write
from urdf_usd.converter.usd.writer.asset import asset_name
from urdf_usd.converter.usd.writer.geometry import write_mesh
from urdf_usd.converter.usd.writer.layouts import write_asset

Target: TypeAlias = Callable[[bytes], None]

# Conversion takes a hundred times as long as reading, so only some are converted.
_AUTHORED_SHARE = 32
_EXAMINED_SHARE = 4
# The part of an OBJ file after it is its material library.
LIBRARY_MARK = b"\n%%%\n"


def fuzz_urdf(data: bytes) -> None:
    """Read a URDF; lint, write and convert some of the readable robots."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "robot.urdf")
        path.write_bytes(data)
        share = zlib.crc32(data)
        if share % _EXAMINED_SHARE == 0:
            for finding in lint(path).findings:
                str(finding).encode()
        try:
            parsed = parse(path)
        except ConversionError as error:
            assert any(found.severity is Severity.ERROR for found in error.diagnostics)
            str(error).encode()
            return
        for diagnostic in parsed.diagnostics:
            assert diagnostic.severity is not Severity.ERROR
            str(diagnostic).encode()
        assert all(not math.isnan(number) for number in _numbers(parsed.robot))
        if share % _EXAMINED_SHARE == 0:
            path.write_bytes(write(parsed.robot))
            again = parse(path).robot
            assert [one.name for one in again.links] == [one.name for one in parsed.robot.links]
            assert [one.name for one in again.joints] == [one.name for one in parsed.robot.joints]
        tree, asset = build_tree(parsed.robot), Path(folder, "asset")
        with suppress(ConversionError):
            bodies = assign_bodies(tree, BaseOption.AUTO, MasslessOption.REGULARISE)
            if share % _AUTHORED_SHARE == 0:
                asset.mkdir()
                write_asset(parsed.robot, tree, bodies, asset)
                stage = Usd.Stage.Open(str(asset / asset_name(parsed.robot)))
                assert stage.GetDefaultPrim()


def _numbers(value: object) -> Iterator[float]:
    """Return all numbers of a robot."""
    match value:
        case float():
            yield value
        case tuple():
            for part in value:
                yield from _numbers(part)
        case Struct():
            for name in value.__struct_fields__:
                yield from _numbers(getattr(value, name))


def _fuzz_mesh(suffix: str, data: bytes) -> None:
    """Read a mesh file, whose content may not match its suffix."""
    surface, _, library = data.partition(LIBRARY_MARK)
    try:
        if suffix == "obj":
            _check(read_obj(surface, lambda _: library))
        else:
            _check(decode_mesh(data, Path(f"/nowhere/mesh.{suffix}")))
    except MeshError as error:
        error.reason.encode()


def _check(mesh: PolygonMesh) -> None:
    """Check the invariants of a mesh, and write it to a layer."""
    assert len(mesh.face_counts)
    assert (mesh.face_counts >= 3).all()
    assert mesh.face_counts.sum() == len(mesh.face_indices)
    used = np.unique(mesh.face_indices)
    assert (used == np.arange(len(mesh.points))).all()
    for sentence in mesh.skipped:
        sentence.encode()
    stage = Usd.Stage.CreateInMemory()
    write_mesh(stage.GetRootLayer(), Sdf.Path("/Mesh"), mirrored(mesh, (True, False, False)))
    for attribute in stage.GetPrimAtPath("/Mesh").GetAuthoredAttributes():
        value = attribute.Get()
        if isinstance(value, Vt.Vec2fArray | Vt.Vec3fArray):
            assert np.isfinite(np.array(value)).all(), attribute.GetName()


TARGETS: dict[str, Target] = {
    **{one: partial(_fuzz_mesh, one) for one in ("dae", "glb", "gltf", "obj", "ply", "stl")},
    "urdf": fuzz_urdf,
}
