"""Settings of a USD that no URDF implies, in physics schemas and all others."""
