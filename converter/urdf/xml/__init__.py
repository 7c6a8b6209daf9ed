"""URDF text to XML elements, with the repairs of malformed text."""
