"""Export: the reading of the openusd engine as a robot, and its URDF."""
