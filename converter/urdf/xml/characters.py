"""Characters of XML 1.0."""

from __future__ import annotations

import re

# Listing those that are allowed takes ten times as long to compile.
FORBIDDEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def writable(text: str) -> str:
    """Replace characters that XML does not allow."""
    return FORBIDDEN.sub("_", text)
