"""What fails a run, and which failures are expected."""
