"""A USD stage as a robot."""
