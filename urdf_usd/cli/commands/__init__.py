"""Subcommands of ``urdf-usd``, one module each."""
