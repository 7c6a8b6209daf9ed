"""The robot as data: model, topology, poses and inertia, kinematics and dynamics."""
