"""Writing of robots as URDF."""
