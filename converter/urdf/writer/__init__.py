"""A robot as URDF text."""
