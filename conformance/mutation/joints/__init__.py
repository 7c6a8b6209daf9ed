"""Faults in joints: frames, axes, limits, drives and couplings."""
