"""Mutation testing of the harness: faults seeded into good USDs.

Each kind of fault is seeded into a USD of our own converter, one at a time, and judged
like any other USD. One of the checks that the fault aims at has to fail.
"""
