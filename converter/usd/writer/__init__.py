"""A robot as a USD stage."""
