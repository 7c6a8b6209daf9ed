"""Matching of links and joints of a URDF with prims of a USD."""
