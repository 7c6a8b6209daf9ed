"""Examination of one robot."""
