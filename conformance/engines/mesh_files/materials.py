"""Materials of mesh files, as their formats define them, and their images.

It shares no code with the converter, which reads the same files.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from msgspec import Struct

from urdf_usd.conformance.engines.mesh_files.bounds import (
    LARGEST_IMAGE,
    read_bounded,
)
from urdf_usd.conformance.observation.shapes import DOUBLE_SIDED, Vec3

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
