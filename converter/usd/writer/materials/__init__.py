"""Materials as preview surfaces and OpenPBR."""
