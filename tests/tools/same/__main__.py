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

from tests.tools.same.differences import TEXT, differences, load_names, printed
from tests.tools.same.outcomes import PRODUCERS, Version, produce


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    mirror = os.environ.get("URDF_USD_MIRROR")
    clones = "clones of robot_descriptions' repositories"
    parser.add_argument("commit", help="revision to compare the checkout with")
    parser.add_argument("--former", type=Path, required=True, help="its worktree")
    parser.add_argument("--former-python", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="folder of outcomes")
    parser.add_argument("--sample", action="store_true", help="few robots, about five minutes")
    parser.add_argument("--mirror", type=Path, default=mirror, help=clones)
    parser.add_argument("--only", action="append", choices=PRODUCERS, help="a part; repeatable")
    parser.add_argument("--texts", action="store_true", help="also messages, and values as text")
    options = parser.parse_args()
    names = load_names(Path(__file__).with_name("names.toml"))
    parts = options.only or list(PRODUCERS)
    size = "sample" if options.sample else "whole"
    command = ("git", "-C", str(options.former), "rev-parse", "HEAD")
    revision = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    # By revision: outcomes of another commit are of no further use.
    kept, now = options.work / f"{revision}-{size}", options.work / f"checkout-{size}"
    for folder in options.work.glob(f"*-{size}"):
        if folder != kept:
            shutil.rmtree(folder)
    shared = Path.cwd(), options.sample, options.mirror and options.mirror.resolve()
    former = Version(options.former, options.former_python, names.commands, *shared)
    produce(former, kept, parts)
    produce(Version(Path.cwd(), Path(sys.executable), {}, *shared), now, parts)
    found = list(differences(kept, now, names, parts))
    print("\n".join(printed(found, texts=options.texts)))
    return int(any(difference.kind != TEXT for difference in found))


if __name__ == "__main__":
    sys.exit(main())
