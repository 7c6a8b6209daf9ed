"""PyBullet, on the URDF."""
