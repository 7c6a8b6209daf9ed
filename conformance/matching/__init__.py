"""Which prim stands for which link and joint."""
