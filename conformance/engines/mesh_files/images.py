"""Content of images, by pixels.

A source in another format is compared with the PNG that a converter made of it. Both
are decoded here, so that the file which a material shows and what was written of it
are compared without the converter. JPEG is compared by bytes: nobody has to convert it,
and every further encoding changes its pixels.
"""

from __future__ import annotations

import hashlib
import warnings
from functools import lru_cache
from io import BytesIO

from PIL import Image

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
