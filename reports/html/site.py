"""Static pages: one for the run and one per robot, without external resources."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment

from urdf_usd.reports import overview
from urdf_usd.reports.changes import sorted_changes
from urdf_usd.reports.html.history_page import PAGE, recent_runs
from urdf_usd.reports.html.matrix import matrix
from urdf_usd.reports.html.rendering import (
    Script,
    island,
    page_environment,
    page_name,
    run_command,
    script_policy,
    template_asset,
)
from urdf_usd.reports.html.robot_page import PageScripts, View, render_page
from urdf_usd.reports.records.history import HistoryEntry
from urdf_usd.reports.records.record import RobotRecord, RunSummary
from urdf_usd.reports.records.scene import SceneError, scene_path

# Scripts shared by all pages of a run, so that browsers cache them.
_SCRIPTS = "scripts"
_PAGES = "pages.js"
_VIEWER = "viewer.js"


def write_site(
    summary: RunSummary,
    robots: Sequence[RobotRecord],
    directory: Path,
    scenes: Path | None = None,
    history: Sequence[HistoryEntry] = (),
    *,
    cases: bool = False,
) -> Path:
    """Write ``index.html`` and ``robots/<id>.html``; return the path of the index.

    Args:
        summary: The run, or the part of one converter.
        robots: Its records.
        directory: Target folder.
        scenes: Folder of the 3D scenes; by default that in ``directory``. The page of a
            robot whose scene is damaged has no 3D view.
        history: Runs up to this one, the oldest first; ``history.html`` is beside the
            index.
        cases: Whether the folder has the page of the feature suite.

    Raises:
        ValueError: The id of a robot is not a valid file name.
        OSError: The directory cannot be written.
    """
    environment = page_environment()
    pages = directory / "robots"
    pages.mkdir(parents=True, exist_ok=True)
    linked = PageScripts(*(Script(f"../{_SCRIPTS}/{n}") for n in (_PAGES, _VIEWER)))
    for robot in robots:
        page = pages / page_name(robot)
        scene = _scene(robot, directory, scenes)
        command = run_command(summary, robot.source.reference)
        _write(page, _render_robot(environment, robot, linked, scene, command))
    (directory / _SCRIPTS).mkdir(exist_ok=True)
    for name in (_PAGES, _VIEWER):
        _write(directory / _SCRIPTS / name, template_asset(name))
    index = directory / "index.html"
    _write(index, _render_run(environment, summary, robots, history, cases=cases))
    return index


def render_robot(
    record: RobotRecord, scene: bytes | None = None, command: str | None = None
) -> str:
    """Return the self-contained page of one robot.

    Args:
        record: The robot.
        scene: Packed 3D scene, if there is one.
        command: Command that reproduces the page.
    """
    inline = PageScripts(*(Script(text=template_asset(n)) for n in (_PAGES, _VIEWER)))
    view = View.of(scene) if scene else None
    return render_page(page_environment(), record, inline, view, command=command)


def render_view(record: RobotRecord, scene: bytes) -> str:
    """Return a self-contained page with the 3D view of a robot alone.

    Args:
        record: The robot.
        scene: Packed 3D scene.

    Raises:
        SceneError: It is damaged.
    """
    script = Script(text=template_asset(_VIEWER))
    return (
        page_environment()
        .get_template("view.html.j2")
        .render(
            robot=record,
            view=View.of(scene),
            script=script,
            policy=script_policy((script,)),
        )
    )


def _scene(robot: RobotRecord, directory: Path, scenes: Path | None) -> Path:
    usual = scene_path(directory, robot.id)
    return scenes / usual.name if scenes else usual


def _render_robot(
    environment: Environment,
    robot: RobotRecord,
    scripts: PageScripts,
    scene: Path,
    command: str,
) -> str:
    view = _view(scene)
    return render_page(environment, robot, scripts, view, "../index.html", command)


def _view(path: Path) -> View | None:
    """Read a scene; None if there is none, or if it is damaged."""
    packed = _bytes(path)
    try:
        return View.of(packed) if packed else None
    except SceneError:
        return None


def _bytes(path: Path) -> bytes:
    """Return the content of a file; empty if there is none."""
    return path.read_bytes() if path.is_file() else b""


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _render_run(
    environment: Environment,
    summary: RunSummary,
    robots: Sequence[RobotRecord],
    history: Sequence[HistoryEntry],
    *,
    cases: bool,
) -> str:
    """Return the self-contained page of a run."""
    script = Script(text=template_asset("pages.js"))
    worst = overview.worst_figures(robots)
    ordered = overview.most_urgent_first(robots)
    return environment.get_template("index.html.j2").render(
        summary=summary,
        cases=cases,
        robots=ordered,
        title=overview.headline(robots),
        converters=sorted({overview.converter(robot) for robot in robots}),
        converted=sum(bool(robot.checks) for robot in robots),
        readable=len(overview.readable(robots)),
        groups=overview.groups(robots),
        worst=worst,
        worst_per_group=overview.worst_per_group(worst),
        engines=overview.participation(robots),
        deviations=overview.engine_deviations(robots),
        per_engine=overview.engine_matrix(robots),
        Outcome=overview.Outcome,
        report=island(matrix(ordered)),
        scripts=(script,),
        policy=script_policy((script,)),
        pages={robot.id: quote(page_name(robot)) for robot in robots},
        graded={(robot.id, check.id) for robot in robots for check in robot.checks},
        command=run_command(summary, *summary.corpus),
        changes=sorted_changes(summary.former) if summary.former else None,
        runs=recent_runs(history),
        history=PAGE,
        candidate=next((one.name for one in summary.converters), ""),
        changed={robot.id: f"robots/{quote(page_name(robot))}" for robot in robots},
    )
