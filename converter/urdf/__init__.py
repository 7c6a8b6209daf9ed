"""Reading of URDF files."""
