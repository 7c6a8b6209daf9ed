"""Reading of URDF files."""

from urdf_usd.converter.urdf.parse import Parsed, parse

__all__ = ["Parsed", "parse"]
