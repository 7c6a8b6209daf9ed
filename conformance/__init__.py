"""The conformance harness: engines, checks, verdicts and run records.

The public interface is :mod:`urdf_usd`.
"""
