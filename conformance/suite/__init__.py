"""The robots of a corpus as tests.

``pytest --pyargs urdf_usd.conformance.suite --robots erd`` runs those of one corpus.

One test per robot and group of checks. A robot is examined once, by the first of its
tests; ``-n`` gives all tests of a robot to one worker.
"""
