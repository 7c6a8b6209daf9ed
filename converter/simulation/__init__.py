"""Settings of a simulation, which a file adds to a URDF."""
