"""Entry point of the command ``urdf-usd``."""

from urdf_usd.cli.main import main as start

__all__ = ["start"]
