"""The converters that a run compares."""
