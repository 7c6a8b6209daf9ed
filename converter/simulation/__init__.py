"""Simulation settings that a robot description file adds to a URDF."""
