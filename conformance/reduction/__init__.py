"""Reduction of a robot that fails to a minimal URDF that fails in the same way."""
