"""Lint: probable mistakes in URDF files that are valid."""
