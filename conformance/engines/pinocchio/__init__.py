"""Pinocchio, on the URDF."""
