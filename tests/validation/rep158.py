"""Convert robots for ROS, and check the assets against REP 158.

    python -m tests.validation.rep158 [CORPUS…]

Needs ros-openusd-compliance-checker, for Python 3.12 or later. Exits with 1 on any
error, and on any warning that is not in ``WAIVED``.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.validation.conversions import converted
from urdf_usd.converter import Profile
from urdf_usd.corpus import resolve_corpora

_ERROR = "error"


@dataclass(frozen=True)
class Waived:
    """A warning that no asset can avoid.

    Attributes:
        check: Identifier of the check.
        says: Text that the message contains.
        reason: Why it cannot be avoided.
    """

    check: str
    says: str
    reason: str


WAIVED = (
    Waived(
        "1.3.4",
        "physics:approximation='convexHull'",
        "Section 1.3.1 recommends `none`, and requires `convexHull` or primitive "
        "shapes of the default variant. Simulators have no contacts between moving "
        "bodies of triangles, so that meshes keep what is required.",
    ),
    Waived(
        "1.3.2",
        "ArticulationRootAPI prims",
        "A robot with floating joints has several kinematic trees, and section 1.3 "
        "allows one root in each; the checker counts all of the stage.",
    ),
)


def main() -> None:
    """Check corpora."""
    checker = importlib.import_module("compliance_checker.checker").ComplianceChecker
    waived: Counter[str] = Counter()
    failed = checked = 0
    for source in resolve_corpora(sys.argv[1:] or ["pybullet"], print):
        with tempfile.TemporaryDirectory() as folder:
            conversion = converted(source, Path(folder, "asset"), profile=Profile.ROS)
            if conversion is None:
                continue
            checked += 1
            report = checker.from_path(
                str(conversion.root_layer), include_extended=True
            ).run()
        found = [one for one in report.violations if not _is_waived(one, waived)]
        failed += bool(found)
        for one in found:
            sys.stdout.write(
                f"{source.id}: {one.severity.value}: {one.check_id}: {one.message}\n"
            )
    for check, count in sorted(waived.items()):
        sys.stdout.write(f"waived: {check}: {count}\n")
    sys.stdout.write(f"{checked} assets: {failed} with issues\n")
    sys.exit(1 if failed or not checked else 0)


def _is_waived(found: Any, waived: Counter[str]) -> bool:  # noqa: ANN401  of an untyped package
    """Whether a violation is waived; errors never are."""
    if found.severity.value == _ERROR:
        return False
    known = any(
        found.check_id == one.check and one.says in found.message for one in WAIVED
    )
    waived[found.check_id] += known
    return known


if __name__ == "__main__":
    main()
