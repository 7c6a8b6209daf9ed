"""Meshes as prims of a library that links reference."""
