"""Expansion of xacro files in a separate process."""
