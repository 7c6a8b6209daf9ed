"""Worker processes: a pool, calls with limits of time and memory, preloading."""
