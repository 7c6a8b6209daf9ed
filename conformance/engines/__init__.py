"""Engines: the protocol and the table of engines, one module per engine, and what they share."""
