"""``urdf-usd lint``: report likely mistakes in URDF files, and repair some."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import structs

from urdf_usd.cli.options.parameters import (
    Arguments,
    HelpfulCommand,
    Packages,
    argument_option,
    env_option,
    package_option,
    xacro_arguments,
)
from urdf_usd.cli.output.console import long_stdout, say
from urdf_usd.cli.output.failures import (
    CommandError,
    ExitCode,
    held_interrupts,
)
from urdf_usd.cli.output.files import (
    URDF,
    require_outputs,
    write_output,
)

if TYPE_CHECKING:
    from rich.text import Text

    from urdf_usd.cli.output.lint_findings import LintedFile
    from urdf_usd.corpus import RobotSource


# From the most severe.
SEVERITIES = ("error", "warning", "note")
_EXIT_CODES = (
    "Exit status: 0 no findings at or above --fail-on; 1 findings; "
    "2 a file cannot be read as a robot, or the command failed."
)


def _matching(
    _: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Expand patterns such as ``joint-*`` to identifiers of rules."""
    if not values:
        return ()
    with held_interrupts():
        from urdf_usd.converter.diagnostics.rules import ALL_RULES

    found: list[str] = []
    for value in values:
        for pattern in filter(None, value.split(",")):
            matching = [rule for rule in ALL_RULES if fnmatchcase(rule, pattern)]
            if not matching:
                import difflib

                close = difflib.get_close_matches(pattern, ALL_RULES, n=3)
                hint = f"; did you mean {' or '.join(close)}?" if close else ""
                raise click.BadParameter(f"no rule {pattern!r}{hint}", param=parameter)
            found += matching
    return tuple(found)


@click.command(
    "lint",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd lint robot.urdf",
        "urdf-usd lint dir:my_robots --fail-on warning --ignore name-*,material-unused",
        "urdf-usd lint robot.urdf --format sarif > robot.sarif",
        "urdf-usd lint robot.urdf --fix --output repaired.urdf",
    ),
    exit_codes=_EXIT_CODES,
)
@click.argument("sources", metavar="SOURCE...", nargs=-1)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json", "sarif"]),
    default="text",
    show_default=True,
    help="Output format.",
)
@click.option(
    "--select",
    metavar="RULE",
    multiple=True,
    callback=_matching,
    help="Report only these rules, separated by commas; * matches any text. Repeatable.",
)
@click.option(
    "--ignore",
    metavar="RULE",
    multiple=True,
    callback=_matching,
    help="Do not report these rules, separated by commas; * matches any text. Repeatable.",
)
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    default="error",
    show_default=True,
    help="Lowest severity that gives exit status 1.",
)
@click.option("--list-rules", is_flag=True, help="List the rules and exit.")
@click.option("--fix", is_flag=True, help="Repair mistakes that have one possible correction.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --fix: write the repaired file here.",
)
@click.option("--in-place", is_flag=True, help="With --fix: overwrite the file.")
@package_option
@argument_option
@env_option
def lint_command(
    *,
    sources: tuple[str, ...],
    output_format: str,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    list_rules: bool,
    fix: bool,
    output: Path | None,
    in_place: bool,
    packages: Packages,
    arguments: Arguments,
    environment: tuple[str, ...],
) -> None:
    """Report likely mistakes in URDF and xacro files, with a remedy for each.

    SOURCE is a file, a reference such as rd:panda_description, or a whole corpus:
    pybullet, rd, erd or dir:<folder>. Findings are errors that prevent reading, values
    that are physically implausible, and constructs that simulators reject.
    docs/lint.md describes every rule.

    --fix repairs mistakes with one possible correction, such as a stray comma after a
    number or an axis that is not normalised; comments and layout are kept.
    """
    if list_rules:
        with held_interrupts():
            from urdf_usd.cli.output.lint_findings import rule_lines

        _print_lines(rule_lines(_chosen(select, ignore)))
        return
    _require_consistent(sources, fix=fix, output=output, in_place=in_place)
    robots, unavailable = _resolved(sources)
    rules = _chosen(select, ignore)
    if fix:
        (robot,) = robots
        require_outputs([(output, URDF)], (robot.path,))
        repaired = output or robot.path
        _write_repaired(robot, repaired, rules, packages)
        robots = (structs.replace(robot, reference=str(repaired), path=repaired),)
    examined = [_examined(robot, packages, arguments, environment) for robot in robots]
    robots_alone = [file for file in examined if file is not None]
    files = [file.narrowed(rules) for file in robots_alone]
    _show(files, rules, output_format)
    click.get_current_context().exit(_exit_code(files, unavailable, fail_on))


def _chosen(select: tuple[str, ...], ignore: tuple[str, ...]) -> frozenset[str]:
    with held_interrupts():
        from urdf_usd.converter.diagnostics.rules import ALL_RULES

    return frozenset(select or ALL_RULES) - frozenset(ignore)


def _show(files: Sequence[LintedFile], rules: Collection[str], output_format: str) -> None:
    from urdf_usd.cli.output import lint_findings

    match output_format:
        case "json":
            click.echo(lint_findings.findings_json(files))
        case "sarif":
            click.echo(lint_findings.findings_sarif(files, rules))
        case _:
            _print_lines(lint_findings.finding_lines(files))


def _require_consistent(
    sources: tuple[str, ...], *, fix: bool, output: Path | None, in_place: bool
) -> None:
    if not sources:
        raise click.UsageError("Missing argument 'SOURCE...'.")
    if not fix:
        if output or in_place:
            raise click.UsageError("--output and --in-place require --fix.")
        return
    if bool(output) == in_place:
        raise click.UsageError("--fix requires either --output FILE or --in-place.")
    if len(sources) > 1:
        raise click.UsageError("--fix accepts one file only.")


def _resolved(sources: tuple[str, ...]) -> tuple[tuple[RobotSource, ...], int]:
    """Resolve the robots; print which are not available, and count those."""
    from urdf_usd.corpus import RobotSource, resolve_corpora

    resolved = resolve_corpora(sources, say)
    robots = tuple(one for one in resolved if isinstance(one, RobotSource))
    for one in resolved:
        if not isinstance(one, RobotSource):
            say(f"{one.reference}: {one.reason}")
    return robots, len(resolved) - len(robots)


def _examined(
    robot: RobotSource,
    packages: Packages,
    arguments: Arguments,
    environment: tuple[str, ...],
) -> LintedFile | None:
    """Lint a file; None for a xacro file in a folder that is only part of a robot."""
    with held_interrupts():
        from urdf_usd.cli.output.lint_findings import LintedFile
        from urdf_usd.converter.lint.linting import lint
        from urdf_usd.converter.urdf.xacro.expansion import is_part, is_xacro

    report = lint(
        robot.path,
        packages=_folders(robot, packages),
        arguments=dict(xacro_arguments(robot, arguments)),
        environment=environment,
    )
    rules = (found.rule for found in report.findings)
    if robot.searched and is_xacro(str(robot.path)) and is_part(rules, included=robot.included):
        say(f"{robot.reference}: skipped, only part of a robot")
        return None
    return LintedFile(robot.reference, robot.path, report.is_urdf, report.findings)


def _folders(robot: RobotSource, packages: Packages) -> dict[str, str]:
    # The last entry of a name counts: the user's.
    return {name: str(path) for name, path in (*robot.packages, *packages)}


def _write_repaired(
    robot: RobotSource, target: Path, rules: Collection[str], packages: Packages
) -> None:
    """Write a repaired copy of a file, and print each repair."""
    with held_interrupts():
        from urdf_usd.cli.output.lint_findings import shown_path
        from urdf_usd.converter.lint.fixes import FixError, fix_file
        from urdf_usd.converter.lint.linting import lint
        from urdf_usd.converter.urdf.xacro.expansion import is_xacro

    folders = _folders(robot, packages)
    if is_xacro(str(robot.path)):
        raise CommandError(f"{robot.path} is a xacro file; --fix supports URDF files only")
    broken = {finding.rule for finding in lint(robot.path, packages=folders).findings}
    try:
        content, fixes = fix_file(robot.path, folders, frozenset(broken.intersection(rules)))
    except FixError as error:
        raise CommandError(f"{robot.path} cannot be repaired: {error}") from error
    write_output(target, content)
    for fix in fixes:
        place = f"{shown_path(fix.location.file)}:{fix.location.line}"
        say(f"{place}:{fix.location.column}: {fix.message} [{fix.rule}]")
    noun = "repair" if len(fixes) == 1 else "repairs"
    say(f"{len(fixes)} {noun}; written to {shown_path(str(target))}")


def _exit_code(files: Sequence[LintedFile], unavailable: int, fail_on: str) -> ExitCode:
    if unavailable or not all(file.is_urdf for file in files):
        return ExitCode.NOT_DONE
    counted = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    found = any(f.severity in counted for file in files for f in file.findings)
    return ExitCode.DOES_NOT_CONFORM if found else ExitCode.DONE


def _print_lines(lines: Iterable[Text]) -> None:
    console = long_stdout()
    for line in lines:
        console.print(line)
