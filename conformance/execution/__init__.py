"""One robot from its source to its record, runs over many, and worker processes."""
