"""Tests of the robots of a corpus.

``pytest --pyargs urdf_usd.suite --robots erd`` runs one test per robot and
group of checks. A robot is converted and checked once, by the first of its tests; with
``-n``, one worker runs all tests of a robot.
"""
