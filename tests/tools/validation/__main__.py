"""Convert robots, and run the validators of other projects on the assets.

Kinds, and their programs:

- assets: validators of OpenUSD and NVIDIA on every layout. Robots are converted twice, with the
  same bytes, and assets are moved before they are opened. Programs are further Pythons with an
  OpenUSD, or with Newton if the path ends in `:newton`, that open assets without any message.
- rep158: `usd-check` of ros-openusd-compliance-checker on the profile ros.
- simready: `simready-validate` with simready-foundation-tier-core on the profile simready.
- isaac: a Python with isaacsim-asset-isolated, whose lists of links and joints are compared.
- mujoco: a Python with Newton and mujoco-warp, whose model of the variant is compared.

Exits with 1 on any issue that is not waived by docs/dev/validation.md or, of rep158, below.
"""

from __future__ import annotations

import itertools
import json
import logging
import math
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from pxr import Tf, Usd, UsdValidation

from tests.tools.corpora import corpus_parser, robots
from urdf_usd.conformance.engines.process import Simulator
from urdf_usd.conformance.engines.reference import structure
from urdf_usd.conformance.observation.robot import JointObservation, JointType, head_coupling
from urdf_usd.converter import Conversion, ConversionError, ConvertOptions, Profile, convert
from urdf_usd.converter.options import Layout
from urdf_usd.converter.usd.writer.asset import COLLIDERS_SET, NONE, PHYSICS_SET

_HERE = Path(__file__).parent
_MODULES = "tests.tools.validation"
_PAGE = _HERE.parents[2] / "docs/dev/validation.md"

# Warnings of usd-check that no asset can avoid, by a text of theirs.
_WAIVED_158 = (
    # Section 1.3.1 recommends `none`, and requires `convexHull` or primitive shapes of the default
    # variant. Simulators have no contacts between moving bodies of triangles, so that meshes keep
    # what is required.
    ("1.3.4", "physics:approximation='convexHull'"),
    # A robot with floating joints has several kinematic trees, and section 1.3 allows one root in
    # each; the checker counts all of the stage.
    ("1.3.2", "ArticulationRootAPI prims"),
)
_SIMREADY = ("Robot-Body", "2.3.0")
# What no robot of a corpus states.
_UNKNOWN = {"author": "unknown", "asset_license": "unknown", "usd_date_generated": "2026-01-01"}
# Diagnostics after which an asset cannot pass: the robot lacks what is required.
_UNFIT = frozenset({"mesh-required", "body-required"})
_UNMET = re.compile(r"(\w+): optional feature, unmet requirements: \[(.*)\]")
_REQUIREMENT = re.compile(r"'com\.nvidia\.simready\.([\w.]+)'")
# Newton stores float32, and 1e6 or infinity for no limit.
_SAME, _UNLIMITED = 1e-6, 1e6


@cache
def waivers() -> tuple[tuple[str, str, str], ...]:
    """Return rules of validators, text of the message, and rule that the conversion reported.

    The last two may be empty.
    """
    lines = re.sub(r"\| (anything|always) (?=\|)", "|  ", _PAGE.read_text("utf-8")).splitlines()
    rows = [line.strip("|").split(" | ") for line in lines if line.startswith("| `")]
    plain = ([cell.strip("` ") for cell in row[:3]] for row in rows if len(row) == 5)
    return tuple((rule, says, after) for rule, says, after in plain)


def is_waived(rule: str, message: str, reported: frozenset[str]) -> bool:
    """Whether an issue is waived; ``reported`` are the rules of the conversion's diagnostics."""
    return any(
        waived == rule and says in message and (not after or after in reported)
        for waived, says, after in waivers()
    )


class Validation(NamedTuple):
    """An asset to validate, and what all assets share."""

    conversion: Conversion
    again: Callable[[Path], Conversion]  # converts the robot to another folder
    folder: Path  # of the asset, and nothing else
    programs: tuple[str, ...]
    simulators: Callable[[str, str], Simulator]  # one process per program and Python
    counts: Counter[str]  # of what is waived, optional or refused
    count_all: bool

    @property
    def reported(self) -> frozenset[str]:
        return frozenset(diagnostic.rule for diagnostic in self.conversion.diagnostics)


def validate_assets(asset: Validation) -> Iterator[str]:
    """Yield issues of OpenUSD and NVIDIA, and messages of openers, that are not waived."""
    other = asset.folder.parent / "again"
    asset.again(other)
    pairs: set[tuple[Path, bytes]] = set()
    for folder in (asset.folder, other):
        files = (file for file in folder.rglob("*") if file.is_file())
        pairs ^= {(file.relative_to(folder), file.read_bytes()) for file in files}
    differing = {name for name, _ in pairs}
    yield from (f"another conversion writes another {name}" for name in sorted(differing))
    moved = other / "elsewhere" / "an asset"
    moved.parent.mkdir()
    asset.folder.rename(moved)
    usd = moved / asset.conversion.root_layer.relative_to(asset.folder)
    for program in (sys.executable, *asset.programs):
        python, _, simulator = program.partition(":")
        request = {"usd": str(usd), "newton": bool(simulator)}
        answer = asset.simulators(f"{_MODULES}.opening", python).observe(request)
        issues = [*answer.get("issues", [answer.get("error")]), *answer["messages"]]
        yield from (f"{program}: {issue}" for issue in issues)
    found = Counter([*openusd_issues(usd), *_nvidia_issues(usd, whole=asset.count_all)])
    for (rule, message), count in found.items():
        if is_waived(rule, message, asset.reported):
            asset.counts[f"waived: {rule}"] += count
        else:
            yield f"{rule}: {message}"


def openusd_issues(usd: Path) -> Iterator[tuple[str, str]]:
    """Run all validators of OpenUSD for each variant selection; warnings of OpenUSD count too."""
    # Registers the schemas of newton:* attributes, as OpenUSD's own tools require.
    import newton_usd_schemas  # noqa: F401

    registry = UsdValidation.ValidationRegistry()
    context = UsdValidation.ValidationContext(registry.GetOrLoadAllValidators())
    with Tf.DiagnosticTrap() as trap:
        stage = Usd.Stage.Open(str(usd))
        sets = stage.GetDefaultPrim().GetVariantSets()
        # Default variants; no physics; no colliders.
        for name in ("", PHYSICS_SET, COLLIDERS_SET):
            stage.GetSessionLayer().Clear()
            if name:
                with Usd.EditContext(stage, stage.GetSessionLayer()):
                    sets.SetSelection(name, NONE)
            yield from ((one.GetName(), one.GetMessage()) for one in context.Validate(stage))
        yield from (("warning", warning.commentary) for warning in trap.GetWarnings())
        trap.Clear()


@cache
def _nvidia_engine(*, whole: bool) -> Any:  # noqa: ANN401  of the group validation
    logging.getLogger("usd_validation_nvidia").setLevel(logging.WARNING)
    import usd_validation_nvidia as nvidia

    # It validates every variant of the default prim.
    engine = nvidia.ValidationEngine(variants=True)
    for rule, *conditions in waivers():
        if not (any(conditions) or whole):
            engine.disable_rule(getattr(nvidia, rule))
    return engine


def _nvidia_issues(usd: Path, *, whole: bool) -> Iterator[tuple[str, str]]:
    for issue in _nvidia_engine(whole=whole).validate(str(usd)).issues():
        yield issue.rule.__name__ if issue.rule else "none", str(issue.message)


def validate_rep158(asset: Validation) -> Iterator[str]:
    """Yield violations, also of extension schemas; only warnings can be waived."""
    usd = str(asset.conversion.root_layer)
    text = _output(asset.programs or ("usd-check",), "--extensions", "--format", "json", usd)
    for one in json.loads(text)["violations"]:
        severity, check, message = (one[key] for key in ("severity", "check_id", "message"))
        known = any(check == waived and says in message for waived, says in _WAIVED_158)
        if known and severity != "error":
            asset.counts[f"waived: {check}"] += 1
        else:
            yield f"{severity}: {check}: {message}"


def validate_simready(asset: Validation) -> Iterator[str]:
    """Yield failed requirements, unless the conversion has reported why an asset cannot pass."""
    if unfit := _UNFIT & asset.reported:
        asset.counts[f"cannot pass: {', '.join(sorted(unfit))}"] += 1
        return
    # Features of Isaac Sim want the asset in a folder in one with its name.
    usd = asset.conversion.root_layer
    named = asset.folder.parent / usd.stem / "usd"
    named.parent.mkdir()
    asset.folder.rename(named)
    name, version = _SIMREADY
    selected = ("--profile", name, "--version", version, "-v")
    said = _output(asset.programs or ("simready-validate",), *selected, str(named / usd.name))
    # What is left of optional features.
    for feature, listed in _UNMET.findall(said):
        for requirement in set(_REQUIREMENT.findall(listed)):
            asset.counts[f"optional: {feature}: {requirement}"] += 1
    if f"[PASSED] {name} v{version}" not in said:
        lines = [line.strip() for line in said.splitlines()]
        yield from [line for line in lines if "failing requirements" in line] or [said]


def validate_isaac(asset: Validation) -> Iterator[str]:
    """Yield lists of links or joints that differ from those that Isaac Sim computes."""
    usd, programs = str(asset.conversion.root_layer), asset.programs or (sys.executable,)
    yield from _output(programs, str(_HERE / "isaac_lists.py"), usd).splitlines()


def _output(programs: tuple[str, ...], *arguments: str) -> str:
    """Run the first program; return what it prints, with its errors if it fails."""
    command = (programs[0], *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.stdout or not done.returncode else done.stderr or "no output"


def validate_mujoco(asset: Validation) -> Iterator[str]:
    """Yield differences between the robot and the mjModel that Newton makes of the variant."""
    usd = asset.conversion.root_layer
    python = (asset.programs or (sys.executable,))[0]
    model = asset.simulators(f"{_MODULES}.mujoco_model", python).observe({"usd": str(usd)})
    expected = {joint.name: joint for joint in structure(asset.conversion.robot)}
    stage = Usd.Stage.Open(str(usd))
    if refusal := model.get("error"):
        if cause := _cause(refusal, expected, stage):
            asset.counts[f"refused for {cause}"] += 1
        else:
            yield refusal
    else:
        asset.counts["joints"] += len(model["joints"])
        yield from model_differences(model, expected, stage)


def _cause(refusal: str, joints: Mapping[str, JointObservation], stage: Usd.Stage) -> str | None:
    """Return the fault of a robot for which MuJoCo refuses a model."""
    limits = ((joint.lower, joint.upper) for joint in joints.values())
    if "range[0] should be smaller than range[1]" in refusal and any(
        lower is not None and upper is not None and lower > upper for lower, upper in limits
    ):
        return "reversed limits"
    if "inertia must satisfy A + B >= C" in refusal:
        for prim in stage.Traverse():
            moments = prim.GetAttribute("physics:diagonalInertia").Get() or (1.0, 1.0, 1.0)
            lower, middle, largest = sorted(moments)
            # Rounding to float32 can make it impossible.
            if lower + middle - largest < _SAME * largest:
                return "an inertia at or beyond the triangle inequality"
    is_fixed = all(joint.type is JointType.FIXED for joint in joints.values())
    if "must have at least one joint" in refusal and is_fixed:
        return "having no joint"
    return None


def model_differences(
    model: Mapping[str, Any], expected: Mapping[str, JointObservation], stage: Usd.Stage
) -> Iterator[str]:
    """Yield what differs between MuJoCo's model and the joints of a robot."""
    prims = {path: stage.GetPrimAtPath(path) for path in model["joints"]}
    name_of = {path: p.GetDisplayName() or p.GetName() for path, p in prims.items() if p}
    coupled = {
        name_of[follower]: (name_of[leader], offset, multiplier)
        for follower, leader, offset, multiplier in model["couplings"]
        if follower in name_of
    }
    # A leader that the robot lacks is none.
    joints = expected.values()
    mimic_of = {one.name: one.mimic for one in joints if one.mimic and one.mimic.leader in expected}
    for path, name in name_of.items():
        joint = expected[name]
        effort = math.inf if joint.effort is None or joint.effort < 0 else joint.effort
        for key, stated in (
            ("damping", max(joint.damping or 0.0, 0.0)),
            ("friction", max(joint.friction or 0.0, 0.0)),
            ("effort", effort),
        ):
            found = model["joints"][path][key]
            unlimited = found >= _UNLIMITED and stated >= _UNLIMITED
            if not unlimited and not math.isclose(found, stated, rel_tol=_SAME, abs_tol=1e-37):
                yield f"{name}: {key} is {found:g}, not {stated:g}"
        head, found = head_coupling(name, mimic_of.get), coupled.get(name)
        given = (head.leader, head.offset, head.multiplier) if head else None
        pairs = zip(given[1:], found[1:], strict=True) if given and found else ()
        close = all(math.isclose(*pair, rel_tol=_SAME, abs_tol=_SAME) for pair in pairs)
        if (given and given[0]) != (found and found[0]) or not close:
            yield f"{name}: coupling is {found}, not {given}"
    if model["actuators"] != len(name_of):
        yield f"{model['actuators']} actuators for {len(name_of)} joints"


KINDS: dict[str, tuple[Callable[[Validation], Iterator[str]], dict[str, Any]]] = {
    "assets": (validate_assets, {}),
    "rep158": (validate_rep158, {"profile": Profile.ROS}),
    "simready": (validate_simready, {"profile": Profile.SIMREADY}),
    "isaac": (validate_isaac, {"profile": Profile.ISAAC}),
    "mujoco": (validate_mujoco, {"physics_variants": True}),
}


def main() -> None:
    parser = corpus_parser(__doc__, "pybullet", kinds=KINDS)
    parser.add_argument("--program", action="append", default=[])
    parser.add_argument("--layout", action="append", choices=list(Layout), type=Layout)
    parser.add_argument("--profile", action="append", choices=list(Profile), type=Profile)
    parser.add_argument("--count", action="store_true", help="count waived rules too, in minutes")
    parser.add_argument("--physics-variants", action="store_true")
    parser.add_argument("--robot-type")
    arguments = parser.parse_args()
    validate, fields = KINDS[arguments.kind]
    chosen = [fields]
    if arguments.kind == "assets":
        profiles, layouts = arguments.profile or [Profile.GENERIC], arguments.layout or list(Layout)
        pairs = itertools.product(profiles, layouts)
        chosen = [{"profile": profile, "layout": layout} for profile, layout in pairs]
    elif arguments.kind == "simready":
        metadata = _UNKNOWN | ({"robot_type": arguments.robot_type} if arguments.robot_type else {})
        variants = {"physics_variants": arguments.physics_variants}
        chosen = [fields | variants | {"metadata": tuple(metadata.items())}]
    counts, failed, validated = Counter[str](), 0, 0
    simulators = cache(partial(Simulator, "the process"))
    shared = tuple(arguments.program), simulators, counts, arguments.count
    for fields, source in itertools.product(chosen, robots(arguments)):
        packages = tuple((name, str(path)) for name, path in source.packages)
        options = ConvertOptions(packages=packages, arguments=tuple(source.arguments), **fields)
        write = partial(convert, source.path, options=options)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name).resolve() / "asset"
            try:
                problems = list(validate(Validation(write(folder), write, folder, *shared)))
            except ConversionError:
                continue
        validated += 1
        failed += bool(problems)
        of_layout = f" ({fields['profile']}, {fields['layout']})" if len(chosen) > 1 else ""
        for problem in problems:
            print(f"{source.id}{of_layout}: {problem}", flush=True)
    for what, count in sorted(counts.items()):
        print(f"{what}: {count}")
    print(f"{validated} assets: {failed} with issues")
    sys.exit(1 if failed or not validated else 0)


if __name__ == "__main__":
    main()
