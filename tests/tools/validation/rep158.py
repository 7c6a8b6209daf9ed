"""Convert robots for ROS, and check the assets against REP 158.

    python -m tests.tools.validation.rep158 [CORPUS…] [--checker PROGRAM]

The program is ``usd-check`` of ros-openusd-compliance-checker, for Python 3.12 or
later. Exits with 1 on any error, and on any warning that is not in ``WAIVED``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.tools.validation.conversions import converted
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="*", default=["pybullet"])
    parser.add_argument("--checker", default="usd-check")
    options = parser.parse_args()
    waived: Counter[str] = Counter()
    failed = checked = 0
    for source in resolve_corpora(options.corpus, print):
        with tempfile.TemporaryDirectory() as folder:
            conversion = converted(source, Path(folder, "asset"), profile=Profile.ROS)
            if conversion is None:
                continue
            checked += 1
            violations = _violations(options.checker, conversion.root_layer)
        found = [one for one in violations if not _is_waived(one, waived)]
        failed += bool(found)
        for one in found:
            sys.stdout.write(
                f"{source.id}: {one['severity']}: {one['check_id']}: {one['message']}\n"
            )
    for check, count in sorted(waived.items()):
        sys.stdout.write(f"waived: {check}: {count}\n")
    sys.stdout.write(f"{checked} assets: {failed} with issues\n")
    sys.exit(1 if failed or not checked else 0)


def _violations(checker: str, asset: Path) -> list[dict[str, str]]:
    """Run the checker, also with the checks of extension schemas."""
    command = (checker, "--extensions", "--format", "json", str(asset))
    ending = subprocess.run(command, capture_output=True, text=True, check=False)
    found: list[dict[str, str]] = json.loads(ending.stdout)["violations"]
    return found


def _is_waived(found: dict[str, str], waived: Counter[str]) -> bool:
    """Whether a violation is waived; errors never are."""
    check, message = found["check_id"], found["message"]
    known = found["severity"] != _ERROR and any(
        check == one.check and one.says in message for one in WAIVED
    )
    waived[check] += known
    return known


if __name__ == "__main__":
    main()
