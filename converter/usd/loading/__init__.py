"""Checks of a USD before it is read: its files, their growth, its values."""
