"""The subcommands of ``urdf-usd``, one module each, and what they share."""
