"""Convert robots with variants, and compare MuJoCo's model of each with the URDF.

    python -m tests.validation.mujoco_variant [CORPUS…] [--reader PYTHON]

The Python is one with Newton and ``mujoco-warp``, which reads the variant ``mujoco``.
Exits with 1 if damping, dry friction, an effort limit or a coupling of the model
differs from the URDF, or if MuJoCo refuses an asset.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pxr import Usd

from tests.validation.conversions import converted
from urdf_usd.corpus import UnavailableSource, resolve_corpora

_MODEL = Path(__file__).with_name("mujoco_model.py")
# Newton stores float32, and 1e6 or infinity for no limit.
_SAME, _UNLIMITED = 1e-6, 1e6


def main() -> None:
    """Compare corpora."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="*", default=["pybullet"])
    parser.add_argument("--reader", default=sys.executable)
    options = parser.parse_args()
    failed = compared = joints = 0
    for source in resolve_corpora(options.corpus, print):
        if isinstance(source, UnavailableSource):
            continue
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "asset")
            conversion = converted(source, place, physics_variants=True)
            if conversion is None:
                continue
            compared += 1
            asset = str(conversion.root_layer)
            command = (options.reader, str(_MODEL), asset)
            ending = subprocess.run(
                command, capture_output=True, text=True, check=False
            )
            if ending.returncode:
                problems = [" ".join(ending.stderr.strip().splitlines()[-2:])]
            else:
                model = json.loads(ending.stdout.splitlines()[-1])
                joints += len(model["joints"])
                problems = list(_problems(model, _stated(Path(source.path)), asset))
        failed += bool(problems)
        for problem in problems:
            sys.stdout.write(f"{source.id}: {problem}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{compared} assets, {joints} joints: {failed} failed\n")
    sys.exit(1 if failed or not compared else 0)


def _stated(urdf: Path) -> dict[str, ET.Element]:
    """Return the joints of a URDF by name."""
    return {
        joint.get("name", ""): joint
        for joint in ET.fromstring(urdf.read_bytes()).findall("joint")
    }


def _number(joint: ET.Element, path: str, name: str) -> float | None:
    found = joint.find(path)
    text = found.get(name) if found is not None else None
    return float(text) if text is not None else None


def _problems(
    model: Mapping[str, Any], stated: Mapping[str, ET.Element], asset: str
) -> Iterator[str]:
    """Yield differences between MuJoCo's model and the URDF."""
    stage = Usd.Stage.Open(asset)
    name_of = {
        path: str(prim.GetDisplayName() or prim.GetName())
        for path in model["joints"]
        if (prim := stage.GetPrimAtPath(path))
    }
    for path, name in name_of.items():
        for key, element, attribute, absent in (
            ("damping", "dynamics", "damping", 0.0),
            ("friction", "dynamics", "friction", 0.0),
            ("effort", "limit", "effort", math.inf),
        ):
            value = _number(stated[name], element, attribute)
            expected = absent if value is None or value < 0 else value
            found = model["joints"][path][key]
            if found >= _UNLIMITED and expected >= _UNLIMITED:
                continue
            if not math.isclose(found, expected, rel_tol=_SAME, abs_tol=1e-37):
                yield f"{name}: {key} is {found:g}, not {expected:g}"
    coupled = {
        name_of[follower]: (name_of[leader], offset, multiplier)
        for follower, leader, offset, multiplier in model["couplings"]
        if follower in name_of
    }
    for name in name_of.values():
        mimic = _coupling(name, stated)
        if not _is_same(coupled.get(name), mimic):
            yield f"{name}: coupling is {coupled.get(name)}, not {mimic}"
    if model["actuators"] != len(name_of):
        yield f"{model['actuators']} actuators for {len(name_of)} joints"


def _coupling(
    name: str, stated: Mapping[str, ET.Element]
) -> tuple[str, float, float] | None:
    """Return the start of the chain of a joint, and offset and multiplier."""
    leader, offset, multiplier = name, 0.0, 1.0
    while (mimic := stated[leader].find("mimic")) is not None:
        offset += multiplier * float(mimic.get("offset") or 0.0)
        multiplier *= float(mimic.get("multiplier") or 1.0)
        leader = mimic.get("joint", "")
    return None if leader == name else (leader, offset, multiplier)


def _is_same(
    one: tuple[str, float, float] | None, other: tuple[str, float, float] | None
) -> bool:
    if one is None or other is None:
        return one is other
    return one[0] == other[0] and all(
        math.isclose(a, b, rel_tol=_SAME, abs_tol=_SAME)
        for a, b in zip(one[1:], other[1:], strict=True)
    )


if __name__ == "__main__":
    main()
