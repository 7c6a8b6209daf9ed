"""Images of the asset: PNG and JPG are copied, other formats written as PNG."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct
from PIL import Image as Picture
from PIL import UnidentifiedImageError

from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.file_content import MIB, read_file
from urdf_usd.converter.meshes.mesh_materials import MeshTexture
from urdf_usd.converter.urdf.uris import (
    is_package,
    is_repository,
    path_prefix,
)
from urdf_usd.converter.usd.writer.prims import sibling_names

# Formats that all renderers read, and that USDZ allows.
IMAGE_TYPES = {b"\x89PNG\r\n\x1a\n": ".png", b"\xff\xd8\xff": ".jpg"}
IMAGE_SUFFIXES = frozenset(IMAGE_TYPES.values())
_FILE_SCHEME = "file://"
LARGEST_IMAGE = 128 * MIB
# Formats that are written as PNG.
_OTHER_FORMATS = ("GIF", "TIFF", "BMP", "TGA")


class Image(Struct, frozen=True):
    """An image of a material: in a file, embedded in another file, or missing."""

    name: str  # File name, or a substitute.
    path: str | None = None
    content: bytes | None = None


class Textures(Struct, frozen=True):
    """Images of an asset: file name in the folder of textures, by usable image."""

    files: dict[Image, str]
    diagnostics: tuple[Diagnostic, ...]


def image_of(texture: MeshTexture, mesh_file: str) -> Image:
    """Find an image that a mesh file refers to.

    The reference is relative to the mesh file; an absolute path of another machine is
    looked up by file name in the folder of the mesh file.
    """
    if texture.content is not None:
        return Image(texture.reference, content=texture.content)
    folder = Path(mesh_file).parent
    plain = texture.reference.removeprefix(_FILE_SCHEME)
    for reference in (plain, unquote(plain)):
        for candidate in (folder / reference, folder / Path(reference).name):
            if _is_file(candidate):
                return Image(candidate.name, str(candidate))
    return Image(texture.reference)


def own_folders(folder: Path) -> tuple[str, ...]:
    """Return the folders of the meshes in a folder, as prefixes of paths.

    These are the package and the repository around it, otherwise its parent.
    """
    absolute = folder.absolute()
    folders = (absolute, *absolute.parents)
    own = [
        next((folder for folder in folders if marks(folder)), None)
        for marks in (is_package, is_repository)
    ]
    around = [folder for folder in own if folder] or [absolute.parent]
    return tuple(map(path_prefix, around))


def is_outside(path: str, own: tuple[str, ...]) -> bool:
    """Return whether a file, after following links, is outside of folders.

    Args:
        path: The file.
        own: The folders of its mesh, from :func:`own_folders`.
    """
    return not os.path.realpath(path).startswith(own)


def copy_textures(images: Mapping[Image, Location | None], folder: Path) -> Textures:
    """Copy images into a folder, others than PNG and JPG as PNG; equal ones once.

    Args:
        images: The images and the locations of their use, in order.
        folder: Target folder; created if there are any images.
    """
    contents: dict[Image, bytes] = {}
    diagnostics = []
    for image, location in images.items():
        content = _content(image)
        if content is None:
            message = f"texture {image.name!r} is not there; the colour is used"
            diagnostics.append(Diagnostic("texture-missing", message, location))
        elif _suffix(content):
            contents[image] = content
        else:
            try:
                contents[image] = _as_png(content)
            except ValueError as error:
                message = f"texture {image.name!r} {error}; the colour is used"
                diagnostics.append(Diagnostic("texture-dropped", message, location))
    first: dict[bytes, Image] = {}
    for image, content in contents.items():
        first.setdefault(content, image)
    names = sibling_names(Path(image.name).stem for image in first.values())
    files = {}
    for content, name in zip(first, names, strict=True):
        files[content] = f"{name}{_suffix(content)}"
        folder.mkdir(exist_ok=True)
        (folder / files[content]).write_bytes(content)
    return Textures(
        {image: files[content] for image, content in contents.items()},
        tuple(diagnostics),
    )


def _as_png(content: bytes) -> bytes:
    """Encode an image as PNG with the same pixels; the first picture of several.

    Raises:
        ValueError: It has another format, is damaged, has more pixels than Pillow's
            limit, or numbers that PNG does not have; the message says so.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Its limit against small files of huge images is a warning at first.
            warnings.simplefilter("error", Picture.DecompressionBombWarning)
            with Picture.open(BytesIO(content), formats=_OTHER_FORMATS) as image:
                shown = _in_mode_of_png(image)
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
        reason = " ".join(str(error).split())
        raise _ImageError(f"cannot be read ({reason})") from error
    return encoded.getvalue()


def _in_mode_of_png(image: Picture.Image) -> Picture.Image:
    if image.mode in {"I", "F"}:
        raise _ImageError("has numbers that PNG does not have")
    if image.mode.startswith("I;16"):
        # By way of 32 bits, because not every order of bytes is converted directly.
        return image.convert("I").convert("I;16")
    return image.convert("RGBA" if image.has_transparency_data else "RGB")


class _ImageError(ValueError):
    """An image cannot be written as PNG; the message says why."""


def _suffix(content: bytes) -> str | None:
    return next((IMAGE_TYPES[start] for start in IMAGE_TYPES if content.startswith(start)), None)


def _content(image: Image) -> bytes | None:
    if image.content is not None or image.path is None:
        return image.content
    try:
        return read_file(Path(image.path), LARGEST_IMAGE)
    except OSError:
        return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        # A name that is too long, or with a null character.
        return False
