"""Conversions by our converter and by others, within limits."""
