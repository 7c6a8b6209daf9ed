"""Checks: the closed list of what is compared, and how each compares."""
