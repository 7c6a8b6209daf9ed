"""The page of a run: what conforms, every robot and check, how large errors are."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from urdf_usd.reports import overview
from urdf_usd.reports.headline import headline
from urdf_usd.reports.html.former import sorted_changes
from urdf_usd.reports.html.matrix import matrix
from urdf_usd.reports.html.rendering import (
    Script,
    island,
    page_name,
    script_policy,
    template_asset,
)
from urdf_usd.reports.html.reproduction import run_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment

    from urdf_usd.conformance.records.record import RobotRecord, RunSummary


def render_run(
    environment: Environment, summary: RunSummary, robots: Sequence[RobotRecord]
) -> str:
    """Return the page of a run, complete in itself."""
    script = Script(text=template_asset("pages.js"))
    worst = overview.worst_figures(robots)
    ordered = overview.most_urgent_first(robots)
    return environment.get_template("index.html.j2").render(
        summary=summary,
        robots=ordered,
        title=headline(robots),
        converted=sum(bool(robot.checks) for robot in robots),
        readable=len(overview.readable(robots)),
        groups=overview.groups(robots),
        worst=worst,
        worst_per_group=overview.worst_per_group(worst),
        engines=overview.participation(robots),
        deviations=overview.reader_deviations(robots),
        report=island(matrix(ordered)),
        scripts=(script,),
        policy=script_policy((script,)),
        pages={robot.id: quote(page_name(robot)) for robot in robots},
        graded={(robot.id, check.id) for robot in robots for check in robot.checks},
        command=run_command(summary, *summary.corpus),
        changes=sorted_changes(summary.former) if summary.former else None,
        changed={robot.id: f"robots/{quote(page_name(robot))}" for robot in robots},
    )
