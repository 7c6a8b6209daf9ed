"""Coverage-guided fuzzing of one target with atheris.

``WORK/<target>/corpus`` keeps inputs that reached new code, for the next campaign, and
``WORK/<target>/findings`` one input per distinct failure, with its traceback. An exception does not
end the campaign; a crash or a hang does, and libFuzzer writes the input to the findings.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import traceback
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["urdf_usd", "trimesh"]):
    # Imported here to be instrumented; the reader imports it at the first file.
    import trimesh  # noqa: F401

    from tests.tools.fuzz.targets import MUTATIONS, TARGETS

SEEDS = Path(__file__).parents[2] / "data" / "fuzz"
# Limits of time [s] and memory [MiB] for one input; beyond, it is a finding.
_LIMITS = {"timeout": 25, "rss_limit_mb": 3072, "max_len": 16384}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--work", type=Path, required=True)
    options = parser.parse_args()
    name = options.target
    corpus, findings = (options.work.absolute() / name / part for part in ("corpus", "findings"))
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)

    seeds = [file.read_bytes() for file in sorted((SEEDS / name).iterdir())]

    def answer(data: bytes) -> None:
        try:
            TARGETS[name](data)
        except Exception as error:  # noqa: BLE001  every one is a finding
            keep(data, error, findings)

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        chance = random.Random(seed)
        if chance.random() < 0.3:
            return bytes(atheris.Mutate(data, max_size))
        mutated = data
        for _ in range(chance.randint(1, 3)):
            mutated = chance.choice(MUTATIONS[name])(mutated, chance)
        if mutated == data:
            # No longer well-formed; structured mutations start from the seeds.
            mutated = chance.choice(MUTATIONS[name])(chance.choice(seeds), chance)
        return mutated if len(mutated) <= max_size else data

    # Native code is not instrumented, so coverage alone would not reach it.
    settings = ["-keep_seed=1", "-print_final_stats=1", f"-max_total_time={options.seconds}"]
    settings += [f"-{name}={value}" for name, value in _LIMITS.items()]
    folders = [str(corpus), str(SEEDS / name), f"-artifact_prefix={findings}{os.sep}"]
    atheris.Setup([sys.argv[0], *folders, *settings], answer, custom_mutator=mutate)
    atheris.Fuzz()


def keep(data: bytes, error: Exception, findings: Path) -> None:
    """Write an input and its traceback, once per place of failure."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    file = findings / f"{type(error).__name__}-{Path(place.filename).stem}-{place.lineno}"
    if not file.exists() or file.stat().st_size > len(data):
        file.write_bytes(data)
        file.with_name(f"{file.name}.txt").write_text("".join(traceback.format_exception(error)))
        sys.stderr.write(f"finding: {file.name}: {error}\n")


if __name__ == "__main__":
    main()
