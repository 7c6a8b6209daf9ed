"""Convert robots with variants, and compare MuJoCo's model of each with the URDF.

    python -m tests.tools.validation.mujoco_variant [CORPUS…] [--reader PYTHON]

The Python is one with Newton and ``mujoco-warp``, which reads the variant ``mujoco``.
Exits with 1 if damping, dry friction, an effort limit or a coupling of the model
differs from the URDF, or if MuJoCo refuses an asset for another reason than reversed
limits, an impossible inertia or the lack of joints.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pxr import Usd

from tests.tools.validation.conversions import converted
from urdf_usd.converter.urdf.xacro import expand, is_xacro
from urdf_usd.corpus import RobotSource, UnavailableSource, resolve_corpora

_MODEL = Path(__file__).with_name("mujoco_model.py")
# Newton stores float32, and 1e6 or infinity for no limit.
_SAME, _UNLIMITED = 1e-6, 1e6
# The number at the beginning of a value.
_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
# What MuJoCo says of reversed limits, which lock joints in USD, and of inertias that
# cannot be.
_EMPTY_RANGE = "range[0] should be smaller than range[1]"
_IMPOSSIBLE = "inertia must satisfy A + B >= C"
# What Newton says of a robot whose links are all fixed to the world.
_NO_JOINT = "must have at least one joint"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="*", default=["pybullet"])
    parser.add_argument("--reader", default=sys.executable)
    options = parser.parse_args()
    reader = _Reader(options.reader)
    failed = compared = joints = 0
    refused: Counter[str] = Counter()
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
            model = reader.model(asset)
            stated = _stated(source)
            refusal = model.get("refusal", "")
            known = _known(refusal, stated, asset)
            problems = [] if known else [refusal]
            if known:
                refused[known] += 1
                sys.stdout.write(f"{source.id}: refused for {known}\n")
            elif not refusal:
                joints += len(model["joints"])
                problems = list(_problems(model, stated, asset))
        failed += bool(problems)
        for problem in problems:
            sys.stdout.write(f"{source.id}: {problem}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{compared} assets, {joints} joints: {failed} failed\n")
    for reason, count in refused.items():
        sys.stdout.write(f"refused for {reason}: {count}\n")
    sys.exit(1 if failed or not compared else 0)


class _Reader:
    """A process that makes models of assets; a new one after a crash."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            (self._python, str(_MODEL)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def model(self, asset: str) -> dict[str, Any]:
        """Return the model of an asset, or its refusal."""
        paths, models = self._process.stdin, self._process.stdout
        if paths is None or models is None:
            raise RuntimeError("it has no pipes")
        paths.write(f"{asset}\n")
        paths.flush()
        answer = models.readline()
        if answer:
            model: dict[str, Any] = json.loads(answer)
            return model
        status = self._process.wait()
        self._start()
        return {"refusal": f"the process ended with {status}"}


def _stated(source: RobotSource) -> dict[str, ET.Element]:
    """Return the joints of a URDF by name."""
    content = Path(source.path).read_bytes()
    if is_xacro(str(source.path)):
        packages = {name: str(path) for name, path in source.packages}
        expansion = expand(str(source.path), packages, dict(source.arguments))
        content = expansion.text.encode()
    # Some files begin with an empty line or end in a null character.
    robot = ET.fromstring(content.strip(b"\0\r\n "))
    return {joint.get("name", ""): joint for joint in robot.findall("joint")}


def _known(refusal: str, stated: Mapping[str, ET.Element], asset: str) -> str | None:
    """Return the fault of a URDF for which MuJoCo refuses a model."""
    if _EMPTY_RANGE in refusal and any(map(_is_reversed, stated.values())):
        return "reversed limits"
    stage = Usd.Stage.Open(asset)
    if _IMPOSSIBLE in refusal and any(map(_is_thin, stage.Traverse())):
        return "an inertia at or beyond the triangle inequality"
    if _NO_JOINT in refusal and all(one.get("type") == "fixed" for one in stated.values()):
        return "having no joint"
    return None


def _is_thin(prim: Usd.Prim) -> bool:
    """Return whether rounding to float32 can make a body's inertia impossible."""
    value = prim.GetAttribute("physics:diagonalInertia").Get()
    lower, middle, largest = sorted(value or (1.0, 1.0, 1.0))
    return bool(lower + middle - largest < _SAME * largest)


def _is_reversed(joint: ET.Element) -> bool:
    if joint.get("type") not in {"revolute", "prismatic"}:
        return False
    lower, upper = (_number(joint, "limit", name) for name in ("lower", "upper"))
    return (lower or 0.0) > (upper or 0.0)


def _number(joint: ET.Element, path: str, name: str) -> float | None:
    found = joint.find(path)
    text = found.get(name) if found is not None else None
    # Some numbers have a second decimal point, which readers of URDF ignore.
    number = _NUMBER.match(text or "")
    return float(number[0]) if number else None


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


def _coupling(name: str, stated: Mapping[str, ET.Element]) -> tuple[str, float, float] | None:
    """Return the start of the chain of a joint, and offset and multiplier.

    None without a coupling, or with one of a joint that is missing.
    """
    leader, offset, multiplier = name, 0.0, 1.0
    while (mimic := stated[leader].find("mimic")) is not None:
        if mimic.get("joint") not in stated:
            return None
        offset += multiplier * float(mimic.get("offset") or 0.0)
        multiplier *= float(mimic.get("multiplier") or 1.0)
        leader = mimic.get("joint", "")
    return None if leader == name else (leader, offset, multiplier)


def _is_same(one: tuple[str, float, float] | None, other: tuple[str, float, float] | None) -> bool:
    if one is None or other is None:
        return one is other
    return one[0] == other[0] and all(
        math.isclose(a, b, rel_tol=_SAME, abs_tol=_SAME)
        for a, b in zip(one[1:], other[1:], strict=True)
    )


if __name__ == "__main__":
    main()
