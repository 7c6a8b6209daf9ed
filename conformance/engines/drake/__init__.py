"""Drake, on the URDF."""
