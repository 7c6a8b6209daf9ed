"""All files of the report of a run; Markdown, short enough for a comment; badges."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import UNSET, structs

from urdf_usd.reports.ci import write_junit, write_sarif
from urdf_usd.reports.html.rendering import CONVERTERS, template_environment
from urdf_usd.reports.html.site import write_comparison, write_history, write_site, write_suite
from urdf_usd.reports.records.history import HistoryEntry
from urdf_usd.reports.records.record import RobotRecord, RunSummary
from urdf_usd.reports.records.results import read_seconds, write_record
from urdf_usd.reports.summary import Comparison, Figures, compare, values

# Backgrounds for white text, with a contrast of at least 4.5.
_GOOD, _MIXED, _BAD, _NONE = "#1a7f37", "#9a6700", "#b3201a", "#57606a"
# Mean width of a letter of Verdana at eleven pixels.
_LETTER, _MARGIN = 6.6, 6.0
_MOST = 0.9


def write_report(
    summary: RunSummary,
    records: Sequence[RobotRecord],
    out: Path,
    history: Sequence[HistoryEntry] = (),
) -> tuple[Figures | Comparison, Path]:
    """Write all reports of a run into its folder; return what they show, and the first page."""
    if history:
        write_history(history, out)
    write_record(summary, out / "summary.json")
    write_junit(records, out / "junit.xml", summary)
    figures = _part(summary, records, next(one.name for one in summary.converters if one.gated))
    write_sarif(figures.robots, out / "findings.sarif", figures.summary.baseline)
    write_badges(figures, out)
    cases = write_suite(summary, records, out) is not None
    if len(summary.converters) <= 1:
        write_markdown(figures, out / "summary.md")
        return figures, write_site(figures, out, history=history, cases=cases)
    for converter in summary.converters:
        folder = out / CONVERTERS / converter.name
        folder.mkdir(parents=True, exist_ok=True)
        write_site(_part(summary, records, converter.name), folder, out / "scenes" / converter.name)
    compared = compare(summary, records, conversion_times(records, out))
    write_markdown(compared, out / "summary.md")
    return compared, write_comparison(compared, out, has_history=bool(history))


def records_of(converter: str, records: Iterable[RobotRecord]) -> list[RobotRecord]:
    return [record for record in records if record.candidate == converter]


def conversion_times(records: Sequence[RobotRecord], out: Path) -> dict[tuple[str, str], float]:
    """Read the times of conversions [s], by converter and robot."""
    keys = [(record.candidate, record.id) for record in records]
    times = ((key, read_seconds(out, "/".join(key))) for key in keys)
    return {key: seconds for key, seconds in times if seconds is not None}


def _part(summary: RunSummary, records: Sequence[RobotRecord], converter: str) -> Figures:
    """Return the part of a run that concerns one converter."""
    own = next(one for one in summary.converters if one.name == converter)
    former, prefix = summary.former, f"{converter}/"
    if former and len(summary.converters) > 1:
        changes = tuple(
            structs.replace(one, subject=one.subject.removeprefix(prefix))
            for one in former.changes
            if one.subject.startswith(prefix)
        )
        former = structs.replace(former, changes=changes)
    part = structs.replace(
        summary,
        converters=(own,),
        verdicts=own.verdicts,
        baseline=own.baseline or (summary.baseline if own.gated else None),
        robots=tuple(robot for robot in summary.robots if robot.candidate == converter),
        former=former,
        suite=tuple(one for one in summary.suite if one.candidate == converter),
    )
    return Figures.of(part, records_of(converter, records))


def write_markdown(run: Figures | Comparison, path: Path) -> None:
    """Write the counts of a run, what does not conform, and the largest differences."""
    content: dict[str, object] = {"headline": run.headline}
    name = "comparison.md.j2"
    if isinstance(run, Figures):
        name, baseline = "summary.md.j2", run.summary.baseline
        changes = baseline.changes if baseline else ()
        content["failures"] = [(change, known) for change, rows in changes for known in rows]
    template = template_environment("md").get_template(name)
    text = template.render(**(structs.asdict(run) | content))
    path.write_text(text, encoding="utf-8", newline="\n")


def write_badges(figures: Figures, folder: Path) -> None:
    """Write the badge of a run; unreadable and unavailable robots do not count.

    The title of ``badge.svg`` also has the number of compared values. ``badge.json`` is for
    the endpoint of shields.io: https://shields.io/badges/endpoint-badge
    """
    found = figures.conformance
    judged = found.judged
    text = f"{found.conforming} of {judged} conform" if judged else "no robots"
    if found.incomplete:
        text += f", {found.incomplete} incomplete"
    part = found.conforming / judged if judged else 0.0
    tone = _NONE if not judged else _GOOD if part == 1 else _MIXED if part >= _MOST else _BAD
    color = tone.removeprefix("#")
    label = _label(figures.robots)
    endpoint = {"schemaVersion": 1, "label": label, "message": text, "color": color}
    documents = {
        "badge.svg": _svg(label, text, f"{text}; {values(figures.compared)}", tone),
        "badge.json": json.dumps(endpoint, ensure_ascii=False) + "\n",
    }
    for name, document in documents.items():
        (folder / name).write_text(document, encoding="utf-8", newline="\n")


def robot_badge(robot: RobotRecord) -> str:
    title = f"{robot.verdict}; {values(robot.compared)}"
    return _svg(_label([robot]), robot.verdict.value, title, _GOOD)


def _label(robots: Iterable[RobotRecord]) -> str:
    """Name the formats that are compared with USD."""
    found = {"URDF" if one.formats is UNSET else one.formats[0].upper() for one in robots}
    return f"{' and '.join(sorted(found)) or 'URDF'} \u2192 USD"


def _svg(label: str, text: str, title: str, tone: str) -> str:
    left, right = (round(_LETTER * len(word) + 2 * _MARGIN, 1) for word in (label, text))
    template = template_environment().get_template("badge.svg.j2")
    content = {"label": label, "text": text, "title": title, "tone": tone}
    return f"{template.render(**content, left=left, right=right)}\n"
