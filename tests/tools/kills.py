"""Kill runs at random moments, resume them, and compare the results with those of a whole run.

``python -m tests.tools.kills`` kills a run of some ten robots of PyBullet 20 times, each in a
new folder, with SIGKILL to its process group. Each is resumed to its end. The exit status
tells whether all have the records, assets and scenes of a run that was not killed.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.conformance.runs import tree

_ROBOTS = (
    *("kuka_iiwa/model.urdf", "r2d2.urdf", "a1/a1.urdf", "cube.urdf", "block.urdf"),
    *("cartpole.urdf", "husky/husky.urdf", "sphere2.urdf", "teddy_vhacd.urdf", "duck_vhacd.urdf"),
)
_COMPARED = ("results/", "assets/", "scenes/", ".urdf-usd-run/robots/")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    moments = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        folder = Path(name)
        begin = time.monotonic()
        _start(folder / "whole").wait()
        seconds = time.monotonic() - begin
        expected = _files(folder / "whole")
        wrong = 0
        for number in range(options.kills):
            out = folder / str(number)
            process = _start(out)
            after = moments.uniform(0.0, seconds)
            try:
                process.wait(after)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            finished = len(list(out.glob("results/*.json")))
            resumed = _start(out, "--resume").wait()
            same = resumed == 0 and _files(out) == expected
            wrong += not same
            sys.stdout.write(
                f"{number}: killed after {after:.1f} of {seconds:.1f} s with {finished} of "
                f"{len(_ROBOTS)} records; resumed: {'the same' if same else 'DIFFERENT'}\n"
            )
            sys.stdout.flush()
            shutil.rmtree(out)
    sys.exit(1 if wrong else 0)


def _start(out: Path, *options: str) -> subprocess.Popen[bytes]:
    robots = [f"pybullet:{robot}" for robot in _ROBOTS]
    command = [sys.executable, "-m", "urdf_usd", "run", *robots, "--out", str(out), *options]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )


def _files(out: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree(out).items() if name.startswith(_COMPARED)}


if __name__ == "__main__":
    main()
