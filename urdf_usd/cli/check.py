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
from urdf_usd.cli.convert import with_stated_settings
from urdf_usd.cli.failures import CommandError, ExitCode
from urdf_usd.cli.files import PAGE, RECORD, require_outputs, write_output
from urdf_usd.cli.options import existing_robot, of_robot, settings_file
from urdf_usd.cli.terminal import print_lines, print_view, say, show_diagnostics, shown_status
from urdf_usd.conformance.certificate import (
    asset_hashes,
    certificate_of,
    changes,
    read_certificate,
    robot_hashes,
    write_certified_layer,
)
from urdf_usd.conformance.execution.record import summary_of
from urdf_usd.conformance.execution.run import check as check_usd
from urdf_usd.conformance.execution.run import variant_combinations
from urdf_usd.conformance.execution.usd_reading import call_on_usd
from urdf_usd.conformance.gate.decision import FailOn, failures
from urdf_usd.conformance.options import CheckOptions
from urdf_usd.conformance.verdict.judged import REFERENCE
from urdf_usd.converter.conversion import convert
from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.options import command_words
from urdf_usd.converter.scratch import temporary_folder
from urdf_usd.corpus import RobotSource
from urdf_usd.corpus.installed import suite_versions
from urdf_usd.reports.badge import robot_badge
from urdf_usd.reports.html.site import render_robot, render_view
from urdf_usd.reports.records.record import RobotRecord, Verdict
from urdf_usd.reports.records.results import record_json
from urdf_usd.reports.summary import Figures
from urdf_usd.reports.terminal import terminal_selections, terminal_summary

# Diagnostics of the USD that concern its files and variants, not the comparison.
_SHOWN = frozenset(
    {"asset-outside", "asset-outside-refused", "variant-required", "variant-unselected"}
)


def check(options: Check) -> ExitCode:
    source = existing_robot(options.urdf)
    if options.certificate:
        return verify(source, options)
    usd, common = options.usd, of_robot(options.comparison, source)
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
            (source.path, usd, settings_file(common)),
        )
        records = []
        for selection, (json_file, html_file) in zip(selections, files, strict=True):
            record, scene = _compared(source, usd, selection, drawn=html_file is not None)
            records.append(record)
            if json_file:
                write_output(json_file, record_json(record))
            if html_file:
                stated = structs.replace(options.comparison, variants=selection.variants)
                words = (options.urdf, str(usd), *command_words(stated))
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
        print_view(terminal_selections(records, left_out))
    else:
        summary = summary_of(records, [source.reference], {"base": common.base.value})
        print_view(terminal_summary(Figures.of(summary, records)))
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
    comparison = of_robot(options.comparison, source)
    limits = comparison.limits
    with shown_status("Comparing USD with URDF ..."):
        # Before the comparison: a file that changes meanwhile makes the certificate invalid.
        robot = _robot_hashes(source, comparison)
        asset = call_on_usd(asset_hashes, usd, limits=limits)
        record, _ = _compared(source, usd, comparison, drawn=False)
    summary = summary_of([record], [source.reference], {"base": comparison.base.value})
    print_view(terminal_summary(Figures.of(summary, [record])))
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


def _robot_hashes(source: RobotSource, options: CheckOptions) -> dict[str, str]:
    packages, arguments = dict(options.packages), dict(options.arguments)
    return robot_hashes(source.path, packages, arguments, options.environment, options.simulation)


def verify(source: RobotSource, options: Check) -> ExitCode:
    """Compare URDF and USD with the certificate in the USD."""
    usd, comparison = options.usd, of_robot(options.comparison, source)
    limits = comparison.limits
    certificate = call_on_usd(read_certificate, usd, limits=limits)
    if certificate is None:
        raise CommandError(f"{usd} has no certificate; urdf-usd certify writes one")
    asset = call_on_usd(asset_hashes, usd, limits=limits)
    changed = changes(certificate, _robot_hashes(source, comparison), asset)
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
    choices = of_robot(options.conversion, source)
    require_outputs([(options.html_file, PAGE)], (source.path, options.usd, settings_file(choices)))
    comparison = CheckOptions(
        base=choices.base,
        packages=choices.packages,
        arguments=choices.arguments,
        environment=choices.environment,
        # The page shows what these two read.
        engines=(REFERENCE,),
        limits=options.limits,
        variants=options.variants,
    )
    with shown_status("Reading the robot ..."), temporary_folder() as folder:
        usd = options.usd
        if usd is None:
            converted = convert(source.path, folder / "asset", with_stated_settings(choices))
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
