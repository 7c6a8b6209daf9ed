"""Robots as OpenUSD assets: writing them, and reading them back."""
