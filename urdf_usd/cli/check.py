"""``urdf-usd check``, ``certify``, ``compare`` and ``view``: two sides of a robot."""

from __future__ import annotations

import shlex
import tempfile
import webbrowser
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import click
from msgspec import structs
from rich.text import Text

from urdf_usd.cli import terminal as f
from urdf_usd.cli.parameters import existing_robot, of_robot, settings_file, with_stated_settings
from urdf_usd.cli.program import Certify, Check, Compare, View
from urdf_usd.cli.terminal import mark, print_lines, print_view, say, show_diagnostics, shown_status
from urdf_usd.conformance import certificate as certificates
from urdf_usd.conformance.execution import run as execution
from urdf_usd.conformance.execution.record import summary_of
from urdf_usd.conformance.execution.worker import call_on_usd
from urdf_usd.conformance.gate import FailOn, failures
from urdf_usd.conformance.options import CheckOptions
from urdf_usd.conformance.verdict.judged import REFERENCE
from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.options import Sources, command_words
from urdf_usd.converter.scratch import temporary_folder
from urdf_usd.corpus import RobotSource
from urdf_usd.corpus.installed import suite_versions
from urdf_usd.reports.html.site import render_robot, render_view
from urdf_usd.reports.records.record import RobotRecord, Verdict
from urdf_usd.reports.records.results import record_json
from urdf_usd.reports.run_report import robot_badge
from urdf_usd.reports.summary import Figures
from urdf_usd.reports.terminal import terminal_selections, terminal_summary

# Functions of workers, by name: what these import, this process does not need.
_CONVERT = "urdf_usd.converter.conversion:convert"
_HASH = "urdf_usd.conformance.certified_layer:asset_hashes"
_READ = "urdf_usd.conformance.certified_layer:read_certificate"
_WRITE = "urdf_usd.conformance.certified_layer:write_certified_layer"
# Diagnostics of the USD that concern its files and variants, not the comparison.
_SHOWN = frozenset(
    {"asset-outside", "asset-outside-refused", "variant-required", "variant-unselected"}
)


def check(options: Check) -> f.ExitCode:
    source = existing_robot(options.urdf)
    usd, common = options.usd, of_robot(options.comparison, source)
    if options.certificate:
        return _verify(source, usd, common)
    with shown_status("Comparing USD with URDF ..."):
        several = options.all_variants
        selections, skipped = (
            execution.variant_combinations(usd, common) if several else ((common,), ())
        )
        files = [
            (_numbered(options.json_file, number), _numbered(options.html_file, number))
            for number in (range(1, len(selections) + 1) if several else (0,))
        ]
        outputs = [one for json, html in files for one in ((json, f.RECORD), (html, f.PAGE))]
        f.require_outputs(outputs, (source.path, usd, settings_file(common)))
        records = []
        for selection, own in zip(selections, files, strict=True):
            stated = structs.replace(options.comparison, variants=selection.variants)
            words = ("check", options.urdf, str(usd), *command_words(stated))
            records.append(_written(partial(execution.check, source, usd, selection), *own, words))
    found = [one for record in records for one in record.diagnostics if one.rule in _SHOWN]
    show_diagnostics(dict.fromkeys(Diagnostic(one.rule, one.message) for one in found))
    if several:
        left_out = [(str(choice), f"no {kind}") for choice, kind in skipped]
        print_view(terminal_selections(records, left_out))
    else:
        _print_result(records[0], source, common)
    last = f" to {files[-1][1]}" if len(files) > 1 else ""
    agree = all(record.verdict.agrees for record in records)
    hint = "with all values" if agree else "that shows the differences in 3D"
    _print_page(files[0][1], last, f" {hint}")
    # That of the most severe verdict among those that fail.
    codes = [(_exit_code(one, options.fail_on), one.verdict.severity) for one in records]
    return max(codes, key=lambda one: (one[0] is not f.ExitCode.DONE, one[1], one[0]))[0]


def _print_page(file: Path | None, more: str = "", hint: str = "") -> None:
    click.echo(f"\nPage: {file}{more}" if file else f"\nUse --html FILE for a report{hint}.")


def compare(options: Compare) -> f.ExitCode:
    first, second = existing_robot(options.first), existing_robot(options.second)
    outputs = [(options.json_file, f.RECORD), (options.html_file, f.PAGE)]
    f.require_outputs(outputs, (first.path, second.path))
    read = structs.asdict(options.sources)
    asked = CheckOptions(**read, engines=options.engines, limits=options.limits)
    examine = partial(execution.compare_descriptions, first, second, options.mapped, asked)
    pairs = (word for pair in options.mapped for word in ("--map", "=".join(pair)))
    words = ("compare", options.first, options.second, *pairs)
    with shown_status("Comparing descriptions ..."):
        record = _written(examine, options.json_file, options.html_file, words)
    _print_result(record, first)
    _print_page(options.html_file)
    return _exit_code(record, options.fail_on)


def certify(options: Certify) -> f.ExitCode:
    source, usd = existing_robot(options.urdf), options.usd
    badge = usd.with_name("conformance.svg")
    f.require_outputs([(badge, b"<svg")], (source.path, usd))
    comparison = of_robot(options.comparison, source)
    with shown_status("Comparing USD with URDF ..."):
        # Before the comparison: a file that changes meanwhile makes the certificate invalid.
        robot, asset = _hashes(source, usd, comparison)
        record = execution.check(source, usd, comparison)
    _print_result(record, source, comparison)
    if code := _exit_code(record, options.fail_on):
        say(f"{usd}: not certified")
        return code
    certificate = certificates.certificate_of(record, robot, asset, suite_versions()[-1])
    with temporary_folder() as work:
        layer = work / usd.name
        call_on_usd(_WRITE, usd, certificate, str(layer), limits=comparison.limits)
        f.write_output(usd, layer.read_bytes())
    f.write_output(badge, robot_badge(record).encode())
    click.echo(f"\nCertified: {usd}, {badge}")
    return f.ExitCode.DONE


def _verify(source: RobotSource, usd: Path, comparison: CheckOptions) -> f.ExitCode:
    certificate: Any = call_on_usd(_READ, usd, limits=comparison.limits)
    if certificate is None:
        raise f.CommandError(f"{usd} has no certificate; urdf-usd certify writes one")
    changed = certificates.changes(certificate, *_hashes(source, usd, comparison))
    engines = ", ".join(f"{name} {version}" for name, version in certificate.engines.items())
    line = (
        f" certificate {'no longer valid' if changed else 'valid'}: {certificate.verdict}, "
        f"{certificate.values} values compared by {certificate.tool} with {engines}"
    )
    print_lines([Text.assemble(mark(not changed), line), *(f"  {text}" for text in changed)])
    return f.ExitCode.DOES_NOT_CONFORM if changed else f.ExitCode.DONE


def _hashes(
    source: RobotSource, usd: Path, options: CheckOptions
) -> tuple[dict[str, str], dict[str, str]]:
    robot = certificates.robot_hashes(source.path, options)
    return robot, call_on_usd(_HASH, usd, limits=options.limits)


def view(options: View) -> None:
    source = existing_robot(options.source)
    choices = of_robot(options.conversion, source)
    f.require_outputs(
        [(options.html_file, f.PAGE)], (source.path, options.usd, settings_file(choices))
    )
    comparison = CheckOptions(
        **{name: getattr(choices, name) for name in ("base", *Sources.__struct_fields__)},
        # The page shows what these two read.
        engines=(REFERENCE,),
        limits=options.limits,
        variants=options.variants,
    )
    with shown_status("Reading the robot ..."), temporary_folder() as folder:
        usd, scene = options.usd, folder / "scene.gz"
        if usd is None:
            target, chosen = folder / "asset", with_stated_settings(choices)
            converted: Any = call_on_usd(
                _CONVERT, source.path, target, chosen, limits=options.limits
            )
            show_diagnostics(converted.diagnostics)
            usd = converted.root_layer
        record = execution.check(source, usd, comparison, scene=scene)
        if not scene.exists():
            raise f.CommandError(f"nothing can be drawn: {record.reason}")
        page = render_view(record, scene.read_bytes())
    if options.html_file is not None:
        f.write_output(options.html_file, page.encode())
        click.echo(options.html_file)
        return
    with tempfile.NamedTemporaryFile(
        "w", prefix="urdf-usd-view-", suffix=".html", delete=False, encoding="utf-8"
    ) as file:
        file.write(page)
    click.echo(file.name)
    if not webbrowser.open(Path(file.name).as_uri()):
        say("no browser was found; open the file, or use --html FILE")


def _written(
    examine: Callable[..., RobotRecord],
    json_file: Path | None,
    html_file: Path | None,
    words: Iterable[str],
) -> RobotRecord:
    """Compare, and write the record and the page, which states the words of the command."""
    with temporary_folder() as work:
        scene = work / "scene.gz"
        record = examine(scene=scene if html_file else None)
        if json_file:
            f.write_output(json_file, record_json(record))
        if html_file:
            drawn = scene.read_bytes() if scene.exists() else None
            command = shlex.join(("urdf-usd", *words, "--html", "robot.html"))
            f.write_output(html_file, render_robot(record, drawn, command).encode())
    return record


def _print_result(
    record: RobotRecord, source: RobotSource, options: CheckOptions | None = None
) -> None:
    stated = {"base": options.base.value} if options else {}
    summary = summary_of([record], [source.reference], stated)
    print_view(terminal_summary(Figures.of(summary, [record])))


def _exit_code(record: RobotRecord, fail_on: FailOn) -> f.ExitCode:
    if not failures((record,), fail_on=fail_on, strict=True, unreadable=True):
        return f.ExitCode.DONE
    # Otherwise, the URDF or the USD could not be read.
    was_read = record.checks or record.verdict is Verdict.FAILS
    return f.ExitCode.DOES_NOT_CONFORM if was_read else f.ExitCode.NOT_DONE


def _numbered(file: Path | None, number: int) -> Path | None:
    return file.with_name(f"{file.stem}-{number}{file.suffix}") if file and number else file
