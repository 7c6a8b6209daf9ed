"""One robot from start to record, and runs over many."""
