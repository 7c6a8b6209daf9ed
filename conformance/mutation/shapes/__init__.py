"""Faults in colliders and visuals: geometry, meshes, materials and textures."""
