"""Comparison of the expected values of a case of the feature suite with a USD."""
