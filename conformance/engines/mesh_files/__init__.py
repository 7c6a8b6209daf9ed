"""Mesh files, one module per format, not by the converter's libraries."""
