"""Newton, on the URDF and on the USD."""
