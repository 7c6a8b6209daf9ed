"""``urdf-usd lint``: what is likely wrong with URDF files."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from urdf_usd.conformance.cli.options.parameters import (
    Arguments,
    HelpfulCommand,
    Packages,
    argument_option,
    package_option,
    xacro_arguments,
)
from urdf_usd.conformance.cli.output.console import long_stdout, say
from urdf_usd.conformance.cli.output.failures import (
    CommandError,
    ExitCode,
    held_interrupts,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from rich.text import Text

    from urdf_usd.conformance.cli.output.lint_files import LintedFile
    from urdf_usd.converter.lint import Repair
    from urdf_usd.corpus import RobotSource

# From the gravest on.
SEVERITIES = ("error", "warning", "note")
_EXIT_CODES = (
    "Exit status: 0 nothing found at or above --fail-on; 1 something found; "
    "2 a file cannot be read as a robot at all, or the command cannot be done."
)


def _matching(
    _: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    """Expand patterns such as ``joint-*`` to identifiers of rules."""
    if not values:
        return ()
    with held_interrupts():
        from urdf_usd.converter.lint.rules import ALL_RULES

    found: list[str] = []
    for value in values:
        for pattern in filter(None, value.split(",")):
            matching = [rule for rule in ALL_RULES if fnmatchcase(rule, pattern)]
            if not matching:
                import difflib

                close = difflib.get_close_matches(pattern, ALL_RULES, n=3)
                hint = f"; close to it: {', '.join(close)}" if close else ""
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
    help="How findings are written to stdout.",
)
@click.option(
    "--select",
    metavar="RULE",
    multiple=True,
    callback=_matching,
    help="Report these rules alone; * and commas are understood. Repeatable.",
)
@click.option(
    "--ignore",
    metavar="RULE",
    multiple=True,
    callback=_matching,
    help="Do not report these rules; * and commas are understood. Repeatable.",
)
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    default="error",
    show_default=True,
    help="Exit with 1 for findings of this severity or a graver one.",
)
@click.option("--list-rules", is_flag=True, help="List the rules, and leave.")
@click.option("--fix", is_flag=True, help="Repair what can be repaired safely.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --fix: write the repaired file here.",
)
@click.option("--in-place", is_flag=True, help="With --fix: replace the file itself.")
@package_option
@argument_option
def lint_command(  # noqa: PLR0913  # one parameter per option
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
) -> None:
    """Say what is likely wrong with URDF and xacro files, and how to put it right.

    SOURCE is a file, a reference such as rd:panda_description, or a whole corpus:
    pybullet, rd, erd or dir:<folder>. What keeps a file from being read is found as
    well as what physics, simulators or common sense object to. docs/lint.md explains
    every rule.

    --fix repairs what has one meaning only, such as 0.07, or an axis that is not
    normalised; comments and layout stay as they are.
    """
    if list_rules:
        with held_interrupts():
            from urdf_usd.conformance.cli.output.lint_text import rule_lines

        _print_lines(rule_lines(_chosen(select, ignore)))
        return
    _require_consistent(sources, fix=fix, output=output, in_place=in_place)
    robots, unavailable = _resolved(sources)
    rules = _chosen(select, ignore)
    if fix:
        (robot,) = robots
        repaired = output or robot.path
        _write_repaired(robot, repaired, rules, packages)
        robots = (replace(robot, reference=str(repaired), path=repaired),)
    examined = [_examined(robot, packages, arguments) for robot in robots]
    robots_alone = [file for file in examined if file is not None]
    files = [file.narrowed(rules) for file in robots_alone]
    _show(files, rules, output_format)
    click.get_current_context().exit(_exit_code(files, unavailable, fail_on))


def _chosen(select: tuple[str, ...], ignore: tuple[str, ...]) -> frozenset[str]:
    with held_interrupts():
        from urdf_usd.converter.lint.rules import ALL_RULES

    return frozenset(select or ALL_RULES) - frozenset(ignore)


def _show(
    files: Sequence[LintedFile], rules: Collection[str], output_format: str
) -> None:
    match output_format:
        case "json":
            from urdf_usd.conformance.cli.output.lint_json import findings_json

            click.echo(findings_json(files))
        case "sarif":
            from urdf_usd.conformance.cli.output.lint_sarif import findings_sarif

            click.echo(findings_sarif(files, rules))
        case _:
            from urdf_usd.conformance.cli.output.lint_text import finding_lines

            _print_lines(finding_lines(files))


def _require_consistent(
    sources: tuple[str, ...], *, fix: bool, output: Path | None, in_place: bool
) -> None:
    if not sources:
        raise click.UsageError("Missing argument 'SOURCE...'.")
    if not fix:
        if output or in_place:
            raise click.UsageError("--output and --in-place belong to --fix.")
        return
    if bool(output) == in_place:
        raise click.UsageError("--fix needs one of --output FILE and --in-place.")
    if len(sources) > 1:
        raise click.UsageError("--fix repairs one file at a time.")


def _resolved(sources: tuple[str, ...]) -> tuple[tuple[RobotSource, ...], int]:
    """Find the robots; say which cannot be had, and count them."""
    from urdf_usd.corpus import RobotSource, resolve_corpora

    resolved = resolve_corpora(sources, say)
    robots = tuple(one for one in resolved if isinstance(one, RobotSource))
    for one in resolved:
        if not isinstance(one, RobotSource):
            say(f"{one.reference}: {one.reason}")
    return robots, len(resolved) - len(robots)


def _examined(
    robot: RobotSource, packages: Packages, arguments: Arguments
) -> LintedFile | None:
    """Lint a file; None for a xacro file of a folder that is no robot by itself."""
    with held_interrupts():
        from urdf_usd.conformance.cli.output.lint_files import LintedFile
        from urdf_usd.converter.lint import lint
        from urdf_usd.converter.urdf.xacro.expansion import is_part, is_xacro

    report = lint(
        robot.path,
        packages=_folders(robot, packages),
        arguments=dict(xacro_arguments(robot, arguments)),
    )
    rules = (found.rule.id for found in report.findings)
    if robot.searched and is_xacro(str(robot.path)) and is_part(rules):
        say(f"{robot.reference}: not a robot by itself, so not examined")
        return None
    return LintedFile(robot.reference, robot.path, report.is_urdf, report.findings)


def _folders(robot: RobotSource, packages: Packages) -> dict[str, str]:
    # The last one of a name counts: what the user says.
    return {name: str(path) for name, path in (*robot.packages, *packages)}


def _write_repaired(
    robot: RobotSource, target: Path, rules: Collection[str], packages: Packages
) -> None:
    """Write a repaired copy of a file and say what was changed."""
    with held_interrupts():
        from urdf_usd.conformance.cli.output.lint_files import shown_path
        from urdf_usd.conformance.records.results import write_atomically
        from urdf_usd.converter.lint import (
            SpanError,
            apply_edits,
            lint,
            read_document,
            repairs,
        )
        from urdf_usd.converter.urdf.xacro.expansion import is_xacro

    folders = _folders(robot, packages)
    if is_xacro(str(robot.path)):
        raise CommandError(f"{robot.path} is xacro, which --fix does not repair")
    broken = {
        finding.rule.id for finding in lint(robot.path, packages=folders).findings
    }
    document = read_document(str(robot.path), folders)
    if document is None:
        raise CommandError(
            f"{robot.path} cannot be read; see what lint says without --fix"
        )
    found = repairs(document, frozenset(broken.intersection(rules)))
    try:
        content = apply_edits(robot.path.read_bytes(), [one.edit for one in found])
    except SpanError as error:
        raise CommandError(f"{robot.path} cannot be repaired: {error}") from error
    write_atomically(target, content)
    for one in sorted(found, key=_place):
        place = f"{shown_path(one.location.file)}:{one.location.line}"
        say(f"{place}:{one.location.column}: {one.message} [{one.rule}]")
    noun = "repair" if len(found) == 1 else "repairs"
    say(f"{len(found)} {noun}; written to {shown_path(str(target))}")


def _place(repair: Repair) -> tuple[int, int]:
    return repair.location.line, repair.location.column


def _exit_code(files: Sequence[LintedFile], unavailable: int, fail_on: str) -> ExitCode:
    if unavailable or not all(file.is_urdf for file in files):
        return ExitCode.NOT_DONE
    grave = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    found = any(f.rule.severity in grave for file in files for f in file.findings)
    return ExitCode.DOES_NOT_CONFORM if found else ExitCode.DONE


def _print_lines(lines: Iterable[Text]) -> None:
    console = long_stdout()
    for line in lines:
        console.print(line)
