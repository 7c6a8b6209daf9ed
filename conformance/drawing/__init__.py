"""URDF and USD as 3D models for the report."""
