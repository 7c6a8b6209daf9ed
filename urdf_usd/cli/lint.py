"""``urdf-usd lint``: report likely mistakes in URDF files, and repair some."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from importlib import metadata
from pathlib import Path
from urllib.parse import quote

import click
from msgspec import Struct, structs
from rich.text import Text

from urdf_usd.cli import terminal as t
from urdf_usd.cli.parameters import is_only_part, keywords, of_robot
from urdf_usd.cli.program import Lint
from urdf_usd.conformance.execution.record import diagnostic_records
from urdf_usd.converter.diagnostics import ALL_RULES, Severity
from urdf_usd.converter.lint.fixes import FIXES, FixError, fix_file
from urdf_usd.converter.lint.linting import lint as lint_file
from urdf_usd.converter.options import Sources
from urdf_usd.converter.ros import RosReading
from urdf_usd.converter.urdf.xacro import is_xacro
from urdf_usd.corpus import RobotSource, resolve_corpora
from urdf_usd.corpus.robots import close_names
from urdf_usd.installation import DISTRIBUTION
from urdf_usd.reports.records.record import DiagnosticRecord
from urdf_usd.reports.run_report import Json, sarif_document
from urdf_usd.reports.text import one_line

_LONGEST = 1000


class LintedFile(Struct, frozen=True):
    reference: str  # by which a user gets the file
    path: str  # as it is shown
    is_urdf: bool  # whether it could be read as a robot at all
    findings: tuple[DiagnosticRecord, ...]  # with paths as they are shown; alike ones are counted
    ros: RosReading | None = None  # what the parser of ROS says


def lint(options: Lint) -> t.ExitCode:
    rules = _matching(options.select, "--select") or frozenset(ALL_RULES)
    rules -= _matching(options.ignore, "--ignore")
    if options.list_rules:
        t.print_lines(_rule_lines(rules))
        return t.ExitCode.DONE
    robots, resolved = [], resolve_corpora(options.named, t.say)
    for one in resolved:
        if isinstance(one, RobotSource):
            robots.append(one)
        else:
            t.say(f"{one.reference}: {one.reason}")
    if options.fix:
        if len(robots) != 1:
            raise t.CommandError(f"--fix accepts one file only, not {len(robots)}")
        (robot,) = robots
        t.require_outputs([(options.output, t.URDF)], (robot.path,))
        repaired = options.output or robot.path
        _write_repaired(robot, repaired, rules, options.sources)
        robots = [structs.replace(robot, reference=str(repaired), path=repaired)]
    files = []
    for robot in robots:
        report = lint_file(robot.path, **keywords(of_robot(options.sources, robot)))
        if is_only_part(robot, [one.rule for one in report.findings]):
            continue
        path, selected = _shown_path(robot.path), (f for f in report.findings if f.rule in rules)
        records = tuple(
            structs.replace(one, file=_shown_path(one.file) if one.file else path)
            for one in diagnostic_records(selected)
        )
        files.append(LintedFile(robot.reference, path, report.is_urdf, records, report.ros))
    counts = _counts(files)
    match options.output_format:
        case "json":
            columns = ("rule", "severity", "message", "count", "remedy", "file", "line", "column")
            rows = [
                {
                    "reference": file.reference,
                    "file": file.path,
                    "is_urdf": file.is_urdf,
                    "findings": [{n: getattr(one, n) for n in columns} for one in file.findings],
                }
                for file in files
            ]
            document = {"schema_version": "1.0", "counts": counts, "files": rows}
            click.echo(json.dumps(document, indent=1))
        case "sarif":
            click.echo(_findings_sarif(files, rules))
        case "text":
            t.print_lines(_finding_lines(files))
    if len(robots) < len(resolved) or not all(file.is_urdf for file in files):
        return t.ExitCode.NOT_DONE
    failing = [*Severity][: [*Severity].index(options.fail_on) + 1]
    return t.ExitCode.DOES_NOT_CONFORM if any(map(counts.get, failing)) else t.ExitCode.DONE


def _matching(values: tuple[str, ...], flag: str) -> frozenset[str]:
    """Expand patterns such as ``joint-*`` to identifiers of rules."""
    found: set[str] = set()
    for pattern in filter(None, ",".join(values).split(",")):
        matching = {rule for rule in ALL_RULES if fnmatchcase(rule, pattern)}
        if not matching:
            hint = close_names(pattern, ALL_RULES)
            raise click.BadParameter(f"no rule {pattern!r}{hint}", param_hint=flag)
        found |= matching
    return frozenset(found)


def _write_repaired(
    robot: RobotSource, target: Path, rules: Collection[str], sources: Sources
) -> None:
    folders = dict(of_robot(sources, robot).packages)
    if is_xacro(str(robot.path)):
        raise t.CommandError(f"{robot.path} is a xacro file; --fix supports URDF files only")
    broken = {finding.rule for finding in lint_file(robot.path, packages=folders).findings}
    try:
        content, fixes = fix_file(robot.path, folders, frozenset(broken.intersection(rules)))
    except FixError as error:
        raise t.CommandError(f"{robot.path} cannot be repaired: {error}") from error
    t.write_output(target, content)
    for fix in fixes:
        place = f"{_shown_path(fix.location.file)}:{fix.location.line}"
        t.say(f"{place}:{fix.location.column}: {fix.message} [{fix.rule}]")
    t.say(f"{t.counted(len(fixes), 'repair')}; written to {_shown_path(target)}")


def _counts(files: Sequence[LintedFile]) -> dict[str, int]:
    found = Counter[str]()
    for one in (finding for file in files for finding in file.findings):
        found[one.severity] += one.count
    return {severity.value: found[severity] for severity in Severity}


def _shown_path(file: str | Path) -> str:
    """Return a path, relative to the working folder if the file is inside."""
    path, folder = Path(file).absolute(), Path.cwd()
    return str(path.relative_to(folder) if path.is_relative_to(folder) else file)


def _finding_lines(files: Sequence[LintedFile]) -> Iterator[Text]:
    explained: set[str] = set()
    for one in (finding for file in files for finding in file.findings):
        position = f":{one.line}:{one.column}" if one.line else ""
        location, message = (
            one_line(text, _LONGEST) for text in (f"{one.file}{position}", one.message)
        )
        yield t.issue_line(location, one.severity, message, one.rule)
        if one.rule not in explained:
            yield Text(f"    {one.remedy}", style="dim")
        explained.add(one.rule)
    if readings := [file.ros for file in files if file.ros]:
        loaded, count = sum(reading.loads for reading in readings), len(readings)
        answer = "loads the file" if loaded else "refuses the file"
        answer = answer if count == 1 else f"loads {loaded} of {count} files"
        yield Text(f"urdfdom {readings[0].version}, the parser of ROS, {answer}")
    counts = [t.counted(count, severity) for severity, count in _counts(files).items() if count]
    yield Text(f"{', '.join(counts) or 'no findings'} in {t.counted(len(files), 'file')}")


def _rule_lines(rules: Collection[str]) -> Iterator[Text]:
    width = max(map(len, rules))
    for rule in map(ALL_RULES.__getitem__, sorted(rules)):
        yield Text.assemble(
            (f"{rule.id:{width}}", "bold"),
            f"  {'fix' if rule.id in FIXES else '   '}  ",
            (f"{rule.severity:7}", t.SEVERITY_STYLES[rule.severity]),
            f"  {rule.summary}",
        )


def _findings_sarif(files: Sequence[LintedFile], rules: Collection[str]) -> str:
    """Encode findings as SARIF, with the rules that were checked, found or not."""
    checked: list[Json] = [
        {
            "id": rule.id,
            "shortDescription": {"text": rule.summary},
            "help": {"text": rule.remedy},
            "defaultConfiguration": {"level": str(rule.severity)},
        }
        for rule in map(ALL_RULES.__getitem__, sorted(rules))
    ]

    def uri(shown: str) -> Json:
        path = Path(shown)
        return {"uri": path.as_uri() if path.is_absolute() else quote(path.as_posix())}

    found = ((one, uri(one.file or ""), Json()) for file in files for one in file.findings)
    artifacts = [{"location": uri(file.path)} for file in files]
    version = metadata.version(DISTRIBUTION)
    return sarif_document("lint", version, checked, found, artifacts=artifacts)
