"""Convert robots for SimReady, and validate the assets.

    python -m tests.validation.simready [CORPUS…] [--validator PROGRAM]

The program is ``simready-validate`` with simready-foundation-tier-core. Exits with 1
if an asset does not pass, unless the conversion has reported why it cannot.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.validation.conversions import converted
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


def main() -> None:
    """Validate corpora."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="*", default=["pybullet"])
    parser.add_argument("--validator", default="simready-validate")
    options = parser.parse_args()
    failed = validated = 0
    for source in resolve_corpora(options.corpus, print):
        with tempfile.TemporaryDirectory() as folder:
            conversion = converted(
                source,
                Path(folder, "asset"),
                profile=Profile.SIMREADY,
                metadata=_METADATA,
            )
            if conversion is None:
                continue
            if unfit := UNFIT & {one.rule for one in conversion.diagnostics}:
                sys.stdout.write(f"{source.id}: cannot pass: {', '.join(unfit)}\n")
                continue
            validated += 1
            problems = _problems(options.validator, conversion.root_layer)
        failed += bool(problems)
        for problem in problems:
            sys.stdout.write(f"{source.id}: {problem}\n")
    sys.stdout.write(f"{validated} assets: {failed} failed\n")
    sys.exit(1 if failed or not validated else 0)


def _problems(validator: str, asset: Path) -> list[str]:
    """Return the failed requirements of features that are not optional."""
    command = (validator, "--profile", PROFILE, "--version", VERSION, str(asset))
    ending = subprocess.run(command, capture_output=True, text=True, check=False)
    if f"[PASSED] {PROFILE} v{VERSION}" in ending.stdout:
        return []
    lines = [line.strip() for line in ending.stdout.splitlines()]
    failing = [line for line in lines if "failing requirements" in line]
    return failing or [ending.stdout, ending.stderr]


if __name__ == "__main__":
    main()
