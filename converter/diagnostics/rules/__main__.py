"""Prints the page of all rules: ``python -m urdf_usd.converter.diagnostics.rules``."""

from __future__ import annotations

import sys

from urdf_usd.converter.diagnostics.rules.page import rules_page

sys.stdout.write(rules_page())
