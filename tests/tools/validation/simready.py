"""Convert robots for SimReady, and validate the assets.

    python -m tests.tools.validation.simready [CORPUS…] [--validator PROGRAM]
        [--physics-variants] [--robot-type TYPE]

The program is ``simready-validate`` with simready-foundation-tier-core. Each asset is
in a folder in one with its name, which features of Isaac Sim require. Exits with 1 if
an asset does not pass, unless the conversion has reported why it cannot. The end counts
the requirements of optional features that assets do not meet.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.tools.validation.conversions import converted
from urdf_usd.converter import Profile
from urdf_usd.corpus import resolve_corpora

PROFILE, VERSION = "Robot-Body", "2.3.0"
# What no robot of a corpus states.
_METADATA = (
    ("author", "unknown"),
    ("asset_license", "unknown"),
    ("usd_date_generated", "2026-01-01"),
)
# Diagnostics after which an asset cannot pass: the robot lacks what is required.
UNFIT = frozenset({"mesh-required", "body-required"})
_UNMET = re.compile(r"(\w+): optional feature, unmet requirements: \[(.*)\]")
_REQUIREMENT = re.compile(r"'com\.nvidia\.simready\.([\w.]+)'")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="*", default=["pybullet"])
    parser.add_argument("--validator", default="simready-validate")
    parser.add_argument("--physics-variants", action="store_true")
    parser.add_argument("--robot-type")
    options = parser.parse_args()
    typed = (("robot_type", options.robot_type),) if options.robot_type else ()
    unmet: Counter[tuple[str, str]] = Counter()
    failed = validated = 0
    for source in resolve_corpora(options.corpus, print):
        with tempfile.TemporaryDirectory() as folder:
            conversion = converted(
                source,
                Path(folder, "robot", "usd"),
                profile=Profile.SIMREADY,
                physics_variants=options.physics_variants,
                metadata=(*_METADATA, *typed),
            )
            if conversion is None:
                continue
            if unfit := UNFIT & {one.rule for one in conversion.diagnostics}:
                sys.stdout.write(f"{source.id}: cannot pass: {', '.join(unfit)}\n")
                continue
            validated += 1
            asset = conversion.root_layer
            named = Path(folder, asset.stem)
            Path(folder, "robot").rename(named)
            said = _validation(options.validator, named / "usd" / asset.name)
        problems = _problems(said)
        unmet.update(_optional(said))
        failed += bool(problems)
        for problem in problems:
            sys.stdout.write(f"{source.id}: {problem}\n")
        sys.stdout.flush()
    for (feature, requirement), count in sorted(unmet.items()):
        sys.stdout.write(f"optional: {feature}: {requirement}: {count}\n")
    sys.stdout.write(f"{validated} assets: {failed} failed\n")
    sys.exit(1 if failed or not validated else 0)


def _validation(validator: str, asset: Path) -> str:
    command = (validator, "--profile", PROFILE, "--version", VERSION, "-v", str(asset))
    ending = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"{ending.stdout}\n{ending.stderr if not ending.stdout else ''}"


def _problems(said: str) -> list[str]:
    """Return the failed requirements of features that are not optional."""
    if f"[PASSED] {PROFILE} v{VERSION}" in said:
        return []
    lines = [line.strip() for line in said.splitlines()]
    return [line for line in lines if "failing requirements" in line] or [said]


def _optional(said: str) -> set[tuple[str, str]]:
    """Return the optional features that are not met, with each requirement."""
    return {
        (feature, requirement)
        for feature, listed in _UNMET.findall(said)
        for requirement in _REQUIREMENT.findall(listed)
    }


if __name__ == "__main__":
    main()
