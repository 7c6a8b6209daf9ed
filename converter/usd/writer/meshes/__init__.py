"""The mesh library, whose prims links reference."""
