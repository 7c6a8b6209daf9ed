"""Files and packages that a URDF refers to."""
