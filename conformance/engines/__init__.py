"""Engines: the protocol, the registry and one folder per engine."""
