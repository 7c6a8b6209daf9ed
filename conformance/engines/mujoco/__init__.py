"""MuJoCo, on the URDF."""
