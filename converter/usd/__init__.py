"""Robots as OpenUSD assets: writing them, and reading them back."""

# Registers the schemas of newton:* attributes. OpenUSD builds its registry of schemas
# once per process, on first use: what comes later is not known there.
import newton_usd_schemas  # noqa: F401
