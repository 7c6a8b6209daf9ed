"""URDF text for engines that read less than the URDF says."""
