"""Convert robots for Isaac Sim, and compare the robot schema with its own.

    python -m tests.tools.validation.isaac [CORPUS…] [--reader PYTHON]

The Python is one with ``isaacsim-asset-isolated``. Exits with 1 if a list of links or
joints differs from that which Isaac Sim computes from the joints of the asset.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.tools.validation.conversions import converted
from urdf_usd.converter import Profile
from urdf_usd.corpus import resolve_corpora

_LISTS = Path(__file__).with_name("isaac_lists.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="*", default=["pybullet"])
    parser.add_argument("--reader", default=sys.executable)
    options = parser.parse_args()
    failed = compared = 0
    for source in resolve_corpora(options.corpus, print):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "asset")
            conversion = converted(source, place, profile=Profile.ISAAC)
            if conversion is None:
                continue
            compared += 1
            command = (options.reader, str(_LISTS), str(conversion.root_layer))
            ending = subprocess.run(command, capture_output=True, text=True, check=False)
        problems = ending.stdout.splitlines()
        if ending.returncode:
            problems.append(ending.stderr)
        failed += bool(problems)
        for problem in problems:
            sys.stdout.write(f"{source.id}: {problem}\n")
    sys.stdout.write(f"{compared} assets: {failed} failed\n")
    sys.exit(1 if failed or not compared else 0)


if __name__ == "__main__":
    main()
