"""What an engine states about one robot, by URDF name."""
