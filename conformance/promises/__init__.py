"""What a robot description file promises of a USD, read without the converter."""
