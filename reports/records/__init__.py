"""Run records: their types, JSON Schema, files and differences."""
