"""What is fuzzed: a reader, and what must hold of its answer to any bytes.

A target returns if the reader keeps its promises: it answers with a value or with its
documented error. Anything else is raised, and is a finding.
"""

from __future__ import annotations

import math
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from pxr import Usd

from converter.diagnostics import AuthoringError, ConversionError
from converter.embodiment import BaseOption, MasslessOption, embody
from converter.meshes.dae import read_dae
from converter.meshes.obj import read_obj
from converter.meshes.polygon_mesh import MeshError
from converter.meshes.read import read_mesh
from converter.rules import Severity
from converter.topology import build_tree
from converter.urdf.parse import parse
from converter.usd.layers import asset_name, author_asset
from converter.usd.prims import BodyNesting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from converter.meshes.polygon_mesh import PolygonMesh

Target: TypeAlias = Callable[[bytes], None]

# Authoring takes a hundred times as long as reading, so a few robots have to do.
_AUTHORED_SHARE = 32


def fuzz_urdf(data: bytes) -> None:
    """Read a URDF; author some of the robots that can be read, and open the asset."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "robot.urdf")
        path.write_bytes(data)
        try:
            parsed = parse(path)
        except ConversionError as error:
            said = error.diagnostics
            assert any(found.severity is Severity.ERROR for found in said)
            _require_printable(str(error))
            return
        for diagnostic in parsed.diagnostics:
            assert diagnostic.severity is not Severity.ERROR
            _require_printable(str(diagnostic))
        assert all(not math.isnan(number) for number in _numbers(parsed.robot))
        tree = build_tree(parsed.robot)
        try:
            embodiment = embody(tree, BaseOption.AUTO, MasslessOption.REGULARISE)
        except ConversionError:
            return
        if zlib.crc32(data) % _AUTHORED_SHARE:
            return
        asset = Path(folder, "asset")
        asset.mkdir()
        try:
            author_asset(parsed.robot, tree, embodiment, BodyNesting.NESTED, asset)
        except AuthoringError:
            return
        stage = Usd.Stage.Open(str(asset / asset_name(parsed.robot)))
        assert stage.GetDefaultPrim()


def _require_printable(text: str) -> None:
    """Whatever a file holds, a message can be written to a terminal and a record."""
    text.encode("utf-8")


def _numbers(value: object) -> Iterator[float]:
    """All numbers of a robot."""
    match value:
        case float():
            yield value
        case tuple():
            for part in value:
                yield from _numbers(part)
        case _ if is_dataclass(value):
            for field in fields(value):
                yield from _numbers(getattr(value, field.name))


def fuzz_stl(data: bytes) -> None:
    """Read an STL file of either form."""
    _fuzz_file(data, ".stl")


def fuzz_obj(data: bytes) -> None:
    """Read an OBJ file."""
    try:
        _check(read_obj(data))
    except MeshError as error:
        _require_printable(error.reason)


def fuzz_dae(data: bytes) -> None:
    """Read a COLLADA file."""
    try:
        _check(read_dae(data))
    except MeshError as error:
        _require_printable(error.reason)


def _fuzz_file(data: bytes, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"mesh{suffix}")
        path.write_bytes(data)
        try:
            _check(read_mesh(path))
        except MeshError as error:
            _require_printable(error.reason)


def _check(mesh: PolygonMesh) -> None:
    assert len(mesh.face_counts)
    assert (mesh.face_counts >= 3).all()
    assert mesh.face_counts.sum() == len(mesh.face_indices)
    assert np.isfinite(mesh.points).all()
    used = np.unique(mesh.face_indices)
    assert (used == np.arange(len(mesh.points))).all()
    for sentence in mesh.skipped:
        _require_printable(sentence)


TARGETS = MappingProxyType(
    {"urdf": fuzz_urdf, "stl": fuzz_stl, "obj": fuzz_obj, "dae": fuzz_dae}
)
