"""Seeded faults: mistakes of converters in good USDs, each of which a check must catch."""
