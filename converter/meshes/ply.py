"""PLY files, read by trimesh.

trimesh is imported on demand, because few robots have PLY files. The format has no
units and no up axis; metres and Z up are assumed.
"""

from __future__ import annotations

import io
import re
import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from urdf_usd.converter.meshes.corner_values import CornerValues, corner_values
from urdf_usd.converter.meshes.mesh_material import MeshMaterial, MeshTexture, Slot
from urdf_usd.converter.meshes.polygon_mesh import (
    MeshError,
    PolygonMesh,
    SurfaceAttributes,
    build_mesh,
)

# Slow to import.
if TYPE_CHECKING:
    import trimesh

# Texture reference as written by MeshLab.
_IMAGE = re.compile(rb"^comment[ \t]+TextureFile[ \t]+([^\r\n]+)", re.MULTILINE)
_HEAD_SIZE = 4096
_IN_TEXT = re.compile(rb"^format[ \t]+ascii", re.MULTILINE)
_COUNT = re.compile(rb"^element[ \t]+\S+[ \t]+([0-9]+)", re.MULTILINE)
# trimesh needs sixty times as much memory for text.
_LONGEST_TEXT = 32 << 20
# Exceptions of trimesh for damaged files.
_MALFORMED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    # for optional dependencies
    ImportError,
    LookupError,
    MemoryError,
    NameError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
)


def read_ply(data: bytes) -> PolygonMesh:
    """Read a PLY file [m].

    Raises:
        MeshError: The file is damaged or holds no surface.
    """
    is_text = _IN_TEXT.search(data[:_HEAD_SIZE])
    if is_text and len(data) > _LONGEST_TEXT:
        raise MeshError(f"it is text of more than {_LONGEST_TEXT >> 20} MiB")
    with _damage_explained():
        if is_text:
            _require_rows(data)
        surface = _surface(data)
        if surface is None:
            raise MeshError("it holds no faces")
        faces: NDArray[np.integer] = np.asarray(surface.faces).reshape(-1)
        uv = getattr(surface.visual, "uv", None)
        st = None if uv is None else corner_values(uv[:, :2], faces)
        counts = np.full(len(faces) // 3, 3)
        image = _IMAGE.search(data[:_HEAD_SIZE]) if st else None
        attributes = SurfaceAttributes(
            texture_coordinates=st,
            colors=_colors(surface.visual, faces),
            face_materials=np.zeros(len(counts), np.int32) if image else None,
            materials=(_shown(image[1]),) if image else (),
        )
        return build_mesh(surface.vertices, counts, faces, attributes=attributes)


def _require_rows(data: bytes) -> None:
    """Refuse a truncated text file, which trimesh accepts."""
    head, _, body = data.partition(b"end_header")
    announced = sum(map(int, _COUNT.findall(head.replace(b"\r", b"\n"))))
    held = sum(not line.isspace() for line in body.strip().splitlines())
    if held < announced:
        raise MeshError(f"it announces {announced} rows but holds {held}")


def _shown(name: bytes) -> MeshMaterial:
    texture = MeshTexture(name.decode("utf-8", "replace").strip())
    return MeshMaterial("", textures=((Slot.COLOR, texture),))


@contextmanager
def _damage_explained() -> Iterator[None]:
    """Convert exceptions of trimesh to :class:`MeshError`.

    Also used after loading, because trimesh computes properties lazily.
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    except _MALFORMED as error:
        message = " ".join(str(error).split())[:80]
        raise MeshError(f"its PLY is broken: {message}") from error


def _surface(data: bytes) -> trimesh.Trimesh | None:
    import trimesh

    scene = trimesh.load_scene(io.BytesIO(data), file_type="ply", process=False)
    found = scene.geometry.values()
    return next((one for one in found if isinstance(one, trimesh.Trimesh)), None)


def _colors(visual: Any, faces: NDArray[np.integer]) -> CornerValues | None:  # noqa: ANN401  its type has no common attributes
    if visual.kind == "face":
        each = np.repeat(np.arange(len(faces) // 3), 3)
        return corner_values(visual.face_colors[:, :3] / 255.0, each)
    if visual.kind != "vertex":
        return None
    return corner_values(visual.vertex_colors[:, :3] / 255.0, faces)
