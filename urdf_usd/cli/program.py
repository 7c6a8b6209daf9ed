"""The command ``urdf-usd``: its commands, their options, help and examples."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import click
from msgspec import Meta, Struct

from urdf_usd.cli.parameters import Argument, click_command, path_type, read_defaults, refuse
from urdf_usd.cli.terminal import EXIT_CODES, CommandError, explained_failures
from urdf_usd.conformance import options as o
from urdf_usd.conformance.gate import FailOn
from urdf_usd.converter.diagnostics import Severity
from urdf_usd.converter.options import ConvertOptions, Option, Sources, VariantChoice, parse_pair
from urdf_usd.corpus import Selection
from urdf_usd.installation import DISTRIBUTION

FILE = click.Path(path_type=Path, dir_okay=False)
EXISTING = click.Path(path_type=Path, exists=True)
_EXISTING_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
USD_SUFFIXES = frozenset({".usd", ".usda", ".usdc", ".usdz"})

_RULES = ", separated by commas; * matches any text. Repeatable."
_Texts: TypeAlias = tuple[str, ...]
_Pairs: TypeAlias = tuple[tuple[str, str], ...]
# Arguments and options of several commands.
Robot: TypeAlias = Annotated[str, Argument()]
Urdf: TypeAlias = Annotated[str, Argument("URDF")]
Usd: TypeAlias = Annotated[Path, Argument("USD", EXISTING)]
Format: TypeAlias = Annotated[Literal["text", "json"], "--format: "]
JsonFile: TypeAlias = Annotated[Path | None, "--json: Write the record here."]
HtmlFile: TypeAlias = Annotated[Path | None, "--html: Write the report page here."]
FailOnOption: TypeAlias = Annotated[
    FailOn,
    "close: fail on every check that is not exact; incomplete: also on robots of which parts could "
    "not be compared; fails: only on checks that fail or are disputed, or if nothing was compared.",
]
Mirror: TypeAlias = Annotated[
    Path | None,
    "--mirror FOLDER: Folder with clones of the repositories of robot_descriptions; nothing is "
    "downloaded then.  [default: environment variable URDF_USD_MIRROR]",
]


def _pair_option(flag: str, value: str, text: str) -> Option:
    form = f"NAME={value}"
    return Option(text, flag, form, partial(parse_pair, form=form))


class UsdOptions(Struct, frozen=True, kw_only=True):
    variants: o.Variants = ()
    strict: o.StrictFiles = False

    def __post_init__(self) -> None:
        o.require_distinct(self.variants)


class Behave(Struct, frozen=True, kw_only=True):
    """Simulate the robot SOURCE, and say whether it holds its pose and reaches its targets.

    SOURCE is a USD asset, or a robot that is converted first: with --with, or with drives of
    --frequency for all joints, on a fixed base unless --base says otherwise.

    MuJoCo simulates what OpenUSD reads of the asset; PhysX (extra 'physx') and Newton (extra
    'newton') load it themselves. After 2 s of gravity, all targets move by 0.1 rad or 10 mm for 1
    s, then to the upper limits in 5 s, and to the lower ones. A joint holds its pose within 0.1 rad
    or 10 mm. docs/simulation.md explains what to do if it does not.

    Examples:
        urdf-usd behave robot.urdf
        urdf-usd behave robot.urdf --with robot.toml --simulator PhysX
    """

    source: Robot
    simulators: Annotated[
        tuple[Literal["MuJoCo", "PhysX", "Newton"], ...],
        "--simulator: Use only this simulator. Repeatable.  [default: all that are installed]",
    ] = ()
    frequency: Annotated[
        float,
        Meta(ge=0.0, le=100.0),
        "--frequency HZ: Natural frequency of the drives of a URDF without --with; 0: no drives.",
    ] = 5.0
    output_format: Format = "text"
    conversion: ConvertOptions
    limits: o.Limits = o.DEFAULT_LIMITS


class Certify(Struct, frozen=True, kw_only=True):
    """Check a USD, and store the verdict in it if it conforms.

    The root layer receives a certificate as custom data: verdict, versions of this program, its
    tolerance and the engines, and hashes of the files of URDF, --with and USD. A badge is written
    next to it, conformance.svg. `urdf-usd check --certificate` verifies that nothing changed
    since, without engines. It is not signed.

    Examples:
        urdf-usd certify robot.urdf out/robot.usda
        urdf-usd check --certificate robot.urdf out/robot.usda
    """

    urdf: Urdf
    usd: Usd
    comparison: o.CheckOptions
    fail_on: FailOnOption = FailOn.FAILS


class Check(Struct, frozen=True, kw_only=True):
    """Compare a USD with its source, quantity by quantity.

    SOURCE is a URDF, xacro or MJCF file, a reference such as rd:panda_description, or - for
    standard input; USD is the root layer of an asset from any converter. A USD is refused if a
    layer or asset is no regular file, if it has more than 10000 asset paths or 4 GiB of layers,
    or if composing it exceeds --timeout or --memory.

    Examples:
        urdf-usd check robot.urdf out/robot.usda
        urdf-usd check robot.urdf robot.usd --base fixed --html report.html
        urdf-usd check pybullet:r2d2.urdf r2d2.usda --engine mujoco --json r2d2.json
        urdf-usd check arm.urdf arm.usd --all-variants --variant Physics=physx
        ros2 param get /robot_state_publisher robot_description | urdf-usd check - arm.usd
    """

    urdf: Annotated[str, Argument("SOURCE")]
    usd: Usd
    certificate: Annotated[
        bool,
        "Only verify the certificate that `urdf-usd certify` wrote: that URDF and USD are those "
        "that were compared. No engine is used.",
    ] = False
    comparison: o.CheckOptions
    all_variants: Annotated[
        bool,
        "Check every combination of variants of the robot, at most 64; those of --variant "
        "are common to all. Variants named 'none' without physics or colliders are skipped. "
        "The worst result decides the exit status; files are numbered: FILE-1, FILE-2 ...",
    ] = False
    fail_on: FailOnOption = FailOn.FAILS
    json_file: JsonFile = None
    html_file: HtmlFile = None


class Compare(Struct, frozen=True, kw_only=True):
    """Compare two descriptions of a robot, URDF or MJCF, quantity by quantity.

    FIRST and SECOND are URDF, xacro or MJCF files, or references. The first gives the expected
    values. Links and joints with other names are matched by the chain of parents; --map matches
    those that are not. Whatever concerns a USD alone is left out.

    Examples:
        urdf-usd compare robot.urdf robot.xml --map base_link=base --html report.html
        urdf-usd compare rd:panda_description rd:panda_mj_description
    """

    first: Annotated[str, Argument("FIRST")]
    second: Annotated[str, Argument("SECOND")]
    mapped: Annotated[
        _Pairs,
        _pair_option(
            "--map", "NAME", "A link or joint of FIRST, and its name in SECOND. Repeatable."
        ),
    ] = ()
    sources: Sources = Sources()
    engines: o.Engines = ()
    limits: o.Limits = o.DEFAULT_LIMITS
    fail_on: FailOnOption = FailOn.FAILS
    json_file: JsonFile = None
    html_file: HtmlFile = None


class Convert(Struct, frozen=True, kw_only=True):
    """Convert the robot SOURCE to a USD asset in DIR.

    SOURCE is a URDF or xacro file or a reference such as rd:panda_description. DIR receives
    <robot>.usda and payload/, unless --layout says otherwise; a previous conversion in it is
    replaced. The path of the root layer is printed on stdout, diagnostics on stderr.

    With several SOURCEs, or a whole corpus such as erd or dir:my_robots, each robot is converted in
    another process, within --timeout and --memory, into DIR/<id>. A single SOURCE is converted in
    this process, without limits unless one is given.

    Examples:
        urdf-usd convert robot.urdf out
        urdf-usd convert robot.urdf.xacro out --arg hand:=true --package my_robot=path/to/my_robot
        urdf-usd convert robot.urdf out --profile physx --scene --with robot.toml
        urdf-usd convert dir:my_robots assets --jobs 4
        usdview $(urdf-usd convert rd:panda_description panda)
    """

    sources: Annotated[_Texts, Argument("SOURCE...")] = ()
    directory: Annotated[Path, Argument("DIR", kind=click.Path(path_type=Path))]
    conversion: ConvertOptions
    root: Annotated[
        str | None,
        "--root LINK: Convert only the tree below this link, for a robot with several roots.",
    ] = None
    scene: Annotated[
        bool, "Add a physics scene with gravity, to simulate the asset on its own."
    ] = False
    strict: Annotated[bool, "Treat warnings as errors."] = False
    jobs: Annotated[o.Jobs, "Number of robots converted in parallel.  [default: one per CPU]"] = (
        None
    )
    limits: o.Limits = o.DEFAULT_LIMITS

    def __post_init__(self) -> None:
        if not self.sources:
            # A single argument is taken as the last one.
            raise click.UsageError(
                f"Missing argument 'DIR': name the folder of the asset after {self.directory}"
            )
        if self.directory.suffix.lower() in USD_SUFFIXES:
            raise click.UsageError(
                f"{str(self.directory)!r} is named like a USD file, but DIR is the folder of the "
                f"asset; pass a folder such as {str(self.directory.with_suffix(''))!r}"
            )


class CorpusList(Struct, frozen=True, kw_only=True):
    """List the robots of CORPUS; all corpora by default.

    Nothing is downloaded: of robots that are not available locally, the details in their
    catalogue are shown.

    Examples:
        urdf-usd corpus list rd --tag quadruped --license BSD-3-Clause
        urdf-usd corpus list erd dir:my_robots --format tsv | cut -f 1,4
    """

    corpus: Annotated[_Texts, Argument()] = ()
    output_format: Annotated[
        Literal["table", "tsv", "json"] | None,
        "--format: [default: table on a terminal, tsv in a pipe]",
    ] = None
    selection: Selection
    mirror: Mirror = None


class CorpusShow(Struct, frozen=True, kw_only=True):
    """Show origin, packages, files and hashes of the robot REF, without a download.

    Examples:
        urdf-usd corpus show rd:panda_description
    """

    reference: Annotated[str, Argument("REF")]
    output_format: Format = "text"
    mirror: Mirror = None


class Diff(Struct, frozen=True, kw_only=True):
    """Show what changed from the run in folder RUN_A to that in RUN_B.

    Lists robots that were added or removed, new and fixed failures, changed grades, differences
    that changed by more than float32 rounding, changed files with the values that differ between
    the USDs, options and versions. Worse is a robot that no longer conforms or was removed, a worse
    grade, or a larger difference.

    Examples:
        urdf-usd diff report.before report
    """

    run_a: Annotated[Path, Argument(kind=path_type("RUN"))]
    run_b: Annotated[Path, Argument(kind=path_type("RUN"))]
    output_format: Format = "text"


class Doctor(Struct, frozen=True, kw_only=True):
    """Show versions and which engines and corpora are available.

    For those that are not, it shows how to install them. With --schema, it prints the JSON Schema
    of a kind of file instead: the records of robots, runs (summary) and histories, a case of the
    feature suite, the TOML file of --with (description), or urdf-usd.toml (defaults).

    Examples:
        urdf-usd doctor
        urdf-usd doctor --schema robot > robot.schema.json
    """

    schema: Annotated[
        Literal["history", "robot", "summary", "case", "description", "defaults"] | None,
        "Print the JSON Schema of a kind of file.",
    ] = None


def _parse_renaming(text: str) -> tuple[str, str]:
    pattern, replacement = parse_pair(text, "PATTERN=NAME")
    try:
        re.sub(pattern, replacement, "")
    except (re.error, IndexError) as error:
        raise ValueError(f"{text!r}: {error}") from error
    return pattern, replacement


class Expand(Struct, frozen=True, kw_only=True):
    r"""Print the URDF that the xacro file SOURCE expands to, or copy a robot.

    With --vendor, DIR receives the URDF of SOURCE, which may be a URDF too, its meshes and
    textures, which the URDF names by relative paths, and the licence file of its package. A
    comment in the URDF names source, repository, commit, licence and arguments.

    Examples:
        urdf-usd expand robot.urdf.xacro --arg hand:=true > robot.urdf
        urdf-usd expand h1.urdf --vendor h1 --rename-joint '(.*)_joint=\1'
    """

    source: Robot
    vendor: Annotated[
        Path | None,
        "--vendor DIR: Write a copy of the robot with all its files here, a new or empty folder.",
    ] = None
    renamed: Annotated[
        _Pairs,
        Option(
            "With --vendor: rename joints whose whole name matches the regular expression PATTERN, "
            "also where other elements refer to them. Repeatable; the first match counts.",
            "--rename-joint",
            metavar="PATTERN=NAME",
            parse=_parse_renaming,
        ),
    ] = ()
    sources: Sources

    def __post_init__(self) -> None:
        refuse((self.renamed and not self.vendor, "--rename-joint needs --vendor DIR"))


class Export(Struct, frozen=True, kw_only=True):
    """Write the robot in the file USD as the file URDF.

    USD is the root layer of an asset from any converter: nested or flat bodies, any units, Y or Z
    up. Meshes and textures are written to meshes/ next to the URDF. The path of the URDF is printed
    on stdout, diagnostics on stderr.

    A joint of several axes becomes a chain of joints with one axis each, which `urdf-usd convert`
    puts together again. Robots of a stage with several are listed, with exit code 2, unless --root
    names one; a body without joints is a robot of its own. The USD is read in a process with the
    limits --timeout and --memory, and refused as by `urdf-usd check`.

    Examples:
        urdf-usd export out/robot.usda robot.urdf
        urdf-usd export scene.usd arm.urdf --root /World/arm --force
        urdf-usd export gripper.usd gripper.urdf --loops --variant Gripper=parallel
    """

    usd: Usd
    urdf: Annotated[Path, Argument("URDF", kind=click.Path(path_type=Path))]
    force: Annotated[bool, "Replace files that were not written by an export of this URDF."] = False
    root: Annotated[
        str | None,
        "--root PATH: Prim of the robot to export, of a stage with several: an articulation root, "
        "a body, or a prim above the bodies of one robot.",
    ] = None
    loops: Annotated[
        bool,
        "Keep joints that close loops, as <usd_loop> elements, as <equality> of MuJoCo, and in "
        "an MJCF file next to the URDF that closes the loops.",
    ] = False
    reading: UsdOptions
    limits: o.Limits = o.DEFAULT_LIMITS


class Init(Struct, frozen=True, kw_only=True):
    """Write a simulation settings file for the robot SOURCE to FILE.

    FILE, by default <robot>.toml in the working folder, has all settings as comments,
    and lists joints with their types and limits, joints that cannot be at zero or have
    no effort, and links whose colliders overlap at rest. Edit it and pass it to --with.
    An existing file is not overwritten. The path is printed on stdout.

    Examples:
        urdf-usd init erd:panda panda.toml
        urdf-usd convert erd:panda out --with panda.toml
    """

    source: Robot
    file: Annotated[Path | None, Argument(kind=FILE)] = None
    sources: Sources


class Inspect(Struct, frozen=True, kw_only=True):
    """Show links, joints, shapes and totals of the robot SOURCE.

    SOURCE is a URDF or xacro file, a reference such as rd:panda_description, or the root layer of a
    USD, whose meshes are named by their prims. A USD is read in a separate process within --timeout
    and --memory, and refused as by `urdf-usd check`; --variant and --strict are for it alone.

    --joints shows the order in which engines number the joints instead. USD is an asset
    of the robot; without one, SOURCE is converted in a temporary folder. The engine
    reference has the order of the URDF. An index map a_to_b has one entry per joint of
    engine b, such that q_b = q_a[a_to_b]; -1 stands for a joint that a lacks. Joints
    with several degrees of freedom are one entry.

    Examples:
        urdf-usd inspect pybullet:r2d2.urdf --format json
        urdf-usd inspect robot.urdf --format dot | dot -Tsvg > robot.svg
        urdf-usd inspect robot.urdf robot.usda --joints --numpy maps.npz
    """

    source: Robot
    usd: Annotated[Path | None, Argument(kind=_EXISTING_FILE)] = None
    output_format: Annotated[
        Literal["text", "json", "dot", "mermaid"],
        "--format: A tree with totals, all values, or a graph for Graphviz or Mermaid.",
    ] = "text"
    joints: Annotated[bool, "Show the order of joints in each engine, as text or JSON."] = False
    numpy_file: Annotated[
        Path | None, "--numpy: With --joints: write the index maps here, as arrays of an .npz file."
    ] = None
    engines: o.Engines = ()
    sources: Sources
    reading: UsdOptions
    limits: o.Limits = o.DEFAULT_LIMITS

    def __post_init__(self) -> None:
        alone = not self.joints
        refuse(
            (alone and self.usd, "argument USD needs --joints"),
            (alone and self.numpy_file, "--numpy needs --joints"),
            (alone and self.engines, "--engine needs --joints"),
            (
                self.joints and self.output_format not in {"text", "json"},
                f"--joints has no --format {self.output_format}",
            ),
        )


class Lint(Struct, frozen=True, kw_only=True):
    """Report likely mistakes in URDF and xacro files, with a remedy for each.

    SOURCE is a file, a reference such as rd:panda_description, or a whole corpus: pybullet, rd, erd
    or dir:<folder>. docs/lint.md describes every rule.

    --fix repairs mistakes with one possible correction, such as a stray comma after a
    number or an axis that is not normalised; comments and layout are kept.

    Examples:
        urdf-usd lint dir:my_robots --fail-on warning --ignore name-*,material-unused
        urdf-usd lint robot.urdf --format sarif > robot.sarif
        urdf-usd lint robot.urdf --fix --output repaired.urdf
    """

    named: Annotated[_Texts, Argument("SOURCE...")] = ()
    output_format: Annotated[Literal["text", "json", "sarif"], "--format: Output format."] = "text"
    select: Annotated[_Texts, f"--select RULE: Report only these rules{_RULES}"] = ()
    ignore: Annotated[_Texts, f"--ignore RULE: Do not report these rules{_RULES}"] = ()
    fail_on: Annotated[Severity, "Lowest severity that gives exit status 1."] = Severity.ERROR
    list_rules: Annotated[bool, "List the rules and exit."] = False
    fix: Annotated[bool, "Repair mistakes that have one possible correction."] = False
    output: Annotated[Path | None, "With --fix: write the repaired file here."] = None
    in_place: Annotated[bool, "With --fix: overwrite the file."] = False
    sources: Sources

    def __post_init__(self) -> None:
        written = self.output or self.in_place
        refuse(
            (not self.named and not self.list_rules, "Missing argument 'SOURCE...'."),
            (not self.fix and written, "--output and --in-place require --fix."),
            (
                self.fix and bool(self.output) == self.in_place,
                "--fix requires either --output FILE or --in-place.",
            ),
            (self.fix and len(self.named) > 1, "--fix accepts one file only."),
        )


class Reduce(Struct, frozen=True, kw_only=True):
    """Shrink SOURCE to a minimal URDF that fails in the same way.

    SOURCE is a robot of which a check fails, or which a converter refuses, or which
    crashes a converter or an engine. Whatever the failure does not need is removed, and names are
    shortened. OUT, a new or empty folder, receives the URDF, the meshes and textures that are left,
    and report.md, the text of a bug report with the command that shows the failure.

    A robot of 20 links takes a few hundred conversions.

    Examples:
        urdf-usd reduce robot.urdf minimal --converter 'x=x2usd {urdf} {out}'
        urdf-usd reduce robot.urdf minimal --check mass.link.mass --engine pybullet
    """

    source: Robot
    out: Annotated[Path, Argument(kind=path_type("FOLDER"))]
    check: Annotated[
        str | None,
        "--check ID: Check that has to fail, such as mass.link.mass.  [default: a conversion that "
        "fails, else the first check that fails, else an engine that crashes]",
    ] = None
    converter: Annotated[
        str | None,
        "--converter NAME[=HOW]: Converter to test, as for urdf-usd run.  [default: urdf-usd]",
    ] = None
    conversion: ConvertOptions
    engines: o.Engines = ()
    jobs: Annotated[
        o.Jobs,
        "Number of URDFs that are examined in parallel; the result does not depend on it.  "
        "[default: one per CPU]",
    ] = None
    limits: o.Limits = o.DEFAULT_LIMITS


class Converters(Struct, frozen=True, kw_only=True):
    texts: Annotated[
        _Texts,
        "--converter NAME[=HOW]: Converter to test; repeat to compare several. HOW is a command "
        "with {urdf} and {out}, such as 'other=urdf2usd {urdf} {out} [--package {name}={path}]', "
        "or folder:PATH with existing USDs; without it, NAME is an installed entry point.  "
        "[default: urdf-usd]",
    ] = ()
    versions: Annotated[
        _Pairs,
        _pair_option(
            *("--converter-version", "VERSION"),
            "Version of a converter for the report, where it cannot be detected.",
        ),
    ] = ()
    gated: Annotated[
        str | None,
        "--gate NAME: Converter that decides the exit status.  [default: urdf-usd, else the first]",
    ] = None


class Gate(Struct, frozen=True, kw_only=True):
    fail_on: FailOnOption = FailOn.FAILS
    strict: Annotated[bool, "Fail also on robots that cannot be read or fetched."] = False
    baseline: Annotated[
        Path | None, "--baseline FILE: Fail only on results that are worse than FILE expects."
    ] = None
    update_baseline: Annotated[bool, "Rewrite the baseline so that this run passes."] = False

    def __post_init__(self) -> None:
        rewritten = self.update_baseline
        refuse((rewritten and not self.baseline, "--update-baseline needs --baseline FILE"))
        if self.baseline and not (rewritten or self.baseline.exists()):
            raise CommandError(f"{self.baseline}: No such file or directory")


class Run(Struct, frozen=True, kw_only=True):
    """Convert and check every robot of CORPUS, and write a report.

    CORPUS is a file, a reference such as rd:panda_description, or a whole corpus:
    pybullet (the default), rd, erd, dir:<folder>, mjcf:<folder>, list:<file.toml>, or suite:
    for the feature suite, whose cases are also compared with expected values. OUT receives
    index.html, a page and a JSON record per robot, summary.json, summary.md, junit.xml,
    findings.sarif, badge.svg, badge.json and the assets.

    Files that are not URDF and robots that cannot be fetched are listed in the report, and fail the
    run with --strict only; with --baseline, files that are not URDF do unless it lists them. Of
    several converters, index.html compares the results. Of the feature suite, suite.html has the
    results and scores; a case that does not pass fails the run. Each step on a robot has the limits
    --timeout and --memory; USDs of other converters are refused as by `urdf-usd check`.

    Examples:
        urdf-usd run --out report
        urdf-usd run dir:my_robots --out report --jobs 4 --resume
        urdf-usd run rd --tag humanoid --forbid-license copyleft --baseline known.toml --out report
        urdf-usd run erd --compare report --history runs --label v1.2 --out report
        urdf-usd run dir:robots --changed-since origin/main --out report
        urdf-usd run --converter urdf-usd --converter 'x=x2usd {urdf} {out}' --out r
    """

    corpus: Annotated[_Texts, Argument()] = ()
    out: Annotated[
        Path,
        "--out FOLDER: Folder of the report: new, empty, or with a previous report, which is "
        "replaced, or with --resume updated. Other files in it are refused, and a folder that "
        "another run is using.",
    ]
    compare: Annotated[
        Path | None,
        "--compare RUN: Folder of a previous run; the report lists what changed. It may be OUT.",
    ] = None
    changed_since: Annotated[
        str | None,
        "--changed-since REVISION: Only robots with a URDF, xacro, mesh or texture file that "
        "changed since REVISION of their git repository, such as origin/main; nothing is written "
        "if there are none.",
    ] = None
    history: Annotated[
        Path | None,
        "--history FOLDER: Add this run to the history in FOLDER, one file per run; the report "
        "shows the trend, and what changed when.",
    ] = None
    label: Annotated[
        str | None, "Name of this run in the history, such as a commit.  [default: its number]"
    ] = None
    settings: o.RunOptions
    selection: Selection
    mirror: Mirror = None
    converters: Converters
    gate: Gate

    def __post_init__(self) -> None:
        refuse(
            (self.settings.retry and not self.settings.resume, "--retry needs --resume"),
            (self.label is not None and not self.history, "--label needs --history FOLDER"),
        )


class View(Struct, frozen=True, kw_only=True):
    """Show the robot SOURCE and its USD in 3D, in the browser.

    USD is the root layer of an asset from any converter. Without it, SOURCE is
    converted into a temporary folder. The path of the page is printed.

    Examples:
        urdf-usd view robot.urdf robot.usd
        urdf-usd view pybullet:r2d2.urdf --html r2d2.html
    """

    source: Robot
    usd: Annotated[Path | None, Argument(kind=EXISTING)] = None
    conversion: ConvertOptions
    variants: Annotated[
        tuple[VariantChoice, ...],
        o.variants_option("of the prim with path PRIM, as for urdf-usd check."),
    ] = ()
    html_file: Annotated[Path | None, "--html: Write the page here, and open no browser."] = None
    limits: o.Limits = o.DEFAULT_LIMITS

    def __post_init__(self) -> None:
        o.require_distinct(self.variants)


# By the module that implements them, in a function of their name.
_COMMANDS: dict[str, tuple[type[Struct], ...]] = {
    "check": (Certify, Check, Compare, View),
    "convert": (Convert, Expand, Export, Init),
    "corpus": (Doctor,),
    "inspect": (Behave, Inspect),
    "lint": (Lint,),
    "run": (Diff, Reduce, Run),
}
_EXIT_CODES: dict[type[Struct], str] = {
    Behave: "Exit status: 0 it holds its pose and reaches targets in every simulator; 1 it does "
    "not; 2 it cannot be read or simulated.",
    Diff: "Exit status: 0 nothing is worse; 1 something is worse; 2 a run cannot be read.",
    Lint: "Exit status: 0 no findings at or above --fail-on; 1 findings; 2 a file cannot be read "
    "as a robot, or the command failed.",
}
COMMANDS = {
    name: click_command(name, kind, f"{module}:{name}", _EXIT_CODES.get(kind, EXIT_CODES))
    for module, kinds in _COMMANDS.items()
    for kind in kinds
    for name in [kind.__name__.lower()]
}
COMMANDS["corpus"] = click.Group(
    "corpus",
    {
        "list": click_command("list", CorpusList, "corpus:list_robots"),
        "show": click_command("show", CorpusShow, "corpus:show_robot"),
    },
    help="List robots, and show where they come from.",
)


class _Program(click.Group):
    """The group of all commands; it turns exceptions into messages and exit codes."""

    def invoke(self, ctx: click.Context) -> object:
        # Without it, importing numpy starts a thread per processor, which nothing uses.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        with explained_failures(debug=bool(ctx.params["debug"])):
            if not ctx.params["isolated"]:
                ctx.default_map = read_defaults(ctx.params["config"], self.commands)
            return super().invoke(ctx)


@click.group(
    cls=_Program,
    commands=dict(sorted(COMMANDS.items())),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
    epilog=f"The --help of each command shows examples. {EXIT_CODES}",
)
@click.version_option(None, "--version", package_name=DISTRIBUTION, prog_name="urdf-usd")
@click.option("--debug", is_flag=True, help="Show the traceback of failures.")
@click.option(
    "--config",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Default values of options.  [default: urdf-usd.toml, or tool.urdf-usd of "
    "pyproject.toml, in this folder or above it in the repository]",
)
@click.option("--isolated", is_flag=True, help="Read no default values from files.")
def main(*, debug: bool, config: Path | None, isolated: bool) -> None:
    """Convert URDF robots to OpenUSD and prove the result."""
    del debug, config, isolated  # read by the group


start = main
