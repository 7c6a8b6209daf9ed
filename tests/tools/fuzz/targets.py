"""Fuzz targets: a reader, and invariants of its result for any bytes.

A target returns if the reader returns a valid value or raises its documented error. Any
other exception is a finding.
"""

from __future__ import annotations

import math
import tempfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from pxr import Sdf, Usd, Vt

from urdf_usd.converter.diagnostics import AuthoringError, ConversionError, Severity
from urdf_usd.converter.lint.linting import lint
from urdf_usd.converter.meshes.mesh import MeshError, PolygonMesh, mirrored
from urdf_usd.converter.meshes.obj import read_obj
from urdf_usd.converter.meshes.read import decode_mesh
from urdf_usd.converter.robot.bodies import assign_bodies
from urdf_usd.converter.robot.model import BaseOption, MasslessOption, Robot
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
LIBRARY_MARK = b"\n%%%\n"


def fuzz_urdf(data: bytes) -> None:
    """Read a URDF; lint, write and convert some of the readable robots."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "robot.urdf")
        path.write_bytes(data)
        share = zlib.crc32(data)
        if share % _EXAMINED_SHARE == 0:
            for finding in lint(path).findings:
                _require_printable(str(finding))
        try:
            parsed = parse(path)
        except ConversionError as error:
            diagnostics = error.diagnostics
            assert any(found.severity is Severity.ERROR for found in diagnostics)
            _require_printable(str(error))
            return
        for diagnostic in parsed.diagnostics:
            assert diagnostic.severity is not Severity.ERROR
            _require_printable(str(diagnostic))
        assert all(not math.isnan(number) for number in _numbers(parsed.robot))
        if share % _EXAMINED_SHARE == 0:
            _require_return(parsed.robot, path)
        tree = build_tree(parsed.robot)
        try:
            body_assignment = assign_bodies(tree, BaseOption.AUTO, MasslessOption.REGULARISE)
        except ConversionError:
            return
        if share % _AUTHORED_SHARE:
            return
        asset = Path(folder, "asset")
        asset.mkdir()
        try:
            write_asset(parsed.robot, tree, body_assignment, asset)
        except AuthoringError:
            return
        stage = Usd.Stage.Open(str(asset / asset_name(parsed.robot)))
        assert stage.GetDefaultPrim()


def _require_return(robot: Robot, path: Path) -> None:
    """Check that a written robot is read with the same links and joints."""
    path.write_bytes(write(robot))
    again = parse(path).robot
    for parts in ("links", "joints"):
        names = [part.name for part in getattr(robot, parts)]
        assert [part.name for part in getattr(again, parts)] == names


def _require_printable(text: str) -> None:
    """Check that messages can be written to a terminal and a record."""
    text.encode("utf-8")


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


def fuzz_obj(data: bytes) -> None:
    """Read an OBJ file; the part after the mark is its material library."""
    surface, _, library = data.partition(LIBRARY_MARK)
    try:
        _check(read_obj(surface, lambda _: library))
    except MeshError as error:
        _require_printable(error.reason)


def _fuzz_mesh(suffix: str, data: bytes) -> None:
    """Read a mesh file, whose content may not match its suffix."""
    try:
        _check(decode_mesh(data, Path(f"/nowhere/mesh.{suffix}")))
    except MeshError as error:
        _require_printable(error.reason)


def _check(mesh: PolygonMesh) -> None:
    """Check the invariants of a mesh, and write it to a layer."""
    assert len(mesh.face_counts)
    assert (mesh.face_counts >= 3).all()
    assert mesh.face_counts.sum() == len(mesh.face_indices)
    used = np.unique(mesh.face_indices)
    assert (used == np.arange(len(mesh.points))).all()
    for sentence in mesh.skipped:
        _require_printable(sentence)
    stage = Usd.Stage.CreateInMemory()
    write_mesh(stage.GetRootLayer(), Sdf.Path("/Mesh"), mirrored(mesh, (True, False, False)))
    for attribute in stage.GetPrimAtPath("/Mesh").GetAuthoredAttributes():
        value = attribute.Get()
        if isinstance(value, Vt.Vec2fArray | Vt.Vec3fArray):
            assert np.isfinite(np.array(value)).all(), attribute.GetName()


TARGETS: dict[str, Target] = {
    **{suffix: partial(_fuzz_mesh, suffix) for suffix in ("dae", "glb", "gltf", "ply", "stl")},
    "obj": fuzz_obj,
    "urdf": fuzz_urdf,
}
