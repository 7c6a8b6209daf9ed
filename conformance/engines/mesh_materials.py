"""Materials of mesh files, as their formats define them, and their images.

It shares no code with the converter, which reads the same files.
"""

from __future__ import annotations

import errno
import hashlib
import math
import re
import stat
import warnings
from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct
from PIL import Image

from urdf_usd.conformance.observation.shapes import DOUBLE_SIDED, Vec3

# As in docs/dev/decisions.md [B].
LARGEST_MESH, LARGEST_IMAGE = 256 << 20, 128 << 20
# Of files that exist and are not read.
_REFUSED = (errno.EINVAL, errno.EFBIG)
_RGB = 3
_JPEG = b"\xff\xd8\xff"
_PNG = b"\x89PNG\r\n\x1a\n"
_FORMATS = ("PNG", "GIF", "TIFF", "BMP", "TGA")
_NUMBER = r"\s+[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?=\s)"
# Options before the file of a map.
_OPTION = re.compile(
    r"-(?:(?:blend[uv]|bm|boost|cc|clamp|imfchan|texres|type)\s+\S+"
    rf"|mm(?:{_NUMBER}){{1,2}}|[ost](?:{_NUMBER}){{1,3}})\s+",
    re.IGNORECASE,
)
# Of a preview surface; smallest difference that counts, and the range of the format.
_FALLBACK_IOR, _APART, _IOR_RANGE = 1.5, 1e-4, (1e-3, 10.0)
# Inputs of a preview surface, and of its textures, that statements of a library define.
_DEFINED = {
    "map_ke": ("emissiveColor",),
    "map_d": ("opacity.",),
    "pm": ("metallic",),
    "map_pm": ("metallic",),
    "pr": ("roughness",),
    "map_pr": ("roughness",),
    "ks": ("specularColor", "useSpecularWorkflow"),
    "ns": ("roughness",),
    "pc": ("clearcoat",),
    "pcr": ("clearcoatRoughness",),
    "norm": ("normal",),
}
# Options that move texture coordinates.
_PLACEMENT = frozenset({"-o", "-s", "-t"})


def read_bounded(path: Path, largest: int) -> bytes:
    """Read a regular file of limited size [B]; opening a pipe would block.

    Raises:
        OSError: It is not found, not a regular file, or larger.
        ValueError: The path has a null character.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, f"{path.name} is not a regular file")
    if status.st_size > largest:
        raise OSError(errno.EFBIG, f"{path.name} is larger than {largest >> 20} MiB")
    return path.read_bytes()


class ImageFile(Struct, frozen=True):
    """A texture of a material."""

    reference: str  # its file, as written in the mesh file
    folder: str  # folder that the reference is relative to
    content: bytes | None = None  # the image, if it is embedded in the mesh file

    @property
    def name(self) -> str:
        """Name of its file."""
        return self.reference.replace("\\", "/").rpartition("/")[2]

    def read(self) -> bytes | str:
        """Read the file; with a path of another machine, the one next to the mesh.

        The reference may be percent-encoded.

        Returns:
            The bytes, or why they cannot be read.
        """
        reason = "is not found"
        if self.content is not None:
            return self.content
        written = self.reference.replace("\\", "/").removeprefix("file://")
        for reference in dict.fromkeys((written, unquote(written))):
            for path in (Path(self.folder, reference), Path(self.folder, self.name)):
                try:
                    return read_bounded(path, LARGEST_IMAGE)
                except (OSError, ValueError) as error:
                    if isinstance(error, OSError) and error.errno in _REFUSED:
                        reason = f"cannot be read: {error.strerror}"
        return reason


class FileMaterial(Struct, frozen=True):
    """A material of a mesh file; None is absent or ambiguous."""

    color: Vec3 | None = None  # linear RGB
    factor: Vec3 | None = (1.0, 1.0, 1.0)  # of the colour texture, linear RGB
    opacity: float | None = 1.0  # in [0, 1]
    image: ImageFile | None = None  # colour texture
    mask: ImageFile | None = None  # opacity texture
    has_more: bool = False  # whether it has anything else: emission, or vertex colours
    # Other inputs of a surface that it defines, and that its format can define, as of
    # :class:`~urdf_usd.conformance.observation.shapes.Appearance`.
    properties: tuple[tuple[str, tuple[float, ...] | str], ...] = ()
    unread: frozenset[str] = frozenset()

    @property
    def defines_appearance(self) -> bool:
        """Whether it defines the appearance of a surface; if not, it is ignored."""
        return self.color is not None or self.image is not None or self.has_more


def emitting(emission: Vec3 | None) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Return the property of a linear emitted colour; none if it is black."""
    return (("emissiveColor", emission),) if emission and any(emission) else ()


def both_sides(shown: object) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Return the property of a material that shows both sides of faces, if it does."""
    return ((DOUBLE_SIDED, (1.0,)),) if shown else ()


def light(encoded: Sequence[float]) -> Vec3:
    """Return the linear components of an sRGB colour (IEC 61966-2-1), clamped to [0, 1]."""
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in clamped(encoded)
    )
    return red, green, blue


def clamped(linear: Sequence[float]) -> Vec3:
    """Return the first three components in [0, 1]."""
    red, green, blue = (min(max(float(c), 0.0), 1.0) for c in linear[:_RGB])
    return red, green, blue


def effective_opacity(stated: float) -> float:
    """Return an opacity in (0, 1]; zero is taken for one.

    Many exporters confuse opacity and transparency, and fully transparent parts are
    not used.
    """
    return min(stated, 1.0) if stated > 0 else 1.0


# Parts of a surface in sequence show the same image.
@lru_cache(maxsize=2)
def image_digest(content: bytes) -> str | None:
    """Return the SHA-256 of the size and the pixels of an image; of a JPEG, of bytes.

    Of an animated image, the first picture counts.

    Returns:
        None unless it is an image in one of the formats that materials use; for a PNG
        that cannot be decoded, the SHA-256 of its bytes.
    """
    if not content.startswith(_JPEG):
        pixels = _pixels(content)
        if pixels is not None:
            return hashlib.sha256(pixels).hexdigest()
    if content.startswith((_JPEG, _PNG)):
        return hashlib.sha256(content).hexdigest()
    return None


def _pixels(content: bytes) -> bytes | None:
    """Return size and pixels; None if damaged, or larger than Pillow's limit."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(content), formats=_FORMATS) as image:
                if image.mode in {"I", "F"}:
                    # No PNG has such numbers.
                    return None
                shown = image.convert("I" if image.mode[0] == "I" else "RGBA")
    # Pillow raises any exception on damaged files.
    except Exception:  # noqa: BLE001
        return None
    return f"{shown.mode} {shown.size}".encode() + shown.tobytes()


def decoded(content: bytes) -> str:
    """Return a text of unknown encoding."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def read_libraries(
    lines: Sequence[str], names: Sequence[str], folder: str
) -> tuple[FileMaterial, ...]:
    """Read the materials that an OBJ file uses.

    Args:
        lines: Arguments of ``mtllib``, line by line.
        names: Of the materials.
        folder: Folder of the OBJ file.

    Returns:
        One material per name; an empty one if it is not defined.

    Raises:
        OSError: A library cannot be read, or is too large.
    """
    known: dict[str, FileMaterial] = {}
    for line in lines:
        whole = Path(folder, line.replace("\\", "/"))
        # A name that may hold spaces, or several names.
        words = [Path(folder, word) for word in line.replace("\\", "/").split()]
        for library in [whole] if whole.is_file() else [path for path in words if path.is_file()]:
            for name, statements in _materials(decoded(read_bounded(library, LARGEST_MESH))):
                known.setdefault(name, _material(statements, str(library.parent)))
    return tuple(known.get(name, FileMaterial()) for name in names)


def _materials(text: str) -> list[tuple[str, dict[str, str]]]:
    """Return the statements of each material, by keyword in lower case."""
    found: list[tuple[str, dict[str, str]]] = []
    statements: dict[str, str] = {}
    for line in text.splitlines():
        keyword, _, value = line.strip().replace("\t", " ").partition(" ")
        if keyword.lower() == "newmtl":
            statements = {}
            found.append((value.strip(), statements))
        else:
            statements[keyword.lower()] = value.strip()
    return found


def _material(statements: dict[str, str], folder: str) -> FileMaterial:
    color = _color(statements.get("kd"))
    # By the format a black factor makes a texture black; exporters mean no factor.
    factor = (1.0, 1.0, 1.0) if color is None else color if any(color) else None
    emission = _color(statements.get("ke"))
    glow = _image(statements.get("map_ke"), folder)
    solid, through = _numbers(statements.get("d", "").removeprefix("-halo")), None
    if not solid and (through := _numbers(statements.get("tr"))):
        solid = (1.0 - through[0],)
    refraction = (_numbers(statements.get("ni")) or (_FALLBACK_IOR,))[0]
    refracts = (
        _IOR_RANGE[0] <= refraction <= _IOR_RANGE[1] and abs(refraction - _FALLBACK_IOR) > _APART
    )
    unread = {name for keyword in _DEFINED if keyword in statements for name in _DEFINED[keyword]}
    options = statements.get("map_kd", "").lower().split()
    if "-clamp" in options:
        unread |= {"diffuseColor.wrapS", "diffuseColor.wrapT"}
    if not _PLACEMENT.isdisjoint(options):
        unread.add("mapping")
    return FileMaterial(
        color=color,
        factor=factor,
        opacity=effective_opacity(solid[0]) if solid else 1.0,
        image=_image(statements.get("map_kd"), folder),
        mask=_image(statements.get("map_d"), folder),
        has_more=glow is not None or any(emission or ()),
        properties=(
            *(() if glow else emitting(emission)),
            *((("ior", (refraction,)),) if refracts else ()),
        ),
        unread=frozenset(unread),
    )


def _color(value: str | None) -> Vec3 | None:
    """Return linear components; None for colours that are spectra or CIE XYZ."""
    numbers = _numbers(value)
    if not numbers:
        return None
    return light(numbers if len(numbers) >= _RGB else numbers[:1] * _RGB)


def _image(value: str | None, folder: str) -> ImageFile | None:
    rest = value or ""
    while option := _OPTION.match(rest):
        rest = rest[option.end() :]
    return ImageFile(rest.strip(), folder) if rest.strip() else None


def _numbers(value: str | None) -> tuple[float, ...]:
    """Return the numbers of a statement; none if it holds anything else."""
    try:
        numbers = tuple(float(word) for word in (value or "").split())
    except ValueError:
        return ()
    return numbers if all(map(math.isfinite, numbers)) else ()
