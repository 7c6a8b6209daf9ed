"""Xacro files, expanded in a process of their own."""
