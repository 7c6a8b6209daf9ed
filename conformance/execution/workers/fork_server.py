"""Silences a fork server before it imports libraries; only that imports this module.

Engines print when they are imported, and a worker prints a traceback if the program
ends while it starts. What workers print goes to files.
"""

import os

from urdf_usd.conformance.engines import registry

with open(os.devnull, "wb") as _nothing:  # noqa: PTH123  needs a descriptor
    os.dup2(_nothing.fileno(), 1)
    os.dup2(_nothing.fileno(), 2)
# Reads the metadata of packages, which every worker needs.
registry.names()
