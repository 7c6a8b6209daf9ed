"""Prints the page of all rules: ``python -m converter.rules``."""

from __future__ import annotations

import sys

from converter.rules.page import rules_page

sys.stdout.write(rules_page())
