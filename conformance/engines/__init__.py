"""Engines: the protocol, the registry, one module per engine, and what they share."""
