"""OpenUSD's physics parser, on the USD."""
