"""Tolerances, sampled configurations and the quantities compared."""
