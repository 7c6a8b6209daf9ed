"""Robots that PhysX and Newton simulate from an asset as MuJoCo does from the URDF.

    python -m tests.tools.consumers.agreement [CORPUS…] --out FILE.jsonl [--sample N]
        [--variant PROFILE-BODIES-BASE-LAYOUT]… [--rotate N] [--converter NAME=COMMAND]…

Converts robots with every variant and converter, loads the assets into both simulators
and compares with MuJoCo: degrees of freedom, base, total mass, joint-space inertia and
gravity forces. Writes a line of JSON for each asset and simulator, with the warnings
and errors of the simulator; ``python -m tests.tools.consumers.tables FILE.jsonl…`` writes
tables. Robots that the file has already are not measured again.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray
from pxr import Usd, UsdPhysics

from tests.tools.consumers.simulators import Simulator
from urdf_usd.conformance.converters.candidates import (
    CommandConverter,
    parse_candidates,
)
from urdf_usd.conformance.engines.mujoco import MujocoEngine
from urdf_usd.conformance.engines.openusd.stage import captured_diagnostics, urdf_name
from urdf_usd.conformance.engines.protocol import AbstentionError, Request
from urdf_usd.conformance.engines.reference import structure
from urdf_usd.conformance.execution.foreign_conversion import (
    ConverterCrashError,
    NoUsdError,
    run_command,
)
from urdf_usd.conformance.observation.robot import (
    ROOT_MOTION,
    Configurations,
    JointType,
    Observation,
)
from urdf_usd.conformance.tolerance.sampling import configurations
from urdf_usd.converter import (
    ConversionError,
    ConvertOptions,
    Profile,
)
from urdf_usd.converter.conversion import convert_parsed
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.meshes.read import cached_meshes
from urdf_usd.converter.options import BodyNesting, Layout
from urdf_usd.converter.robot.bodies import assign_bodies
from urdf_usd.converter.robot.body_options import BaseOption, MasslessOption
from urdf_usd.converter.robot.topology import build_tree
from urdf_usd.converter.urdf.parse import Parsed, parse, standalone_urdf
from urdf_usd.converter.urdf.xacro import is_xacro
from urdf_usd.corpus import RobotSource, resolve_corpora

_VARIANTS = (
    "generic-nested-auto-layered",
    "generic-flat-fixed-layered",
    "usdphysics-nested-auto-layered",
    "physx-flat-auto-layered",
)
# Zero, both limits and samples.
_COUNT = 7
_GRAVITY = 9.81
_DEGREES_OF_FREEDOM = {
    JointType.REVOLUTE: 1,
    JointType.CONTINUOUS: 1,
    JointType.PRISMATIC: 1,
    JointType.PLANAR: 3,
    JointType.FLOATING: 6,
    JointType.SPHERICAL: 3,
}
_ANGULAR = frozenset({JointType.REVOLUTE, JointType.CONTINUOUS})
_TIMEOUT = 300.0
# Instead of zero as a divisor.
_TINY = 1e-30


@dataclass(frozen=True, slots=True, eq=False)
class _Expected:
    """What MuJoCo computes from the URDF.

    Attributes:
        dofs: Number of degrees of freedom of each moving joint.
        types: Types of joints, by name.
        mass: Total mass [kg].
        joints: (n) joints with one degree of freedom, in the order of the arrays.
        inertia: (K, n, n) joint-space inertia; None if a joint has several axes.
        gravity: (K, n) gravity forces [N or N m].
    """

    dofs: Counter[str]
    types: Mapping[str, JointType]
    mass: float
    joints: tuple[str, ...]
    inertia: NDArray[np.float64] | None
    gravity: NDArray[np.float64] | None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="*", default=["pybullet"])
    parser.add_argument("--sample", type=int, help="robots, spread over the corpora")
    parser.add_argument("--variant", action="append")
    parser.add_argument(
        "--rotate",
        type=int,
        help="for each robot as many of all variants, in rotation over the robots",
    )
    parser.add_argument("--converter", action="append", default=[])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    sources = resolve_corpora(options.corpus)
    if options.sample and options.sample < len(sources):
        step = len(sources) / options.sample
        sources = tuple(sources[int(n * step)] for n in range(options.sample))
    others = [
        candidate
        for candidate in parse_candidates(options.converter, {})
        if isinstance(candidate, CommandConverter)
    ]
    variants = options.variant or ([] if others else _VARIANTS)
    product = np.random.default_rng(0).permutation(supported_variants())
    rotation = itertools.cycle(product.tolist())
    done = set()
    if options.out.exists():
        lines = options.out.read_text(encoding="utf-8").splitlines()
        done = {json.loads(line)["robot"] for line in lines}
    with Simulator("PhysX") as physx, Simulator("Newton") as newton:
        for source in sources:
            if options.rotate:
                variants = tuple(itertools.islice(rotation, options.rotate))
            if not isinstance(source, RobotSource) or source.reference in done:
                continue
            rows = list(_measure(source, variants, others, (physx, newton)))
            with options.out.open("a", encoding="utf-8") as file:
                for row in rows:
                    line = json.dumps({"robot": source.reference, **row})
                    file.write(f"{line}\n")
            sys.stderr.write(f"{source.reference}\n")


def supported_variants() -> tuple[str, ...]:
    """Return all combinations of options that a conversion accepts."""
    product = itertools.product(Profile, BodyNesting, BaseOption, Layout)
    return tuple(one for one in map("-".join, product) if _is_supported(one))


def _is_supported(variant: str) -> bool:
    try:
        _options(variant)
    except ValueError:
        return False
    return True


def _options(variant: str) -> ConvertOptions:
    profile, bodies, base, layout = variant.split("-")
    return ConvertOptions(
        profile=Profile(profile),
        bodies=BodyNesting(bodies),
        base=BaseOption(base),
        layout=Layout(layout),
    )


def _measure(
    source: RobotSource,
    variants: Sequence[str],
    others: Sequence[CommandConverter],
    simulators: Sequence[Simulator],
) -> Iterator[dict[str, Any]]:
    packages = {name: str(path) for name, path in source.packages}
    arguments = dict(source.arguments)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            parsed = parse(str(source.path), packages=packages, arguments=arguments)
        except SourceError as error:
            yield {"status": "unreadable", "error": _first_error(error)}
            return
        path = source.path
        if is_xacro(str(path)):
            path = Path(scratch, f"{path.name.split('.')[0]}.urdf")
            path.write_bytes(standalone_urdf(str(source.path), packages, arguments, ()))
        chosen = configurations(structure(parsed.robot), _COUNT)
        chosen = structs.replace(chosen, velocities=(), root=None)
        start = time.perf_counter()
        try:
            expected = _expected(MujocoEngine().observe(Request(str(path), chosen, packages)))
        except AbstentionError as error:
            yield {"status": "refused by MuJoCo", "error": str(error)}
            return
        seconds = time.perf_counter() - start
        yield {"status": "read", "simulator": "MuJoCo", "seconds": seconds}
        with cached_meshes():
            for variant in variants:
                out = Path(scratch, variant)
                base, usd, reason = _converted(parsed, out, variant)
                yield from _compared(variant, usd, reason, base, expected, chosen, simulators)
        tree = build_tree(parsed.robot)
        of_urdf = assign_bodies(tree, BaseOption.AUTO, MasslessOption.REGULARISE).base
        for other in others:
            out = Path(scratch, other.name)
            usd, reason = None, ""
            try:
                usd = run_command(
                    other,
                    path,
                    out,
                    packages=packages,
                    names=(path.stem, parsed.robot.name),
                    timeout=_TIMEOUT,
                ).root_layer
            except (NoUsdError, ConverterCrashError) as caught:
                reason = str(caught)
            yield from _compared(
                other.name, usd, reason, of_urdf.value, expected, chosen, simulators
            )


def _converted(parsed: Parsed, out: Path, variant: str) -> tuple[str | None, Path | None, str]:
    try:
        with captured_diagnostics():
            done = convert_parsed(parsed, out, _options(variant))
    except ConversionError as error:
        return None, None, _first_error(error)
    return done.base.value, done.root_layer, ""


def _first_error(error: ConversionError) -> str:
    lines = str(error).splitlines()
    return next((line for line in lines if ": error: " in line), lines[0])


def _expected(observed: Observation) -> _Expected:
    types = {joint.name: joint.type for joint in observed.joints}
    dofs = Counter(
        {
            name: _DEGREES_OF_FREEDOM[kind]
            for name, kind in types.items()
            if kind is not JointType.FIXED
        }
    )
    mass = sum(link.mass.mass for link in observed.links if link.mass)
    dynamics = observed.dynamics
    if dynamics is None or any(count > 1 for count in dofs.values()):
        return _Expected(dofs, types, mass, (), None, None)
    chosen = [n for n, name in enumerate(dynamics.joints) if name != ROOT_MOTION]
    return _Expected(
        dofs,
        types,
        mass,
        tuple(dynamics.joints[n] for n in chosen),
        dynamics.inertia[:, chosen][:, :, chosen],
        dynamics.bias[:, chosen],
    )


def _compared(
    variant: str,
    usd: Path | None,
    error: str,
    base: str | None,
    expected: _Expected,
    chosen: Configurations,
    simulators: Sequence[Simulator],
) -> Iterator[dict[str, Any]]:
    if usd is None:
        yield {"variant": variant, "status": "not converted", "error": error}
        return
    names = _joint_names(usd)
    own = dict(zip(chosen.joints, chosen.positions, strict=True))
    positions = {
        path: own[name][:, 0].tolist()
        for path, name in names.items()
        if name in own and expected.dofs[name] == 1
    }
    angular = [p for p in positions if expected.types[names[p]] in _ANGULAR]
    request = {"usd": str(usd), "positions": positions, "angular": angular}
    for simulator in simulators:
        answer = simulator.observe(request)
        row: dict[str, Any] = {
            "variant": variant,
            "simulator": simulator.name,
            "status": "refused" if "error" in answer else "observed",
            "seconds": answer.get("seconds"),
            "messages": [text.replace(str(usd.parent), "OUT") for text in answer["messages"]],
        }
        if "error" in answer:
            yield row | {"error": answer["error"]}
        else:
            yield row | _differences(answer, names, base, expected)


def _differences(
    answer: Mapping[str, Any],
    names: Mapping[str, str],
    base: str | None,
    expected: _Expected,
) -> dict[str, Any]:
    listed = [names.get(path, path) for path in answer["dofs"]]
    row: dict[str, Any] = {
        "bodies": answer["bodies"],
        "articulations": answer["articulations"],
        "dofs": Counter(listed) == +expected.dofs,
        "dof_count": [len(listed), sum(expected.dofs.values())],
        "fixed": answer["fixed"],
        "base": base,
        "mass": abs(answer["mass"] - expected.mass) / max(expected.mass, 1e-9),
        "masses": [answer["mass"], expected.mass],
    }
    inertia, gravity = expected.inertia, expected.gravity
    # That of a stage with several articulations is not read.
    stated = listed and "inertia" in answer
    if not row["dofs"] or inertia is None or gravity is None or not stated:
        return row
    order = [listed.index(name) for name in expected.joints]
    found = np.array(answer["inertia"])[:, order][:, :, order]
    forces = np.array(answer["gravity"])[:, order]
    norms = np.maximum(np.linalg.norm(inertia, axis=(1, 2)), _TINY)
    errors = np.linalg.norm(found - inertia, axis=(1, 2)) / norms
    # Of a robot in balance, a hundredth of what its inertia suggests.
    largest = float(np.max(np.diagonal(inertia, axis1=1, axis2=2)))
    floor = 1e-2 * _GRAVITY * np.sqrt(expected.mass * largest)
    scale = max(float(np.linalg.norm(gravity, axis=1).max()), floor, _TINY)
    deviations = np.linalg.norm(forces - gravity, axis=1) / scale
    return row | {
        "inertia": float(np.max(errors)),
        "gravity": float(np.max(deviations)),
    }


def _joint_names(usd: Path) -> dict[str, str]:
    with captured_diagnostics():
        stage = Usd.Stage.Open(str(usd))
        predicate = Usd.TraverseInstanceProxies()
        return {
            str(prim.GetPath()): urdf_name(prim)
            for prim in Usd.PrimRange(stage.GetPseudoRoot(), predicate)
            if prim.IsA(UsdPhysics.Joint)
        }


if __name__ == "__main__":
    main()
