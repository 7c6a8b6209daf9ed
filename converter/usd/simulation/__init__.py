"""The layer of simulation settings, and colliders in contact at rest."""
