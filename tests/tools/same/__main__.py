"""Run two versions over the same robots, and print what differs.

    nox -s same -- COMMIT [--sample] [--mirror DIR] [--texts] [--only PART]…

COMMIT and the checkout each run in an environment of their own: whole corpora, a sample
of robots with every profile and layout, commands whose exit status counts, and the
seeded faults. Then asset files, verdicts, grades, numbers of compared values, rule ids,
exit statuses and caught faults are compared; of a USD layer that differs, the opinions.
``names.toml`` lists what was renamed since COMMIT.

Outcomes of COMMIT are kept, so that a second comparison with it runs the checkout only.
Exits with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.tools.same.differences import differences, load_names, printed
from tests.tools.same.outcomes import PARTS, Version, produce

_NAMES = Path(__file__).with_name("names.toml")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit", help="revision to compare the checkout with")
    parser.add_argument("--former", type=Path, required=True, help="its worktree")
    parser.add_argument("--former-python", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder of outcomes")
    parser.add_argument("--sample", action="store_true", help="few robots, about five minutes")
    parser.add_argument(
        "--mirror",
        type=Path,
        default=os.environ.get("URDF_USD_MIRROR"),
        help="clones of robot_descriptions' repositories",
    )
    parser.add_argument("--only", action="append", choices=PARTS, help="one part; repeatable")
    parser.add_argument("--texts", action="store_true", help="also messages, and values as text")
    options = parser.parse_args()
    names = load_names(_NAMES)
    parts = options.only or PARTS
    size = "sample" if options.sample else "whole"
    mirror = options.mirror.resolve() if options.mirror else None
    checkout = Path.cwd()
    revision = _revision(options.former)
    former = Version(options.former, options.former_python, names.commands)
    current = Version(checkout, Path(sys.executable), {})
    # By revision: outcomes of another commit are of no further use.
    kept = options.work / f"{revision}-{size}"
    for folder in options.work.glob(f"*-{size}"):
        if folder != kept:
            shutil.rmtree(folder)
    now = options.work / f"checkout-{size}"
    for version, folder in ((former, kept), (current, now)):
        produce(
            version,
            folder,
            inputs=checkout,
            parts=parts,
            sample=options.sample,
            mirror=mirror,
        )
    found = list(differences(kept, now, names, parts))
    lines = list(printed(found, texts=options.texts))
    print("\n".join(lines))
    return 1 if any(difference.counts for difference in found) else 0


def _revision(worktree: Path) -> str:
    command = ("git", "-C", str(worktree), "rev-parse", "HEAD")
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
