"""Writing and reading robots as OpenUSD assets."""

# Registers the schemas of newton:* attributes, before OpenUSD builds its schema
# registry
# on first use.
import newton_usd_schemas  # noqa: F401
