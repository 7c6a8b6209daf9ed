"""Prepared copies of a URDF for engines that reject parts of it."""
