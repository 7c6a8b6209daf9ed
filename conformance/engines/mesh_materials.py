"""Materials of mesh files, as their formats define them, their images, and limits of files.

It shares no code with the converter, which reads the same files. Robots from elsewhere may name a
device, which has no end, a pipe, which blocks, or a file that expands: :func:`read_bounded`.
"""

from __future__ import annotations

import errno
import hashlib
import math
import re
import stat
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct
from PIL import Image

from urdf_usd.conformance.observation.shapes import DOUBLE_SIDED, Vec3

_MIB = 1 << 20
LARGEST_MESH = 256 * _MIB
# Readers of text take up to a hundred times its size.
LARGEST_TEXT = 128 * _MIB
LARGEST_LIBRARY = 16 * _MIB
LARGEST_IMAGE = 128 * _MIB
MOST_INSTANCES = 100_000
# Coordinates and indices of one file, with all instances.
MOST_NUMBERS = 50_000_000


def require_bounded(path: Path, largest: int) -> None:
    """Check a file before it is opened, because opening a pipe blocks.

    Args:
        path: The file.
        largest: Maximum size [B].

    Raises:
        OSError: It is not found, not a regular file, or larger; the message of the
            last two has its name.
        ValueError: The path has a null character.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, f"{path.name} is not a regular file")
    if status.st_size > largest:
        raise _too_large(path, largest)


def read_bounded(path: Path, largest: int) -> bytes:
    """Read a regular file of limited size; see :func:`require_bounded`."""
    require_bounded(path, largest)
    with path.open("rb") as file:
        # The size that is stated is zero in some file systems.
        content = file.read(largest + 1)
    if len(content) > largest:
        raise _too_large(path, largest)
    return content


def _too_large(path: Path, largest: int) -> OSError:
    message = f"{path.name} is larger than {largest // _MIB} MiB"
    return OSError(errno.EFBIG, message)


_FILE = "file://"
# The threshold of sRGB (IEC 61966-2-1).
_DARK = 0.04045
_RGB = 3
# Of files that exist and are not read.
_REFUSED = (errno.EINVAL, errno.EFBIG)


class ImageFile(Struct, frozen=True):
    """A texture of a material.

    Attributes:
        reference: Its file, as written in the mesh file.
        folder: Folder that the reference is relative to.
        content: The image, if it is embedded in the mesh file.
    """

    reference: str
    folder: str
    content: bytes | None = None

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
        written = self.reference.replace("\\", "/").removeprefix(_FILE)
        for reference in dict.fromkeys((written, unquote(written))):
            for path in (Path(self.folder, reference), Path(self.folder, self.name)):
                try:
                    return read_bounded(path, LARGEST_IMAGE)
                except (OSError, ValueError) as error:
                    if isinstance(error, OSError) and error.errno in _REFUSED:
                        reason = f"cannot be read: {error.strerror}"
        return reason


class FileMaterial(Struct, frozen=True):
    """A material of a mesh file.

    Attributes:
        color: Linear RGB; None if absent or ambiguous.
        factor: Factor of the colour texture, linear RGB; None if ambiguous.
        opacity: In [0, 1]; None if ambiguous.
        image: Colour texture.
        mask: Opacity texture.
        has_more: Whether it has anything else: emission, or vertex colours.
        properties: Other inputs of a surface that it defines, as of
            :class:`~urdf_usd.conformance.observation.shapes.Appearance`.
        unread: Likewise: other inputs that its format can define.
    """

    color: Vec3 | None = None
    factor: Vec3 | None = (1.0, 1.0, 1.0)
    opacity: float | None = 1.0
    image: ImageFile | None = None
    mask: ImageFile | None = None
    has_more: bool = False
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
    """Return the linear components of an sRGB colour, which is clamped to [0, 1]."""
    red, green, blue = (_linear(min(max(c, 0.0), 1.0)) for c in encoded[:_RGB])
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


def _linear(encoded: float) -> float:
    if encoded <= _DARK:
        return encoded / 12.92
    return float(((encoded + 0.055) / 1.055) ** 2.4)


_JPEG = b"\xff\xd8\xff"
_PNG = b"\x89PNG\r\n\x1a\n"
_FORMATS = ("PNG", "GIF", "TIFF", "BMP", "TGA")


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


_NUMBER = r"\s+[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?=\s)"
# Options before the file of a map.
_OPTION = re.compile(
    r"-(?:(?:blend[uv]|bm|boost|cc|clamp|imfchan|texres|type)\s+\S+"
    rf"|mm(?:{_NUMBER}){{1,2}}|[ost](?:{_NUMBER}){{1,3}})\s+",
    re.IGNORECASE,
)
# Of a preview surface, and the range of the format.
_FALLBACK_IOR = 1.5
_IOR_RANGE = 1e-3, 10.0
# Smallest difference that counts.
_APART = 1e-4
# Inputs of a preview surface, and of its textures, that statements define.
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
        for library in _files(line.replace("\\", "/"), Path(folder)):
            text = _text(read_bounded(library, LARGEST_LIBRARY))
            for name, statements in _materials(text):
                material = _material(statements, str(library.parent))
                known.setdefault(name, material)
    return tuple(known.get(name, FileMaterial()) for name in names)


def _files(line: str, folder: Path) -> tuple[Path, ...]:
    """Find libraries: a name that may hold spaces, or several names."""
    whole = folder / line
    if whole.is_file():
        return (whole,)
    return tuple(path for word in line.split() if (path := folder / word).is_file())


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _materials(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the statements of each material, by keyword in lower case."""
    name, statements = None, dict[str, str]()
    for line in text.splitlines():
        keyword, _, value = line.strip().replace("\t", " ").partition(" ")
        if keyword.lower() == "newmtl":
            if name is not None:
                yield name, statements
            name, statements = value.strip(), {}
        else:
            statements[keyword.lower()] = value.strip()
    if name is not None:
        yield name, statements


def _material(statements: dict[str, str], folder: str) -> FileMaterial:
    color = _color(statements.get("kd"))
    # By the format a black factor makes a texture black; exporters mean no factor.
    factor = (1.0, 1.0, 1.0) if color is None else color if any(color) else None
    emission = _color(statements.get("ke"))
    glow = _image(statements.get("map_ke"), folder)
    return FileMaterial(
        color=color,
        factor=factor,
        opacity=_opacity(statements),
        image=_image(statements.get("map_kd"), folder),
        mask=_image(statements.get("map_d"), folder),
        has_more=glow is not None or any(emission or ()),
        properties=(*(() if glow else emitting(emission)), *_refracting(statements)),
        unread=frozenset(_unread(statements)),
    )


def _unread(statements: dict[str, str]) -> Iterator[str]:
    """Yield the inputs that statements and options of the colour texture define."""
    for keyword, names in _DEFINED.items():
        if keyword in statements:
            yield from names
    options = statements.get("map_kd", "").lower().split()
    if "-clamp" in options:
        yield from ("diffuseColor.wrapS", "diffuseColor.wrapT")
    if not _PLACEMENT.isdisjoint(options):
        yield "mapping"


def _refracting(
    statements: dict[str, str],
) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Return the index of refraction, unless it is that of all preview surfaces."""
    numbers = _numbers(statements.get("ni"))
    stated = numbers[0] if numbers else _FALLBACK_IOR
    usual = abs(stated - _FALLBACK_IOR) <= _APART
    in_range = _IOR_RANGE[0] <= stated <= _IOR_RANGE[1]
    return (("ior", (stated,)),) if in_range and not usual else ()


def _color(value: str | None) -> Vec3 | None:
    """Return linear components; None for colours that are spectra or CIE XYZ."""
    numbers = _numbers(value)
    if numbers is None or not numbers:
        return None
    return light(numbers if len(numbers) >= _RGB else numbers[:1] * _RGB)


def _opacity(statements: dict[str, str]) -> float:
    stated = _numbers((statements.get("d") or "").removeprefix("-halo"))
    if stated:
        return effective_opacity(stated[0])
    through = _numbers(statements.get("tr"))
    return effective_opacity(1.0 - through[0]) if through else 1.0


def _image(value: str | None, folder: str) -> ImageFile | None:
    rest = value or ""
    while option := _OPTION.match(rest):
        rest = rest[option.end() :]
    return ImageFile(rest.strip(), folder) if rest.strip() else None


def _numbers(value: str | None) -> tuple[float, ...] | None:
    """Return the numbers of a statement; None if it holds anything else."""
    try:
        numbers = tuple(float(word) for word in (value or "").split())
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None
