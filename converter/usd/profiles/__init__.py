"""Schemas in addition to UsdPhysics, one module per simulator or standard."""
