"""Our converter as an entry point of the group ``urdf_usd.converters``."""

from __future__ import annotations

from collections.abc import Mapping

from urdf_usd.converter.conversion import convert
from urdf_usd.converter.options import ConvertOptions


def convert_plainly(urdf: str, directory: str, packages: Mapping[str, str]) -> str:
    """Convert a URDF with default options.

    Args:
        urdf: URDF or xacro file.
        directory: Folder of the asset.
        packages: Folder of each ROS package, by name.

    Returns:
        Path of the root layer.

    Raises:
        ConversionError: The robot cannot be read or written.
    """
    options = ConvertOptions(packages=tuple(packages.items()))
    return str(convert(urdf, directory, options).root_layer)
