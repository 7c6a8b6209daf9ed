"""Conversion of the robots of corpora."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from urdf_usd.converter import Conversion, ConversionError, ConvertOptions, convert
from urdf_usd.corpus import Resolved, UnavailableSource


def converted(source: Resolved, folder: Path, **options: Any) -> Conversion | None:  # noqa: ANN401  fields of ConvertOptions
    """Convert a robot with some options; None if it cannot be read."""
    if isinstance(source, UnavailableSource):
        return None
    chosen = ConvertOptions(
        packages=tuple((name, str(path)) for name, path in source.packages),
        arguments=tuple(source.arguments),
        **options,
    )
    try:
        return convert(source.path, folder, chosen)
    except ConversionError:
        return None
