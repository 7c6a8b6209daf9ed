"""Robots as tests: the pytest plugin."""
