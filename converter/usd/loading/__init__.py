"""Checks of a USD before it is read: its files, references and values."""
