"""Faults for good USDs: a harness that cannot fail proves nothing.

Each kind of fault is seeded into a USD of our own converter, one at a time, and judged
like any other USD. It has to be caught by a check that answers for it.
"""
