"""Every report of sample runs, and their visible content as text."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

from lxml import html
from msgspec import structs
from rich.console import Console, RenderableType

from tests.reports import samples
from urdf_usd.reports.html import site
from urdf_usd.reports.records import record as r
from urdf_usd.reports.records.results import append_entry, read_history
from urdf_usd.reports.records.scene import scene_path, write_scene
from urdf_usd.reports.run_report import write_badges, write_junit, write_markdown, write_sarif
from urdf_usd.reports.summary import Figures, compare
from urdf_usd.reports.terminal import terminal_comparison, terminal_summary

_CHANGES = (
    r.ChangeRecord(
        r.ChangeKind.NEWLY_FAILING, True, "shifted", None, "exact", "fails", "link <wrist> moved"
    ),
    r.ChangeRecord(r.ChangeKind.REMOVED, True, "gone", before="exact"),
    r.ChangeRecord(r.ChangeKind.WORSE, True, "alpha", "kinematics.position", "1e-08 m", "3e-06 m"),
    r.ChangeRecord(r.ChangeKind.FIXED, False, "zeta", after="exact"),
    r.ChangeRecord(r.ChangeKind.SETTING, False, "environment mujoco", before="3", after="4"),
)


def write_run(robots: tuple[r.RobotRecord, ...], folder: Path) -> r.RunSummary:
    """Write all reports of a run of one converter, with a baseline and former runs."""
    runs = folder / "runs"
    summary = samples.summary(robots)
    worse = [structs.replace(one, verdict=r.Verdict.FAILS) for one in summary.robots[:1]]
    former = structs.replace(summary, robots=(*worse, *summary.robots[1:]))
    for label, run in (("one", former), ("<two>", summary)):
        append_entry(runs, run, label)
    history = read_history(runs)
    summary = structs.replace(
        summary,
        baseline=samples.baseline(),
        former=r.FormerRunRecord(name="before", changes=_CHANGES),
        complete=False,
        unfinished=87,
        parts={"dir:macros.xacro": "defines macros alone"},
    )
    figures = Figures.of(summary, robots)
    write_scene(samples.scene(), scene_path(folder, "shifted"))
    site.write_site(figures, folder, history=history)
    site.write_history(history, folder)
    write_markdown(figures, folder / "summary.md")
    write_junit(robots, folder / "junit.xml", summary)
    write_sarif(robots, folder / "findings.sarif", summary.baseline)
    write_badges(figures, folder)
    data = json.dumps(site.matrix(figures.ordered), indent=1, ensure_ascii=False)
    (folder / "matrix.json").write_text(data, encoding="utf-8")
    return summary


def write_converters(folder: Path) -> None:
    """Write the reports of a run of two converters over cases of the feature suite."""
    robots = samples.cases()
    summary = samples.summary(robots, converters=("urdf-usd", "peer"))
    seconds = {(robot.candidate, robot.id): 0.25 * robot.compared for robot in robots}
    compared = compare(summary, robots, seconds)
    site.write_comparison(compared, folder)
    site.write_suite(summary, robots, folder)
    write_markdown(compared, folder / "comparison.md")
    text = shown(terminal_comparison(compared))
    (folder / "comparison.txt").write_text(text, encoding="utf-8")


def write_terminals(robots: tuple[r.RobotRecord, ...], summary: r.RunSummary, folder: Path) -> None:
    """Write what a run, and checks of single robots, print."""
    (folder / "run.txt").write_text(
        shown(terminal_summary(Figures.of(summary, robots))), encoding="utf-8"
    )
    single = (one for one in robots if one.verdict in {r.Verdict.FAILS, r.Verdict.INCOMPLETE})
    texts = [shown(terminal_summary(samples.figures((one,)))) for one in single]
    (folder / "check.txt").write_text("\n".join(texts), encoding="utf-8")


def shown(content: RenderableType, *, width: int = 100, colours: bool = False) -> str:
    """Return what a terminal shows."""
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=colours,
        color_system="standard" if colours else None,
    )
    console.print(content)
    return stream.getvalue()


def visible(page: html.HtmlElement) -> str:
    """Return the content of a page, one row of a table or one block of text per line."""
    for hidden in page.xpath("//script | //style | //template"):
        hidden.drop_tree()
    (body,) = page.xpath("//body")
    return "\n".join(line for line in _lines(body) if line)


_INLINE = {"a", "bdi", "code", "data", "span", "strong", "small", "button", "b", "em", "label"}


def _lines(element: html.HtmlElement) -> list[str]:
    if element.tag == "tr":
        return [" | ".join(_text(cell) for cell in element)]
    if all(child.tag in _INLINE for child in element if isinstance(child.tag, str)):
        return [_text(element)]
    lines = [" ".join((element.text or "").split())]
    for child in element:
        if isinstance(child.tag, str):
            lines += _lines(child)
        lines.append(" ".join((child.tail or "").split()))
    return lines


def _text(element: html.HtmlElement) -> str:
    text = " ".join(element.text_content().split())
    links = "".join(f" <{link}>" for link in element.xpath(".//@href | ./@href"))
    anchor = f"#{element.get('id')} " if element.get("id") else ""
    return f"{anchor}{text}{links}"


def snapshot(path: Path) -> str:
    """Return what is compared of a report: of pages the visible content."""
    text = path.read_text("utf-8")
    if path.suffix == ".html":
        text = visible(html.fromstring(text))
    # Rows of terminals are padded to the width of the longest.
    return re.sub(r" +$", "", text, flags=re.MULTILINE).strip() + "\n"
