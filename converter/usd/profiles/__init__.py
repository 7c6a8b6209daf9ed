"""Schemas of simulators and standards, in addition to UsdPhysics."""
