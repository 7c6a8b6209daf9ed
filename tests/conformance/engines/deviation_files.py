"""Minimal URDFs on which engines deviate."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[2] / "data/deviations"


def text(name: str) -> str:
    """Return the URDF of a name."""
    return (FOLDER / f"{name}.urdf").read_text()
