"""``urdf-usd check``, ``certify`` and ``view``: compare a USD with its URDF; show both in 3D."""

from __future__ import annotations

import shlex
import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec import structs
from rich.text import Text

from urdf_usd.cli.commands import Certify, Check, View
from urdf_usd.cli.convert import convert_options
from urdf_usd.cli.failures import CommandError, ExitCode
from urdf_usd.cli.files import PAGE, RECORD, require_outputs, write_output
from urdf_usd.cli.options import RobotOptions, existing_robot
from urdf_usd.cli.parameters import given_options
from urdf_usd.cli.terminal import print_lines, say, show_diagnostics, shown_status, stdout
from urdf_usd.conformance.certificate import (
    asset_hashes,
    certificate_of,
    changes,
    read_certificate,
    robot_hashes,
    write_certified_layer,
)
from urdf_usd.conformance.execution.record import summary_of
from urdf_usd.conformance.execution.run import CheckOptions, variant_combinations
from urdf_usd.conformance.execution.run import check as check_usd
from urdf_usd.conformance.execution.usd_reading import call_on_usd
from urdf_usd.conformance.gate.decision import FailOn, failures
from urdf_usd.conformance.verdict.judged import REFERENCE
from urdf_usd.converter.conversion import convert
from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.options import ColliderRules
from urdf_usd.converter.scratch import temporary_folder
from urdf_usd.converter.simulation.description import load_description
from urdf_usd.corpus import RobotSource
from urdf_usd.corpus.installed import suite_versions
from urdf_usd.reports.badge import robot_badge
from urdf_usd.reports.html.site import render_robot, render_view
from urdf_usd.reports.records.record import RobotRecord, Verdict
from urdf_usd.reports.records.results import record_json
from urdf_usd.reports.summary import Figures
from urdf_usd.reports.terminal import terminal_selections, terminal_summary

# Options that change no result, those of variants, which each page has of its own, and
# the files of the result.
_NOT_REPEATED = frozenset(
    {
        *("variants", "all_variants", "timeout", "memory", "fail_on"),
        *("json_file", "html_file"),
    }
)
# Diagnostics of the USD that concern its files and variants, not the comparison.
_SHOWN = frozenset(
    {"asset-outside", "asset-outside-refused", "variant-required", "variant-unselected"}
)


def _check_options(source: RobotSource, robot: RobotOptions) -> CheckOptions:
    return CheckOptions(
        base=robot.base,
        packages=robot.sources.packages_of(source),
        arguments=robot.sources.arguments_of(source),
        environment=robot.sources.environment,
    )


def comparison(source: RobotSource, options: Check | Certify) -> CheckOptions:
    """Return the options of a comparison."""
    robot, reading = options.robot, options.reading
    return structs.replace(
        _check_options(source, robot),
        engines=options.engines.names,
        limits=options.limits.limits,
        variants=reading.variants,
        strict=reading.strict,
        root=options.root,
        simulation=None if robot.description is None else load_description(robot.description),
        inertia=robot.inertia,
        mass_density=robot.mass_density,
        colliders=ColliderRules(robot.colliders, robot.collider_tolerance),
    )


def check(options: Check) -> ExitCode:
    source = existing_robot(options.urdf)
    if options.certificate:
        return verify(source, options)
    usd, robot = options.usd, options.robot
    common = comparison(source, options)
    with shown_status("Comparing USD with URDF ..."):
        selections, skipped = (
            variant_combinations(usd, common) if options.all_variants else ((common,), ())
        )
        numbers = range(1, len(selections) + 1) if options.all_variants else (0,)
        files = [
            (_numbered(options.json_file, number), _numbered(options.html_file, number))
            for number in numbers
        ]
        require_outputs(
            [one for json, html in files for one in ((json, RECORD), (html, PAGE))],
            (source.path, usd, robot.description),
        )
        records = []
        for selection, (json_file, html_file) in zip(selections, files, strict=True):
            record, scene = _compared(source, usd, selection, drawn=html_file is not None)
            records.append(record)
            if json_file:
                write_output(json_file, record_json(record))
            if html_file:
                chosen = [word for one in selection.variants for word in ("--variant", str(one))]
                words = (options.urdf, str(usd), *chosen, *given_options(_NOT_REPEATED))
                command = shlex.join(("urdf-usd", "check", *words, "--html", "robot.html"))
                write_output(html_file, render_robot(record, scene, command).encode())

    diagnostics = [
        Diagnostic(one.rule, one.message)
        for record in records
        for one in record.diagnostics
        if one.rule in _SHOWN
    ]
    show_diagnostics(dict.fromkeys(diagnostics))
    if options.all_variants:
        left_out = [(str(choice), f"no {kind}") for choice, kind in skipped]
        stdout().print(terminal_selections(records, left_out))
    else:
        summary = summary_of(records, [source.reference], {"base": robot.base.value})
        stdout().print(terminal_summary(Figures.of(summary, records)))
    if options.html_file:
        last = f" to {files[-1][1]}" if len(files) > 1 else ""
        click.echo(f"\nPage: {files[0][1]}{last}")
    else:
        agree = all(record.verdict.agrees for record in records)
        hint = "with all values" if agree else "that shows the differences in 3D"
        click.echo(f"\nUse --html FILE for a report {hint}.")
    return _worst_exit_code(records, options.fail_on)


def certify(options: Certify) -> ExitCode:
    source, usd = existing_robot(options.urdf), options.usd
    badge = usd.with_name("conformance.svg")
    require_outputs([(badge, b"<svg")], (source.path, usd))
    limits = options.limits.limits
    with shown_status("Comparing USD with URDF ..."):
        # Before the comparison: a file that changes meanwhile makes the certificate invalid.
        robot = _robot_hashes(source, options.robot)
        asset = call_on_usd(asset_hashes, usd, limits=limits)
        record, _ = _compared(source, usd, comparison(source, options), drawn=False)
    summary = summary_of([record], [source.reference], {"base": options.robot.base.value})
    stdout().print(terminal_summary(Figures.of(summary, [record])))
    if code := exit_code(record, options.fail_on):
        say(f"{usd}: not certified")
        return code
    certificate = certificate_of(record, robot, asset, suite_versions()[-1])
    with temporary_folder() as work:
        layer = work / usd.name
        call_on_usd(write_certified_layer, usd, certificate, str(layer), limits=limits)
        write_output(usd, layer.read_bytes())
    write_output(badge, robot_badge(record.verdict, record.compared).encode())
    click.echo(f"\nCertified: {usd}, {badge}")
    return ExitCode.DONE


def _robot_hashes(source: RobotSource, robot: RobotOptions) -> dict[str, str]:
    sources = robot.sources
    packages, arguments = sources.packages_of(source), sources.arguments_of(source)
    settings = load_description(robot.description) if robot.description else None
    return robot_hashes(source.path, dict(packages), dict(arguments), sources.environment, settings)


def verify(source: RobotSource, options: Check) -> ExitCode:
    """Compare URDF and USD with the certificate in the USD."""
    usd, limits = options.usd, options.limits.limits
    certificate = call_on_usd(read_certificate, usd, limits=limits)
    if certificate is None:
        raise CommandError(f"{usd} has no certificate; urdf-usd certify writes one")
    asset = call_on_usd(asset_hashes, usd, limits=limits)
    changed = changes(certificate, _robot_hashes(source, options.robot), asset)
    engines = ", ".join(f"{name} {version}" for name, version in certificate.engines.items())
    mark = ("\u2717", "red") if changed else ("\u2713", "green")
    state = "no longer valid" if changed else "valid"
    line = (
        f" certificate {state}: {certificate.verdict}, {certificate.values} values compared by "
        f"{certificate.tool} with {engines}"
    )
    print_lines([Text.assemble(mark, line), *(f"  {text}" for text in changed)])
    return ExitCode.DOES_NOT_CONFORM if changed else ExitCode.DONE


def _worst_exit_code(records: Sequence[RobotRecord], fail_on: FailOn) -> ExitCode:
    """Return the code of the most severe verdict among those that fail."""
    codes = [exit_code(record, fail_on) for record in records]
    severities = [record.verdict.severity for record in records]
    _, _, worst = max(
        (code is not ExitCode.DONE, severity, code)
        for code, severity in zip(codes, severities, strict=True)
    )
    return worst


def exit_code(record: RobotRecord, fail_on: FailOn) -> ExitCode:
    if not failures((record,), fail_on=fail_on, strict=True, unreadable=True):
        return ExitCode.DONE
    # Otherwise, the URDF or the USD could not be read.
    was_read = record.checks or record.verdict is Verdict.FAILS
    return ExitCode.DOES_NOT_CONFORM if was_read else ExitCode.NOT_DONE


def _numbered(file: Path | None, number: int) -> Path | None:
    return file.with_name(f"{file.stem}-{number}{file.suffix}") if file and number else file


def _compared(
    source: RobotSource, usd: Path, options: CheckOptions, *, drawn: bool
) -> tuple[RobotRecord, bytes | None]:
    """Compare; return the record and, if ``drawn``, the packed 3D scene."""
    with temporary_folder() as work:
        scene = work / "scene.gz" if drawn else None
        record = check_usd(
            source.path, usd, options, name=source.id, reference=source.reference, scene=scene
        )
        return record, scene.read_bytes() if scene and scene.exists() else None


def view(options: View) -> None:
    source = existing_robot(options.source)
    choices = options.conversion
    require_outputs(
        [(options.html_file, PAGE)], (source.path, options.usd, choices.robot.description)
    )
    comparison = structs.replace(
        _check_options(source, choices.robot),
        # The page shows what these two read.
        engines=(REFERENCE,),
        limits=options.limits.limits,
        variants=options.variants,
    )
    with shown_status("Reading the robot ..."), temporary_folder() as folder:
        usd = options.usd
        if usd is None:
            conversion = structs.replace(
                convert_options(choices),
                packages=comparison.packages,
                arguments=comparison.arguments,
            )
            converted = convert(source.path, folder / "asset", conversion)
            show_diagnostics(converted.diagnostics)
            usd = converted.root_layer
        record, scene = _compared(source, usd, comparison, drawn=True)
        if scene is None:
            raise CommandError(f"nothing can be drawn: {record.reason}")
        page = render_view(record, scene)
    if options.html_file is not None:
        write_output(options.html_file, page.encode())
        click.echo(options.html_file)
        return
    with tempfile.NamedTemporaryFile(
        "w", prefix="urdf-usd-view-", suffix=".html", delete=False, encoding="utf-8"
    ) as file:
        file.write(page)
    click.echo(file.name)
    if not webbrowser.open(Path(file.name).as_uri()):
        say("no browser was found; open the file, or use --html FILE")
