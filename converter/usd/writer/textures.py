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
from urdf_usd.converter.urdf.uris import is_package, is_repository, path_prefix
from urdf_usd.converter.usd.writer.prims import sibling_names

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
    """Find an image that a mesh file refers to.

    The reference is relative to the mesh file; an absolute path of another machine is
    looked up by file name in the folder of the mesh file.
    """
    if texture.content is not None:
        return Image(texture.reference, content=texture.content)
    folder = Path(mesh_file).parent
    plain = texture.reference.removeprefix("file://")
    for reference in (plain, unquote(plain)):
        for candidate in (folder / reference, folder / Path(reference).name):
            try:
                if candidate.is_file():
                    return Image(candidate.name, str(candidate))
            except (OSError, ValueError):
                continue  # A name that is too long, or with a null character.
    return Image(texture.reference)


def outside_note(path: str, folder: Path, location: Location | None) -> tuple[Diagnostic, ...]:
    """Report a file outside of the package and the repository around a mesh.

    A mesh in neither may refer to files below the parent of its folder.
    """
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
    """Copy images into a folder, others than PNG and JPG as PNG; equal ones once.

    Args:
        images: The images and the locations of their use, in order.
        folder: Target folder; created if there are any images.

    Returns:
        File names of usable images, and diagnostics about the others.
    """
    contents: dict[Image, bytes] = {}
    diagnostics = []
    for image, location in images.items():
        content = image.content
        if content is None and image.path is not None:
            try:
                content = read_file(Path(image.path), LARGEST_IMAGE)
            except OSError:
                content = None
        if content is None:
            message = f"texture {image.name!r} is not there; the colour is used"
            diagnostics.append(Diagnostic("texture-missing", message, location))
            continue
        try:
            contents[image] = content if _suffix(content) else _as_png(content)
        except _ImageError as error:
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
    return {image: files[content] for image, content in contents.items()}, diagnostics


def _suffix(content: bytes) -> str | None:
    return next((IMAGE_TYPES[start] for start in IMAGE_TYPES if content.startswith(start)), None)


class _ImageError(ValueError):
    """An image cannot be written as PNG; the message says why."""


def _as_png(content: bytes) -> bytes:
    """Encode an image as PNG with the same pixels; the first picture of several.

    Raises:
        _ImageError: It has another format, is damaged, has more pixels than Pillow's
            limit, or numbers that PNG does not have.
    """
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
