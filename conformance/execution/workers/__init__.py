"""Worker processes with limits of time and memory."""
