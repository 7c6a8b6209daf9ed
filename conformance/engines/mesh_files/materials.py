"""What mesh files say about looks, as their formats define it, and their images.

Nothing here comes from the converter, which reads the same files in its own way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from urdf_usd.conformance.observation.shapes import Vec3

# Images that every reader of USD shows.
_SHOWN = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")
_FILE = "file://"
# The threshold of sRGB (IEC 61966-2-1).
_DARK = 0.04045
_RGB = 3


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image that a material shows.

    Attributes:
        reference: Its file, as it is written.
        folder: What that is relative to.
        content: The image, if it is inside the mesh file.
    """

    reference: str
    folder: str
    content: bytes | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Name of its file."""
        return self.reference.replace("\\", "/").rpartition("/")[2]

    def read(self) -> bytes | str:
        """Return its bytes, or why there are none to be shown."""
        content = self._content()
        if content is None:
            return "is not found"
        return content if content.startswith(_SHOWN) else "is neither PNG nor JPEG"

    def _content(self) -> bytes | None:
        """Read the file; one from an exporter's machine is looked for beside the mesh.

        Spaces may be written as in URIs.
        """
        if self.content is not None:
            return self.content
        written = self.reference.replace("\\", "/").removeprefix(_FILE)
        for reference in dict.fromkeys((written, unquote(written))):
            for path in (Path(self.folder, reference), Path(self.folder, self.name)):
                try:
                    return path.read_bytes()
                except (OSError, ValueError):
                    continue
        return None


@dataclass(frozen=True, slots=True)
class FileMaterial:
    """What a material of a mesh file says.

    Attributes:
        color: Linear RGB; None if it says none, or not in a way that can be decided.
        factor: What the image of the colour is multiplied with, linear RGB; None if
            that cannot be decided.
        opacity: In [0, 1]; None if that cannot be decided.
        image: What gives the colour of every point.
        mask: What gives the opacity of every point.
        says_more: Whether it says anything else: that it emits light, or that its
            surface has the colours of its corners.
    """

    color: Vec3 | None = None
    factor: Vec3 | None = (1.0, 1.0, 1.0)
    opacity: float | None = 1.0
    image: ImageFile | None = None
    mask: ImageFile | None = None
    says_more: bool = False

    @property
    def speaks(self) -> bool:
        """Whether it says what a surface looks like; if not, it counts as none."""
        return self.color is not None or self.image is not None or self.says_more


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

    Nobody ships parts that cannot be seen; exporters that mix up opacity and
    transparency are common.
    """
    return min(stated, 1.0) if stated > 0 else 1.0


def _linear(encoded: float) -> float:
    if encoded <= _DARK:
        return encoded / 12.92
    return float(((encoded + 0.055) / 1.055) ** 2.4)
