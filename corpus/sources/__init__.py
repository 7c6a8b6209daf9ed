"""Where robots come from: one module per source.

Each has ``locate(target, announce)``, which returns one robot or raises
``UnavailableError``, and, where the source is a corpus of its own, ``names()``, the
targets that ``locate`` accepts, listed without touching the network.
"""
