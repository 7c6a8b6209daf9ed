"""The URDF as its specification defines it."""
