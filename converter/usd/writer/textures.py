"""Images of the asset: PNG and JPG are copied, other formats written as PNG."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from PIL import Image as Picture
from PIL import ImageDraw, UnidentifiedImageError
from pxr import Gf, Usd, UsdGeom, UsdShade
from scipy.spatial import ConvexHull

from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.file_content import MIB, is_file, read_file
from urdf_usd.converter.meshes.mesh_materials import MeshTexture
from urdf_usd.converter.robot.model import Box, Capsule, Cylinder, Sphere
from urdf_usd.converter.robot.solids import fan_triangles, outline
from urdf_usd.converter.urdf.uris import is_package, is_repository, path_prefix
from urdf_usd.converter.usd.writer.specs import sibling_names

# Formats that all renderers read, and that USDZ allows.
IMAGE_TYPES = {b"\x89PNG\r\n\x1a\n": ".png", b"\xff\xd8\xff": ".jpg"}
LARGEST_IMAGE = 128 * MIB
# Formats that are written as PNG.
_OTHER_FORMATS = ("GIF", "TIFF", "BMP", "TGA")


class Image(Struct, frozen=True):
    """An image of a material: in a file, embedded in another file, or missing."""

    name: str  # File name, or a substitute.
    path: str | None = None
    content: bytes | None = None


def image_of(texture: MeshTexture, mesh_file: str) -> Image:
    """Find an image, by path or else by name, in the folder of the mesh file that refers to it."""
    if texture.content is not None:
        return Image(texture.reference, content=texture.content)
    folder = Path(mesh_file).parent
    plain = texture.reference.removeprefix("file://")
    for reference in (plain, unquote(plain)):
        for candidate in (folder / reference, folder / Path(reference).name):
            if is_file(candidate):
                return Image(candidate.name, str(candidate))
    return Image(texture.reference)


def outside_note(path: str, folder: Path, location: Location | None) -> tuple[Diagnostic, ...]:
    """Report a file outside of the package and repository of a mesh, else of the folder above."""
    folders = (folder.absolute(), *folder.absolute().parents)
    around = [next(filter(marks, folders), None) for marks in (is_package, is_repository)]
    own = [found for found in around if found] or [folders[0].parent]
    if os.path.realpath(path).startswith(tuple(map(path_prefix, own))):
        return ()
    message = f"{path} lies outside the folders of its mesh; it is used"
    return (Diagnostic("file-outside", message, location),)


def copy_textures(
    images: Mapping[Image, Location | None], folder: Path
) -> tuple[dict[Image, str], list[Diagnostic]]:
    """Copy usable images into a folder, others than PNG and JPG as PNG; equal ones once."""
    contents: dict[Image, bytes] = {}
    diagnostics = []
    for image, location in images.items():
        content = image.content
        if content is None and image.path is not None:
            with suppress(OSError):
                content = read_file(Path(image.path), LARGEST_IMAGE)
        if content is None:
            message = f"texture {image.name!r} is not there; the colour is used"
            diagnostics.append(Diagnostic("texture-missing", message, location))
            continue
        try:
            contents[image] = content if _suffix(content) else _as_png(content)
        except _ImageError as error:
            message = f"texture {image.name!r} {error}; the colour is used"
            diagnostics.append(Diagnostic("texture-dropped", message, location))
    # Of equal ones, the first.
    first = {content: image for image, content in reversed(contents.items())}
    first = {content: first[content] for content in contents.values()}
    names = sibling_names(Path(image.name).stem for image in first.values())
    files = {}
    for content, name in zip(first, names, strict=True):
        files[content] = f"{name}{_suffix(content)}"
        folder.mkdir(exist_ok=True)
        (folder / files[content]).write_bytes(content)
    return {image: files[content] for image, content in contents.items()}, diagnostics


def _suffix(content: bytes) -> str | None:
    return next((IMAGE_TYPES[start] for start in IMAGE_TYPES if content.startswith(start)), None)


class _ImageError(ValueError):
    """An image cannot be written as PNG; the message says why."""


def _as_png(content: bytes) -> bytes:
    """Encode an image as PNG with the same pixels; the first picture of several."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Its limit against small files of huge images is a warning at first.
            warnings.simplefilter("error", Picture.DecompressionBombWarning)
            with Picture.open(BytesIO(content), formats=_OTHER_FORMATS) as image:
                if image.mode in {"I", "F"}:
                    raise _ImageError("has numbers that PNG does not have")
                if image.mode.startswith("I;16"):
                    # By way of 32 bits, because not every order of bytes is converted.
                    shown = image.convert("I").convert("I;16")
                else:
                    shown = image.convert("RGBA" if image.has_transparency_data else "RGB")
            encoded = BytesIO()
            # Without metadata, such as the resolution and the time.
            shown.info.clear()
            shown.save(encoded, "PNG", compress_level=9)
    except _ImageError:
        raise
    except UnidentifiedImageError:
        raise _ImageError("is not PNG, JPG, GIF, TIFF, BMP or TGA") from None
    # Pillow raises any exception on damaged files.
    except Exception as error:
        raise _ImageError(f"cannot be read ({' '.join(str(error).split())})") from error
    return encoded.getvalue()


# A picture of a stage

Array: TypeAlias = NDArray[np.float64]

SIZE = 256
# Drawn larger and reduced, so that edges are smooth.
_OVERSAMPLING = 2
# Axes of the picture in the world: right, up, and towards the camera.
_AXES = np.array([[0.6, 0.8, 0.0], [-0.29712, 0.22284, 0.92848], [0.74278, -0.55709, 0.37139]])
_LIGHT = np.array([0.53452, -0.26726, 0.80178])
# Longest extent of a triangle along an axis of the picture [pixels].
_LONGEST = 24.0
_GREY = (0.5, 0.5, 0.5)


def write_thumbnail(stage: Usd.Stage, file: Path) -> None:
    """Write a picture of visible prims: triangles on white, from the farthest to the nearest."""
    width = SIZE * _OVERSAMPLING
    image = Picture.new("RGB", (width, width), "white")
    if surfaces := list(_surfaces(stage)):
        # Sums, because the last digits of matrix products depend on the machine.
        seen = [sum(points[..., [i]] * _AXES[:, i] for i in range(3)) for points, _ in surfaces]
        triangles, colors = np.concatenate(seen), np.concatenate([c for _, c in surfaces])
        lower, upper = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
        scale = 0.9 * width / (float((upper - lower)[:2].max()) or 1.0)
        triangles = (triangles - (lower + upper) / 2) * (scale, -scale, scale) + width / 2
        # The order of small triangles is that of their surfaces.
        while (is_long := np.ptp(triangles, axis=1).max(axis=1) > _LONGEST).any():
            a, b, c = triangles[is_long].swapaxes(0, 1)
            d, e, f = (a + b) / 2, (b + c) / 2, (c + a) / 2
            parts = np.stack([a, d, f, d, b, e, f, e, c, d, e, f], axis=1).reshape(-1, 3, 3)
            triangles = np.concatenate([triangles[~is_long], parts])
            colors = np.concatenate([colors[~is_long], np.repeat(colors[is_long], 4, axis=0)])
        order = np.argsort(triangles[..., 2].sum(axis=1), kind="stable")
        corners = triangles[order, :, :2].reshape(-1, 6).tolist()
        draw = ImageDraw.Draw(image)
        for polygon, color in zip(corners, colors[order].tolist(), strict=True):
            draw.polygon(polygon, fill=tuple(color))
    file.parent.mkdir(parents=True)
    image.reduce(_OVERSAMPLING).save(file, "PNG")


def _surfaces(stage: Usd.Stage) -> Iterator[tuple[Array, NDArray[np.uint8]]]:
    """Yield the triangles (N, 3, 3) of each visible shape in the world, and their sRGB colours."""
    cache = UsdGeom.XformCache()
    for prim in stage.Traverse():
        image = UsdGeom.Gprim(prim)
        if not image or image.ComputePurpose() not in {"default", "render"}:
            continue
        triangles = _triangles(prim)
        if not len(triangles):
            continue
        matrix = np.array(cache.GetLocalToWorldTransform(prim))
        placed = sum(triangles[..., [i]] * matrix[i, :3] for i in range(3)) + matrix[3, :3]
        a, b, c = np.swapaxes(placed, 0, 1)
        normals = np.cross(b - a, c - a)
        lengths = np.sqrt((normals * normals).sum(axis=1))
        # Lit from one direction, on both sides.
        cosines = np.abs((normals * _LIGHT).sum(axis=1)) / np.where(lengths > 0, lengths, 1)
        lit = np.clip(_color(prim) * (0.45 + 0.55 * cosines)[:, None], 0, 1) ** (1 / 2.2)
        yield placed, np.round(255 * lit).astype(np.uint8)


def _color(prim: Usd.Prim) -> Array:
    """Return the linear colour of a shape, or of its first part."""
    binding = UsdShade.MaterialBindingAPI(prim)
    material, _ = binding.ComputeBoundMaterial()
    if not material and (parts := binding.GetMaterialBindSubsets()):
        material, _ = UsdShade.MaterialBindingAPI(parts[0].GetPrim()).ComputeBoundMaterial()
    shader, _, _ = material.ComputeSurfaceSource() if material else (None, "", "")
    color = shader.GetInput("diffuseColor").Get() if shader else None
    return np.array(color if isinstance(color, Gf.Vec3f) else _GREY, np.float64)


def _triangles(prim: Usd.Prim) -> Array:
    names = "points", "faceVertexCounts", "faceVertexIndices", "size", "radius", "height"
    points, counts, indices, size, radius, height = (
        prim.GetAttribute(name).Get() for name in names
    )
    match prim.GetTypeName():
        case "Mesh":
            faces = (np.array(values or (), np.int64) for values in (counts, indices))
            return np.array(points or (), np.float64).reshape(-1, 3)[fan_triangles(*faces)]
        case "Cube":
            corners = outline(Box((size,) * 3))
        case "Sphere":
            corners = outline(Sphere(radius))
        case "Cylinder":
            corners = outline(Cylinder(radius, height))
        case "Capsule":
            corners = outline(Capsule(radius, height))
        case _:
            return np.empty((0, 3, 3))
    return np.asarray(corners[ConvexHull(corners).simplices])
