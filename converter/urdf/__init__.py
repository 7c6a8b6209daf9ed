"""URDF text to a robot."""

from converter.urdf.parse import Parsed, parse

__all__ = ["Parsed", "parse"]
