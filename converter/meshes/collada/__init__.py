"""COLLADA files."""
