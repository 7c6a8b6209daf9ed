"""PhysX, on the USD."""
