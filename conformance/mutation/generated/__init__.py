"""Seeds from the schema registry of OpenUSD, and why some of them are harmless."""
